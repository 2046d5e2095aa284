//! The attempts of a run: their claims, their heartbeats, and their ends.

use superstep_core::records::life::{self, Beat, Cancelled, Ending};
use superstep_core::records::{CancelAction, Heartbeat, Records, RunRow, RunStatus, ThreadStatus};

use super::super::bench::Bench;
use super::super::material::{json, thread};
use super::super::rows::{NOW, event};
use super::super::verdict::{Stop, Verdict, equal, failed, holds};
use super::{LATER, claim_until, claimed, create, run, status, success, with_thread};

pub(super) async fn an_abandoned_run_is_claimed_again(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t"), run("2", "t")]).await?;
    let first = claimed(&*rows).await?;
    equal("while its worker has it", rows.claim_run(&claim_until(LATER + 9), LATER - 1).await?, None)?;
    let again = rows.claim_run(&claim_until(LATER + 9), LATER).await?;
    let again = again.ok_or_else(|| failed("a claim after it", "the run", "none"))?;
    equal("the run", (&*again.id, again.attempt, again.lost), ("1", first.attempt + 1, 1))?;
    equal("the beat of the first", beat(&*rows, "1", first.attempt, LATER + 99).await?, Beat::Lost)?;
    equal("the row", rows.run("1").await?, Some(again))
}

/// Extends the claim of an attempt.
pub(super) async fn beat(rows: &dyn Records, run: &str, attempt: u32, until_ms: u64) -> Result<Beat, Stop> {
    let heartbeat = Heartbeat { run: run.into(), attempt, lost: None };
    let mut answers = rows.beat(&[heartbeat], until_ms).await?;
    answers.pop().ok_or_else(|| failed("a beat", "an answer", "none"))
}

pub(super) async fn lost_attempts_count_until_there_is_progress(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    create(&*rows, &[run("1", "t"), run("2", "u")]).await?;
    let (first, other) = (claimed(&*rows).await?, claimed(&*rows).await?);
    let again = async |at| {
        let found = rows.claim_run(&claim_until(at + 1), at).await?;
        found.ok_or_else(|| failed("a claim after it", "the run", "none"))
    };
    let second = again(LATER).await?;
    equal("after the first attempt", (second.attempt, second.lost), (2, 1))?;
    let third = again(LATER + 1).await?;
    equal("after one that has not begun", (&*third.id, third.attempt, third.lost), ("1", 3, 1))?;
    let fresh = again(LATER + 1).await?;
    equal("the other run", (&*fresh.id, fresh.attempt, fresh.lost), ("2", 2, 1))?;
    let heartbeats = [
        Heartbeat { run: "1".into(), attempt: 3, lost: life::begun(&third) },
        Heartbeat { run: "none".into(), attempt: 1, lost: None },
        Heartbeat { run: "2".into(), attempt: other.attempt, lost: Some(9) },
    ];
    let answers = rows.beat(&heartbeats, LATER + 2).await?;
    equal("the beats", answers, vec![Beat::Held, Beat::Lost, Beat::Lost])?;
    let fourth = rows.claim_run(&claim_until(LATER + 3), LATER + 2).await?;
    equal("a run whose attempt is lost", fourth.map(|run| (run.id, run.lost)), Some(("1".to_owned(), 2)))?;
    let begun = Heartbeat { run: "1".into(), attempt: 4, lost: Some(3) };
    equal("its begin", rows.beat(&[begun], LATER + 3).await?, vec![Beat::Held])?;
    holds("it is given back", rows.finish_run("1", 4, Ending::GivenBack, None, LATER).await?)?;
    let lost = async || Ok::<_, Stop>(rows.run("1").await?.map(|run| (run.attempt, run.lost)));
    equal("after that", lost().await?, Some((4, 2)))?;
    holds("another attempt", rows.claim_run(&claim_until(LATER + 9), LATER).await?.is_some())?;
    holds("it waits", rows.finish_run("1", 5, Ending::Postponed, None, LATER).await?)?;
    equal("after an attempt that has not begun", lost().await?, Some((5, 2)))?;
    let sixth = rows.claim_run(&claim_until(LATER + 9), LATER).await?;
    let progress =
        Heartbeat { run: "1".into(), attempt: 6, lost: sixth.and_then(|run| life::advanced(&run)) };
    equal("its progress", rows.beat(&[progress], LATER + 9).await?, vec![Beat::Held])?;
    equal("after that", lost().await?, Some((6, 1)))?;
    equal("the first attempt's", beat(&*rows, "1", first.attempt, LATER).await?, Beat::Lost)
}

pub(super) async fn a_beat_extends_the_claim(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t")]).await?;
    let held = claimed(&*rows).await?;
    equal("a beat", beat(&*rows, "1", held.attempt, LATER + 500).await?, Beat::Held)?;
    equal("a claim before the new time", rows.claim_run(&claim_until(LATER), LATER + 499).await?, None)?;
    equal("a request", rows.cancel_run("1", CancelAction::Rollback, NOW).await?, Cancelled::Asked)?;
    let told = Beat::Cancel(CancelAction::Rollback);
    equal("the next beat", beat(&*rows, "1", held.attempt, LATER + 600).await?, told)?;
    equal("the claim", rows.run("1").await?.map(|run| run.until_ms), Some(LATER + 600))?;
    equal("a run that does not exist", beat(&*rows, "none", 1, LATER).await?, Beat::Lost)
}

pub(super) async fn a_stale_attempt_changes_nothing(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t")]).await?;
    let first = claimed(&*rows).await?;
    let second = rows.claim_run(&claim_until(LATER + 9), LATER).await?;
    let second = second.ok_or_else(|| failed("the second claim", "the run", "none"))?;
    for ending in [success(), Ending::GivenBack, Ending::RolledBack { thread: ThreadStatus::Idle }] {
        let last = Some(event("t", 2, "1"));
        let is_done = rows.finish_run("1", first.attempt, ending, last, LATER).await?;
        holds("the first attempt does not end the run", !is_done)?;
    }
    let late = rows.append_events(first.attempt, vec![event("t", 1, "1")]).await?;
    holds("an event of the first attempt is refused", !late)?;
    equal("no event", rows.events(&thread("t"), None, None, 9).await?, [])?;
    let own = rows.append_events(second.attempt, vec![event("t", 3, "1")]).await?;
    holds("an event of the second attempt is stored", own)?;
    equal("the row", rows.run("1").await?.as_ref(), Some(&second))?;
    equal("the thread", status(&*rows, "t").await?, ThreadStatus::Busy)?;
    holds("the second attempt does", rows.finish_run("1", second.attempt, success(), None, LATER).await?)?;
    let late = rows.append_events(second.attempt, vec![event("t", 4, "1")]).await?;
    holds("an event after the end is refused", !late)
}

pub(super) async fn a_run_ends_once(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t"), run("2", "t")]).await?;
    let held = claimed(&*rows).await?;
    let error = Some(json(r#"{"error":"E","message":"it broke"}"#));
    let ending =
        Ending::Ended { status: RunStatus::Error, thread: ThreadStatus::Error, error: error.clone() };
    let last = event("t", 1, "1");
    let is_done = rows.finish_run("1", held.attempt, ending, Some(last.clone()), NOW + 5).await?;
    holds("its end", is_done)?;
    equal("its last event", rows.events(&thread("t"), None, None, 9).await?, [last])?;
    let row = rows.run("1").await?.ok_or_else(|| failed("the run", "a row", "none"))?;
    let found = (row.status, row.error.clone(), row.updated_ms, row.owner.clone());
    equal("the row", found, (RunStatus::Error, error.clone(), NOW + 5, None))?;
    holds("a second end is refused", !rows.finish_run("1", held.attempt, success(), None, NOW).await?)?;
    equal("the thread", status(&*rows, "t").await?, ThreadStatus::Busy)?;
    let held = claimed(&*rows).await?;
    holds("the other's end", rows.finish_run("2", held.attempt, success(), None, NOW + 9).await?)?;
    let row = rows.thread(&thread("t")).await?.ok_or_else(|| failed("the thread", "a row", "none"))?;
    let found = (row.status, row.error, row.updated_ms, row.state_updated_ms);
    equal("the thread after the last", found, (ThreadStatus::Idle, None, NOW + 9, NOW + 9))
}

pub(super) async fn a_run_that_is_given_back_goes_first(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let late = RunRow { not_before_ms: NOW + 1, ..run("late", "t") };
    create(&*rows, &[late, run("1", "t")]).await?;
    let held = claimed(&*rows).await?;
    holds("it is given back", rows.finish_run("1", held.attempt, Ending::GivenBack, None, NOW).await?)?;
    let row = rows.run("1").await?.ok_or_else(|| failed("the run", "a row", "none"))?;
    equal("the row", (row.status, row.owner, row.until_ms), (RunStatus::Pending, None, 0))?;
    equal("the beat of its worker", beat(&*rows, "1", held.attempt, LATER).await?, Beat::Lost)?;
    let again = rows.claim_run(&claim_until(LATER), NOW + 1).await?;
    let again = again.ok_or_else(|| failed("the next claim", "the run", "none"))?;
    equal("the next", (&*again.id, again.attempt, again.lost), ("1", held.attempt + 1, 0))
}

pub(super) async fn a_rolled_back_run_is_deleted(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    create(&*rows, &[run("1", "t")]).await?;
    let held = claimed(&*rows).await?;
    let ending = Ending::RolledBack { thread: ThreadStatus::Interrupted };
    holds("it ends", rows.finish_run("1", held.attempt, ending, None, NOW).await?)?;
    equal("the row", rows.run("1").await?, None)?;
    equal("the thread", status(&*rows, "t").await?, ThreadStatus::Interrupted)?;
    holds("an event is refused", !rows.append_events(held.attempt, vec![event("t", 1, "1")]).await?)?;
    create(&*rows, &[run("1", "t")]).await
}
