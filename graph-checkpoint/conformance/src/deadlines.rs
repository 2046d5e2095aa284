//! Questions with deadlines.

use superstep_core::checkpoint::{CheckpointerExt, StoreError};
use superstep_core::id::{InterruptId, NodeName};

use super::bench::Bench;
use super::item::items;
use super::material::{answered, ask, due, expired, json, task, thread};
use super::verdict::{Stop, Verdict, equal, is};

items! { "deadlines":
    count_when_they_are_reached "A question answers itself when its deadline is not after the time that is asked for."
    count_once "What has answered itself is returned once."
    an_answer_that_came_first_stays "A deadline changes no answer, and is not answered afterwards."
    are_asked_for_by_graph "Only the questions of the named graph's threads answer themselves."
    are_asked_for_by_thread "With a thread, only its questions answer themselves; without, those of all, by thread."
    of_subgraphs_belong_to_the_top "A subgraph's thread has no deadlines of its own: the thread at the top has them."
    count_on_the_head_only "A question that the thread has passed does not answer itself."
    may_be_at_any_time "Deadlines at the beginning and at the end of time are kept as they are."
}

/// Expires the questions that are overdue at `now_ms` on all threads of the graph; returns them.
async fn tick(b: &Bench<'_>, now_ms: u64) -> Result<Vec<(String, InterruptId)>, Stop> {
    let expired = b.saver.expire(&NodeName::from("graph"), None, now_ms).await?;
    Ok(expired.into_iter().map(|(thread, ask)| (thread.to_string(), ask.id)).collect())
}

async fn count_when_they_are_reached(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let asks = vec![due(1, 100), due(3, 200), ask(4)];
    b.saver.ask(&thread("t"), first.id, asks.clone()).await?;
    equal("before", tick(b, 99).await?, [])?;
    equal("the questions before", b.head("t").await?.asks, asks)?;
    equal("at the time", tick(b, 100).await?, [("t".to_owned(), ask(1).id)])?;
    equal("the questions then", b.head("t").await?.asks, [expired(1, 100), due(3, 200), ask(4)])
}

async fn count_once(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![due(1, 100)]).await?;
    equal("the first time", tick(b, 100).await?.len(), 1)?;
    equal("the second time", tick(b, 100).await?.len(), 0)?;
    b.saver.ask(&thread("t"), first.id, vec![due(1, 500)]).await?;
    equal("when it is asked again", tick(b, u64::MAX).await?.len(), 0)
}

async fn an_answer_that_came_first_stays(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![due(1, 100), due(2, 100)]).await?;
    b.saver.answer_all(&thread("t"), vec![(ask(2).id, json("\"by hand\""))]).await?;
    equal("at the time", tick(b, 100).await?, [("t".to_owned(), ask(1).id)])?;
    let late = b.saver.answer_all(&thread("t"), vec![(ask(1).id, json("9"))]).await;
    is!("an answer after the deadline", late, Err(StoreError::AlreadyAnswered(_)));
    let expected = [expired(1, 100), answered(due(2, 100), "\"by hand\"")];
    equal("the questions", b.head("t").await?.asks, expected)
}

async fn are_asked_for_by_graph(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![due(1, 5)]).await?;
    equal("of another graph", b.saver.expire(&"another".into(), None, 9).await?.len(), 0)?;
    equal("the questions", b.head("t").await?.asks, [due(1, 5)])
}

async fn are_asked_for_by_thread(b: &Bench<'_>) -> Verdict {
    for name in ["b", "a", "c"] {
        let first = b.advance(name, None, []).await?;
        b.saver.ask(&thread(name), first.id, vec![due(1, 5)]).await?;
    }
    let one = b.saver.expire(&"graph".into(), Some(&thread("b")), 9).await?;
    equal("of one thread", one, [(thread("b"), expired(1, 5))])?;
    let rest = [("a".to_owned(), ask(1).id), ("c".to_owned(), ask(1).id)];
    equal("of all threads", tick(b, 9).await?, rest)?;
    equal(
        "of a thread that is not there",
        b.saver.expire(&"graph".into(), Some(&thread("x")), 9).await?.len(),
        0,
    )
}

async fn of_subgraphs_belong_to_the_top(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, []).await?;
    b.saver.ask(&below, inner.id, vec![due(1, 5)]).await?;
    equal("of all threads", tick(b, 9).await?, [])?;
    equal("the question below", b.head(below.as_str()).await?.asks, [due(1, 5)])
}

async fn count_on_the_head_only(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![due(1, 100)]).await?;
    b.advance("t", Some(&first), []).await?;
    equal("after the barrier", tick(b, u64::MAX).await?, [])?;
    equal("the questions of then", b.at("t", first.id).await?.asks, [])
}

async fn may_be_at_any_time(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let asks = [due(1, 0), due(2, u64::MAX), due(3, 1 << 63)];
    b.saver.ask(&thread("t"), first.id, asks.to_vec()).await?;
    equal("the questions", b.head("t").await?.asks, asks)?;
    equal("at the beginning", tick(b, 0).await?, [("t".to_owned(), ask(1).id)])?;
    equal("in the middle", tick(b, 1 << 62).await?, [])?;
    let rest = [("t".to_owned(), ask(2).id), ("t".to_owned(), ask(3).id)];
    equal("at the end", tick(b, u64::MAX).await?, rest)
}
