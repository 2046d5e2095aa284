//! A program whose superstep has parallel siblings, and what can be known of it from outside.
//!
//! It is this test's own program, started again with [`DB`] in its environment. Each task notes in a file beside
//! the database that it starts, and each effect that it happens; so a kill forgets neither.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use super::itself;

/// The test that is the program.
const TEST: &str = "a_killed_fan_out_keeps_the_results_of_the_siblings_that_had_finished";

/// What a kill may leave to keep: results of siblings whose superstep was not stored, effects that ended, and those
/// whose value the node had.
pub(crate) const RESULTS: &str = "recorded results";
pub(crate) const EFFECTS: &str = "recorded effects";
pub(crate) const RETURNED: &str = "returned effects";

/// Begins the note that an effect has returned.
const RETURNS: &str = "returned ";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Orders {
    #[reducer(Append)]
    packed: Vec<String>,
    #[reducer(Sum)]
    weight: u64,
    summary: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Pack(Vec<u32>),
}

/// The notes beside the database.
#[derive(Clone)]
pub(crate) struct Notes(PathBuf);

#[derive(Clone, FromRef)]
struct Deps {
    notes: Notes,
}

impl Notes {
    pub(crate) fn beside(db: &Path) -> Self {
        Self(db.with_extension("notes"))
    }

    pub(crate) fn note(&self, what: &str, task: &TaskInfo) -> io::Result<()> {
        let task = task.task_id().map(|id| id.to_string()).unwrap_or_default();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
        file.write_all(format!("{what} {task}\n").as_bytes())
    }

    /// Returns the number of times that each note was made.
    pub(crate) fn read(&self) -> BTreeMap<String, usize> {
        let mut notes = BTreeMap::new();
        if self.0.exists() {
            for line in std::fs::read_to_string(&self.0).expect("a file of text").lines() {
                *notes.entry(line.to_owned()).or_default() += 1;
            }
        }
        notes
    }
}

async fn plan(task: TaskInfo, notes: Dep<Notes>) -> io::Result<Plan> {
    notes.note("start", &task)?;
    Ok(Plan::Pack(vec![1, 2, 3, 4]))
}

/// Packs as many boxes as its number says, so the siblings finish one after the other.
async fn pack(
    boxes: Input<u32>,
    task: TaskInfo,
    notes: Dep<Notes>,
    fx: Effects,
) -> Result<Update<Orders>, NodeError> {
    notes.note("start", &task)?;
    let mut weight = 0;
    for number in 1..=*boxes {
        let name = format!("box{number}");
        let packed = || async { notes.note(&name, &task).map(|()| u64::from(number)) };
        weight += fx.run(&name, packed).await?;
        notes.note(&format!("{RETURNS}{name}"), &task)?;
    }
    Ok(Orders::update().packed([format!("{} boxes", *boxes)]).weight(weight))
}

async fn weigh(task: TaskInfo, notes: Dep<Notes>, fx: Effects) -> Result<Update<Orders>, NodeError> {
    notes.note("start", &task)?;
    let own = fx.run("scales", || async { notes.note("scales", &task).map(|()| 100_u64) }).await?;
    notes.note(&format!("{RETURNS}scales"), &task)?;
    Ok(Orders::update().weight(own))
}

async fn summary(orders: Snapshot<Orders>, task: TaskInfo, notes: Dep<Notes>) -> io::Result<Update<Orders>> {
    notes.note("start", &task)?;
    Ok(Orders::update().summary(format!("{} of {}", orders.weight, orders.packed.join(", "))))
}

fn graph(notes: Notes) -> Graph<Orders> {
    let mut g = StateGraph::<Orders, Deps>::new("orders");
    let plan = g.node("plan", plan);
    let pack = g.node("pack", pack);
    let weigh = g.node("weigh", weigh);
    let summary = g.node("summary", summary);
    // Whoever packs a box twice does no harm: the kill leaves effects of which nobody knows whether they happened.
    g.policy(pack).on_unknown(OnUnknown::Retry);
    g.policy(weigh).on_unknown(OnUnknown::Retry);
    g.edge(START, plan);
    g.route(plan, move |Plan::Pack(boxes)| each(pack, boxes).and(to(weigh)));
    g.join((pack, weigh), summary);
    g.edge(summary, END);
    g.compile().expect("a sound graph").with_context(Deps { notes })
}

pub(crate) fn command(db: PathBuf, mark: &str) -> Command {
    itself::command(TEST, db, mark)
}

/// Runs the thread, or what is left of it, in the program under test.
pub(crate) fn run() {
    itself::run(async |db, saver, halt| {
        let orders = graph(Notes::beside(db)).checkpointer(saver).observe(halt.at_nodes());
        let thread = orders.thread("t");
        let run = match thread.resume().await {
            Err(RunError::NothingToResume { .. }) => thread.run(Orders::default()).await,
            resumed => resumed,
        };
        run.expect("the run does not fail").finished().expect("it ends")
    });
}

/// The records of a file when the process died, and the notes until then.
pub(crate) struct Ledger {
    notes: Notes,
    /// The notes of tasks and effects whose outcome is in the file: none of them may be made again.
    results: BTreeSet<String>,
    effects: BTreeSet<String>,
    /// The notes of effects that had returned: nor may these be made again.
    returned: BTreeSet<String>,
    then: BTreeMap<String, usize>,
}

impl Ledger {
    /// Reads the tables themselves, so that what is compared is not what the framework says of itself. The file
    /// of another program has neither siblings nor notes.
    pub(crate) fn read(db: &Path) -> Self {
        let notes = Notes::beside(db);
        let then = notes.read();
        let returned = then.keys().filter_map(|note| note.strip_prefix(RETURNS)).map(str::to_owned).collect();
        let mut ledger = Self { notes, results: BTreeSet::new(), effects: BTreeSet::new(), returned, then };
        if !db.exists() || ledger.then.is_empty() {
            return ledger;
        }
        let connection = Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_WRITE);
        let connection = connection.expect("the file is a database");
        let notes = |query: &str| -> BTreeSet<String> {
            let mut query = connection.prepare(query).expect("the table is there");
            let rows = query.query_map([], |row| row.get(0)).expect("the table can be read");
            rows.map(|row| row.expect("a note")).collect()
        };
        ledger.results = notes("SELECT 'start ' || lower(hex(task)) FROM pending");
        ledger.effects =
            notes("SELECT name || ' ' || lower(hex(task)) FROM effect WHERE outcome IS NOT NULL");
        ledger
    }

    /// Adds how much there was to keep.
    pub(crate) fn count_into(&self, hits: &mut BTreeMap<String, u32>) {
        let kept = [(RESULTS, &self.results), (EFFECTS, &self.effects), (RETURNED, &self.returned)];
        for (what, kept) in kept {
            if !kept.is_empty() {
                *hits.entry(what.to_owned()).or_insert(0) += kept.len() as u32;
            }
        }
    }

    /// Fails if anything recorded or returned has happened again, or anything at all more often than kills explain.
    pub(crate) fn assert_kept(&self, kills: usize, when: &str) {
        let now = self.notes.read();
        for note in self.results.iter().chain(&self.effects) {
            assert!(self.then.contains_key(note), "{when}: {note} was recorded and never happened");
            assert_eq!(self.then[note], now[note], "{when}: {note} was recorded and happened again");
        }
        for note in &self.returned {
            assert_eq!(self.then[note], now[note], "{when}: {note} had returned and happened again");
        }
        for (note, times) in now {
            assert!(times <= 1 + kills, "{when}: {note} happened {times} times after {kills} kills");
        }
    }
}
