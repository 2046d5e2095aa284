//! A file or a database that several verbs read, with what was read of it since its last change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use superstep_checkpoint::portable::Export;
use superstep_checkpoint::{
    CheckpointFile, CheckpointReader, Located, SqliteReader, Subgraph, ThreadList, ThreadSize,
};
use superstep_core::checkpoint::{At, Loaded, Page, Scan, SecretPast, StoreError, Summary, ThreadSummary};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};
use superstep_inspect::{Row, lanes};
use superstep_nodes::model::Prices;

use super::changes::{Place, Reader, Stamp};
use super::database::CheckpointSource;
use super::failure::Failure;
use super::price_table::prices;
use super::thread_usage::Known;

/// The number of trees that are remembered.
const TREES: usize = 4;

/// A file or a database that several verbs read.
pub(crate) struct KeptFile {
    place: Place,
    looked: Mutex<Looked>,
    /// The open file, while a verb reads it. Then it is closed, because the last program that writes to it cannot move
    /// its log into a file that is open elsewhere.
    reader: Mutex<Weak<Mutex<Reader>>>,
    /// The connection to a database, which stays open.
    connection: Mutex<Option<Arc<Mutex<Reader>>>>,
    memory: Mutex<Memory>,
    prices: Arc<Prices>,
}

/// The file at the last look.
struct Looked {
    stamp: Stamp,
    /// `true` if it could have been changed since then without another stamp.
    is_fresh: bool,
    version: FileVersion,
}

/// A version of a file. Later versions have larger numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileVersion {
    /// The number of changes that were seen. It may count one too many, and none too few.
    pub number: u64,
    /// The number of times that another file was put in its place.
    pub replaced: u64,
}

/// What was read of the file in one version. Trees, secrets and usages are read on in the next one.
#[derive(Default)]
struct Memory {
    version: u64,
    threads: Option<Vec<ThreadSummary>>,
    sizes: Option<BTreeMap<ThreadId, ThreadSize>>,
    firsts: Option<BTreeMap<ThreadId, CheckpointId>>,
    schemas: Option<Vec<Schema>>,
    subgraphs: HashMap<ThreadId, Vec<Subgraph>>,
    /// The trees of some threads, each with the version in which it was read.
    trees: Vec<(ThreadId, u64, Arc<Tree>)>,
    secrets: HashMap<ThreadId, Secrets>,
    usages: HashMap<ThreadId, Known>,
}

/// The secrets of a thread up to its latest checkpoint.
struct Secrets {
    version: u64,
    head: Option<CheckpointId>,
    past: Arc<SecretPast>,
}

/// The checkpoints of a thread with all its branches, newest first, in their lanes.
pub(crate) struct Tree {
    pub(crate) checkpoints: Vec<Summary>,
    pub(crate) rows: Vec<Row>,
    positions: HashMap<CheckpointId, usize>,
    /// The latest checkpoint of the thread.
    head: Option<CheckpointId>,
    /// That checkpoint and its past.
    on_line: HashSet<CheckpointId>,
}

impl Tree {
    /// Lays out checkpoints, newest first. `head` is the latest one of the thread.
    pub(crate) fn of(checkpoints: Vec<Summary>, head: Option<CheckpointId>) -> Self {
        let positions: HashMap<CheckpointId, usize> =
            checkpoints.iter().enumerate().map(|(position, held)| (held.id, position)).collect();
        let rows = lanes(&checkpoints);
        let mut tree = Self { checkpoints, rows, positions, head, on_line: HashSet::new() };
        tree.on_line = head.map(|head| tree.past(head).map(|held| held.id).collect()).unwrap_or_default();
        tree
    }

    /// Returns a checkpoint and its past, newest first.
    pub(crate) fn past(&self, id: CheckpointId) -> impl Iterator<Item = &Summary> {
        let held = |id| self.position(id).map(|position| &self.checkpoints[position]);
        std::iter::successors(held(id), move |later| held(later.parent?))
    }

    /// Returns the row of a checkpoint.
    pub(crate) fn position(&self, id: CheckpointId) -> Option<usize> {
        self.positions.get(&id).copied()
    }

    /// Returns `true` if a checkpoint is the latest one of the thread, or in its past.
    pub(crate) fn is_on_line(&self, id: CheckpointId) -> bool {
        self.on_line.contains(&id)
    }
}

impl KeptFile {
    /// Opens a file or a database for reading, to find out if that is possible.
    pub(crate) fn open(source: CheckpointSource) -> Result<Self, Failure> {
        let place = Place::open(source)?;
        let (now, stamp) = (SystemTime::now(), place.stamp()?);
        let looked = Looked { is_fresh: stamp.is_fresh(now), stamp, version: FileVersion::default() };
        let looked = Mutex::new(looked);
        let (reader, connection, memory) = (Mutex::new(Weak::new()), Mutex::default(), Mutex::default());
        Ok(Self { place, looked, reader, connection, memory, prices: prices()? })
    }

    /// Returns the file as it is now, open until the result is dropped.
    pub(crate) fn now(self: &Arc<Self>) -> Result<Kept, Failure> {
        let FileVersion { number: version, .. } = self.version()?;
        let reader = self.reader()?;
        let mut memory = lock(&self.memory);
        if memory.version != version {
            let Memory { trees, secrets, usages, .. } = std::mem::take(&mut *memory);
            *memory = Memory { version, trees, secrets, usages, ..Memory::default() };
        }
        Ok(Kept { file: Arc::clone(self), version, reader })
    }

    /// Returns the version of the file. Does not open it.
    pub(crate) fn version(&self) -> Result<FileVersion, Failure> {
        let mut looked = lock(&self.looked);
        let now = SystemTime::now();
        let stamp = self.place.stamp()?;
        if !stamp.is_of_same_file(&looked.stamp) {
            looked.version.number += 1;
            looked.version.replaced += 1;
            *lock(&self.reader) = Weak::new();
            *lock(&self.memory) = Memory::default();
        } else if stamp != looked.stamp || looked.is_fresh {
            looked.version.number += 1;
        }
        looked.is_fresh = stamp.is_fresh(now);
        looked.stamp = stamp;
        Ok(looked.version)
    }

    /// Returns the open file, for as long as a verb needs it.
    fn reader(&self) -> Result<Arc<Mutex<Reader>>, Failure> {
        let mut kept = lock(&self.reader);
        if let Some(reader) = kept.upgrade() {
            return Ok(reader);
        }
        let reader = Arc::new(Mutex::new(self.place.reader()?));
        *kept = Arc::downgrade(&reader);
        if self.place.stays_open() {
            *lock(&self.connection) = Some(Arc::clone(&reader));
        }
        Ok(reader)
    }

    /// Returns the format of the file, or of the tables.
    pub(crate) fn format(&self) -> Result<u32, Failure> {
        match &self.place {
            Place::File(file) => Ok(SqliteReader::open(file.clone())?.format()),
            #[cfg(feature = "postgres")]
            Place::Database(..) => Ok(superstep_checkpoint::PostgresReader::FORMAT),
        }
    }

    /// Returns the file, with its keys; `None` for a database.
    pub(crate) fn checkpoint_file(&self) -> Option<CheckpointFile> {
        match &self.place {
            Place::File(file) => Some(file.clone()),
            #[cfg(feature = "postgres")]
            Place::Database(..) => None,
        }
    }

    /// Returns the file or the database.
    pub(crate) fn source(&self) -> CheckpointSource {
        match &self.place {
            Place::File(file) => CheckpointSource::File(file.clone()),
            #[cfg(feature = "postgres")]
            Place::Database(url, _) => CheckpointSource::Database(url.clone()),
        }
    }
}

/// A version of a file, which is open.
#[derive(Clone)]
pub(crate) struct Kept {
    file: Arc<KeptFile>,
    version: u64,
    reader: Arc<Mutex<Reader>>,
}

impl Kept {
    /// Returns the prices of tokens, as they were when the file was opened.
    pub(crate) fn prices(&self) -> Arc<Prices> {
        Arc::clone(&self.file.prices)
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&dyn CheckpointReader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        read(&**lock(&self.reader))
    }

    /// Returns what was read before in this version, or reads it.
    fn remembered<T: Clone>(
        &self,
        known: impl Fn(&Memory) -> Option<T>,
        remember: impl FnOnce(&mut Memory, T),
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(known) = self.memory().and_then(|memory| known(&memory)) {
            return Ok(known);
        }
        let found = read()?;
        if let Some(mut memory) = self.memory() {
            remember(&mut memory, found.clone());
        }
        Ok(found)
    }

    /// Returns the memory, unless it is that of a later version.
    fn memory(&self) -> Option<MutexGuard<'_, Memory>> {
        Some(lock(&self.file.memory)).filter(|memory| memory.version == self.version)
    }

    /// Returns the tree of a thread. `read` reads it, and gets the one of an earlier version.
    pub(crate) fn tree(
        &self,
        thread: &ThreadId,
        read: impl FnOnce(&[Summary]) -> Result<Tree, StoreError>,
    ) -> Result<Arc<Tree>, StoreError> {
        let of_it = |(of, _, _): &(ThreadId, u64, Arc<Tree>)| of == thread;
        let known = self.memory().and_then(|memory| memory.trees.iter().find(|held| of_it(held)).cloned());
        let earlier = match known {
            Some((_, version, tree)) if version == self.version => return Ok(tree),
            known => known.map(|(_, _, tree)| tree),
        };
        let tree = Arc::new(read(earlier.as_ref().map_or(&[], |tree| &tree.checkpoints[..]))?);
        if let Some(mut memory) = self.memory() {
            memory.trees.retain(|held| !of_it(held));
            memory.trees.truncate(TREES - 1);
            memory.trees.insert(0, (thread.clone(), self.version, Arc::clone(&tree)));
        }
        Ok(tree)
    }

    /// Returns the usage of a thread that was summed up before.
    pub(crate) fn usage(&self, thread: &ThreadId) -> Option<Known> {
        lock(&self.file.memory).usages.get(thread).copied()
    }

    /// Keeps the usage of a thread.
    pub(crate) fn remember_usage(&self, thread: &ThreadId, known: Known) {
        if let Some(mut memory) = self.memory() {
            memory.usages.insert(thread.clone(), known);
        }
    }

    /// Returns the secrets of a thread up to its latest checkpoint. What was read in an earlier version is read on if
    /// the thread only went on from there.
    pub(crate) fn secrets(
        &self,
        thread: &ThreadId,
        tree: &Tree,
        read_on: impl FnOnce(&mut SecretPast) -> Result<(), StoreError>,
    ) -> Result<Arc<SecretPast>, StoreError> {
        let head = tree.head;
        let known = match self.memory() {
            Some(mut memory) => memory.secrets.remove(thread),
            None => None,
        };
        let past = match known {
            Some(known) if known.version == self.version => known.past,
            Some(Secrets { head: Some(before), past, .. }) if tree.is_on_line(before) => {
                let mut past = Arc::unwrap_or_clone(past);
                past.look_again();
                read_on(&mut past)?;
                Arc::new(past)
            }
            _ => {
                let mut past = SecretPast::of(thread.clone(), [At::Head]);
                read_on(&mut past)?;
                Arc::new(past)
            }
        };
        if let Some(mut memory) = self.memory() {
            let secrets = Secrets { version: self.version, head, past: Arc::clone(&past) };
            memory.secrets.insert(thread.clone(), secrets);
        }
        Ok(past)
    }
}

impl CheckpointReader for Kept {
    fn load(&self, thread: &ThreadId, at: &At) -> Result<Option<Loaded>, StoreError> {
        self.read(|reader| reader.load(thread, at))
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.read(|reader| reader.scan(scan))
    }

    fn list_threads(&self) -> Result<ThreadList, StoreError> {
        if let Some(threads) = self.memory().and_then(|memory| memory.threads.clone()) {
            return Ok(ThreadList::new(threads, Vec::new()));
        }
        let list = self.read(|reader| reader.list_threads())?;
        if list.damaged.is_empty()
            && let Some(mut memory) = self.memory()
        {
            memory.threads = Some(list.threads.clone());
        }
        Ok(list)
    }

    fn sizes(&self) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
        let remember = |memory: &mut Memory, sizes| memory.sizes = Some(sizes);
        self.remembered(|memory| memory.sizes.clone(), remember, || self.read(|reader| reader.sizes()))
    }

    fn subgraphs(&self, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
        let remember = |memory: &mut Memory, all| {
            memory.subgraphs.insert(thread.clone(), all);
        };
        let read = || self.read(|reader| reader.subgraphs(thread));
        self.remembered(|memory| memory.subgraphs.get(thread).cloned(), remember, read)
    }

    fn first_checkpoints(&self) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError> {
        let remember = |memory: &mut Memory, firsts| memory.firsts = Some(firsts);
        let read = || self.read(|reader| reader.first_checkpoints());
        self.remembered(|memory| memory.firsts.clone(), remember, read)
    }

    fn lineage_after(&self, thread: &ThreadId, earlier: &[Summary]) -> Result<Vec<Summary>, StoreError> {
        self.read(|reader| reader.lineage_after(thread, earlier))
    }

    fn topology(&self, thread: &ThreadId, at: &At) -> Result<Option<Json>, StoreError> {
        self.read(|reader| reader.topology(thread, at))
    }

    fn schemas(&self) -> Result<Vec<Schema>, StoreError> {
        let remember = |memory: &mut Memory, schemas| memory.schemas = Some(schemas);
        self.remembered(|memory| memory.schemas.clone(), remember, || self.read(|reader| reader.schemas()))
    }

    fn export(&self, thread: &ThreadId) -> Result<Option<Export>, StoreError> {
        self.read(|reader| reader.export(thread))
    }

    fn locate(&self, digits: &str, limit: usize) -> Result<Vec<Located>, StoreError> {
        self.read(|reader| reader.locate(digits, limit))
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
