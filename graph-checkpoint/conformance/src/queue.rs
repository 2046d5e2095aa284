//! The runs of a server: their admission, their queue, and their ends. For stores that keep such rows.

mod attempts;

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_core::checkpoint::StoreError;
use superstep_core::records::life::{Admitted, Beat, Cancelled, Ending};
use superstep_core::records::{
    CancelAction, Multitask, Records, RunClaim, RunQuery, RunRow, RunStatus, ThreadChange, ThreadStatus,
};

use self::attempts::{
    a_beat_extends_the_claim, a_rolled_back_run_is_deleted, a_run_ends_once,
    a_run_that_is_given_back_goes_first, a_stale_attempt_changes_nothing, an_abandoned_run_is_claimed_again,
    beat, lost_attempts_count_until_there_is_progress,
};
use super::bench::Bench;
use super::item::items;
use super::material::{json, thread};
use super::races::at_once;
use super::rows::{NOW, event, records, thread_row};
use super::verdict::{Stop, Verdict, equal, failed, holds, is};

items! { "queue":
    a_run_is_admitted_once "A run is stored as pending under its id once, its thread is busy and has its graph; without the thread there is an error."
    a_run_may_refuse_to_wait "A run that does not wait is `Busy` while its thread has another one, and is not stored."
    a_run_that_interrupts_ends_the_others "A run that interrupts ends pending and abandoned runs, and asks the worker of a running one."
    a_run_that_rolls_back_deletes_the_others "A run that rolls back deletes runs that were not started, and asks for the others."
    runs_are_claimed_in_their_order "Runs are claimed in the order of their creation, one at a time for each thread."
    a_delayed_run_waits "A run is not claimed before its time, and lets later runs of its thread pass."
    only_graphs_of_the_worker_are_claimed "A worker gets runs of its graphs only, and nothing if there are none."
    a_run_is_left_to_other_workers "A run that a worker leaves is not claimed by it, lets no other one of its thread pass, and is another worker's."
    an_abandoned_run_is_claimed_again "A run whose worker is gone is claimed again, with a greater attempt and a lost one more, before others of its thread."
    lost_attempts_count_until_there_is_progress "A later attempt than the first counts as lost from its begin, until it is given back or sets the number."
    a_beat_extends_the_claim "A beat extends the claim of the attempt that has it, and tells of requests to cancel."
    a_stale_attempt_changes_nothing "An attempt that is not the latest neither ends the run nor stores events, and none stores events after the end."
    a_run_ends_once "An attempt ends its run once, with status, error and last event; the thread is busy until its last run has ended."
    a_run_that_is_given_back_goes_first "A run that is given back is pending, goes before others of its thread, and has lost no attempt."
    a_rolled_back_run_is_deleted "The row of a run that was rolled back is gone, its thread has the status that the worker gave, and no attempt stores events."
    cancelling_ends_or_asks "A pending or abandoned run is cancelled at once, a running one is asked, and one that has ended stays as it is."
    a_started_run_is_rolled_back_by_a_worker "The rollback of a run that was started waits for the next worker."
    a_thread_gets_its_status_back "A thread whose only run is cancelled before its start has the status from before it."
    only_ended_runs_are_deleted "A run is deleted only after its end, with its events."
    are_listed_newest_first "Runs are listed by thread and status, newest first, in pages with the number of all."
    are_claimed_by_one_of_many "Of workers that claim at once, each gets other runs, and every run is claimed once."
    are_claimed_by_one_of_two_programs "So it is with workers of two programs."
    outlive_their_program "Runs are there for the program that starts after a crash, with their requests."
}

/// A pending run of the graph `graph`.
pub(super) fn run(id: &str, of: &str) -> RunRow {
    RunRow {
        id: id.into(),
        thread: thread(of),
        assistant: "assistant".into(),
        graph: "graph".into(),
        status: RunStatus::Pending,
        kwargs: json(r#"{"input":{"text":"ä \u0000 𝄞","number":0.1},"stream_mode":["values"]}"#),
        metadata: serde_json::Map::from_iter([("of".into(), of.into())]),
        multitask: Multitask::Enqueue,
        created_ms: NOW,
        updated_ms: NOW,
        not_before_ms: 0,
        owner: None,
        until_ms: 0,
        attempt: 0,
        lost: 0,
        cancel: None,
        error: None,
        calls: None,
    }
}

fn run_as(id: &str, of: &str, multitask: Multitask) -> RunRow {
    RunRow { multitask, ..run(id, of) }
}

fn claim_until(until_ms: u64) -> RunClaim {
    RunClaim { owner: "worker".into(), graphs: vec!["graph".into()], left: Vec::new(), until_ms }
}

pub(super) const LATER: u64 = NOW + 1_000;

/// Claims the next run, until [`LATER`].
async fn claim(rows: &dyn Records) -> Result<Option<RunRow>, Stop> {
    Ok(rows.claim_run(&claim_until(LATER), NOW).await?)
}

pub(super) async fn claimed(rows: &dyn Records) -> Result<RunRow, Stop> {
    claim(rows).await?.ok_or_else(|| failed("a claim", "a run", "none"))
}

/// Stores a run and claims it.
pub(super) async fn started(rows: &dyn Records, id: &str, of: &str) -> Result<RunRow, Stop> {
    create(rows, &[run(id, of)]).await?;
    claimed(rows).await
}

/// Ends the first attempt of a run.
pub(super) async fn finish(rows: &dyn Records, id: &str, ending: Ending) -> Verdict {
    holds("the end of a run", rows.finish_run(id, 1, ending, None, NOW).await?)
}

async fn claimed_id(rows: &dyn Records) -> Result<Option<String>, Stop> {
    Ok(claim(rows).await?.map(|run| run.id))
}

pub(super) async fn with_thread(b: &Bench<'_>, names: &[&str]) -> Result<Arc<dyn Records>, Stop> {
    let rows = records(b)?;
    for name in names {
        rows.insert_thread(thread_row(name)).await?;
    }
    Ok(rows)
}

pub(super) async fn create(rows: &dyn Records, runs: &[RunRow]) -> Verdict {
    for run in runs {
        is!(
            format!("the admission of {}", run.id),
            rows.create_run(run.clone()).await?,
            Admitted::Stored { .. }
        );
    }
    Ok(())
}

async fn status(rows: &dyn Records, name: &str) -> Result<ThreadStatus, Stop> {
    let found = rows.thread(&thread(name)).await?;
    found.map(|row| row.status).ok_or_else(|| failed("the thread", "it exists", "it does not"))
}

async fn run_status(rows: &dyn Records, id: &str) -> Result<Option<RunStatus>, Stop> {
    Ok(rows.run(id).await?.map(|run| run.status))
}

fn ended(status: RunStatus, thread: ThreadStatus) -> Ending {
    Ending::Ended { status, thread, error: None }
}

pub(super) fn success() -> Ending {
    ended(RunStatus::Success, ThreadStatus::Idle)
}

async fn a_run_is_admitted_once(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let new = RunRow { status: RunStatus::Success, attempt: 7, owner: Some("x".into()), ..run("1", "t") };
    let stored = Admitted::Stored { ended: Vec::new(), asked: Vec::new() };
    equal("the admission", rows.create_run(new).await?, stored)?;
    equal("the row", rows.run("1").await?, Some(run("1", "t")))?;
    equal("the same id again", rows.create_run(run("1", "t")).await?, Admitted::Exists)?;
    let row = rows.thread(&thread("t")).await?.ok_or_else(|| failed("the thread", "a row", "none"))?;
    equal("its graph and status", (row.graph, row.status), (Some("graph".into()), ThreadStatus::Busy))?;
    let other = RunRow { graph: "other".into(), ..run("2", "t") };
    create(&*rows, &[other]).await?;
    let row = rows.thread(&thread("t")).await?;
    equal("the graph after another one's run", row.and_then(|row| row.graph), Some("graph".into()))?;
    is!("without a thread", rows.create_run(run("3", "none")).await, Err(StoreError::NoThread(_)));
    equal("that run", rows.run("3").await?, None)
}

async fn a_run_may_refuse_to_wait(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run_as("1", "t", Multitask::Reject)]).await?;
    equal("the second", rows.create_run(run_as("2", "t", Multitask::Reject)).await?, Admitted::Busy)?;
    equal("its row", rows.run("2").await?, None)?;
    let first = claimed(&*rows).await?;
    rows.finish_run("1", first.attempt, success(), None, NOW).await?;
    create(&*rows, &[run_as("2", "t", Multitask::Reject)]).await
}

/// Creates runs of `t`: a running one, `held` until [`LATER`], and two pending ones.
async fn three(rows: &dyn Records) -> Result<RunRow, Stop> {
    create(rows, &[run("held", "t"), run("p", "t"), run("q", "t")]).await?;
    claimed(rows).await
}

async fn a_run_that_interrupts_ends_the_others(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    let held = three(&*rows).await?;
    let admitted = rows.create_run(run_as("new", "t", Multitask::Interrupt)).await?;
    let interrupt = CancelAction::Interrupt;
    let ended = vec![("p".into(), interrupt), ("q".into(), interrupt)];
    equal("the admission", admitted, Admitted::Stored { ended, asked: vec!["held".into()] })?;
    equal("the pending one", run_status(&*rows, "p").await?, Some(RunStatus::Interrupted))?;
    equal("the running one", run_status(&*rows, "held").await?, Some(RunStatus::Running))?;
    equal("its beat", beat(&*rows, "held", held.attempt, LATER).await?, Beat::Cancel(interrupt))?;
    equal("a claim meanwhile", claimed_id(&*rows).await?, None)?;
    let over = ended_as_interrupted();
    holds("the running one ends", rows.finish_run("held", held.attempt, over, None, NOW).await?)?;
    equal("the next", claimed_id(&*rows).await?.as_deref(), Some("new"))?;

    create(&*rows, &[run("gone", "u")]).await?;
    is!("the claim", rows.claim_run(&claim_until(NOW - 1), NOW - 2).await?, Some(_));
    let admitted = rows.create_run(run_as("after", "u", Multitask::Interrupt)).await?;
    is!("an abandoned one", admitted, Admitted::Stored { ended, .. } if ended == [("gone".to_owned(), interrupt)]);
    Ok(())
}

fn ended_as_interrupted() -> Ending {
    ended(RunStatus::Interrupted, ThreadStatus::Interrupted)
}

async fn a_run_that_rolls_back_deletes_the_others(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let held = three(&*rows).await?;
    let admitted = rows.create_run(run_as("new", "t", Multitask::Rollback)).await?;
    let rollback = CancelAction::Rollback;
    let ended = vec![("p".into(), rollback), ("q".into(), rollback)];
    equal("the admission", admitted, Admitted::Stored { ended, asked: vec!["held".into()] })?;
    equal("a pending one", rows.run("p").await?, None)?;
    equal(
        "the beat of the running one",
        beat(&*rows, "held", held.attempt, LATER).await?,
        Beat::Cancel(rollback),
    )?;
    let rolled_back = Ending::RolledBack { thread: ThreadStatus::Idle };
    holds("it ends", rows.finish_run("held", held.attempt, rolled_back, None, NOW).await?)?;
    equal("its row", rows.run("held").await?, None)?;
    equal("the next", claimed_id(&*rows).await?.as_deref(), Some("new"))
}

async fn runs_are_claimed_in_their_order(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    // Neither ids nor times decide.
    let older = RunRow { created_ms: 1, ..run("c", "t") };
    create(&*rows, &[run("d", "t"), older, run("a", "u"), run("b", "t")]).await?;
    let first = claimed(&*rows).await?;
    equal("the time of its start", first.not_before_ms, NOW)?;
    equal("the first", (&*first.id, first.status, first.attempt), ("d", RunStatus::Running, 1))?;
    equal("its worker", (first.owner.as_deref(), first.until_ms), (Some("worker"), LATER))?;
    equal("as it is read", rows.run("d").await?.as_ref(), Some(&first))?;
    equal("the first of the other thread", claimed_id(&*rows).await?.as_deref(), Some("a"))?;
    equal("a third", claimed_id(&*rows).await?, None)?;
    rows.finish_run("d", 1, success(), None, NOW).await?;
    equal("the second of the first thread", claimed_id(&*rows).await?.as_deref(), Some("c"))?;
    equal("the third at the same time", claimed_id(&*rows).await?, None)?;
    rows.finish_run("c", 1, success(), None, NOW).await?;
    equal("the third", claimed_id(&*rows).await?.as_deref(), Some("b"))
}

async fn a_delayed_run_waits(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let delayed = RunRow { not_before_ms: NOW + 1, ..run("late", "t") };
    create(&*rows, &[delayed]).await?;
    equal("before its time", claimed_id(&*rows).await?, None)?;
    create(&*rows, &[run("1", "t"), run("2", "t")]).await?;
    equal("a later one", claimed_id(&*rows).await?.as_deref(), Some("1"))?;
    rows.finish_run("1", 1, success(), None, NOW).await?;
    let next = rows.claim_run(&claim_until(LATER), NOW + 1).await?;
    equal("at its time", next.map(|run| run.id).as_deref(), Some("late"))
}

async fn only_graphs_of_the_worker_are_claimed(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    create(&*rows, &[RunRow { graph: "other".into(), ..run("1", "t") }, run("2", "u")]).await?;
    equal("its graph", claimed_id(&*rows).await?.as_deref(), Some("2"))?;
    equal("another graph", claimed_id(&*rows).await?, None)?;
    let nothing = RunClaim { graphs: Vec::new(), ..claim_until(LATER) };
    equal("no graph", rows.claim_run(&nothing, NOW).await?, None)?;
    let both = RunClaim { graphs: vec!["x".into(), "other".into()], ..claim_until(LATER) };
    equal("both", rows.claim_run(&both, NOW).await?.map(|run| run.id).as_deref(), Some("1"))
}

async fn a_run_is_left_to_other_workers(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    create(&*rows, &[run("1", "t"), run("2", "t"), run("3", "u")]).await?;
    let held = claimed(&*rows).await?;
    let leaves = RunClaim { left: vec!["x".into(), "1".into()], ..claim_until(LATER) };
    let next = async || Ok::<_, Stop>(rows.claim_run(&leaves, NOW).await?.map(|run| run.id));
    holds("it is given back", rows.finish_run("1", held.attempt, Ending::GivenBack, None, NOW).await?)?;
    equal("the run of another thread", next().await?.as_deref(), Some("3"))?;
    equal("the next run of the thread", next().await?, None)?;
    equal("another worker's", claimed_id(&*rows).await?.as_deref(), Some("1"))?;
    holds("it ends", rows.finish_run("1", held.attempt + 1, success(), None, NOW).await?)?;
    equal("the next after it", next().await?.as_deref(), Some("2"))
}

async fn cancelling_ends_or_asks(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let held = three(&*rows).await?;
    let (interrupt, rollback) = (CancelAction::Interrupt, CancelAction::Rollback);
    equal("a pending one", rows.cancel_run("p", interrupt, NOW).await?, Cancelled::Ended)?;
    equal("its status", run_status(&*rows, "p").await?, Some(RunStatus::Interrupted))?;
    equal("a pending one's rollback", rows.cancel_run("q", rollback, NOW).await?, Cancelled::Ended)?;
    equal("its row", rows.run("q").await?, None)?;
    equal("a running one", rows.cancel_run("held", interrupt, NOW).await?, Cancelled::Asked)?;
    equal("its beat", beat(&*rows, "held", held.attempt, LATER).await?, Beat::Cancel(interrupt))?;
    equal("once its worker is gone", rows.cancel_run("held", interrupt, LATER).await?, Cancelled::Ended)?;
    equal("its status", run_status(&*rows, "held").await?, Some(RunStatus::Interrupted))?;
    equal("the thread", status(&*rows, "t").await?, ThreadStatus::Interrupted)?;
    equal("a worker that comes back", beat(&*rows, "held", held.attempt, LATER + 9).await?, Beat::Lost)?;
    equal("one that has ended", rows.cancel_run("held", rollback, NOW).await?, Cancelled::Over)?;
    equal("one that does not exist", rows.cancel_run("none", interrupt, NOW).await?, Cancelled::Over)
}

async fn a_started_run_is_rolled_back_by_a_worker(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t")]).await?;
    let held = claimed(&*rows).await?;
    rows.finish_run("1", held.attempt, Ending::GivenBack, None, NOW).await?;
    let rollback = CancelAction::Rollback;
    equal("a rollback", rows.cancel_run("1", rollback, NOW).await?, Cancelled::Asked)?;
    let interrupt = rows.cancel_run("1", CancelAction::Interrupt, NOW).await?;
    equal("a weaker request", interrupt, Cancelled::Asked)?;
    let next = claimed(&*rows).await?;
    equal("the next worker", (&*next.id, next.cancel), ("1", Some(rollback)))?;
    equal("once it is gone", rows.cancel_run("1", rollback, LATER).await?, Cancelled::Asked)
}

async fn a_thread_gets_its_status_back(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let status_of = |status| ThreadChange { status: Some(status), ..ThreadChange::default() };
    let changed = rows.change_thread(&thread("t"), status_of(ThreadStatus::Interrupted), NOW).await?;
    equal("the change", changed.map(|row| row.status), Some(ThreadStatus::Interrupted))?;
    create(&*rows, &[run("1", "t")]).await?;
    equal("with a run", status(&*rows, "t").await?, ThreadStatus::Busy)?;
    equal("the cancellation", rows.cancel_run("1", CancelAction::Interrupt, NOW).await?, Cancelled::Ended)?;
    equal("without it", status(&*rows, "t").await?, ThreadStatus::Interrupted)?;
    create(&*rows, &[run("2", "t")]).await?;
    let changed = rows.change_thread(&thread("t"), status_of(ThreadStatus::Error), NOW).await?;
    equal("a change meanwhile", changed.map(|row| row.status), Some(ThreadStatus::Busy))?;
    rows.cancel_run("2", CancelAction::Rollback, NOW).await?;
    equal("after that", status(&*rows, "t").await?, ThreadStatus::Error)
}

async fn only_ended_runs_are_deleted(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t"), run("2", "t")]).await?;
    holds("a pending one stays", !rows.delete_run("1").await?)?;
    let held = claimed(&*rows).await?;
    rows.append_events(held.attempt, vec![event("t", 1, "1")]).await?;
    holds("a running one stays", !rows.delete_run("1").await?)?;
    rows.finish_run("1", held.attempt, success(), None, NOW).await?;
    let other = claimed(&*rows).await?;
    rows.append_events(other.attempt, vec![event("t", 2, "2")]).await?;
    holds("one that has ended goes", rows.delete_run("1").await?)?;
    holds("it goes once", !rows.delete_run("1").await?)?;
    let left: Vec<u64> =
        rows.events(&thread("t"), None, None, 9).await?.iter().map(|event| event.seq).collect();
    equal("the events", left, [2])?;
    equal("the other run", run_status(&*rows, "2").await?, Some(RunStatus::Running))
}

async fn are_listed_newest_first(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    let all = [run("e", "t"), run("a", "t"), run("d", "u"), run("c", "t"), run("b", "t")];
    create(&*rows, &all).await?;
    let held = claimed(&*rows).await?;
    rows.finish_run(&held.id, held.attempt, success(), None, NOW).await?;
    let list = async |query: RunQuery| -> Result<(String, u64), Stop> {
        let found = rows.runs(&query).await?;
        Ok((found.rows.iter().map(|run| &*run.id).collect(), found.total))
    };
    let all = RunQuery { limit: 9, ..RunQuery::default() };
    equal("all", list(all.clone()).await?, ("bcdae".into(), 5))?;
    let of_thread = RunQuery { thread: Some(thread("t")), ..all.clone() };
    equal("those of a thread", list(of_thread.clone()).await?, ("bcae".into(), 4))?;
    let page = RunQuery { offset: 1, limit: 2, ..of_thread.clone() };
    equal("a page of them", list(page).await?, ("ca".into(), 4))?;
    let pending = RunQuery { statuses: vec![RunStatus::Pending], ..of_thread };
    equal("its pending ones", list(pending).await?, ("bca".into(), 3))?;
    let over = RunQuery { statuses: vec![RunStatus::Success, RunStatus::Error], ..all.clone() };
    equal("those that have ended", list(over).await?, ("e".into(), 1))?;
    let count = RunQuery { statuses: vec![RunStatus::Running, RunStatus::Pending], limit: 0, ..all.clone() };
    equal("the number of the others", list(count).await?, (String::new(), 4))?;
    let none = RunQuery { thread: Some(thread("none")), ..all };
    equal("those of no thread", list(none).await?, (String::new(), 0))
}

/// Creates runs of several threads, claims and ends them from many tasks of these programs, and expects every run once.
async fn all_are_claimed_once(programs: Vec<Arc<dyn Records>>) -> Verdict {
    const THREADS: usize = 10;
    let names: Vec<String> = (0..THREADS).map(|number| format!("t{number}")).collect();
    let mut expected = BTreeSet::new();
    for name in &names {
        programs[0].insert_thread(thread_row(name)).await?;
        for number in 0..4 {
            let run = run(&format!("{name}.{number}"), name);
            expected.insert(run.id.clone());
            create(&*programs[0], &[run]).await?;
        }
    }
    let done = at_once(8, |number| {
        let rows = programs[usize::from(number) % programs.len()].clone();
        async move {
            let mut mine = Vec::new();
            while let Some(run) = rows.claim_run(&claim_until(LATER), NOW).await? {
                if !rows.finish_run(&run.id, run.attempt, success(), None, NOW).await? {
                    return Err(StoreError::Io(format!("{} was claimed twice", run.id).into()));
                }
                mine.push(run.id);
            }
            Ok(mine)
        }
    })
    .await?;
    let all: Vec<String> = done.into_iter().flatten().collect();
    equal("the number of claims", all.len(), expected.len())?;
    equal("the claimed runs", all.into_iter().collect::<BTreeSet<_>>(), expected)
}

async fn are_claimed_by_one_of_many(b: &Bench<'_>) -> Verdict {
    all_are_claimed_once(vec![records(b)?]).await
}

async fn are_claimed_by_one_of_two_programs(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    all_are_claimed_once(vec![rows, records(&b.reopened().await?)?]).await
}

async fn outlive_their_program(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t"), run("2", "t")]).await?;
    let held = claimed(&*rows).await?;
    let later = records(&b.reopened().await?)?;
    equal("the pending one", later.run("2").await?, Some(run("2", "t")))?;
    equal("the running one", later.run("1").await?, Some(held.clone()))?;
    let again = later.claim_run(&claim_until(LATER + 9), LATER).await?;
    let again = again.ok_or_else(|| failed("a claim", "the abandoned one", "none"))?;
    equal("the next", (again.id, again.attempt, again.lost), (held.id, held.attempt + 1, 1))
}
