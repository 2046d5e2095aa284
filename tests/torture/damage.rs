//! Bits, bytes, sectors and pages of files are damaged: whatever is read is what was written, or an error that says
//! that the file is corrupt; and threads that the damage does not touch are read as before.
//!
//! ```text
//! just corruption
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use superstep::checkpoint::{At, Carried, Loaded, SqliteReader, StepRecord, StoreError, Summary};
use superstep::checkpoint::{care, portable};
use superstep::id::ThreadId;
use tempfile::TempDir;

use crate::child::Started;
use crate::dice::{Dice, times};
use crate::order::{Order, Workload};
use crate::said::Line;
use crate::side_by_side::side_by_side;

/// So many damages the gate makes; `just corruption` makes ten times as many.
const DAMAGES: u64 = 100;
/// The threads of a file, the last of which is not finished.
const THREADS: u32 = 4;

/// How much is damaged.
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
            // As disks do it: nothing, noise, or what belongs elsewhere.
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

/// A file of one workload and everything that is in it.
struct Sound {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    page_size: usize,
    threads: BTreeMap<ThreadId, Thread>,
    /// The threads that have a row on a page of the checkpoints' table; pages of other tables and of indexes serve all.
    pages: BTreeMap<i64, BTreeSet<ThreadId>>,
}

/// What can be read of a thread.
struct Thread {
    history: Vec<Summary>,
    steps: Vec<StepRecord>,
    head: Loaded,
    /// Each checkpoint with its values.
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
            head: reader.load(thread, &At::Head).expect("it is sound").expect("it is there"),
            loaded: history.iter().map(load).collect(),
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
        let pages = pages(&connection);
        drop(connection);
        let rows = unguarded(&db).expect("they can be read");
        Self { rows, bytes: fs::read(&db).expect("it is there"), page_size, threads, pages }
    }
}

/// Runs all threads of a file to their ends but the last, which is left in the middle; then closes the file.
fn write(workload: Workload, db: &Path) {
    let mut order = Order { threads: THREADS - 1, turns: 4, ..Order::new(workload, db) };
    assert!(Started::new(order.command()).end().status.success());
    order.threads = THREADS;
    let mut program = Started::new(order.command());
    let mut ended = 0;
    while ended < THREADS - 1 {
        ended += u32::from(matches!(program.listen(), Some(Line::End { .. })));
    }
    for _ in 0..7 {
        program.listen();
    }
    program.kill();
    // Whoever closes the file last moves its log into it.
    let connection = Connection::open(db).expect("it is a database");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("nobody has it open");
}

/// Which threads have rows on which leaf of the table of checkpoints. Leaves hold rows in order.
fn pages(connection: &Connection) -> BTreeMap<i64, BTreeSet<ThreadId>> {
    let mut leaves = connection
        .prepare(
            "SELECT pageno, ncell FROM dbstat WHERE name = 'checkpoint' AND pagetype = 'leaf' ORDER BY path",
        )
        .expect("SQLite is built with it");
    let mut rows = connection
        .prepare("SELECT t.name FROM checkpoint c LEFT JOIN thread t ON t.id = c.thread ORDER BY c.seq")
        .expect("there are such tables");
    let mut rows = rows.query_map([], |row| row.get::<_, String>(0)).expect("they can be read");
    let leaves =
        leaves.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)?))).expect("it can be read");
    let mut pages = BTreeMap::new();
    for leaf in leaves {
        let (page, cells) = leaf.expect("a page");
        let names = rows.by_ref().take(cells as usize).map(|name| ThreadId::from(name.expect("a name")));
        pages.insert(page, names.collect());
    }
    assert!(rows.next().is_none(), "every row is on a leaf");
    pages
}

/// What changed and what is next, as the file says it.
type Row = (i64, String, String);

/// The rows of checkpoints as SQLite reads them.
fn unguarded(db: &Path) -> rusqlite::Result<Vec<Row>> {
    let connection = Connection::open(db)?;
    let mut rows = connection.prepare("SELECT seq, changes, manifest FROM checkpoint ORDER BY seq")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// What came of damages.
#[derive(Debug, Default)]
struct Came {
    damages: u64,
    /// Damages that some read has noticed.
    noticed: u64,
    /// Damages by which something was not found; a check of the file has noticed all of them.
    hidden: u64,
    /// The mutant: damages that who reads the rows without their checksums takes for values.
    unguarded: u64,
    /// Threads of which nothing was damaged, and how many of them could not be read.
    intact: u64,
    unread: u64,
    /// And exported: an export lists the rows of all threads, and is refused where SQLite cannot.
    unexported: u64,
}

/// Damages a file once, and reads everything.
fn damage(sound: &Sound, extent: Extent, dice: &mut Dice, came: &mut Came) -> Result<(), String> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let mut bytes = sound.bytes.clone();
    let page = extent.damage(&mut bytes, sound.page_size, dice);
    if bytes == sound.bytes {
        return Ok(());
    }
    came.damages += 1;
    let mut reads = Reads { path: damaged(&folder, &bytes), noticed: false, hidden: false };
    came.unguarded += u64::from(unguarded(&reads.path).is_ok_and(|rows| rows != sound.rows));
    for (name, thread) in &sound.threads {
        reads.thread(name, thread)?;
        let intact = sound
            .pages
            .get(&page)
            .is_some_and(|threads| !threads.iter().any(|touched| is_on_or_below(touched, name)));
        if intact {
            came.intact += 1;
            came.unread += u64::from(!reads.reads(name, thread)?);
            came.unexported += u64::from(!reads.exports(name, thread)?);
        }
    }
    // What cannot be missed by who reads a thread is found by who checks the file.
    if reads.hidden && care::verify(&reads.path).is_ok_and(|verified| verified.is_sound()) {
        return Err("something is missing, and the file is called sound".into());
    }
    came.hidden += u64::from(reads.hidden);
    came.noticed += u64::from(reads.noticed);
    Ok(())
}

fn is_on_or_below(thread: &ThreadId, of: &ThreadId) -> bool {
    thread
        .as_str()
        .strip_prefix(of.as_str())
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn damaged(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("t.db");
    fs::write(&path, bytes).expect("the folder is there");
    path
}

/// Reads of one damaged file.
struct Reads {
    path: PathBuf,
    /// Whether one was refused.
    noticed: bool,
    /// Whether something was missing that an index leads to.
    hidden: bool,
}

impl Reads {
    /// What was read, unless that was refused as damaged; another error is none that a damage may cause.
    fn refused<T>(&mut self, read: Result<T, StoreError>) -> Result<Option<T>, String> {
        match read {
            Ok(read) => return Ok(Some(read)),
            // The first page says what the file is.
            Err(
                StoreError::Corrupt { .. }
                | StoreError::NotACheckpointFile(_)
                | StoreError::NewerFormat { .. },
            ) => {}
            // Its place in an index is damaged: it is not found.
            Err(StoreError::NoCheckpoint { .. }) => {}
            Err(error) => return Err(format!("an error of another kind: {error:?}")),
        }
        self.noticed = true;
        Ok(None)
    }

    fn thread(&mut self, name: &ThreadId, right: &Thread) -> Result<(), String> {
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

    /// Work that an index does not lead to any more is missing. None of it is wrong.
    fn work<T: PartialEq>(&mut self, what: &str, read: &[T], right: &[T]) -> Result<(), String> {
        self.hidden |= read.len() < right.len();
        match read.iter().all(|one| right.contains(one)) {
            true => Ok(()),
            false => Err(format!("other {what}")),
        }
    }

    /// Whether a thread is read from its head as before.
    fn reads(&mut self, name: &ThreadId, right: &Thread) -> Result<bool, String> {
        let Some(reader) = self.refused(SqliteReader::open(&self.path))? else { return Ok(false) };
        let history = self.refused(reader.history(name, &At::Head, usize::MAX))?;
        let steps = self.refused(reader.steps(name, &At::Head, usize::MAX))?;
        let head = self.refused(reader.load(name, &At::Head))?.flatten();
        Ok(history.as_ref() == Some(&right.history)
            && steps.as_ref() == Some(&right.steps)
            && head.as_ref() == Some(&right.head))
    }

    /// Whether a thread is exported as before.
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
    let came = came.into_iter().fold(Came::default(), |all, came| Came {
        damages: all.damages + came.damages,
        noticed: all.noticed + came.noticed,
        hidden: all.hidden + came.hidden,
        unguarded: all.unguarded + came.unguarded,
        intact: all.intact + came.intact,
        unread: all.unread + came.unread,
        unexported: all.unexported + came.unexported,
    });
    println!("{came:?}");
    assert!(came.noticed * 4 > came.damages, "the damages are not where something is: {came:?}");
    assert!(came.unguarded > 0, "the checksums guard against nothing: {came:?}");
    assert!(came.intact > 10 && came.unread * 100 <= came.intact, "threads that are intact: {came:?}");
    assert!(came.unexported * 2 < came.intact, "threads that are intact: {came:?}");
}
