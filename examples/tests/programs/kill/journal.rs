//! The records of finished supersteps for a replay are bounded and sufficient.
//!
//! The barrier deletes the results, failures, open questions and open effects of a superstep. Answers and outcomes
//! stay, in one row each, until a retention prunes their checkpoint.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use superstep::checkpoint::maintenance::{self, Retention};
use superstep::checkpoint::{At, Checkpointer, CheckpointerExt, Source, StoreError};
use superstep::driver::checkpoint::{Around, Load};
use superstep::id::{CheckpointId, ThreadId};
use superstep::prelude::*;

use super::fan_out::Notes;
use super::itself;
use super::long::{self, EFFECTS, STEPS, Shop, TURNS};
use super::program::{self, End, Program};

/// The maximum number of bytes that the file uses for an effect beyond its outcome. 135 were measured, with names and
/// keys of three to eight letters: about 70 for the row, with two ids of 16 bytes and the checksum, about 40 for the
/// index, and the rest is free space in pages.
const BEYOND_OUTCOME: u64 = 160;

/// The same for a question beyond its text and its answer. 166 were measured, with the pages of two indexes for no more
/// than a hundred questions.
const BEYOND_ANSWER: u64 = 200;

/// The points at which the program is killed: while siblings run, and when a superstep has just been stored.
const MARKS: [&str; 2] = ["node-end:350", "after-commit:500"];

/// The number of supersteps between the checkpoints from which the thread is replayed.
const APART: usize = 10;

#[test]
fn the_journal_of_a_long_thread_is_bounded_and_enough() {
    if itself::was_asked_for() {
        return long::run();
    }
    let program = Program::long();
    let whole = program.start("whole.db", program::NOWHERE).finish();
    check_file(&program.path("whole.db"));
    for mark in MARKS {
        let db = format!("{}.db", mark.replace(':', "-"));
        let (_, end) = program.start(&db, mark).kill_at_mark();
        assert_eq!(end, End::Killed, "{mark}");
        let path = program.path(&db);
        let (kept, then) = (Rows::read(&path), Notes::beside(&path).read());
        kept.check_bounded().unwrap_or_else(|told| panic!("killed at {mark}: {told}"));
        if mark.starts_with("node-end") {
            assert!(kept.unsettled > 0, "siblings were under way: {kept:?}");
        }
        let resumed = program.start(&db, program::NOWHERE).finish();
        assert_eq!(resumed.result(), whole.result(), "killed at {mark}");
        check_file(&path);
        let unknown = then.values().sum::<usize>() - kept.happened;
        assert_happened_once_but(unknown, &path);
    }
    assert_happened_once_but(0, &program.path("whole.db"));
    check_that_retention_takes_it(&program.path("whole.db"));
}

/// The guard is the journal: if the journal of one superstep is missing, replays of that superstep report it.
#[test]
fn a_replay_notices_that_the_journal_of_a_superstep_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.db");
    in_runtime(async { long::to_the_end(&long::thread_in(&whole).await).await });
    for table in ["effect", "ask"] {
        let db = folder.path().join(format!("{table}.db"));
        std::fs::copy(&whole, &db).expect("no program has it open");
        let base = "SELECT base FROM ask ORDER BY base LIMIT 1 OFFSET 50";
        let gone = open(&db).execute(&format!("DELETE FROM {table} WHERE base = ({base})"), []);
        assert!(gone.expect("it is there") > 0);
        let verified = maintenance::verify(&db).expect("the file can be read");
        assert!(verified.is_sound(), "a row that is gone is not noticed by itself");
        let told = in_runtime(async { replays(&long::thread_in(&db).await).await });
        let told = told.expect_err("a replay without its journal");
        assert!(told.starts_with("from step -1: step "), "{told}");
        assert!(told.contains("is not recorded") || told.contains("has no recorded answer"), "{told}");
    }
}

/// The guard is the barrier, which deletes unfinished work of a superstep. Without it the check fails.
#[test]
fn the_check_notices_what_a_barrier_has_left_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.db");
    in_runtime(async { long::to_the_end(&long::thread_in(&whole).await).await });
    assert_eq!(Rows::read(&whole).check_bounded(), Ok(()));
    for (table, left) in [
        (
            "pending",
            "INSERT INTO pending(thread, base, task, text, sum) \
             SELECT thread, base, interrupt, '{}', 0 FROM ask ORDER BY base LIMIT 1 OFFSET 50",
        ),
        ("effect", "UPDATE effect SET outcome = NULL WHERE id = (SELECT id FROM effect LIMIT 1 OFFSET 50)"),
        ("ask", "UPDATE ask SET answer = NULL WHERE id = (SELECT id FROM ask LIMIT 1 OFFSET 50)"),
    ] {
        let db = folder.path().join(format!("{table}.db"));
        std::fs::copy(&whole, &db).expect("no program has it open");
        assert_eq!(open(&db).execute(left, []).expect("a row"), 1, "{table}");
        let told = Rows::read(&db).check_bounded().expect_err("something is left behind");
        assert!(told.starts_with("1 rows "), "{table}: {told}");
    }
}

#[test]
fn the_journal_in_memory_is_bounded_and_enough() {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = Notes::beside(&folder.path().join("memory.db"));
    in_runtime(async {
        let saver: Arc<dyn Checkpointer> = Arc::new(MemorySaver::new());
        let thread = long::graph(notes.clone(), Arc::clone(&saver)).thread("t");
        long::to_the_end(&thread).await;
        let (mut effects, mut asks, mut past) = (0, 0, None);
        for line in saver.history(thread.id(), At::Head, usize::MAX).await.expect("it ran") {
            let loaded = saver.read(thread.id(), At::Id(line.id)).await.expect("it is there");
            let loaded = loaded.expect("it is there");
            assert!(loaded.results.is_empty() && loaded.failures.is_empty(), "step {}", line.step);
            assert!(loaded.effects.iter().all(|effect| effect.outcome.is_some()), "step {}", line.step);
            assert!(loaded.asks.iter().all(|ask| ask.answer.is_some()), "step {}", line.step);
            (effects, asks) = (effects + loaded.effects.len(), asks + loaded.asks.len());
            past = if loaded.effects.len() > 1 { Some(line.id) } else { past };
        }
        assert_eq!((effects, asks), (TURNS * EFFECTS, TURNS));
        let before = notes.read();
        replays(&thread).await.expect("the journal is enough");
        let forgetful = Forgetful { saver, forgets: past.expect("tasks had effects") };
        let thread = long::graph(notes.clone(), Arc::new(forgetful)).thread("t");
        let told = replays(&thread).await.expect_err("a replay without its journal");
        assert!(told.contains("is not recorded"), "{told}");
        assert_eq!(notes.read(), before, "nothing happens in a replay");
    });
}

/// A mutant: the effects on a checkpoint are deleted.
struct Forgetful {
    saver: Arc<dyn Checkpointer>,
    forgets: CheckpointId,
}

#[async_trait]
impl Around for Forgetful {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.saver
    }

    async fn load(
        &self,
        thread: &ThreadId,
        at: At,
        _known: Option<CheckpointId>,
    ) -> Result<Load, StoreError> {
        let mut load = self.saver.load(thread, at, None).await?;
        if let Load::Whole(loaded) = &mut load
            && loaded.checkpoint.id == self.forgets
        {
            loaded.effects.clear();
        }
        Ok(load)
    }
}

/// The rows of pending work in a file.
#[derive(Debug)]
struct Rows {
    /// Of unfinished supersteps: results and failures, effects without an outcome, questions without an answer.
    unsettled: usize,
    /// Those among them that are not on the latest checkpoint.
    unsettled_of_the_past: usize,
    effects: usize,
    asks: usize,
    /// Effects with a note that have succeeded.
    happened: usize,
    /// Rows on missing checkpoints.
    lost: usize,
    /// The bytes that the file uses for each effect beyond its outcome.
    beyond_outcome: u64,
    /// The bytes that it uses for each question beyond its text and its answer.
    beyond_answer: u64,
}

impl Rows {
    /// Reads the tables directly, so that the check does not depend on the framework.
    fn read(db: &Path) -> Self {
        let connection = open(db);
        let number = |sql: &str| -> u64 {
            let number = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            number.expect("the tables can be read").unsigned_abs()
        };
        let count = |from: &str| number(&format!("SELECT count(*) FROM {from}")) as usize;
        let unsettled = "(SELECT base FROM pending UNION ALL SELECT base FROM effect WHERE outcome IS NULL \
                         UNION ALL SELECT base FROM ask WHERE answer IS NULL)";
        let work = "(SELECT base FROM effect UNION ALL SELECT base FROM ask)";
        let beyond = |table: &str, texts: &str| {
            let pages = format!(
                "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = '{table}')"
            );
            let texts = format!("SELECT coalesce(sum(octet_length({texts})), 0) FROM {table}");
            (number(&pages) - number(&texts)) / count(table).max(1) as u64
        };
        Self {
            unsettled: count(unsettled),
            unsettled_of_the_past: count(&format!("{unsettled} WHERE base NOT IN (SELECT head FROM thread)")),
            effects: count("effect"),
            asks: count("ask"),
            happened: count("effect WHERE name IN ('pay', 'ship') AND outcome LIKE '{\"ok\"%'"),
            lost: count(&format!("{work} WHERE base NOT IN (SELECT seq FROM checkpoint WHERE thread <> 0)")),
            beyond_outcome: beyond("effect", "outcome"),
            beyond_answer: beyond("ask", "text || answer"),
        }
    }
}

impl Rows {
    /// Returns the unfinished work that finished supersteps have left.
    fn check_bounded(&self) -> Result<(), String> {
        match self.unsettled_of_the_past {
            0 => Ok(()),
            left => Err(format!("{left} rows of finished supersteps are unsettled: {self:?}")),
        }
    }
}

fn open(db: &Path) -> Connection {
    Connection::open(db).expect("the file is a database")
}

fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime starts").block_on(work)
}

/// Fails if a file of a finished thread keeps more or fewer rows than expected.
fn check_file(db: &Path) {
    let rows = Rows::read(db);
    assert_eq!((rows.unsettled, rows.lost), (0, 0), "{rows:?}");
    assert_eq!((rows.effects, rows.asks), (TURNS * EFFECTS, TURNS), "{rows:?}");
    println!("{}: {rows:?}", db.display());
    assert!(rows.beyond_outcome <= BEYOND_OUTCOME && rows.beyond_answer <= BEYOND_ANSWER, "{rows:?}");
    check_replays(db);
}

/// Fails if a replay diverges, or if an effect happens in one.
fn check_replays(db: &Path) {
    let before = Notes::beside(db).read();
    let replayed = in_runtime(async { replays(&long::thread_in(db).await).await });
    replayed.unwrap_or_else(|told| panic!("{}: {told}", db.display()));
    assert_eq!(Notes::beside(db).read(), before, "nothing happens in a replay");
}

/// Replays a thread from every tenth of its checkpoints to its end. Returns the first divergence.
async fn replays(thread: &Thread<Shop>) -> Result<(), String> {
    let mut history = thread.history().expect("it has a saver").collect().await.expect("it reads");
    history.reverse();
    let head = history.last().expect("it ran").step;
    let from = history.iter().filter(|line| line.source != Source::Pruned && line.step < head);
    for from in from.step_by(APART) {
        let replay = thread.replay().after(from.id).await.expect("it ran");
        let replay = replay.agrees().map_err(|first| format!("from step {}: {first}", from.step))?;
        assert_eq!(replay.supersteps, (head - from.step).unsigned_abs(), "from step {}", from.step);
        assert_eq!(replay.unverified, []);
    }
    Ok(())
}

/// Fails if an effect did not happen, or happened more often than the kills explain: a kill may leave the note of an
/// effect without a stored outcome, which then happens again.
fn assert_happened_once_but(unknown: usize, db: &Path) {
    let notes: BTreeMap<String, usize> = Notes::beside(db).read();
    let happened: usize = notes.values().sum();
    let noted = TURNS * (EFFECTS - 1);
    assert!(happened >= noted && happened <= noted + unknown, "{happened} of {noted} and {unknown} unknown");
}

/// Fails if a retention leaves more or fewer rows than the replay of the kept checkpoints needs.
fn check_that_retention_takes_it(db: &Path) {
    let turns = TURNS / 10;
    let retention = Retention::new().keep_last(turns * STEPS);
    maintenance::prune(db, &retention, Duration::from_secs(300)).expect("there is no other writer");
    let rows = Rows::read(db);
    assert_eq!((rows.effects, rows.asks), (turns * EFFECTS, turns), "{rows:?}");
    assert_eq!((rows.unsettled, rows.lost), (0, 0), "{rows:?}");
    check_replays(db);
}
