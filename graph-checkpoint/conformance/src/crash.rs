//! Data that survives the end of a program. All items but one are for stores that can be opened a second time.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use superstep_core::checkpoint::{
    At, Carried, Checkpoint, Checkpointer, CheckpointerExt, Commit, Committed, EffectOutcome, EffectRecord,
    Emitted, FailureRecord, MemorySaver, StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, ThreadId};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{
    ask, commit_of, effect, ended, extend, failure, graph, json, ok, result, set, step, thread,
};
use super::verdict::{Stop, Verdict, equal, failed, holds, is};

items! { "crash":
    between_any_two_writes "After a crash between any two writes everything acknowledged as durable is there, the rest in its order or not at all, and the run can go on."
    a_commit_whose_outcome_is_unknown "A commit whose acknowledgement was lost is `Already` after the crash."
    recorded_work_is_there_after_the_next_commit "Results, failures and notes are there when a later commit, question or flush has returned."
    an_outcome_is_stored_when_end_effect_returns "The outcome of an effect is there when `end_effect` has returned, though nothing is written after it."
    an_abandoned_call_is_whole_or_nothing "A commit that its caller gives up half-way is stored whole, or not at all."
}

/// A write of a run, on one of two threads.
#[derive(Clone, Debug)]
enum Write {
    Commit(Box<Checkpoint>),
    Record(CheckpointId, TaskResult),
    Fail(CheckpointId, FailureRecord),
    Ask(CheckpointId),
    Answer,
    Expire,
    Begin(CheckpointId, EffectRecord),
    End(CheckpointId, EffectRecord),
    Note(CheckpointId, EffectRecord),
    Fork(CheckpointId),
    Delete,
    Flush,
}

impl Write {
    /// Returns `true` if the write is durable when it returns, with everything before it on its thread.
    fn is_durable(&self) -> bool {
        !matches!(self, Self::Record(..) | Self::Fail(..) | Self::Note(..))
    }

    async fn make(self, saver: &dyn Checkpointer, name: &ThreadId) -> Result<(), StoreError> {
        let fork = thread(&format!("fork of {name}"));
        match self {
            Self::Commit(checkpoint) => {
                let emitted = vec![(0, Emitted { dropped: 1, events: Vec::new() })];
                let commit = Commit { emitted, ..commit_of(name.as_str(), &checkpoint) };
                saver.commit(commit).await.map(drop)
            }
            Self::Record(base, result) => saver.record_result(name, base, result).await.map(drop),
            Self::Fail(base, failure) => saver.fail(name, base, failure).await,
            Self::Ask(base) => saver.ask(name, base, vec![ask(1), super::material::due(2, 5), ask(3)]).await,
            Self::Answer => {
                saver.answer_all(name, vec![(ask(1).id, json("1")), (ask(3).id, json("3"))]).await.map(drop)
            }
            Self::Expire => saver.expire(&"graph".into(), Some(name), 5).await.map(drop),
            Self::Begin(base, effect) => saver.begin_effect(name, base, effect).await.map(drop),
            Self::End(base, effect) => saver.end_effect(name, base, &effect.id, ok("1")).await,
            Self::Note(base, effect) => saver.note_effect(name, base, effect).await,
            Self::Fork(at) => saver.fork(name, at, &fork).await,
            Self::Delete => saver.delete(&"graph".into(), &fork).await,
            Self::Flush => saver.flush(name).await,
        }
    }
}

/// A run that makes every kind of write.
fn run_of_writes() -> Vec<Write> {
    let first = step(None, [set(0, "[1]")]);
    let second = step(Some(&first), [extend(0, &format!("[\"{}\"]", "x".repeat(20_000)))]);
    let third = step(Some(&second), [extend(0, "[3]"), set(1, "3")]);
    let (one, two, three) = (first.id, second.id, third.id);
    vec![
        Write::Commit(Box::new(first)),
        Write::Record(one, result(2, "2")),
        Write::Record(one, result(1, "1")),
        Write::Begin(one, effect(1)),
        Write::End(one, effect(1)),
        Write::Fail(one, failure(3, "it")),
        Write::Commit(Box::new(second)),
        Write::Fork(one),
        Write::Note(two, ended(effect(2), "2")),
        Write::Ask(two),
        Write::Answer,
        Write::Expire,
        Write::Record(two, result(1, "1")),
        Write::Delete,
        Write::Commit(Box::new(third)),
        Write::Begin(three, effect(3)),
        Write::Record(three, result(7, "7")),
        Write::Flush,
    ]
}

/// All that a store shows of a run, except the positions in the store's order.
type Shown = Vec<(ThreadId, Checkpoint, Carried, Vec<(u32, Emitted)>, Vec<(u16, String)>)>;

async fn shown(saver: &dyn Checkpointer, name: &ThreadId) -> Result<Shown, StoreError> {
    let mut shown = Vec::new();
    for name in [name.clone(), thread(&format!("fork of {name}"))] {
        for step in saver.steps(&name, At::Head, usize::MAX).await? {
            let loaded = saver.read(&name, At::Id(step.checkpoint.id)).await?;
            let values = loaded.iter().flat_map(|loaded| values(loaded));
            let values = values.map(|(field, text)| (field, text.to_owned())).collect();
            shown.push((step.thread, step.checkpoint, step.work, step.emitted, values));
        }
    }
    Ok(shown)
}

/// Returns the states that a store must show, one for each number of writes.
async fn expected(writes: &[Write], name: &ThreadId) -> Result<Vec<Shown>, Stop> {
    let model = MemorySaver::new();
    model.register(&graph()).await?;
    let mut all = vec![shown(&model, name).await?];
    for write in writes {
        write.clone().make(&model, name).await?;
        all.push(shown(&model, name).await?);
    }
    Ok(all)
}

async fn between_any_two_writes(b: &Bench<'_>) -> Verdict {
    for made in 0..=run_of_writes().len() {
        let name = thread(&format!("t{made}"));
        let writes = run_of_writes();
        let expected = expected(&writes, &name).await?;
        for write in &writes[..made] {
            write.clone().make(&*b.saver, &name).await?;
        }
        let again = b.reopened().await?;
        let durable = writes[..made].iter().rposition(Write::is_durable).map_or(0, |last| last + 1);
        let found = shown(&*again.saver, &name).await?;
        if !expected[durable..=made].contains(&found) {
            let what = format!("what is there after write {made}, {:?}", writes[..made].last());
            return Err(failed(what, format!("{:?}", expected[made]), format!("{found:?}")));
        }
        // The run that continues repeats the writes whose outcome it does not know.
        for write in &writes[durable..] {
            write.clone().make(&*again.saver, &name).await?;
        }
        let found = shown(&*again.saver, &name).await?;
        equal(format!("the run that went on after write {made}"), &found, &expected[writes.len()])?;
    }
    Ok(())
}

async fn a_commit_whose_outcome_is_unknown(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let second = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let again = b.reopened().await?;
    is!("the last commit again", again.saver.commit(commit_of("t", &second)).await?, Committed::Already);
    is!("the first commit again", again.saver.commit(commit_of("t", &first)).await?, Committed::Already);
    equal("the past", again.ids("t").await?, [second.id, first.id])?;
    again.advance("t", Some(&second), []).await?;
    Ok(())
}

async fn recorded_work_is_there_after_the_next_commit(b: &Bench<'_>) -> Verdict {
    for durable in ["flush", "ask", "begin"] {
        let name = thread(durable);
        let first = b.advance(durable, None, []).await?;
        b.saver.record_result(&name, first.id, result(1, "1")).await?;
        b.saver.fail(&name, first.id, failure(2, "it")).await?;
        b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
        match durable {
            "flush" => b.saver.flush(&name).await?,
            "ask" => b.saver.ask(&name, first.id, vec![ask(1)]).await?,
            _ => b.saver.begin_effect(&name, first.id, effect(2)).await.map(drop)?,
        }
        if durable == "begin" {
            b.saver.flush(&name).await?;
        }
        let loaded = b.reopened().await?.head(durable).await?;
        equal("the results", loaded.results, [result(1, "1")])?;
        equal("the failures", loaded.failures, [failure(2, "it")])?;
        equal("the effect that was noted", loaded.effects.first(), Some(&ended(effect(1), "1")))?;
    }
    // Here the work and the next commit are on the same thread.
    let first = b.advance("t", None, []).await?;
    b.saver.note_effect(&thread("t"), first.id, ended(effect(1), "1")).await?;
    let next = b.advance("t", Some(&first), []).await?;
    let again = b.reopened().await?;
    equal("the head", again.head("t").await?.checkpoint, next)?;
    equal("the journal before it", again.at("t", first.id).await?.effects, [ended(effect(1), "1")])
}

async fn an_outcome_is_stored_when_end_effect_returns(b: &Bench<'_>) -> Verdict {
    let (name, first) = (thread("t"), b.advance("t", None, []).await?);
    let outcomes = [ok("1"), EffectOutcome::Err("no".into())];
    for (number, outcome) in (1..).zip(outcomes) {
        b.saver.begin_effect(&name, first.id, effect(number)).await?;
        b.saver.end_effect(&name, first.id, &effect(number).id, outcome.clone()).await?;
        let found = b.reopened().await?.head("t").await?.effects.pop();
        equal("the effect that ended last", found.and_then(|found| found.outcome), Some(outcome))?;
    }
    Ok(())
}

async fn an_abandoned_call_is_whole_or_nothing(b: &Bench<'_>) -> Verdict {
    let mut last = b.advance("t", None, [set(0, "[0]")]).await?;
    for round in 1..=20 {
        let next = step(Some(&last), [extend(0, &format!("[{round}]"))]);
        let carried = Carried { results: vec![result(1, "1")], ..Carried::default() };
        let commit = || Commit { carried: Some(Box::new(carried.clone())), ..commit_of("t", &next) };
        {
            let mut abandoned = pin!(b.saver.commit(commit()));
            poll_fn(|context| Poll::Ready(abandoned.as_mut().poll(context).is_ready())).await;
        }
        let loaded = b.head("t").await?;
        let is_whole = loaded.checkpoint == next && loaded.results.len() == 1;
        let is_absent = loaded.checkpoint == last;
        holds("it is there whole, or not at all", is_whole || is_absent)?;
        is!("the same commit again", b.saver.commit(commit()).await?, Committed::New | Committed::Already);
        last = next;
    }
    let all: Vec<String> = (0..=20).map(|round| round.to_string()).collect();
    let all = format!("[{}]", all.join(","));
    equal("the values", values(&b.head("t").await?), [(0, &*all)])
}
