//! Tests of running a single task of a superstep: its result is recorded, and nothing is committed.

use super::*;

fn only(wires: &Topology, task: u32, done: Vec<(u32, Targets)>) -> Line {
    let finished = done.into_iter().map(|(task, targets)| (number(task), targets)).collect();
    let restored = Restored { finished, ..restored(wires, 0, &["a", "b"]) };
    event(Event::Begin(Begin::Task(restored.into(), number(task))))
}

#[test]
fn a_task_alone_is_recorded_and_no_other_runs() {
    let wires = diamond();
    for done in [Vec::new(), vec![(0, END)]] {
        let mut play = Play::new(&wires);
        play.script([(only(&wires, 1, done), "run 1"), (finished(1, END), "record 1, stop TaskRecorded")]);
    }
}

#[test]
fn a_task_alone_is_retried_fails_and_asks_as_in_any_run() {
    let wires = diamond();
    Play::new(&wires).script([
        (only(&wires, 0, Vec::new()), "run 0"),
        (retried(0, 1), "retry 0 attempt 2 after 1s"),
        (failed(0), "record failure 0, fail 0, abort, stop Failed { task: 0 }"),
    ]);
    Play::new(&wires).script([(only(&wires, 0, Vec::new()), "run 0"), (paused(0), "stop Interrupted")]);
}
