//! Tests of retries, error handlers, and the results that are kept after a failure.

use super::*;

#[test]
fn a_failure_cancels_its_siblings_and_keeps_what_they_finished() {
    const FAILS: &str = "record failure 0, fail 0, abort, stop Failed { task: 0 }";
    Play::new(&diamond()).started().script([(failed(0), FAILS)]);
    Play::new(&diamond()).started().script([(finished(1, END), "record 1"), (failed(0), FAILS)]);
    Play::new(&diamond()).started().script([(paused(1), ""), (failed(0), FAILS)]);
}

#[test]
fn what_was_to_start_does_not_start_after_a_failure() {
    let mut play = Play::new(&diamond()).started();
    // The driver takes no command between the two events.
    play.happens(finished(1, END));
    assert_eq!(play.event(failed(0)), "record 1, record failure 0, fail 0, abort, stop Failed { task: 0 }");
    let mut play = Play::new(&diamond()).started();
    play.happens(retried(1, 1));
    assert_eq!(play.event(failed(0)), "record failure 0, fail 0, abort, stop Failed { task: 0 }");
}

#[test]
fn a_retry_counts_attempts_and_waits() {
    Play::new(&chain()).started().script([
        (retried(0, 1), "retry 0 attempt 2 after 1s"),
        (retried(0, 2), "retry 0 attempt 3 after 2s"),
        (finished(0, END), "commit 1 [a] then [b]"),
        (STORED, "run 0"),
        (retried(0, 1), "retry 0 attempt 2 after 1s"),
        (failed(0), "record failure 0, fail 0, abort, stop Failed { task: 0 }"),
    ]);
}

#[test]
fn an_error_handler_runs_once_when_no_attempt_is_left() {
    let handled = |task| attempt_failed(task, Failure::NoneLeft { has_handler: true });
    let mut play = Play::new(&diamond()).started();
    play.script([
        (retried(0, 1), "retry 0 attempt 2 after 1s"),
        (handled(0), "record failure 0, hand over 0 attempt 3"),
        (finished(1, END), "record 1"),
        (finished(0, END), "settle"),
        (event(Event::Settled), "commit 1 [a b] then [c]"),
    ]);
    // If the handler fails, neither retry policies nor another handler apply, and the node's failure stays
    // recorded.
    for again in [handled(0), retried(0, 1), attempt_failed(0, Failure::OffRecord)] {
        let mut play = Play::new(&chain()).started();
        assert_eq!(play.event(handled(0)), "record failure 0, hand over 0 attempt 2");
        assert!(play.machine.is_handling(number(0)));
        assert_eq!(play.event(again), "fail 0, abort, stop Failed { task: 0 }");
    }
}

/// The superstep waits until the failure is stored, even though its only task was not recorded.
#[test]
fn a_failure_that_was_handled_is_stored_before_its_superstep() {
    Play::new(&chain()).started().script([
        (
            attempt_failed(0, Failure::NoneLeft { has_handler: true }),
            "record failure 0, hand over 0 attempt 2",
        ),
        (finished(0, END), "settle"),
        (event(Event::Settled), "commit 1 [a] then [b]"),
    ]);
}

#[test]
fn a_node_that_failed_in_an_earlier_run_is_handed_over_at_once() {
    let wires = diamond();
    let failed = Restored { failed: vec![number(1)], ..restored(&wires, 0, &["a", "b"]) };
    Play::new(&wires).script([
        (begin(failed), "run 0, hand over 1 attempt 1"),
        (finished(0, END), "record 0"),
        (retried(1, 1), "fail 1, abort, stop Failed { task: 1 }"),
    ]);
    let finished = vec![(number(0), END)];
    let done = Restored { failed: vec![number(0)], finished, ..restored(&wires, 0, &["a", "b"]) };
    Play::new(&wires).script([(begin(done), "run 1")]);
}

#[test]
fn a_recording_that_has_no_more_ends_the_run_without_a_record() {
    let off = attempt_failed(0, Failure::OffRecord);
    Play::new(&chain()).started().script([(off, "fail 0, abort, stop Failed { task: 0 }")]);
}

#[test]
fn a_failure_of_the_routing_keeps_the_result_of_the_node() {
    let routing = Event::RoutingFailed { task: number(1) };
    Play::new(&diamond()).started().script([(routing, "record 1, fail 1, abort, stop Failed { task: 1 }")]);
}
