//! Inputs, which are committed with the checkpoint that continues them.

use std::sync::Arc;

use superstep_core::checkpoint::{Checkpoint, CheckpointerExt, Commit, Committed, Source, StoreError};
use superstep_core::id::Fingerprint;

use super::bench::{Bench, values};
use super::item::items;
use super::material::{ask, commit_of, effect, ended, extend, failure, json, result, set, step, thread};
use super::verdict::{Verdict, equal, is};

items! { "inputs":
    are_stored_with_what_continues_them "An input and the checkpoint that continues it are stored in one commit, in this order."
    are_stored_both_or_neither "Where the head is another one, or the checkpoint after the input is refused, neither is stored."
    give_up_the_superstep "What such a commit leaves of the work on the head is what an input alone leaves."
    again_are_already "Such a commit, repeated, is `Already`."
    of_a_lost_run_conflict "Such a commit on a passed head is a conflict that names the head."
}

/// Returns an input on `head`.
fn input(head: Option<&Checkpoint>) -> Checkpoint {
    Checkpoint { source: Source::Input, ..step(head, []) }
}

/// Returns the commit of an input and of the checkpoint that continues it.
fn both(input: &Checkpoint, start: &Checkpoint) -> Commit {
    Commit {
        expected: input.parent,
        input: Some(Arc::new(input.clone())),
        ..commit_of("t", &Checkpoint { parent: Some(input.id), ..start.clone() })
    }
}

async fn are_stored_with_what_continues_them(b: &Bench<'_>) -> Verdict {
    let first = Checkpoint { changes: vec![set(0, "[1]")], ..input(None) };
    let start = step(Some(&first), [extend(0, "[2]")]);
    b.put_as(both(&first, &start)).await?;
    let second = input(Some(&start));
    let next = step(Some(&second), [extend(0, "[3]")]);
    b.put_as(both(&second, &next)).await?;
    equal("the past", b.ids("t").await?, [next.id, second.id, start.id, first.id])?;
    equal("the head", b.head("t").await?.checkpoint, next.clone())?;
    equal("the values at the head", values(&b.head("t").await?), [(0, "[1,2,3]")])?;
    equal("the second input", b.at("t", second.id).await?.checkpoint, second.clone())?;
    equal("the values at the second input", values(&b.at("t", second.id).await?), [(0, "[1,2]")])?;
    equal("the first input", b.at("t", first.id).await?.checkpoint, first)?;
    b.advance("t", Some(&next), []).await.map(drop)
}

async fn are_stored_both_or_neither(b: &Bench<'_>) -> Verdict {
    let unknown = Fingerprint::from_bytes([9; 16]);
    let first = input(None);
    let refused = Checkpoint { schema: unknown, ..step(Some(&first), []) };
    is!("a new thread", b.saver.commit(both(&first, &refused)).await, Err(StoreError::NotRegistered(_)));
    equal("the threads", b.names().await?, Vec::<String>::new())?;
    let head = b.advance("t", None, [set(0, "1")]).await?;
    b.saver.record_result(&thread("t"), head.id, result(1, "1")).await?;
    let second = input(Some(&head));
    let refused = Checkpoint { schema: unknown, ..step(Some(&second), []) };
    is!("a thread", b.saver.commit(both(&second, &refused)).await, Err(StoreError::NotRegistered(_)));
    let loaded = b.head("t").await?;
    equal("the head", &loaded.checkpoint, &head)?;
    equal("the results on it", &*loaded.results, [result(1, "1")])?;
    equal("the past", b.ids("t").await?, [head.id])?;
    b.put_as(both(&second, &step(Some(&second), [set(0, "2")]))).await
}

async fn give_up_the_superstep(b: &Bench<'_>) -> Verdict {
    let mut left = Vec::new();
    for name in ["t", "alone"] {
        let (thread, head) = (thread(name), b.advance(name, None, []).await?);
        b.saver.record_result(&thread, head.id, result(1, "1")).await?;
        b.saver.fail(&thread, head.id, failure(2, "it")).await?;
        b.saver.begin_effect(&thread, head.id, effect(1)).await?;
        b.saver.note_effect(&thread, head.id, ended(effect(2), "2")).await?;
        b.saver.ask(&thread, head.id, vec![ask(1), ask(2)]).await?;
        b.saver.answer_all(&thread, vec![(ask(2).id, json("2"))]).await?;
        let input = input(Some(&head));
        let start = step(Some(&input), []);
        if name == "t" {
            b.put_as(both(&input, &start)).await?;
        } else {
            b.put(name, &input).await?;
            b.put(name, &start).await?;
        }
        let loaded = b.at(name, head.id).await?;
        left.push((loaded.results, loaded.failures, loaded.asks, loaded.effects));
        let loaded = b.head(name).await?;
        equal("the work on the head", (loaded.results, loaded.asks), (Vec::new(), Vec::new()))?;
    }
    equal("what is left", &left[0], &left[1])
}

async fn again_are_already(b: &Bench<'_>) -> Verdict {
    let first = input(None);
    let start = step(Some(&first), [set(0, "1")]);
    b.put_as(both(&first, &start)).await?;
    is!("the same again", b.saver.commit(both(&first, &start)).await?, Committed::Already);
    let next = b.advance("t", Some(&start), []).await?;
    is!("the same, later", b.saver.commit(both(&first, &start)).await?, Committed::Already);
    equal("the past", b.ids("t").await?, [next.id, start.id, first.id])
}

async fn of_a_lost_run_conflict(b: &Bench<'_>) -> Verdict {
    let head = b.advance("t", None, []).await?;
    let (ours, theirs) = (input(Some(&head)), input(Some(&head)));
    let theirs = Checkpoint { run: step(None, []).run, ..theirs };
    let start = step(Some(&theirs), []);
    b.put_as(both(&theirs, &start)).await?;
    let lost = b.saver.commit(both(&ours, &step(Some(&ours), [set(0, "1")]))).await?;
    is!("another input", lost, Committed::Conflict { head } if head == Some(start.id));
    equal("the past", b.ids("t").await?, [start.id, theirs.id, head.id])?;
    equal("the values", values(&b.head("t").await?), [])
}
