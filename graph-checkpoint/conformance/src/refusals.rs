//! Requests that must be rejected, and their errors. Rejections that belong to one topic are tested with it.

use superstep_core::checkpoint::{CheckpointerExt, Commit, Committed, StoreError};
use superstep_core::id::Fingerprint;
use superstep_core::state::SizeLimits;

use super::bench::{Bench, values};
use super::item::items;
use super::material::{
    ask, commit_of, effect, ended, extend, failure, next_id, ok, result, set, step, thread,
};
use super::verdict::{Verdict, equal, holds, is};

items! { "refusals":
    unknown_schema "A commit under a schema that was not registered is `NotRegistered`, with its fingerprint, and stores nothing."
    unknown_topology "A commit under a topology that was not registered is `NotRegistered`, with its fingerprint, and stores nothing."
    unknown_parent "A commit on a parent that is not in the store is `NoCheckpoint`, and stores nothing."
    commit_of_another_graph "A commit of another graph to a thread is `WrongGraph`, and stores nothing."
    deletion_by_another_graph "A deletion in the name of another graph is `WrongGraph`, and deletes nothing."
    work_on_an_unknown_checkpoint "Work on a checkpoint that the store has not, on a thread that is there, is an error, and stores nothing."
    a_state_that_grows_too_large "A commit with which the state would be larger than its limits is `TooLarge`, and the thread goes on as it was; or else it is stored, and comes back."
    one_refusal_fails_no_neighbour "A call that is refused leaves those before and after it alone."
}

async fn unknown_schema(b: &Bench<'_>) -> Verdict {
    let unknown = Fingerprint::from_bytes([1; 16]);
    let mut foreign = step(None, []);
    foreign.schema = unknown;
    let refused = b.saver.commit(commit_of("t", &foreign)).await;
    is!("the commit", refused, Err(StoreError::NotRegistered(named)) if named == unknown);
    holds("nothing is stored", !b.is_there(&thread("t")).await?)
}

async fn unknown_topology(b: &Bench<'_>) -> Verdict {
    let unknown = Fingerprint::from_bytes([1; 16]);
    let first = b.advance("t", None, []).await?;
    let mut foreign = step(Some(&first), []);
    foreign.topology = unknown;
    let refused = b.saver.commit(commit_of("t", &foreign)).await;
    is!("the commit", refused, Err(StoreError::NotRegistered(named)) if named == unknown);
    equal("the head", b.head("t").await?.checkpoint, first)
}

async fn unknown_parent(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut stray = step(Some(&first), [set(0, "1")]);
    stray.parent = Some(next_id());
    let commit = Commit { expected: Some(first.id), ..commit_of("t", &stray) };
    is!("the commit", b.saver.commit(commit).await, Err(StoreError::NoCheckpoint { .. }));
    equal("the past", b.ids("t").await?, [first.id])
}

async fn commit_of_another_graph(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let foreign = Commit { graph: "other".into(), ..commit_of("t", &step(Some(&first), [])) };
    is!("the commit", b.saver.commit(foreign).await, Err(StoreError::WrongGraph { thread: of, found, expected })
        if of == thread("t") && found == "graph" && expected == "other");
    b.advance("t", Some(&first), []).await?;
    Ok(())
}

async fn deletion_by_another_graph(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let refused = b.saver.delete(&"other".into(), &thread("t")).await;
    is!("the deletion", refused, Err(StoreError::WrongGraph { found, expected, .. })
        if found == "graph" && expected == "other");
    equal("the head", b.head("t").await?.checkpoint, first)
}

async fn work_on_an_unknown_checkpoint(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    b.advance("t", None, []).await?;
    let stranger = next_id();
    holds("a result is refused", b.saver.record_result(&name, stranger, result(1, "1")).await.is_err())?;
    holds("a question is refused", b.saver.ask(&name, stranger, vec![ask(1)]).await.is_err())?;
    holds("an effect is refused", b.saver.begin_effect(&name, stranger, effect(1)).await.is_err())?;
    let loaded = b.head("t").await?;
    let is_bare = loaded.results.is_empty() && loaded.asks.is_empty() && loaded.effects.is_empty();
    holds("nothing is stored", is_bare)
}

async fn a_state_that_grows_too_large(b: &Bench<'_>) -> Verdict {
    // Two of these have more values than a state may have by default.
    let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
    let half = list(SizeLimits::VALUES / 5 * 3);
    let first = b.advance("t", None, [set(0, &half)]).await?;
    let next = step(Some(&first), [extend(0, &half)]);
    let (last, items) = match b.saver.commit(commit_of("t", &next)).await {
        Err(StoreError::TooLarge { .. }) => (first, 1),
        committed => {
            is!("the commit", committed, Ok(Committed::New));
            (next, 2)
        }
    };
    let last = b.advance("t", Some(&last), [extend(0, "[0]")]).await?;
    let head = b.head("t").await?;
    equal("the head", head.checkpoint.id, last.id)?;
    let kept = list(items * (SizeLimits::VALUES / 5 * 3) + 1);
    holds("the list is as it was before, and goes on", values(&head) == [(0, &*kept)])
}

async fn one_refusal_fails_no_neighbour(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    let mut foreign = step(Some(&first), []);
    foreign.schema = Fingerprint::from_bytes([1; 16]);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20_u8 {
        let (saver, foreign, name) = (b.saver.clone(), foreign.clone(), name.clone());
        calls.spawn(async move {
            if number % 2 == 0 {
                return saver.commit(commit_of("t", &foreign)).await.map(drop).is_err();
            }
            let recorded = saver.record_result(&name, first.id, result(number, "1")).await;
            recorded.is_ok_and(|counted| counted == result(number, "1"))
        });
    }
    holds("each is told of itself", calls.join_all().await.into_iter().all(|told| told))?;
    b.saver.fail(&name, first.id, failure(0, "it")).await?;
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.saver.end_effect(&name, first.id, &effect(1).id, ok("2")).await?;
    b.saver.flush(&name).await?;
    let loaded = b.head("t").await?;
    equal("the results", loaded.results.len(), 10)?;
    equal("the failures", loaded.failures, [failure(0, "it")])?;
    equal("the effects", loaded.effects, [ended(effect(1), "2")])
}
