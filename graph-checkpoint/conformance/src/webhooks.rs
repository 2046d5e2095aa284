//! The calls of webhooks of a server's runs. For stores that keep such rows.

use superstep_core::id::NodeName;
use superstep_core::records::{Calls, CancelAction, Expiry, ExpiryStrategy, Records, RunRow, ThreadChange};

use super::bench::Bench;
use super::item::items;
use super::material::thread;
use super::queue::{LATER, claimed, create, run, success, with_thread};
use super::races::at_once;
use super::rows::{NOW, records};
use super::verdict::{Stop, Verdict, equal, failed, holds};

items! { "webhooks":
    are_called_after_the_end "The webhook of a run is claimed after the end of the run, and not before; a run without one is never claimed."
    are_called_in_their_order "The webhook whose time came first is claimed first, of the caller's graphs only, and not before its time."
    are_called_by_one_of_many "Of callers that claim at once, each gets other webhooks, and every webhook is claimed once."
    a_lost_call_is_made_again "A call that is not ended is claimed again at its time; the caller that lost it changes nothing."
    are_not_called_after_the_last_call "A call that is ended without another one is the last; with another one it is claimed at its time."
    keep_their_threads "An expired thread is not swept before its webhooks were called."
    outlive_their_program "Calls are there for the program that starts after a crash."
}

/// A run with a webhook.
fn hooked(id: &str, of: &str) -> RunRow {
    RunRow { calls: Some(Calls::default()), ..run(id, of) }
}

/// Claims a call at a time, until a second later.
async fn call(rows: &dyn Records, now_ms: u64) -> Result<Option<RunRow>, Stop> {
    Ok(rows.claim_call(&["graph".into()], now_ms + 1_000, now_ms).await?)
}

async fn called_id(rows: &dyn Records, now_ms: u64) -> Result<Option<String>, Stop> {
    Ok(call(rows, now_ms).await?.map(|run| run.id))
}

/// Creates runs, and ends them at once.
async fn ended(rows: &dyn Records, runs: &[RunRow]) -> Verdict {
    for run in runs {
        create(rows, std::slice::from_ref(run)).await?;
        let claimed = claimed(rows).await?;
        holds("the run ends", rows.finish_run(&run.id, claimed.attempt, success(), None, NOW).await?)?;
    }
    Ok(())
}

async fn are_called_after_the_end(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    create(&*rows, &[hooked("1", "t"), run("2", "u")]).await?;
    equal("while it is pending", called_id(&*rows, NOW).await?, None)?;
    let (first, second) = (claimed(&*rows).await?, claimed(&*rows).await?);
    equal("while it runs", called_id(&*rows, NOW).await?, None)?;
    rows.finish_run("2", second.attempt, success(), None, NOW).await?;
    equal("without a webhook", called_id(&*rows, NOW).await?, None)?;
    rows.finish_run("1", first.attempt, success(), None, NOW).await?;
    let over = call(&*rows, NOW).await?.ok_or_else(|| failed("a claim after the end", "the run", "none"))?;
    let calls = Some(Calls { next_ms: NOW + 1_000, started: 1 });
    equal("the call", (&*over.id, over.calls), ("1", calls))?;
    equal("its start and its end", (over.not_before_ms, over.updated_ms), (NOW, NOW))?;
    equal("as it is read", rows.run("1").await?, Some(over))?;
    create(&*rows, &[hooked("3", "t")]).await?;
    rows.cancel_run("3", CancelAction::Interrupt, NOW).await?;
    equal("a cancelled one", called_id(&*rows, NOW).await?.as_deref(), Some("3"))?;
    create(&*rows, &[hooked("4", "t")]).await?;
    rows.cancel_run("4", CancelAction::Rollback, NOW).await?;
    equal("one that was rolled back", called_id(&*rows, NOW).await?, None)
}

async fn are_called_in_their_order(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let at = |id: &str, next_ms| RunRow { calls: Some(Calls { next_ms, started: 0 }), ..run(id, "t") };
    ended(&*rows, &[at("late", NOW + 5), at("second", NOW), at("first", NOW - 1), at("third", NOW)]).await?;
    let of = async |graphs: &[NodeName]| -> Result<Option<String>, Stop> {
        Ok(rows.claim_call(graphs, LATER, NOW).await?.map(|run| run.id))
    };
    equal("of another graph", of(&["other".into()]).await?, None)?;
    equal("of no graph", of(&[]).await?, None)?;
    equal("of several", of(&["other".into(), "graph".into()]).await?.as_deref(), Some("first"))?;
    equal("the next", called_id(&*rows, NOW).await?.as_deref(), Some("second"))?;
    equal("the one after it", called_id(&*rows, NOW).await?.as_deref(), Some("third"))?;
    equal("before its time", called_id(&*rows, NOW + 4).await?, None)?;
    equal("at its time", called_id(&*rows, NOW + 5).await?.as_deref(), Some("late"))
}

async fn are_called_by_one_of_many(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    let ids: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    let runs: Vec<RunRow> = ids.iter().map(|id| hooked(id, "t")).collect();
    ended(&*rows, &runs).await?;
    let claims = at_once(12, |_| {
        let rows = rows.clone();
        async move { rows.claim_call(&["graph".into()], LATER, NOW).await }
    });
    let mut found: Vec<String> = claims.await?.into_iter().flatten().map(|run| run.id).collect();
    found.sort();
    equal("the claims", found, ids)
}

async fn a_lost_call_is_made_again(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    ended(&*rows, &[hooked("1", "t")]).await?;
    equal("the first claim", called_id(&*rows, NOW).await?.as_deref(), Some("1"))?;
    equal("while it is made", called_id(&*rows, NOW + 999).await?, None)?;
    let again = call(&*rows, NOW + 1_000).await?;
    let again = again.ok_or_else(|| failed("a claim after it", "the run", "none"))?;
    equal("its number", again.calls.map(|calls| calls.started), Some(2))?;
    holds("the first caller changes nothing", !rows.finish_call("1", 1, None).await?)?;
    equal("the row", rows.run("1").await?, Some(again))?;
    holds("the second one ends it", rows.finish_call("1", 2, None).await?)?;
    holds("once", !rows.finish_call("1", 2, None).await?)?;
    holds("there is no call of another run", !rows.finish_call("none", 1, None).await?)
}

async fn are_not_called_after_the_last_call(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    ended(&*rows, &[hooked("1", "t")]).await?;
    equal("the first claim", called_id(&*rows, NOW).await?.as_deref(), Some("1"))?;
    holds("another one follows", rows.finish_call("1", 1, Some(NOW + 5_000)).await?)?;
    equal("before its time", called_id(&*rows, NOW + 4_999).await?, None)?;
    let second = call(&*rows, NOW + 5_000).await?;
    equal("the second", second.and_then(|run| run.calls).map(|calls| calls.started), Some(2))?;
    holds("it is the last", rows.finish_call("1", 2, None).await?)?;
    equal("after it", called_id(&*rows, NOW + 99_999).await?, None)?;
    let row = rows.run("1").await?.ok_or_else(|| failed("the run", "a row", "none"))?;
    equal("the row", (row.status.is_terminal(), row.calls), (true, None))
}

async fn keep_their_threads(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t", "u"]).await?;
    ended(&*rows, &[hooked("1", "t"), run("2", "u")]).await?;
    for name in ["t", "u"] {
        let expiry = Some(Some(Expiry::new(1.0, ExpiryStrategy::Delete, NOW)));
        rows.change_thread(&thread(name), ThreadChange { expiry, ..ThreadChange::default() }, NOW).await?;
    }
    let later = NOW + 60_000;
    let swept = async || -> Result<Vec<String>, Stop> {
        Ok(rows.sweep(later, 9).await?.iter().map(|row| row.id.to_string()).collect())
    };
    equal("before the call", swept().await?, ["u"])?;
    equal("the claim", called_id(&*rows, NOW).await?.as_deref(), Some("1"))?;
    equal("during the call", swept().await?, ["u"])?;
    rows.finish_call("1", 1, None).await?;
    equal("after the call", swept().await?.len(), 2)
}

async fn outlive_their_program(b: &Bench<'_>) -> Verdict {
    let rows = with_thread(b, &["t"]).await?;
    ended(&*rows, &[hooked("1", "t"), hooked("2", "t")]).await?;
    equal("a claim before", called_id(&*rows, NOW).await?.as_deref(), Some("1"))?;
    let later = records(&b.reopened().await?)?;
    equal("the other one", called_id(&*later, NOW).await?.as_deref(), Some("2"))?;
    equal("the lost one", called_id(&*later, NOW + 1_000).await?.as_deref(), Some("1"))
}
