//! Tests with several drivers, crashes, and lost replies of the store.

use alloc::collections::BTreeMap;

use super::*;
use crate::checkpoint::{Checkpoint, Frontier, Loaded, Seq};
use crate::id::{CheckpointId, Fingerprint, RunId};
use crate::state::Schema;

const NIL: &str = "00000000-0000-0000-0000-000000000000";

/// A head of the thread. The machine passes it on without reading it.
fn head(step: i64) -> Box<Loaded> {
    let fingerprint = Fingerprint::hash(&[]);
    let checkpoint = Checkpoint {
        id: NIL.parse::<CheckpointId>().expect("an id"),
        parent: None,
        run: NIL.parse::<RunId>().expect("an id"),
        step,
        source: Source::Loop,
        schema: fingerprint,
        topology: fingerprint,
        changes: Vec::new(),
        tasks: Vec::new(),
        frontier: Frontier::default(),
        metadata: BTreeMap::new(),
    };
    let (results, failures, asks, effects) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (graph, schema, values) = ("wires".into(), Schema::default(), Vec::new());
    Box::new(Loaded { seq: Seq(0), checkpoint, graph, schema, values, results, failures, asks, effects })
}

/// The superstep's checkpoint was already written by another driver of the run.
pub(super) fn adopt(step: i64) -> Line {
    Committed::Adopt(head(step)).into()
}

/// Results or effects that this driver did not know are recorded on the checkpoint `step`.
pub(super) fn outrun(step: i64) -> Line {
    Committed::Outrun(head(step)).into()
}

fn reloaded(step: i64) -> Line {
    Event::Reloaded(Head::Ours(head(step))).into()
}

fn recorded_by_another() -> Line {
    Event::Outrun.into()
}

fn settled() -> Line {
    Event::Settled.into()
}

#[test]
fn a_commit_that_was_stored_before_is_as_good_as_a_new_one() {
    Play::new(&chain())
        .started()
        .script([(finished(0, END), "commit 1 [a] then [b]"), (Committed::Already.into(), "run 0")]);
}

#[test]
fn a_commit_on_a_head_of_another_run_ends_this_one() {
    Play::new(&chain()).started().script([
        (finished(0, END), "commit 1 [a] then [b]"),
        (Committed::Conflict { head: None }.into(), "stop Superseded"),
    ]);
    // The same holds for an input: one of two concurrent inputs is first.
    Play::new(&chain()).script([
        (input(Some(3)), "commit 4 [] then [__start__]"),
        (Committed::Conflict { head: None }.into(), "stop Superseded"),
    ]);
}

/// The lease is lost, or another run has moved the head, while tasks write effects and questions.
#[test]
fn a_write_that_the_store_refuses_ends_the_run_at_once() {
    Play::new(&diamond())
        .started()
        .script([(finished(1, END), "record 1"), (Event::Superseded.into(), "abort, stop Superseded")]);
}

#[test]
fn a_checkpoint_of_another_driver_is_adopted() {
    let wires = chain();
    Play::new(&wires).started().script([
        (finished(0, END), "commit 1 [a] then [b]"),
        (adopt(1), "adopt 1"),
        (resume(&wires, 1, &["b"], Vec::new()), "run 0"),
    ]);
    // The other driver may be several supersteps ahead, or finished.
    Play::new(&wires).started().script([
        (finished(0, END), "commit 1 [a] then [b]"),
        (adopt(3), "adopt 3"),
        (resume(&wires, 3, &[], Vec::new()), "stop Finished"),
    ]);
}

/// Two drivers ran the superstep, and the other one crashed after recording a result and before committing.
#[test]
fn a_commit_that_did_not_know_a_result_begins_its_superstep_again() {
    let wires = diamond();
    Play::new(&wires).started().script([
        (finished(0, END), "record 0"),
        (finished(1, END), "settle"),
        (settled(), "commit 1 [a b] then [c]"),
        (outrun(0), "adopt 0"),
        // Results that the driver had not recorded are lost with its merged state, so these tasks run again.
        (resume(&wires, 0, &["a", "b"], vec![(0, END)]), "run 1"),
        (finished(1, to(&wires, "a")), "commit 1 [a b] then [a c]"),
        (STORED, "run 0, run 1"),
    ]);
}

#[test]
fn a_result_that_came_second_is_replaced_before_anything_is_merged() {
    let wires = diamond();
    // The driver may learn of it while tasks run, or only after all work has settled.
    for early in [true, false] {
        let mut play = Play::new(&wires).started();
        assert_eq!(play.event(finished(0, END)), "record 0");
        if early {
            assert_eq!(play.event(recorded_by_another()), "", "it is looked at at the barrier");
        }
        assert_eq!(play.event(finished(1, END)), "settle");
        if !early {
            assert_eq!(play.event(recorded_by_another()), "");
        }
        play.script([
            (settled(), "reload"),
            (reloaded(0), "adopt 0"),
            (
                resume(&wires, 0, &["a", "b"], vec![(0, to(&wires, "b")), (1, END)]),
                "commit 1 [a b] then [b c]",
            ),
            (STORED, "run 0, run 1"),
        ]);
    }
}

#[test]
fn a_head_that_another_run_moved_meanwhile_ends_this_one() {
    Play::new(&diamond()).started().script([
        (finished(0, END), "record 0"),
        (recorded_by_another(), ""),
        (finished(1, END), "settle"),
        (settled(), "reload"),
        (Event::Reloaded(Head::Foreign).into(), "stop Superseded"),
    ]);
}

#[test]
fn a_head_that_another_driver_moved_meanwhile_is_adopted() {
    let wires = diamond();
    Play::new(&wires).started().script([
        (finished(0, END), "record 0"),
        (recorded_by_another(), ""),
        (finished(1, END), "settle"),
        (settled(), "reload"),
        (reloaded(1), "adopt 1"),
        (resume(&wires, 1, &["c"], Vec::new()), "run 0"),
        (finished(0, END), "commit 2 [c] then []"),
    ]);
}

/// It used to count twice, so that a run could reach its limit one superstep early.
#[test]
fn a_superstep_that_begins_again_counts_once() {
    let wires = diamond();
    let limits = Limits { recursion: 2, ..Limits::default() };
    let mut play = Play::with(&wires, limits).started();
    assert_eq!(play.finish(2), "commit 1 [a b] then [c]");
    assert_eq!(play.machine.remaining(), 1);
    play.script([
        (outrun(0), "adopt 0"),
        (resume(&wires, 0, &["a", "b"], vec![(0, END), (1, END)]), "commit 1 [a b] then [c]"),
        (STORED, "run 0"),
        (finished(0, END), "commit 2 [c] then []"),
        (STORED, "stop Finished"),
    ]);
    // A superstep that another driver finished is not a repetition, so it counts.
    let limits = Limits { recursion: 1, ..Limits::default() };
    let mut play = Play::with(&wires, limits).started();
    play.finish(2);
    play.script([(adopt(1), "adopt 1"), (resume(&wires, 1, &["c"], Vec::new()), "stop LimitReached")]);
}

/// A drain lets the running superstep finish, even if it was repeated.
#[test]
fn a_drain_does_not_give_up_a_superstep_that_begins_again() {
    let wires = diamond();
    let mut play = Play::new(&wires).started();
    play.finish(2);
    play.script([
        (event(Event::Drain), ""),
        (outrun(0), "adopt 0"),
        (resume(&wires, 0, &["a", "b"], vec![(0, END)]), "run 1"),
        (finished(1, END), "commit 1 [a b] then [c]"),
        (STORED, "stop Drained"),
    ]);
}

#[test]
fn joins_are_those_of_the_adopted_checkpoint() {
    let wires = Wires::build(&["a", "b", "c"], &[("START", "a"), ("a", "b")], &[(&["a", "b"], "c")]);
    let mut play = Play::new(&wires).started();
    assert_eq!(play.event(finished(0, END)), "commit 1 [a] then [b]");
    play.event(outrun(0));
    // It is planned again, from the joins before it.
    assert_eq!(play.event(resume(&wires, 0, &["a"], vec![(0, END)])), "commit 1 [a] then [b]");
    play.event(STORED);
    assert_eq!(play.event(finished(0, END)), "commit 2 [b] then [c]");
}
