//! Damaged bits, bytes, sectors and pages of files: every read returns what was written, or an error that the file is
//! corrupt; and [intact](crate::torture::pages) threads are read, exported and continued as before.
//!
//! ```text
//! just corruption
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::take;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use superstep::checkpoint::{At, CheckpointReader, SqliteReader, StepRecord, StoreError};
use superstep::checkpoint::{maintenance, portable};
use superstep::driver::checkpoint::{Carried, Loaded, Summary};
use superstep::id::ThreadId;
use superstep::prelude::SqliteSaver;
use superstep::run::ThreadError;
use tempfile::TempDir;

use crate::torture::child::Started;
use crate::torture::dice::{Dice, Replay, times};
use crate::torture::order::{Order, Workload};
use crate::torture::pages::{Page, Pages};
use crate::torture::said::{Line, Voice};
use crate::torture::side_by_side::side_by_side;
use crate::torture::workloads::{graph, heavier};

/// The number of damages in the gate, without those that change nothing; `just corruption` makes twenty times as many.
const DAMAGES: u64 = 60;
/// The threads of a file, the last of which is not finished.
const THREADS: u32 = 8;
/// The number of turns of each thread: enough for several pages of each kind.
const TURNS: u32 = 12;
/// One of so many checkpoints is read with all its values.
const LOADED_EVERY: usize = 5;

/// The extent of a damage.
#[derive(Clone, Copy, Debug)]
enum Extent {
    Bit,
    Byte,
    Sector,
    Page,
}

impl Extent {
    const ALL: [Self; 4] = [Self::Bit, Self::Byte, Self::Sector, Self::Page];

    /// Damages one place of a file; returns the page that it is in, from 1.
    fn damage(self, bytes: &mut [u8], page_size: usize, dice: &mut Dice) -> i64 {
        let length = match self {
            Self::Bit | Self::Byte => 1,
            Self::Sector => 512,
            Self::Page => page_size,
        };
        let at = dice.below((bytes.len() / length) as u64) as usize * length;
        let place = &mut bytes[at..at + length];
        match self {
            Self::Bit => place[0] ^= 1 << dice.below(8),
            Self::Byte => place[0] = place[0].wrapping_add(1 + dice.below(255) as u8),
            // Like disks: zeros, noise, or data from elsewhere.
            Self::Sector | Self::Page => match dice.below(3) {
                0 => place.fill(0),
                1 => place.iter_mut().for_each(|byte| *byte = dice.below(256) as u8),
                _ => {
                    let from = dice.below((bytes.len() / length) as u64) as usize * length;
                    bytes.copy_within(from..from + length, at);
                }
            },
        }
        (at / page_size + 1) as i64
    }
}

/// A file of one workload and all its content.
struct Sound {
    workload: Workload,
    bytes: Vec<u8>,
    rows: Vec<Row>,
    page_size: usize,
    threads: BTreeMap<ThreadId, Thread>,
    pages: Pages,
}

/// The readable content of a thread.
struct Thread {
    history: Vec<Summary>,
    steps: Vec<StepRecord>,
    /// Some checkpoints with their values, the newest of all.
    loaded: Vec<Loaded>,
    export: String,
}

impl Thread {
    fn read(reader: &SqliteReader, thread: &ThreadId) -> Self {
        let history = reader.history(thread, &At::Head, usize::MAX).expect("it is sound");
        let load = |summary: &Summary| {
            let loaded = reader.load(thread, &At::Id(summary.id)).expect("it is sound");
            loaded.expect("it is in the history")
        };
        let export = portable::export(reader, thread).expect("it is sound").expect("it is there");
        Self {
            loaded: history.iter().step_by(LOADED_EVERY).map(load).collect(),
            steps: reader.steps(thread, &At::Head, usize::MAX).expect("it is sound"),
            history,
            export: export.to_text(),
        }
    }
}

impl Sound {
    fn new(workload: Workload) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        let db = folder.path().join("t.db");
        write(workload, &db);
        let reader = SqliteReader::open(&db).expect("it is sound");
        let names = reader.threads().expect("it is sound").into_iter().map(|thread| thread.thread);
        let threads = names.map(|name| (name.clone(), Thread::read(&reader, &name))).collect();
        let connection = Connection::open(&db).expect("it is a database");
        let page_size = connection
            .query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0))
            .expect("it has a size") as usize;
        let pages = Pages::of(&connection).expect("SQLite is built with the table of pages");
        drop(connection);
        let rows = unguarded(&db).expect("they can be read");
        Self { workload, rows, bytes: fs::read(&db).expect("it is there"), page_size, threads, pages }
    }
}

/// Runs all threads of a file to their ends except the last, which stops in the middle; then closes the file.
fn write(workload: Workload, db: &Path) {
    let mut order = Order { threads: THREADS - 1, turns: TURNS, ..Order::new(workload, db) };
    assert!(Started::new(order.command()).end().status.success());
    order.threads = THREADS;
    let mut program = Started::new(order.command());
    let mut ended = 0;
    while ended < THREADS - 1 {
        ended += u32::from(matches!(program.listen(), Some(Line::End { .. })));
    }
    for _ in 0..20 {
        program.listen();
    }
    program.kill();
    // The last program that closes the file moves its log into it.
    let connection = Connection::open(db).expect("it is a database");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("no program has it open");
}

/// The changes and the next tasks, as stored in the file.
type Row = (i64, String, String);

/// The rows of checkpoints as SQLite reads them.
fn unguarded(db: &Path) -> rusqlite::Result<Vec<Row>> {
    let connection = Connection::open(db)?;
    let mut rows = connection.prepare("SELECT seq, changes, manifest FROM checkpoint ORDER BY seq")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// The results of damages.
#[derive(Debug, Default)]
struct Came {
    damages: u64,
    /// Damages that a read or a check of the file detected. The others are in unused space.
    noticed: u64,
    /// Damages that hid data; a check of the file detected all of them.
    hidden: u64,
    /// A mutant: damages that a reader without checksums takes for values.
    unguarded: u64,
    /// A mutant: intact threads that a reader of all rows cannot read.
    unlisted: u64,
    /// Damages of shared pages.
    shared: u64,
    /// The number of intact threads, and of those that could not be read or exported.
    intact: u64,
    unread: u64,
    unexported: u64,
    /// The number of intact threads in files whose newest pages, which all writers use, are not damaged; and of those
    /// that could not be continued.
    writable: u64,
    unresumed: u64,
    /// The errors of these attempts.
    told: Vec<String>,
}

impl Came {
    fn and(mut self, other: Self) -> Self {
        self.told.extend(other.told);
        Self {
            damages: self.damages + other.damages,
            noticed: self.noticed + other.noticed,
            hidden: self.hidden + other.hidden,
            unguarded: self.unguarded + other.unguarded,
            shared: self.shared + other.shared,
            intact: self.intact + other.intact,
            unlisted: self.unlisted + other.unlisted,
            unread: self.unread + other.unread,
            unexported: self.unexported + other.unexported,
            writable: self.writable + other.writable,
            unresumed: self.unresumed + other.unresumed,
            told: self.told,
        }
    }
}

/// Damages a file once, and reads everything.
fn damage(sound: &Sound, extent: Extent, dice: &mut Dice, came: &mut Came) -> Result<(), String> {
    let mut folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let mut bytes = sound.bytes.clone();
    let page = extent.damage(&mut bytes, sound.page_size, dice);
    if bytes == sound.bytes {
        return Ok(());
    }
    came.damages += 1;
    let path = damaged(&folder, &bytes);
    look(sound, &sound.pages.whose(page), &path, came).map_err(|wrong| {
        // Files have different ids and times whenever they are written: this is the file.
        folder.disable_cleanup(true);
        fs::write(&path, &bytes).expect("the folder is there");
        format!("{wrong}; the damaged file is kept: {}, page {page}", path.display())
    })
}

fn look(sound: &Sound, whose: &Page, path: &Path, came: &mut Came) -> Result<(), String> {
    let mut reads = Reads { path: path.to_owned(), noticed: false, hidden: false, told: Vec::new() };
    let raw = unguarded(path);
    came.unguarded += u64::from(raw.as_ref().is_ok_and(|rows| *rows != sound.rows));
    let mut read = BTreeSet::new();
    for (name, thread) in &sound.threads {
        if reads.thread(name, thread)? {
            read.insert(name);
        }
    }
    let is_sound = maintenance::verify(path).is_ok_and(|verified| verified.is_sound());
    // If a read of the thread does not notice missing data, the check of the file does.
    if reads.hidden && is_sound {
        return Err("something is missing, and the file is called sound".into());
    }
    came.hidden += u64::from(reads.hidden);
    came.noticed += u64::from(reads.noticed || !is_sound);
    let Page::Of { threads: touched, newest } = whose else {
        came.shared += 1;
        return Ok(());
    };
    let intact: Vec<_> = sound.threads.iter().filter(|(name, _)| !touched.contains(*name)).collect();
    reads.told.clear();
    for (name, thread) in &intact {
        came.intact += 1;
        came.unlisted += u64::from(raw.is_err());
        came.unread += u64::from(!read.contains(name));
        came.unexported += u64::from(!reads.exports(name, thread)?);
    }
    for (name, _) in intact.into_iter().filter(|_| !newest) {
        came.writable += 1;
        came.unresumed += u64::from(!reads.goes_on(sound.workload, name)?);
    }
    came.told.append(&mut reads.told);
    Ok(())
}

fn damaged(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("t.db");
    fs::write(&path, bytes).expect("the folder is there");
    path
}

/// Reads of one damaged file.
struct Reads {
    path: PathBuf,
    /// `true` if a read was refused.
    noticed: bool,
    /// `true` if data was missing to which an index refers.
    hidden: bool,
    /// The refused reads.
    told: Vec<String>,
}

impl Reads {
    /// Returns the value, unless the read was refused as damaged; a damage may not cause another error.
    fn refused<T>(&mut self, read: Result<T, StoreError>) -> Result<Option<T>, String> {
        let told = read.as_ref().err().map(ToString::to_string);
        match read {
            Ok(read) => return Ok(Some(read)),
            // The first page identifies the file.
            Err(
                StoreError::Corrupt { .. }
                | StoreError::NotACheckpointFile(_)
                | StoreError::NewerFormat { .. },
            ) => {}
            // Its index entry is damaged: it is not found.
            Err(StoreError::NoCheckpoint { .. }) => {}
            Err(error) => return Err(format!("an error of another kind: {error:?}")),
        }
        self.noticed = true;
        self.told.extend(told);
        Ok(None)
    }

    /// Returns `true` if the whole thread is read as before.
    fn thread(&mut self, name: &ThreadId, right: &Thread) -> Result<bool, String> {
        let before = (take(&mut self.noticed), take(&mut self.hidden));
        self.all(name, right)?;
        let reads = !self.noticed && !self.hidden;
        self.noticed |= before.0;
        self.hidden |= before.1;
        Ok(reads)
    }

    fn all(&mut self, name: &ThreadId, right: &Thread) -> Result<(), String> {
        let Some(reader) = self.refused(SqliteReader::open(&self.path))? else { return Ok(()) };
        if let Some(history) = self.refused(reader.history(name, &At::Head, usize::MAX))? {
            match history.is_empty() {
                true => self.hidden = true,
                false if history == right.history => {}
                false => return Err(format!("another history of {name}")),
            }
        }
        if let Some(steps) = self.refused(reader.steps(name, &At::Head, usize::MAX))? {
            match steps.is_empty() {
                true => self.hidden = true,
                false if steps.len() != right.steps.len() => return Err(format!("other steps of {name}")),
                false => {
                    steps.iter().zip(&right.steps).try_for_each(|(read, right)| self.step(read, right))?
                }
            }
        }
        for right in &right.loaded {
            let at = At::Id(right.checkpoint.id);
            match self.refused(reader.load(name, &at))? {
                Some(Some(read)) if read.checkpoint == right.checkpoint && read.values == right.values => {
                    self.work("results", &read.results, &right.results)?;
                    self.work("questions", &read.asks, &right.asks)?;
                    self.work("effects", &read.effects, &right.effects)?;
                }
                Some(Some(_)) => return Err(format!("another checkpoint {} of {name}", right.checkpoint.id)),
                Some(None) => self.hidden = true,
                None => {}
            }
        }
        Ok(())
    }

    fn step(&mut self, read: &StepRecord, right: &StepRecord) -> Result<(), String> {
        let without_work =
            |step: &StepRecord| StepRecord { work: Carried::default(), emitted: Vec::new(), ..step.clone() };
        if without_work(read) != without_work(right) {
            return Err(format!("another step {}", right.checkpoint.id));
        }
        self.work("results", &read.work.results, &right.work.results)?;
        self.work("questions", &read.work.asks, &right.work.asks)?;
        self.work("effects", &read.work.effects, &right.work.effects)
    }

    /// Work without an index entry is missing. None of the rest is wrong.
    fn work<T: PartialEq>(&mut self, what: &str, read: &[T], right: &[T]) -> Result<(), String> {
        self.hidden |= read.len() < right.len();
        match read.iter().all(|one| right.contains(one)) {
            true => Ok(()),
            false => Err(format!("other {what}")),
        }
    }

    /// Returns `true` if a program can continue a thread.
    fn goes_on(&mut self, workload: Workload, name: &ThreadId) -> Result<bool, String> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let path = self.path.clone();
        let gone_on = runtime.block_on(async {
            let trips = graph(workload, Voice::kept().0).checkpointer(SqliteSaver::open(path).await?);
            match trips.thread(name.clone()).edit(heavier()).await {
                Ok(_) => Ok(()),
                Err(ThreadError::Store(error)) => Err(error),
                Err(other) => Err(StoreError::Io(Box::new(other))),
            }
        });
        Ok(self.refused(gone_on)?.is_some())
    }

    /// Returns `true` if a thread is exported as before.
    fn exports(&mut self, name: &ThreadId, right: &Thread) -> Result<bool, String> {
        let Some(reader) = self.refused(SqliteReader::open(&self.path))? else { return Ok(false) };
        let Some(Some(export)) = self.refused(portable::export(&reader, name))? else { return Ok(false) };
        match export.to_text() == right.export {
            true => Ok(true),
            false => Err(format!("another export of {name}")),
        }
    }
}

#[test]
fn no_damage_makes_a_wrong_value() {
    let _replay = Replay("damage::");
    let damages = times(DAMAGES).div_ceil(Workload::ALL.len() as u64);
    let came = side_by_side(Workload::ALL.to_vec(), |workload| {
        let (sound, mut came) = (Sound::new(workload), Came::default());
        for number in 0..damages {
            let extent = Extent::ALL[number as usize % Extent::ALL.len()];
            let mut dice = Dice::of((workload as u64) << 32 | number);
            let checked = damage(&sound, extent, &mut dice, &mut came);
            checked.unwrap_or_else(|wrong| panic!("{wrong}: {workload:?}, damage {number}, {extent:?}"));
        }
        came
    });
    let came = came.into_iter().fold(Came::default(), Came::and);
    println!("{came:?}");
    assert!(came.noticed * 2 > came.damages, "the damages are not where something is: {came:?}");
    assert!(came.unguarded > 0, "the checksums guard against nothing: {came:?}");
    assert!(came.intact > 50, "too few threads are intact: {came:?}");
    assert!(came.unlisted * 100 > came.intact, "damage elsewhere does not matter to anybody: {came:?}");
    assert!(came.unread * 100 <= came.intact, "threads that are intact: {came:?}");
    assert!(came.unexported * 100 <= came.intact, "threads that are intact: {came:?}");
    assert!(came.unresumed * 100 <= came.writable, "threads that are intact: {came:?}");
}
