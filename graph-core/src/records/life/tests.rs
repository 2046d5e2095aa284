use serde_json::Map;

use super::super::{Expiry, ExpiryStrategy};
use super::*;

const NOW: u64 = 1_000;

fn run(id: &str, multitask: Multitask) -> RunRow {
    RunRow {
        id: id.into(),
        thread: "t".into(),
        assistant: "a".into(),
        graph: "g".into(),
        status: RunStatus::Pending,
        kwargs: Json::null(),
        metadata: Map::new(),
        multitask,
        created_ms: 1,
        updated_ms: 1,
        not_before_ms: 1,
        owner: None,
        until_ms: 0,
        attempt: 0,
        lost: 0,
        cancel: None,
        error: None,
        calls: None,
    }
}

fn pending_run(id: &str) -> RunRow {
    run(id, Multitask::Enqueue)
}

/// A run in its second attempt, which its worker holds until `until_ms`.
fn running(id: &str, until_ms: u64) -> RunRow {
    let (status, owner) = (RunStatus::Running, Some("w".into()));
    RunRow { status, owner, until_ms, attempt: 2, ..pending_run(id) }
}

fn given_back(id: &str) -> RunRow {
    RunRow { attempt: 1, ..pending_run(id) }
}

fn stored(ended: &[(&str, CancelAction)], asked: &[&str]) -> Admitted {
    let ended = ended.iter().map(|(id, action)| ((*id).into(), *action)).collect();
    Admitted::Stored { ended, asked: asked.iter().map(|id| (*id).into()).collect() }
}

#[test]
fn a_run_that_does_not_wait_is_refused_by_any_active_run() {
    let new = run("new", Multitask::Reject);
    assert_eq!(admit(&new, &[pending_run("p")], NOW), Decision::nothing(Admitted::Busy));
    assert_eq!(admit(&new, &[], NOW).answer, stored(&[], &[]));
}

#[test]
fn a_run_that_waits_changes_no_other_run() {
    let decision = admit(&pending_run("new"), &[running("r", NOW + 1), pending_run("p")], NOW);
    assert_eq!((decision.answer, decision.runs), (stored(&[], &[]), Vec::new()));
    let thread = decision.thread.expect("the thread is busy now");
    assert_eq!((thread.graph, thread.status), (Some("g".into()), None));
}

#[test]
fn a_run_that_interrupts_ends_runs_without_a_worker_and_asks_the_others() {
    let active = [running("r", NOW + 1), given_back("b"), pending_run("p")];
    let decision = admit(&run("new", Multitask::Interrupt), &active, NOW);
    let interrupt = CancelAction::Interrupt;
    assert_eq!(decision.answer, stored(&[("b", interrupt), ("p", interrupt)], &["r"]));
    let [RunChange::Store(asked), RunChange::Store(back), RunChange::Store(ended)] = &decision.runs[..]
    else {
        panic!("{:?}", decision.runs)
    };
    assert_eq!((asked.status, asked.cancel), (RunStatus::Running, Some(interrupt)));
    assert_eq!((back.status, back.updated_ms), (RunStatus::Interrupted, NOW));
    assert_eq!((ended.status, ended.until_ms), (RunStatus::Interrupted, 0));
    let thread = decision.thread.expect("a run has ended");
    let rested = (Some(ThreadStatus::Interrupted), Some(None));
    assert_eq!((thread.status, thread.error), rested, "`b` has worked on the thread");
}

#[test]
fn a_run_that_rolls_back_deletes_runs_that_were_not_started() {
    let active = [running("gone", NOW), given_back("b"), pending_run("p")];
    let decision = admit(&run("new", Multitask::Rollback), &active, NOW);
    let rollback = CancelAction::Rollback;
    assert_eq!(
        decision.answer,
        stored(&[("p", rollback)], &["gone", "b"]),
        "what was started needs a worker"
    );
    assert_eq!(decision.runs[2], RunChange::Delete("p".into()));
    assert_eq!(decision.thread.expect("it has").status, None, "its state is what it was");
}

#[test]
fn a_pending_run_ends_at_once_and_a_running_one_is_asked() {
    let cancelled = |run: &RunRow, action| cancel(Some(run), action, NOW).answer;
    for action in [CancelAction::Interrupt, CancelAction::Rollback] {
        assert_eq!(cancelled(&pending_run("p"), action), Cancelled::Ended);
        assert_eq!(cancelled(&running("r", NOW + 1), action), Cancelled::Asked);
    }
    assert_eq!(cancelled(&running("gone", NOW), CancelAction::Interrupt), Cancelled::Ended);
    assert_eq!(cancelled(&running("gone", NOW), CancelAction::Rollback), Cancelled::Asked);
    assert_eq!(cancelled(&given_back("b"), CancelAction::Rollback), Cancelled::Asked);
    let thread_of = |run: &RunRow| {
        let thread = cancel(Some(run), CancelAction::Interrupt, NOW).thread.expect("it has a run less");
        (thread.status, thread.error)
    };
    assert_eq!(thread_of(&pending_run("p")), (None, None), "the thread is what it was");
    assert_eq!(thread_of(&given_back("b")), (Some(ThreadStatus::Interrupted), Some(None)));
    let over = RunRow { status: RunStatus::Success, ..pending_run("o") };
    assert_eq!(cancelled(&over, CancelAction::Interrupt), Cancelled::Over);
    assert_eq!(cancel(None, CancelAction::Interrupt, NOW), Decision::nothing(Cancelled::Over));
}

#[test]
fn a_requested_rollback_is_not_weakened() {
    let asked = RunRow { cancel: Some(CancelAction::Rollback), ..given_back("b") };
    let decision = cancel(Some(&asked), CancelAction::Interrupt, NOW);
    assert_eq!((decision.answer, &decision.runs[..]), (Cancelled::Asked, &[RunChange::Store(asked)][..]));
    let asked = RunRow { cancel: Some(CancelAction::Interrupt), ..running("r", NOW + 1) };
    let decision = cancel(Some(&asked), CancelAction::Rollback, NOW);
    let stronger = RunRow { cancel: Some(CancelAction::Rollback), ..asked };
    assert_eq!(decision.runs, [RunChange::Store(stronger)]);
}

#[test]
fn a_thread_runs_its_oldest_run_and_one_at_a_time() {
    let (held, gone) = (running("r", NOW + 1), running("r", NOW));
    let (first, second) = (pending_run("1"), pending_run("2"));
    let later = RunRow { not_before_ms: NOW + 1, ..pending_run("later") };
    let back = given_back("b");
    let next_of = |active: &[&RunRow]| next(active, NOW).map(|run| run.id.clone());
    assert_eq!(next_of(&[&first, &second]).as_deref(), Some("1"));
    assert_eq!(next_of(&[&first, &held]), None);
    assert_eq!(next_of(&[&first, &gone]).as_deref(), Some("r"), "an abandoned run goes first");
    assert_eq!(next_of(&[&first, &back]).as_deref(), Some("b"), "as does one that was given back");
    assert_eq!(next_of(&[&later, &second]).as_deref(), Some("2"), "a delayed run lets others pass");
    assert_eq!(next_of(&[&later]), None);
}

#[test]
fn each_claim_has_a_greater_attempt_and_counts_lost_workers() {
    let by = RunClaim { owner: "w".into(), graphs: Vec::new(), left: Vec::new(), until_ms: 2_000 };
    let first = claim(pending_run("p"), &by, NOW);
    assert_eq!((first.status, first.attempt, first.lost), (RunStatus::Running, 1, 0));
    assert_eq!((first.until_ms, first.updated_ms, first.owner.as_deref()), (2_000, NOW, Some("w")));
    let second = claim(first.clone(), &by, 2_000);
    assert_eq!((second.attempt, second.lost, second.updated_ms), (2, 1, NOW));

    assert_eq!(beat(Some(&second), 1), Beat::Lost, "the first worker has lost it");
    assert_eq!(beat(Some(&second), 2), Beat::Held);
    let asked = RunRow { cancel: Some(CancelAction::Interrupt), ..second.clone() };
    assert_eq!(beat(Some(&asked), 2), Beat::Cancel(CancelAction::Interrupt));
    assert_eq!(beat(None, 2), Beat::Lost);

    let decision = finish(Some(&second), 2, Ending::GivenBack, 3_000);
    let [RunChange::Store(back)] = &decision.runs[..] else { panic!("{decision:?}") };
    assert_eq!((back.status, back.attempt, back.owner.as_ref()), (RunStatus::Pending, 2, None));
    assert_eq!(decision.thread, None);
    let third = claim(back.clone(), &by, 4_000);
    assert_eq!((third.attempt, third.lost), (3, 0), "a run that was given back is not lost");
}

/// Of 120 kills, 339 runs were given up: the process had claimed them, and died before it had begun them.
#[test]
fn an_attempt_counts_as_lost_from_its_begin_until_there_is_progress() {
    let by = RunClaim { owner: "w".into(), graphs: Vec::new(), left: Vec::new(), until_ms: 0 };
    let mut run = claim(claim(pending_run("p"), &by, NOW), &by, NOW);
    assert_eq!((run.lost, begun(&run)), (1, Some(2)));
    for _ in 0..9 {
        run = claim(run, &by, NOW);
    }
    assert_eq!(run.lost, 1, "attempts that have not begun");
    let with = |run: &RunRow, lost| {
        let heartbeat = Heartbeat { run: "p".into(), attempt: run.attempt, lost };
        extended(run.clone(), &heartbeat, NOW)
    };
    for lost in 2..=MOST_ATTEMPTS {
        run = claim(with(&run, begun(&run)), &by, NOW);
        assert_eq!(run.lost, lost);
    }
    let begun = with(&run, begun(&run));
    assert_eq!(with(&begun, None).lost, MOST_ATTEMPTS + 1, "a heartbeat without a number");
    let again = claim(with(&begun, advanced(&run)), &by, NOW);
    assert_eq!((again.lost, advanced(&pending_run("p"))), (1, None));

    let lost_after = |ending| {
        let decision = finish(Some(&begun), begun.attempt, ending, NOW);
        let [RunChange::Store(run)] = &decision.runs[..] else { panic!("{decision:?}") };
        run.lost
    };
    assert_eq!(lost_after(Ending::GivenBack), begun.lost - 1);
    assert_eq!(lost_after(Ending::Postponed), begun.lost);
}

#[test]
fn only_the_latest_attempt_ends_a_run() {
    let held = running("r", NOW + 1);
    let ended = || Ending::Ended {
        status: RunStatus::Error,
        thread: ThreadStatus::Error,
        error: Some(Json::encode("broken").expect("a text")),
    };
    assert_eq!(finish(Some(&held), 1, ended(), NOW), Decision::nothing(false));
    assert_eq!(finish(None, 2, ended(), NOW), Decision::nothing(false));
    let decision = finish(Some(&held), 2, ended(), NOW);
    let [RunChange::Store(row)] = &decision.runs[..] else { panic!("{decision:?}") };
    assert_eq!((row.status, row.updated_ms, row.owner.as_ref()), (RunStatus::Error, NOW, None));
    assert_eq!(finish(Some(row), 2, ended(), NOW), Decision::nothing(false), "a run ends once");

    let rolled_back = Ending::RolledBack { thread: ThreadStatus::Idle };
    let decision = finish(Some(&held), 2, rolled_back, NOW);
    assert_eq!(decision.runs, [RunChange::Delete("r".into())]);
    assert_eq!(decision.thread.expect("it has").status, Some(ThreadStatus::Idle));
}

#[test]
fn a_thread_is_busy_until_its_last_run_is_over() {
    let mut thread = ThreadRow {
        id: "t".into(),
        graph: None,
        metadata: Map::from_iter([("a".into(), 1.into()), ("b".into(), 2.into())]),
        status: ThreadStatus::Idle,
        config: Json::null(),
        error: None,
        created_ms: 1,
        updated_ms: 1,
        state_updated_ms: 1,
        expiry: Some(Expiry::new(1.0, ExpiryStrategy::Delete, 1)),
    };
    assert_eq!(thread.expiry.expect("it has one").at_ms, 60_001);
    let mut resting = ThreadStatus::Idle;
    let status =
        ThreadChange { status: Some(ThreadStatus::Error), is_state: true, ..ThreadChange::default() };
    change(&mut thread, &mut resting, status, Runs::Active, NOW);
    assert_eq!((thread.status, thread.state_updated_ms), (ThreadStatus::Busy, NOW));
    assert_eq!(thread.expiry.expect("it has one").at_ms, 61_000, "its life starts again");

    let graphs = ThreadChange { graph: Some("g".into()), expiry: Some(None), ..ThreadChange::default() };
    change(&mut thread, &mut resting, graphs, Runs::Over, 2_000);
    assert_eq!((thread.status, thread.expiry), (ThreadStatus::Error, None));
    assert_eq!((thread.updated_ms, thread.state_updated_ms), (2_000, NOW));

    let metadata = Some(Map::from_iter([("b".into(), 3.into()), ("c".into(), 4.into())]));
    let merged = ThreadChange { metadata, graph: Some("other".into()), ..ThreadChange::default() };
    change(&mut thread, &mut resting, merged, Runs::Over, 3_000);
    assert_eq!(serde_json::to_string(&thread.metadata).expect("JSON"), r#"{"a":1,"b":3,"c":4}"#);
    assert_eq!(thread.graph, Some("g".into()), "the graph of the first run stays");
}

#[test]
fn released_numbers_are_given_out_again_only_if_none_came_after_them() {
    assert_eq!(release(101, 8, 101, Some(7)), 8);
    assert_eq!(release(201, 8, 101, Some(7)), 201, "another reservation was made");
    assert_eq!(release(101, 8, 101, Some(20)), 21, "stored numbers are not used again");
    assert_eq!(release(101, 0, 101, None), 1);
}
