//! Deletion of threads: the data that is deleted, and the data that other threads keep.

use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, Committed, Kept, StoreError};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{
    ask, commit_of, effect, ended, extend, failure, json, result, set, step, task, thread,
};
use super::verdict::{Stop, Verdict, equal, failed, holds, is};

items! { "delete":
    takes_the_checkpoints "A deleted thread has no checkpoints, no history and no line."
    takes_the_work "Results, questions, answers and effects go: a new thread of that name, and of those ids, has none."
    takes_the_subgraphs "The threads of its subgraphs go with it, at every depth."
    leaves_other_threads "Other threads stay, also those whose names begin alike."
    of_an_unknown_thread_does_nothing "Deleting what is not there, once or again, is no error and changes nothing."
    frees_the_name_and_the_ids "The name and the ids of a deleted thread can be used again."
    leaves_what_a_fork_shares "A fork keeps the past that it shares with a deleted thread: values, history and journal."
    takes_what_the_last_fork_leaves "What a deleted thread left for others goes when the last of them is deleted."
    leaves_only_the_branch_that_is_shared "Of a deleted thread's branches only those stay that a fork stands on."
    leaves_a_kept_subgraph "A subgraph from which a fork goes on stays as long as the fork."
    a_new_thread_is_a_stranger "A new thread of a deleted one's name shares nothing with what was left of it."
    stops_the_run_on_it "A run on a deleted thread stores nothing more: its commit conflicts, and its work is dropped."
    while_a_run_writes "A thread that is deleted while a run writes to it is deleted completely, or started again; never half."
}

async fn takes_the_checkpoints(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    b.advance("t", Some(&first), []).await?;
    b.delete("t").await?;
    holds("the thread is gone", !b.is_there(&thread("t")).await?)?;
    equal("its history", b.ids("t").await?, [])?;
    equal("its steps", b.steps("t").await?.len(), 0)?;
    equal("the threads", b.names().await?.len(), 0)?;
    equal("a checkpoint of it", b.saver.read(&thread("t"), At::Id(first.id)).await?, None)
}

async fn takes_the_work(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
    b.saver.ask(&name, first.id, vec![ask(1)]).await?;
    b.saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.saver.record_result(&name, second.id, result(1, "1")).await?;
    b.saver.fail(&name, second.id, failure(2, "it")).await?;
    b.saver.ask(&name, second.id, vec![ask(2)]).await?;
    b.saver.begin_effect(&name, second.id, effect(2)).await?;
    b.delete("t").await?;
    equal("the open questions", b.saver.open_asks(&"graph".into()).await?.len(), 0)?;
    b.put("t", &first).await?;
    b.put("t", &second).await?;
    for step in b.steps("t").await? {
        holds("nothing is on top of a new checkpoint of the old id", step.work.is_empty())?;
        let loaded = b.at("t", step.checkpoint.id).await?;
        let is_bare = loaded.results.is_empty() && loaded.asks.is_empty() && loaded.effects.is_empty();
        holds("nothing is read on top of it", is_bare)?;
    }
    Ok(())
}

async fn takes_the_subgraphs(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    let inmost = below.below(task(2));
    b.advance(below.as_str(), None, [set(0, "3")]).await?;
    b.advance(inmost.as_str(), None, []).await?;
    b.delete("t").await?;
    for gone in [&below, &inmost] {
        holds(format!("{gone:?} is gone"), !b.is_there(gone).await?)?;
    }
    Ok(())
}

async fn leaves_other_threads(b: &Bench<'_>) -> Verdict {
    let mut others = Vec::new();
    for name in ["t", "tt", "t ", "T", "t%", "t_"] {
        others.push((name, b.advance(name, None, [set(0, "1")]).await?));
    }
    let below = thread("tt").below(task(1));
    b.advance(below.as_str(), None, []).await?;
    b.delete("t").await?;
    for (name, checkpoint) in &others[1..] {
        equal(format!("thread {name:?}"), &b.head(name).await?.checkpoint, checkpoint)?;
    }
    holds("another's subgraph is there", b.is_there(&below).await?)
}

async fn of_an_unknown_thread_does_nothing(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.delete("none").await?;
    b.saver.delete(&"another".into(), &thread("none")).await?;
    equal("the head of another", b.head("t").await?.checkpoint, first)?;
    b.delete("t").await?;
    b.delete("t").await?;
    equal("the threads", b.names().await?.len(), 0)
}

async fn frees_the_name_and_the_ids(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    b.delete("t").await?;
    b.put("t", &first).await?;
    equal("the thread again", b.head("t").await?.checkpoint, first.clone())?;
    b.delete("t").await?;
    b.put("u", &first).await?;
    equal("its id on another", b.ids("u").await?, [first.id])
}

async fn leaves_what_a_fork_shares(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    b.saver.note_effect(&name, first.id, ended(effect(1), "5")).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    let third = b.advance("t", Some(&second), [extend(0, "[3]")]).await?;
    b.saver.fork(&name, second.id, &thread("u")).await?;
    let branch = b.advance("u", Some(&second), [extend(0, "[20]")]).await?;
    let before = b.at("u", first.id).await?;
    equal("the journal of the shared past", &before.effects, &[ended(effect(1), "5")])?;
    b.delete("t").await?;
    equal("the threads", b.names().await?, ["u"])?;
    equal("the shared checkpoint", b.at("u", first.id).await?, before)?;
    equal("the values of the fork", values(&b.head("u").await?), [(0, "[1,2,20]")])?;
    let lines = b.history("u").await?;
    let lines: Vec<_> = lines.iter().map(|line| (line.id, line.thread.as_str())).collect();
    equal("its history", lines, [(branch.id, "u"), (second.id, "t"), (first.id, "t")])?;
    let gone = b.saver.read(&thread("u"), At::Id(third.id)).await;
    is!("what was not shared", gone, Err(StoreError::NoCheckpoint { .. }));
    Ok(())
}

async fn takes_what_the_last_fork_leaves(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    let second = b.advance("u", Some(&first), [extend(0, "[2]")]).await?;
    b.saver.fork(&thread("u"), first.id, &thread("v")).await?;
    b.delete("t").await?;
    b.delete("u").await?;
    equal("the last one", values(&b.head("v").await?), [(0, "[1]")])?;
    b.delete("v").await?;
    equal("the threads", b.names().await?.len(), 0)?;
    // Nothing is left, so the ids can be used again.
    for past in [first, Checkpoint { parent: None, ..second }] {
        b.put(&past.id.to_string(), &past).await?;
    }
    Ok(())
}

async fn leaves_only_the_branch_that_is_shared(b: &Bench<'_>) -> Verdict {
    use superstep_core::checkpoint::Commit;
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let old = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    let branch = step(Some(&first), [extend(0, "[3]")]);
    b.put_as(Commit { expected: Some(old.id), ..commit_of("t", &branch) }).await?;
    b.saver.fork(&thread("t"), old.id, &thread("u")).await?;
    b.delete("t").await?;
    equal("the fork", values(&b.head("u").await?), [(0, "[1,2]")])?;
    b.put("w", &Checkpoint { parent: None, ..branch }).await
}

async fn leaves_a_kept_subgraph(b: &Bench<'_>) -> Verdict {
    let begun = b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, [set(0, "[7]")]).await?;
    let side = b.advance(thread("t").below(task(2)).as_str(), None, []).await?;
    let mut first = step(Some(&begun), [set(0, "[1]")]);
    first.frontier.kept = vec![Kept { key: "k".into(), thread: below.clone(), checkpoint: inner.id }];
    b.put("t", &first).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    b.delete("t").await?;
    b.put("x", &side).await?;
    let goes_on = thread("u").below(task(3));
    b.saver.fork(&below, inner.id, &goes_on).await?;
    b.advance(goes_on.as_str(), Some(&inner), [extend(0, "[8]")]).await?;
    equal("what goes on", values(&b.head(goes_on.as_str()).await?), [(0, "[7,8]")])?;
    b.delete("u").await?;
    holds("what was kept is gone", !b.is_there(&below).await?)?;
    holds("what went on is gone", !b.is_there(&goes_on).await?)?;
    equal("the threads", b.names().await?, ["x"])
}

async fn a_new_thread_is_a_stranger(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    b.delete("t").await?;
    let recreated = b.advance("t", None, [set(0, "[9]")]).await?;
    let stranger = b.saver.read(&thread("t"), At::Id(first.id)).await;
    is!("the old one's checkpoint", stranger, Err(StoreError::NoCheckpoint { .. }));
    equal("the new one's history", b.ids("t").await?, [recreated.id])?;
    b.delete("t").await?;
    equal("the fork", values(&b.head("u").await?), [(0, "[1]")])
}

async fn stops_the_run_on_it(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&name, first.id, result(1, "1")).await?;
    b.delete("t").await?;
    equal("a late result", b.saver.record_result(&name, first.id, result(2, "2")).await?, result(2, "2"))?;
    b.saver.fail(&name, first.id, failure(3, "boom")).await?;
    b.saver.note_effect(&name, first.id, ended(effect(3), "3")).await?;
    let late = b.saver.ask(&name, first.id, vec![ask(1)]).await;
    is!("a late question", late, Err(StoreError::Superseded { .. }));
    let late = b.saver.begin_effect(&name, first.id, effect(1)).await;
    is!("a late effect", late, Err(StoreError::Superseded { .. }));
    let below = name.below(task(1));
    for lost in [commit_of("t", &step(Some(&first), [])), commit_of(below.as_str(), &step(None, []))] {
        is!("a late commit", b.saver.commit(lost).await?, Committed::Conflict { head: None });
    }
    b.saver.flush(&name).await?;
    holds("the thread is gone", !b.is_there(&name).await? && !b.is_there(&below).await?)
}

async fn while_a_run_writes(b: &Bench<'_>) -> Verdict {
    for round in 0..8 {
        let mut last = b.advance("t", None, [set(0, "[]")]).await?;
        let saver = b.saver.clone();
        let writer = tokio::spawn(async move {
            for _ in 0..200 {
                saver.record_result(&thread("t"), last.id, result(1, "1")).await?;
                saver.note_effect(&thread("t"), last.id, ended(effect(1), "1")).await?;
                let next = step(Some(&last), [extend(0, "[1]")]);
                match saver.commit(commit_of("t", &next)).await? {
                    Committed::New => last = next,
                    other => return Ok(Some(other)),
                }
                tokio::task::yield_now().await;
            }
            Ok::<_, StoreError>(None)
        });
        for _ in 0..round * 3 {
            tokio::task::yield_now().await;
        }
        b.delete("t").await?;
        let ended = writer.await.map_err(|error| failed("the writer", "it ends", error))??;
        if let Some(ended) = ended {
            is!("the commit that found the thread gone", ended, Committed::Conflict { head: None });
        } else {
            b.delete("t").await?;
        }
        gone(b).await?;
    }
    Ok(())
}

async fn gone(b: &Bench<'_>) -> Result<(), Stop> {
    b.saver.flush(&thread("t")).await?;
    holds("the thread is gone", !b.is_there(&thread("t")).await?)?;
    let recreated = b.advance("t", None, [set(0, "1")]).await?;
    let loaded = b.head("t").await?;
    equal("a new thread of its name", loaded.checkpoint, recreated)?;
    equal("its values", values(&b.head("t").await?), [(0, "1")])?;
    holds("nothing is on top of it", loaded.results.is_empty() && loaded.effects.is_empty())?;
    b.delete("t").await
}
