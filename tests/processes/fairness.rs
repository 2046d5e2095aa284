//! Many processes write to one file at once: each gets its turns, none loses a step, and none gets an error about a
//! lock.
//!
//! The tests count the turns of a process, which are transactions: a process with many threads stores many steps in
//! one. Longer tests also measure the duration of steps; in the gate other tests run at the same time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use superstep::id::ThreadId;
use superstep::prelude::*;

use crate::workers::{self, meet, report, role, start_all, torture};

/// A process of the test.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Role {
    number: usize,
    threads: usize,
    /// The bytes that each step writes.
    bytes: usize,
    millis: u64,
    by: By,
}

/// The way in which a process writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum By {
    Process,
    Power,
    /// SQLite alone, with its own lock.
    Sqlite,
}

/// The result of a process.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    role: Role,
    /// Steps of each thread.
    laps: Vec<u64>,
    /// Transactions.
    turns: u64,
    /// From the end of a node to the beginning of the next one.
    median_us: u64,
    p99_us: u64,
    longest_us: u64,
    errors: Vec<String>,
}

impl Report {
    fn of(role: Role, laps: Vec<u64>, turns: u64, mut took_us: Vec<u64>, errors: Vec<String>) -> Self {
        took_us.sort_unstable();
        let at = |percent: usize| took_us.get(took_us.len() * percent / 100).copied().unwrap_or_default();
        let longest_us = took_us.last().copied().unwrap_or_default();
        Self { role, laps, turns, median_us: at(50), p99_us: at(99), longest_us, errors }
    }
}

/// The minimum percentage of its share of turns that a process must get.
const LEAST: u64 = 5;
/// The bytes that each step of a greedy process writes.
const GREEDY_BYTES: usize = 100_000;
/// The maximum time of 99 of 100 steps.
const LONGEST_P99_US: u64 = 1_000_000;

/// The violations of fairness between processes.
fn complaints(reports: &[Report]) -> Vec<String> {
    let turns: u64 = reports.iter().map(|report| report.turns).sum();
    let share = turns / reports.len() as u64;
    let mut wrong = Vec::new();
    for Report { role, turns, p99_us, errors, .. } in reports {
        wrong.extend(errors.iter().map(|error| format!("{role:?} was told: {error}")));
        if turns * 100 < share * LEAST {
            wrong.push(format!("{role:?} starved: {turns} turns, and its share was {share}"));
        }
        // Steps of a process that writes much wait for each other.
        let is_greedy = role.bytes >= GREEDY_BYTES;
        if torture() > 1 && !is_greedy && *p99_us > LONGEST_P99_US {
            wrong.push(format!("{role:?} was slow: of 100 steps one took {p99_us} µs"));
        }
    }
    wrong
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Count {
    laps: u64,
    load: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Then {
    Again,
    Enough,
}

#[derive(Clone, FromRef)]
struct Stage {
    meter: Arc<Meter>,
}

/// The time to store each step.
struct Meter {
    end: Instant,
    bytes: usize,
    ended: Mutex<HashMap<ThreadId, Instant>>,
    took_us: Mutex<Vec<u64>>,
}

impl Meter {
    fn until(end: Instant, bytes: usize) -> Self {
        Self { end, bytes, ended: Mutex::default(), took_us: Mutex::default() }
    }
}

async fn lap(count: Snapshot<Count>, meter: Dep<Arc<Meter>>, info: TaskInfo) -> (Update<Count>, Then) {
    let mut ended = meter.ended.lock().expect("no holder of the lock panics");
    if let Some(before) = ended.get(info.thread()) {
        let took = u64::try_from(before.elapsed().as_micros()).unwrap_or(u64::MAX);
        meter.took_us.lock().expect("no holder of the lock panics").push(took);
    }
    let laps = count.laps + 1;
    let letter = char::from(b'a' + u8::try_from(laps % 26).expect("a letter"));
    let update = Count::update().laps(laps).load(String::from(letter).repeat(meter.bytes));
    ended.insert(info.thread().clone(), Instant::now());
    (update, if Instant::now() < meter.end { Then::Again } else { Then::Enough })
}

async fn graph(db: &Path, by: By, turns: Arc<AtomicU64>) -> Graph<Count, Stage> {
    let mut g = StateGraph::<Count, Stage>::new("laps");
    let lap = g.node("lap", lap);
    g.edge(START, lap);
    g.route(lap, move |then| match then {
        Then::Again => to(lap),
        Then::Enough => END,
    });
    let durability = if by == By::Power { Durability::Power } else { Durability::Process };
    let options = SqliteSaver::options().durability(durability).observe_commits(move |_| {
        turns.fetch_add(1, Ordering::Relaxed);
    });
    let saver = options.open(db).await.expect("the file opens");
    g.compile().expect("a sound graph").checkpointer(saver).recursion_limit(u64::MAX)
}

fn thread_of(process: usize, number: usize) -> String {
    format!("{process}/{number}")
}

/// The work of one process.
async fn run_laps(role: Role, db: &Path) -> Report {
    let turns = Arc::new(AtomicU64::new(0));
    let graph = graph(db, role.by, Arc::clone(&turns)).await;
    meet();
    let meter = Arc::new(Meter::until(Instant::now() + Duration::from_millis(role.millis), role.bytes));
    let graph = graph.with_context(Stage { meter: Arc::clone(&meter) });
    let runs: Vec<_> = (0..role.threads)
        .map(|number| {
            let thread = graph.thread(thread_of(role.number, number));
            tokio::spawn(async move {
                let run = thread.run(Count::update()).await?;
                Ok::<_, RunError>(run.finished().expect("nothing stops it"))
            })
        })
        .collect();
    let (mut laps, mut errors) = (Vec::new(), Vec::new());
    for run in runs {
        match run.await.expect("a run does not panic") {
            Ok(count) => laps.push(count.laps),
            Err(error) => {
                laps.push(0);
                errors.push(error.to_string());
            }
        }
    }
    let took_us = std::mem::take(&mut *meter.took_us.lock().expect("no holder of the lock panics"));
    Report::of(role, laps, turns.load(Ordering::Relaxed) / 2, took_us, errors)
}

/// The same work without the saver: a row for each step, in one transaction as large as one of the saver's.
fn insert_rows(role: Role, db: &Path) -> Report {
    let rows = rusqlite::Connection::open(db).expect("the file opens");
    rows.busy_timeout(Duration::from_secs(300)).expect("it is open");
    rows.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS step(load TEXT)")
        .expect("a file");
    meet();
    let end = Instant::now() + Duration::from_millis(role.millis);
    let (mut turns, mut took_us, mut errors) = (0, Vec::new(), Vec::new());
    let load = "x".repeat(role.bytes);
    while Instant::now() < end {
        let begun = Instant::now();
        let insert = || {
            rows.execute_batch("BEGIN IMMEDIATE")?;
            for _ in 0..role.threads {
                rows.execute("INSERT INTO step VALUES(?)", [&load])?;
            }
            rows.execute_batch("COMMIT")
        };
        match insert() {
            Ok(()) => turns += 1,
            Err(error) => errors.push(error.to_string()),
        }
        took_us.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    Report::of(role, Vec::new(), turns, took_us, errors)
}

/// Lets processes write at once, and checks the file afterwards.
fn compete(test: &str, roles: &[Role]) -> Vec<Report> {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let db = folder.path().join("laps.db");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let workers = start_all(test, roles, &db);
    let reports: Vec<Report> = workers.into_iter().map(workers::Worker::finish).collect();
    for Report { role, laps, turns, median_us, p99_us, longest_us, errors } in &reports {
        let steps: u64 = laps.iter().sum();
        println!(
            "{role:?}: {steps} steps, {turns} turns, {median_us} µs, p99 {p99_us}, max {longest_us}, {errors:?}"
        );
    }
    if roles.iter().any(|role| role.by == By::Sqlite) {
        return reports;
    }
    runtime.block_on(async {
        let graph = graph(&db, By::Process, Arc::default()).await;
        let graph = graph.with_context(Stage { meter: Arc::new(Meter::until(Instant::now(), 0)) });
        for report in &reports {
            for (number, laps) in report.laps.iter().enumerate() {
                let thread = graph.thread(thread_of(report.role.number, number));
                let stored = thread.head().await.expect("the thread is there").state().laps;
                assert_eq!(stored, *laps, "what was acknowledged is stored");
            }
        }
    });
    reports
}

fn as_worker() -> bool {
    let Some((role, db)) = role::<Role>() else { return false };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    report(&match role.by {
        By::Sqlite => insert_rows(role, &db),
        By::Process | By::Power => runtime.block_on(run_laps(role, &db)),
    });
    true
}

/// Lets processes write at once, and again for longer if other load may have caused the result. Returns `Ok` if the
/// violations of one of these runs were as expected, and otherwise the last ones.
fn judged(
    test: &str,
    roles: impl Fn(u64) -> Vec<Role>,
    expected: fn(&[String]) -> bool,
) -> Result<(), Vec<String>> {
    let times: &[u64] = if torture() > 1 { &[1] } else { &[1, 10] };
    let mut wrong = Vec::new();
    for times in times {
        wrong = complaints(&compete(test, &roles(700 * times * u64::from(torture()))));
        if expected(&wrong) {
            return Ok(());
        }
    }
    Err(wrong)
}

fn assert_fair(test: &str, roles: impl Fn(u64) -> Vec<Role>) {
    let wrong = judged(test, roles, <[String]>::is_empty);
    assert!(wrong.is_ok(), "{wrong:#?}");
}

#[test]
fn equals_get_equal_shares() {
    if as_worker() {
        return;
    }
    for by in [By::Process, By::Power] {
        let role = |number, millis| Role { number, threads: 50, bytes: 20, millis, by };
        let roles = |millis| (0..8).map(|number| role(number, millis)).collect();
        assert_fair("fairness::equals_get_equal_shares", roles);
    }
}

/// One process with large transactions, and others with small ones.
fn greedy_and_timid(by: By, millis: u64) -> Vec<Role> {
    let role = |number| match number {
        0 => Role { number, threads: 50, bytes: GREEDY_BYTES, millis, by },
        _ => Role { number, threads: 1, bytes: 20, millis, by },
    };
    (0..4).map(role).collect()
}

#[test]
fn the_greedy_leave_room_for_the_timid() {
    if as_worker() {
        return;
    }
    for by in [By::Process, By::Power] {
        let roles = |millis| greedy_and_timid(by, millis);
        assert_fair("fairness::the_greedy_leave_room_for_the_timid", roles);
    }
}

/// The check can fail: with SQLite's own lock the small processes starve.
#[test]
fn without_a_line_the_timid_starve() {
    if as_worker() {
        return;
    }
    let roles = |millis| greedy_and_timid(By::Sqlite, millis);
    let starves = |wrong: &[String]| wrong.iter().any(|wrong| wrong.contains("starved"));
    let wrong = judged("fairness::without_a_line_the_timid_starve", roles, starves);
    assert!(wrong.is_ok(), "{wrong:#?}");
}
