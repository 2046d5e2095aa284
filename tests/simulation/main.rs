//! The real engine and the real commit protocol in a simulated world: several drivers continue one thread, crash, pause
//! for long, and lose calls to the store or their replies, while each execution of a node returns a different result.
//!
//! ```text
//!   driver 0 ─ run/ ─┐  gates, calls and replies wait ┌─ the store: a real saver,
//!   driver 1 ─ run/ ─┼───────── scheduler ────────────┤  or one with a flaw
//!   driver 2 ─ run/ ─┘  draws the next step and faults └─
//! ```
//!
//! Everything depends on a seed: the same seed gives the same trace, and a failure prints how to reproduce it. After
//! any failures, a thread has one checkpoint per step, in one line; an acknowledged commit is there; the first recorded
//! result of a task is the one that was used, once; an effect happened once, unless its policy or a person allowed a
//! repetition, and the driver that commits a superstep knows all its successful effects; a question was answered once;
//! the state is the result of the history; and every driver ended with a result or an error with its cause.
//!
//! `SUPERSTEP_TORTURE` multiplies the number of seeds, and `SUPERSTEP_SEED` runs a single one.

mod check;
#[cfg(feature = "postgres")]
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
#[cfg(feature = "postgres")]
mod database;
mod dice;
mod driver;
mod facts;
mod graphs;
mod mutants;
mod play;
mod wire;
mod world;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use tokio::runtime::Runtime;

use crate::mutants::Flaw;
use crate::play::{Graphs, Played, Seed};
use crate::world::Counts;

/// The number of seeds in the gate, in memory.
const SEEDS: u64 = 20_000;

/// The number of seeds in the gate, in a file.
const SEEDS_IN_A_FILE: u64 = 150;

/// The number of seeds among which each flaw must be detected.
const SEEDS_OF_A_FLAW: u64 = 1_000;

fn torture() -> u64 {
    let asked = std::env::var("SUPERSTEP_TORTURE").ok();
    asked.map_or(1, |times| times.parse().expect("SUPERSTEP_TORTURE is a number"))
}

/// Returns so many seeds, or the one of `SUPERSTEP_SEED`.
fn seeds(count: u64) -> Range<u64> {
    let asked = std::env::var("SUPERSTEP_SEED").ok();
    let asked = asked.map(|asked| asked.parse().expect("SUPERSTEP_SEED is a number"));
    asked.map_or(0..count * torture(), |number: u64| number..number + 1)
}

fn runtime() -> Runtime {
    // A task that yields continues only when no other task can run.
    let runtime = tokio::runtime::Builder::new_current_thread().event_interval(u32::MAX).build();
    runtime.expect("a runtime of one thread")
}

/// Runs a seed in memory.
fn play(graphs: &Graphs, seed: Seed) -> Played {
    let saver: Arc<dyn Checkpointer> = Arc::new(MemorySaver::new());
    runtime().block_on(seed.play(graphs, &[saver]))
}

/// Runs a seed in a file, which each driver opens for itself.
fn play_in_a_file(graphs: &Graphs, seed: Seed) -> Played {
    let folder = tempfile::tempdir().expect("a temporary folder");
    runtime().block_on(async {
        let mut savers: Vec<Arc<dyn Checkpointer>> = Vec::new();
        for _ in 0..3 {
            let options = SqliteSaver::options().durability(Durability::Process);
            savers.push(Arc::new(options.open(folder.path().join("t.db")).await.expect("it opens")));
        }
        seed.play(graphs, &savers).await
    })
}

/// Runs seeds on all cores, and panics at the first failure. Returns the totals.
fn play_all(seeds: u64, place: u16) -> Counts<&'static str> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(0);
    let play_some = || {
        let graphs = Graphs::new();
        let mut seen = Counts::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return seen;
            }
            let seed = Seed { number, place, flaw: None, defers: false };
            let played = play(&graphs, seed);
            if let Some(complaint) = played.complaint(seed) {
                panic!("{complaint}");
            }
            add(&mut seen, played.seen);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(play_some)).collect();
        let mut all = Counts::new();
        for worker in workers {
            match worker.join() {
                Ok(seen) => add(&mut all, seen),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

fn add(all: &mut Counts<&'static str>, seen: Counts<&'static str>) {
    for (what, times) in seen {
        *all.entry(what).or_default() += times;
    }
}

#[test]
fn nothing_is_lost_and_nothing_repeated_whatever_befalls_the_drivers() {
    if let Ok(asked) = std::env::var("SUPERSTEP_SEED") {
        let number = asked.parse().expect("SUPERSTEP_SEED is a number");
        let seed = Seed { number, place: 1, flaw: None, defers: false };
        let played = play(&Graphs::new(), seed);
        assert_eq!(played.complaint(seed), None);
        return;
    }
    let seen = play_all(SEEDS * torture(), 1);
    println!("{seen:#?}");
    // A world without failures tests nothing.
    for what in EVERYTHING {
        assert!(seen.get(what).is_some_and(|times| *times > 100), "there was hardly {what}: {seen:#?}");
    }
}

/// The totals of a simulation of some thousand seeds.
const EVERYTHING: [&str; 20] = [
    "a call that was done twice",
    "a call that was done, and said to have failed",
    "a call that was not done",
    "a checkpoint of another driver, adopted",
    "a commit that did not know what was recorded",
    "a commit that was there already",
    "a commit that was too late",
    "a crash",
    "a driver that stood still",
    "a driver that was superseded",
    "a node that failed",
    "a question",
    "a result that came second",
    "a thread that ended",
    "an answer",
    "an effect",
    "an effect that another driver began first",
    "an effect that is unknown",
    "an effect without a recorded outcome",
    "an input",
];

#[test]
fn a_seed_always_gives_the_same() {
    let graphs = Graphs::new();
    for number in 0..100 {
        let seed = Seed { number, place: 2, flaw: None, defers: false };
        let [first, second] = [(), ()].map(|()| play(&graphs, seed));
        assert_eq!(first.trace, second.trace, "seed {number}");
        assert_eq!(first.history, second.history, "seed {number}");
    }
}

/// The number of the first seed at which a flaw is detected, with the violation.
fn first_to_show(flaw: Flaw, place: u16) -> Option<(u64, String)> {
    first_to_say(flaw, place, "")
}

/// The same, for seeds with this property.
fn first_to_say(flaw: Flaw, place: u16, what: &str) -> Option<(u64, String)> {
    let graphs = Graphs::new();
    (0..SEEDS_OF_A_FLAW).find_map(|number| {
        let played = play(&graphs, Seed { number, place, flaw: Some(flaw), defers: false });
        played.verdict.err().filter(|wrong| wrong.contains(what)).map(|wrong| (number, wrong))
    })
}

#[test]
fn a_head_that_moves_without_being_compared_is_noticed() {
    let (_, wrong) = first_to_show(Flaw::NoCompareAndSwap, 3).expect("the flaw does not show");
    println!("{wrong}");
}

#[test]
fn a_result_that_counts_though_it_came_second_is_noticed() {
    let (_, wrong) = first_to_show(Flaw::NoFirstWriter, 4).expect("the flaw does not show");
    println!("{wrong}");
}

/// A driver does not record the result of a superstep's last task before it commits. So if two drivers ran the task and
/// one of them recorded its result, the commit of the other one used to replace it.
#[test]
fn a_commit_that_overlooks_what_others_have_recorded_is_noticed() {
    for what in ["was recorded, and", "overlooks the effect"] {
        let (seed, wrong) = first_to_say(Flaw::Overlooks, 8, what).expect("the flaw does not show");
        println!("seed {seed}: {wrong}");
    }
}

#[test]
fn a_commit_that_is_acknowledged_too_early_is_noticed() {
    let (_, wrong) = first_to_show(Flaw::EarlyAcknowledgement, 5).expect("the flaw does not show");
    println!("{wrong}");
}

#[test]
fn an_effect_that_two_begin_is_noticed() {
    let (_, wrong) = first_to_show(Flaw::NoIntent, 6).expect("the flaw does not show");
    println!("{wrong}");
}

#[test]
fn the_same_holds_in_a_file() {
    let graphs = Graphs::new();
    for number in seeds(SEEDS_IN_A_FILE) {
        let seed = Seed { number, place: 7, flaw: None, defers: true };
        if let Some(complaint) = play_in_a_file(&graphs, seed).complaint(seed) {
            panic!("{complaint}");
        }
    }
}
