//! The history of a thread, step by step.

use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, StepRecord};

use super::bench::Bench;
use super::item::items;
use super::material::{answered, ask, effect, ended, extend, failure, json, ok, result, set, thread};
use super::verdict::{Verdict, equal, holds};

items! { "steps":
    are_read_newest_first "The steps of a thread come whole and newest first, each with thread, graph, schema and place."
    are_read_from_anywhere "From a checkpoint on, at most as many steps as are asked for are read."
    of_a_fork_continue_in_the_shared_past "The steps of a fork go on in the past it shares, which names who wrote it."
    tell_what_is_left_on_top "Each step comes with what the thread has left on top of it: answers and outcomes, and the head's work."
    tell_the_work_of_their_thread_only "What another thread left on a shared checkpoint is not told."
}

fn checkpoints(steps: &[StepRecord]) -> Vec<&Checkpoint> {
    steps.iter().map(|step| &step.checkpoint).collect()
}

async fn are_read_newest_first(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    let third = b.advance("t", Some(&second), [set(1, "2")]).await?;
    let steps = b.steps("t").await?;
    equal("the checkpoints", checkpoints(&steps), [&third, &second, &first])?;
    equal("the place of the newest", steps[0].seq, b.head("t").await?.seq)?;
    let all = |is: fn(&StepRecord) -> bool| steps.iter().all(is);
    holds("all are of the thread", all(|step| step.thread.as_str() == "t"))?;
    holds("all are of the graph", all(|step| step.graph.as_str() == "graph"))?;
    holds("all have their schema", all(|step| step.schema.fingerprint() == step.checkpoint.schema))
}

async fn are_read_from_anywhere(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    let third = b.advance("t", Some(&second), []).await?;
    b.advance("t", Some(&third), []).await?;
    let name = thread("t");
    let some = b.saver.steps(&name, At::Id(third.id), 2).await?;
    equal("two from the third on", checkpoints(&some), [&third, &second])?;
    equal("none", b.saver.steps(&name, At::Head, 0).await?.len(), 0)?;
    equal("from the first on", b.saver.steps(&name, At::Id(first.id), 9).await?.len(), 1)
}

async fn of_a_fork_continue_in_the_shared_past(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.advance("t", Some(&second), []).await?;
    b.saver.fork(&thread("t"), second.id, &thread("fork")).await?;
    let branch = b.advance("fork", Some(&second), []).await?;
    let steps = b.steps("fork").await?;
    equal("the checkpoints", checkpoints(&steps), [&branch, &second, &first])?;
    let writers: Vec<_> = steps.iter().map(|step| step.thread.as_str()).collect();
    equal("who wrote them", writers, ["fork", "t", "t"])
}

async fn tell_what_is_left_on_top(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&name, first.id, vec![ask(1), ask(2)]).await?;
    b.saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await?;
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.saver.end_effect(&name, first.id, &effect(1).id, ok("1")).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.saver.record_result(&name, second.id, result(1, "1")).await?;
    b.saver.fail(&name, second.id, failure(2, "it")).await?;
    let steps = b.steps("t").await?;
    equal("the results on the head", &steps[0].work.results, &[result(1, "1")])?;
    equal("the failures on the head", &steps[0].work.failures, &[failure(2, "it")])?;
    equal("the questions on the one before", &steps[1].work.asks, &[answered(ask(1), "1")])?;
    equal("the effects on the one before", &steps[1].work.effects, &[ended(effect(1), "1")])?;
    let one = b.saver.steps(&name, At::Id(first.id), 1).await?;
    equal("the same, read alone", &one[0], &steps[1])
}

async fn tell_the_work_of_their_thread_only(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
    b.saver.fork(&name, first.id, &thread("fork")).await?;
    b.advance("t", Some(&first), []).await?;
    b.advance("fork", Some(&first), []).await?;
    let steps = b.steps("fork").await?;
    holds("the fork has left nothing", steps.iter().all(|step| step.work.is_empty()))?;
    equal("the other has", b.steps("t").await?[1].work.effects.len(), 1)
}
