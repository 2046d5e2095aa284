//! Threads of subgraphs: below the thread whose task runs them.

use superstep_core::checkpoint::{Committed, Kept, StoreError};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{commit_of, extend, set, step, task, thread};
use super::verdict::{Verdict, equal, holds, is};

items! { "subgraphs":
    have_threads_of_their_own "A subgraph's thread and the one above it have their own heads, histories and values."
    of_two_tasks_stay_apart "The subgraphs of two tasks, and those of a subgraph's tasks, are threads of their own."
    begin_only_below_a_thread "A subgraph's thread begins only while the one above it is there: otherwise its commit conflicts."
    are_not_forked_below_nothing "A fork to a subgraph's thread is `Superseded` where the thread above it is not."
    continue_from_a_kept_state "A subgraph that goes on from a kept state shares the past of the one that kept it."
}

async fn have_threads_of_their_own(b: &Bench<'_>) -> Verdict {
    let above = b.advance("t", None, [set(0, "1")]).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, [set(0, "2")]).await?;
    let next = b.advance(below.as_str(), Some(&inner), [set(1, "3")]).await?;
    equal("above", values(&b.head("t").await?), [(0, "1")])?;
    equal("below", values(&b.head(below.as_str()).await?), [(0, "2"), (1, "3")])?;
    equal("the history above", b.ids("t").await?, [above.id])?;
    equal("the history below", b.ids(below.as_str()).await?, [next.id, inner.id])
}

async fn of_two_tasks_stay_apart(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    let (one, two) = (thread("t").below(task(1)), thread("t").below(task(2)));
    let inmost = one.below(task(2));
    for (name, text) in [(&one, "1"), (&two, "2"), (&inmost, "3")] {
        b.advance(name.as_str(), None, [set(0, text)]).await?;
    }
    for (name, text) in [(&one, "1"), (&two, "2"), (&inmost, "3")] {
        equal(format!("on {name:?}"), values(&b.head(name.as_str()).await?), [(0, text)])?;
    }
    Ok(())
}

async fn begin_only_below_a_thread(b: &Bench<'_>) -> Verdict {
    let below = thread("t").below(task(1));
    let orphan = b.saver.commit(commit_of(below.as_str(), &step(None, []))).await?;
    is!("a subgraph of no thread", orphan, Committed::Conflict { head: None });
    holds("it is not there", !b.is_there(&below).await?)?;
    b.advance("t", None, []).await?;
    let inmost = below.below(task(1));
    let orphan = b.saver.commit(commit_of(inmost.as_str(), &step(None, []))).await?;
    is!("a subgraph of no subgraph", orphan, Committed::Conflict { head: None });
    b.advance(below.as_str(), None, []).await?;
    b.advance(inmost.as_str(), None, []).await?;
    Ok(())
}

async fn are_not_forked_below_nothing(b: &Bench<'_>) -> Verdict {
    let other = b.advance("other", None, []).await?;
    let below = thread("t").below(task(1));
    let orphan = b.saver.fork(&thread("other"), other.id, &below).await;
    is!("a fork below no thread", orphan, Err(StoreError::Superseded { .. }));
    holds("it is not there", !b.is_there(&below).await?)
}

async fn continue_from_a_kept_state(b: &Bench<'_>) -> Verdict {
    let begun = b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, [set(0, "[7]")]).await?;
    let mut first = step(Some(&begun), []);
    first.frontier.kept = vec![Kept { key: "k".into(), thread: below.clone(), checkpoint: inner.id }];
    b.put("t", &first).await?;
    let goes_on = thread("t").below(task(3));
    b.saver.fork(&below, inner.id, &goes_on).await?;
    b.advance(goes_on.as_str(), Some(&inner), [extend(0, "[8]")]).await?;
    equal("what goes on", values(&b.head(goes_on.as_str()).await?), [(0, "[7,8]")])?;
    equal("what was kept", values(&b.head(below.as_str()).await?), [(0, "[7]")])
}
