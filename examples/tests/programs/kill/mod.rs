//! `kill -9` of two programs at every relevant point and at random moments, then a resume: the result is that of an
//! undisturbed run, and no stored work runs again.
//!
//! The programs are the example `agent_loop`, with one task per superstep, and [`fan_out`], whose superstep has
//! parallel siblings. Both halt at a marked point, where the test kills them: before and after every storage commit,
//! and at the start and the end of every node. [`journal`] checks the records that a long thread keeps for a replay,
//! killed or not.

#![expect(clippy::print_stdout, reason = "a test program shows what it did")]

mod fan_out;
mod itself;
mod journal;
mod long;
mod program;

use std::collections::BTreeMap;

use fan_out::Ledger;
use program::{End, Program};

const POINTS: [&str; 4] = ["before-commit", "after-commit", "node-start", "node-end"];

/// The number of times that each program is killed at a random moment, and its resumed run again.
const RANDOM_KILLS: u64 = 16;

/// Kills a program at each point each time that it is reached. Returns the number of kills.
fn kill_at_every_point(program: &Program) -> BTreeMap<String, u32> {
    let whole = program.start("whole.db", program::NOWHERE).finish();
    let expected = whole.result();
    let mut hits = BTreeMap::new();
    for point in POINTS {
        for nth in 1.. {
            let mark = format!("{point}:{nth}");
            let db = format!("{point}-{nth}.db");
            let (before, end) = program.start(&db, &mark).kill_at_mark();
            let ledger = Ledger::read(&program.path(&db));
            let resumed = program.start(&db, program::NOWHERE).finish();
            assert_eq!(resumed.result(), expected, "killed at {mark}");
            resumed.assert_repeats_nothing_of(&before);
            ledger.assert_kept(1, &mark);
            if end == End::ByItself {
                break;
            }
            *hits.entry(point.to_owned()).or_insert(0) += 1;
            ledger.count_into(&mut hits);
        }
    }
    println!("{} was killed at: {hits:?}", program.name);
    for point in POINTS {
        assert!(hits.contains_key(point), "{point} was never hit: {hits:?}");
    }
    // The times of commits may vary, but not the number of runs of a node.
    for point in ["node-start", "node-end"] {
        assert_eq!(hits.get(point), whole.passed().get(point), "{point}");
    }
    hits
}

/// Kills a program and its resumed run at random moments.
fn kill_at_random(program: &Program) {
    let whole = program.start("random.db", program::NOWHERE).finish();
    let expected = whole.result();
    let lines = whole.said.iter().filter(|line| !line.starts_with("passed ")).count() as u64;
    let mut dice = Dice(0x5eed);
    let mut killed = 0;
    for round in 0..RANDOM_KILLS {
        let db = format!("random-{round}.db");
        let mut ledgers = Vec::new();
        // The second time less work is left.
        for lines in [lines, lines / 2] {
            let (line, spins) = (dice.below(lines), dice.below(100_000));
            let (_, end) = program.start(&db, program::NOWHERE).kill_after(line, spins);
            killed += u32::from(end == End::Killed);
            ledgers.push(Ledger::read(&program.path(&db)));
        }
        let resumed = program.start(&db, program::NOWHERE).finish();
        assert_eq!(resumed.result(), expected, "round {round}");
        for ledger in ledgers {
            ledger.assert_kept(2, &format!("round {round}"));
        }
    }
    println!("{} was killed at {killed} random moments", program.name);
    assert!(killed > 0, "it always ended first");
}

/// A small generator with a seed: the same moments in every run of the test, as far as possible.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_result_and_repeats_nothing_that_was_stored() {
    let program = Program::agent_loop();
    kill_at_every_point(&program);
}

#[test]
fn a_run_killed_at_random_moments_resumes_to_the_same_result() {
    kill_at_random(&Program::agent_loop());
}

/// Supersteps with siblings: the results of those that had finished are pending writes when the process dies.
#[test]
fn a_killed_fan_out_keeps_the_results_of_the_siblings_that_had_finished() {
    if itself::was_asked_for() {
        return fan_out::run();
    }
    let hits = kill_at_every_point(&Program::fan_out());
    for what in [fan_out::RESULTS, fan_out::EFFECTS, fan_out::RETURNED] {
        assert!(hits.contains_key(what), "no kill left any {what} to keep: {hits:?}");
    }
}

#[test]
fn a_fan_out_killed_at_random_moments_resumes_to_the_same_result() {
    kill_at_random(&Program::fan_out());
}

#[test]
fn a_finished_thread_is_resumed_to_its_stored_result() {
    let program = Program::agent_loop();
    let first = program.start("done.db", program::NOWHERE).finish();
    let again = program.start("done.db", program::NOWHERE).finish();
    assert_eq!(first.printed, again.printed);
    assert!(again.steps("ran ").is_empty(), "nothing runs again");
}
