//! Several processes run one thread at once: there is one checkpoint per superstep, and the processes that lose get an
//! error.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::careless::Careless;
use crate::workers::{Worker, meet, report, role, start_all, torture};

const PROCESSES: usize = 3;
/// Steps of the thread: in the gate, and for each multiple of it.
const STEPS: u64 = 300;

/// The way in which the processes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Role {
    process: usize,
    nodes: Nodes,
    saver: Saver,
    steps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Nodes {
    /// All processes compute the same results.
    Deterministic,
    /// Each process computes different results, and different ones each time.
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Saver {
    Careful,
    /// Commits on the current head, not on the head that the run knows.
    Careless,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Tally {
    steps: u64,
    /// The result of each step, in order.
    #[reducer(Append)]
    marks: Vec<u64>,
}

#[derive(Route, Serialize, Deserialize)]
enum Then {
    Again,
    Enough,
}

async fn graph(role: Role, db: &Path) -> Graph<Tally> {
    let mut g = StateGraph::<Tally>::new("tally");
    let count = g.node("count", move |tally: Snapshot<Tally>| async move {
        let mark = match role.nodes {
            Nodes::Deterministic => tally.steps * 7,
            Nodes::Random => uuid::Uuid::now_v7().as_u64_pair().1,
        };
        // So that the others reach it.
        tokio::task::yield_now().await;
        let update = Tally::update().steps(tally.steps + 1).marks([mark]);
        (update, if tally.steps + 1 < role.steps { Then::Again } else { Then::Enough })
    });
    g.edge(START, count);
    g.route(count, move |then| match then {
        Then::Again => to(count),
        Then::Enough => END,
    });
    let saver =
        SqliteSaver::options().durability(Durability::Process).open(db).await.expect("the file opens");
    let graph = g.compile().expect("a sound graph").recursion_limit(u64::MAX);
    match role.saver {
        Saver::Careful => graph.checkpointer(saver),
        Saver::Careless => graph.checkpointer(Careless(Arc::new(saver))),
    }
}

/// The result of a process.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    /// The number of times that another process was first.
    outrun: u64,
    /// The end of the thread, as this process saw it.
    tally: Option<Tally>,
    errors: Vec<String>,
}

/// Continues the thread until it has ended, however often another process is first.
async fn drive(role: Role, db: &Path) -> Report {
    let thread = graph(role, db).await.thread("t");
    meet();
    let mut told = Report { outrun: 0, tally: None, errors: Vec::new() };
    while told.tally.is_none() && told.errors.len() < 3 {
        match thread.resume().await {
            Ok(run) => told.tally = Some(run.finished().expect("nothing stops it")),
            Err(RunError::Superseded { .. }) => told.outrun += 1,
            Err(error) => told.errors.push(error.to_string()),
        }
    }
    told
}

/// The violations in a thread that several processes have run.
async fn complaints(role: Role, reports: &[Report], db: &Path) -> Vec<String> {
    let mut wrong: Vec<String> = reports.iter().flat_map(|report| report.errors.clone()).collect();
    let thread = graph(Role { saver: Saver::Careful, ..role }, db).await.thread("t");
    let tree = thread.lineage().await.expect("it reads");
    let (mut steps, mut continued) = (BTreeMap::new(), BTreeMap::new());
    for line in &tree {
        *steps.entry(line.step).or_insert(0) += 1;
        *continued.entry(line.parent).or_insert(0) += 1;
    }
    wrong.extend(
        steps
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|(step, count)| format!("step {step}: {count} checkpoints")),
    );
    wrong.extend(
        continued
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|(id, count)| format!("{id:?} forks into {count}")),
    );
    // The input, the start, and the steps.
    let expected = role.steps + 2;
    if tree.len() as u64 != expected {
        wrong.push(format!("{} checkpoints instead of {expected}", tree.len()));
    }
    let head = thread.head().await.expect("the thread is there");
    let tally = head.state();
    if tally.steps != role.steps || tally.marks.len() as u64 != role.steps {
        wrong.push(format!("{} steps and {} marks", tally.steps, tally.marks.len()));
    }
    for seen in reports.iter().filter_map(|report| report.tally.as_ref()) {
        if seen.marks != tally.marks {
            wrong.push("a process has seen another end".into());
        }
    }
    wrong
}

/// Lets processes run one thread; returns the number of superseded runs, and the violations.
fn compete(test: &str, nodes: Nodes, saver: Saver) -> Option<(u64, Vec<String>)> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    if let Some((role, db)) = role() {
        report(&runtime.block_on(drive(role, &db)));
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder for the file");
    let db = folder.path().join("tally.db");
    let steps = STEPS * u64::from(torture());
    let begun = Role { process: PROCESSES, nodes, saver: Saver::Careful, steps };
    runtime.block_on(async {
        let begun = graph(begun, &db).await.thread("t").run(Tally::update()).recursion_limit(1).await;
        assert!(matches!(begun.expect("it begins").status, Status::LimitReached { .. }));
    });
    let roles: Vec<Role> = (0..PROCESSES).map(|process| Role { process, nodes, saver, steps }).collect();
    let workers = start_all(&format!("same_thread::{test}"), &roles, &db);
    let reports: Vec<Report> = workers.into_iter().map(Worker::finish).collect();
    let outrun = reports.iter().map(|report| report.outrun).sum();
    let wrong = runtime.block_on(complaints(roles[0], &reports, &db));
    println!("{nodes:?} nodes, {saver:?} saver: outrun {outrun} times, {} complaints", wrong.len());
    Some((outrun, wrong))
}

#[test]
fn processes_build_one_line() {
    if let Some((outrun, wrong)) = compete("processes_build_one_line", Nodes::Deterministic, Saver::Careful) {
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(outrun > 0, "they met");
    }
}

#[test]
fn and_so_they_do_where_each_comes_to_something_else() {
    let test = "and_so_they_do_where_each_comes_to_something_else";
    if let Some((outrun, wrong)) = compete(test, Nodes::Random, Saver::Careful) {
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(outrun > 0, "they met");
    }
}

/// The check can fail: without the compare-and-swap the history forks.
#[test]
fn without_the_compare_and_swap_the_line_forks() {
    let test = "without_the_compare_and_swap_the_line_forks";
    if let Some((_, wrong)) = compete(test, Nodes::Random, Saver::Careless) {
        assert!(wrong.iter().any(|wrong| wrong.contains("forks into")), "{wrong:#?}");
    }
}
