//! Loads: the checkpoint that is found, and the data with it.

use superstep_core::checkpoint::{AskRecord, At, Carried, CheckpointerExt, Load, Loaded, StoreError};

use super::bench::Bench;
use super::item::items;
use super::material::{ask, effect, ended, failure, result, set, step, task, thread};
use super::verdict::{Verdict, equal, holds, is};

items! { "load":
    unknown_thread_is_none "A thread without a checkpoint is no error: nothing is found."
    head_is_the_latest "Without an id, the checkpoint that was committed last is found."
    by_id_is_that_one "With an id, that checkpoint is found, however old it is."
    unknown_checkpoint_is_an_error "An id that the thread has not is `NoCheckpoint`, where the thread exists."
    before_a_node "`Before` is the newest checkpoint at or before the head for which the node is next."
    before_a_node_of_the_shared_past "`Before` looks on in the past that a fork shares."
    tells_its_place "What is found tells its graph, and a place in the store's order that grows."
    finds_the_work_on_top "Results, failures, questions and effects come with the head, and only with theirs."
    known_is_not_read_again "Of a checkpoint that the caller holds only the work on top of it is read, and no other counts as that one."
    a_task_finds_its_work "A load for one task has the work of this task."
    finds_work_of_its_thread_only "A subgraph's thread has its own checkpoints and its own work."
}

async fn unknown_thread_is_none(b: &Bench<'_>) -> Verdict {
    for at in [At::Head, At::Id(super::material::next_id()), At::Before("n".into())] {
        equal("a thread that is not there", b.saver.read(&thread("t"), at.clone()).await?, None)?;
        equal("its history", b.saver.history(&thread("t"), at.clone(), 9).await?.len(), 0)?;
        equal("its steps", b.saver.steps(&thread("t"), at, 9).await?.len(), 0)?;
    }
    Ok(())
}

async fn head_is_the_latest(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.advance("u", None, []).await?;
    let third = b.advance("t", Some(&second), []).await?;
    equal("the head", b.head("t").await?.checkpoint, third)
}

async fn by_id_is_that_one(b: &Bench<'_>) -> Verdict {
    let mut all = vec![b.advance("t", None, []).await?];
    // More than any store would read to find the newest.
    for _ in 0..140 {
        all.push(b.advance("t", all.last(), []).await?);
    }
    for checkpoint in all.iter().step_by(10) {
        equal("a checkpoint by its id", &b.at("t", checkpoint.id).await?.checkpoint, checkpoint)?;
    }
    Ok(())
}

async fn unknown_checkpoint_is_an_error(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    let other = b.advance("u", None, []).await?;
    for stranger in [step(None, []).id, other.id] {
        let found = b.saver.read(&thread("t"), At::Id(stranger)).await;
        is!("the load of a foreign id", found, Err(StoreError::NoCheckpoint { thread: of, checkpoint })
            if of == thread("t") && checkpoint == stranger.to_string());
        let found = b.saver.history(&thread("t"), At::Id(stranger), 9).await;
        is!("the history from a foreign id", found, Err(StoreError::NoCheckpoint { .. }));
        let found = b.saver.steps(&thread("t"), At::Id(stranger), 9).await;
        is!("the steps from a foreign id", found, Err(StoreError::NoCheckpoint { .. }));
    }
    Ok(())
}

async fn before_a_node(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut second = step(Some(&first), []);
    second.frontier.tasks[0].node = "m".into();
    b.put("t", &second).await?;
    let third = b.advance("t", Some(&second), []).await?;
    let name = thread("t");
    let before = async |node: &str| b.saver.read(&name, At::Before(node.into())).await;
    let found = async |node| Ok::<_, StoreError>(before(node).await?.map(|loaded| loaded.checkpoint));
    equal("before the node that is next", found("n").await?, Some(third.clone()))?;
    equal("before the node that was next", found("m").await?, Some(second.clone()))?;
    is!("before a node that never was", before("x").await, Err(StoreError::NoCheckpoint { .. }));
    let lines = b.saver.history(&name, At::Before("m".into()), 9).await?;
    let ids: Vec<_> = lines.iter().map(|line| line.id).collect();
    equal("the history from there", ids, [second.id, first.id])
}

async fn before_a_node_of_the_shared_past(b: &Bench<'_>) -> Verdict {
    let mut first = step(None, [set(0, "1")]);
    first.frontier.tasks[0].node = "m".into();
    b.put("t", &first).await?;
    b.saver.fork(&thread("t"), first.id, &thread("fork")).await?;
    b.advance("fork", Some(&first), []).await?;
    let found = b.saver.read(&thread("fork"), At::Before("m".into())).await?;
    equal("before a node, on the fork", found.map(|loaded| loaded.checkpoint), Some(first))
}

async fn tells_its_place(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.advance("u", None, []).await?;
    b.advance("t", Some(&first), []).await?;
    let (old, new) = (b.at("t", first.id).await?, b.head("t").await?);
    let between = b.head("u").await?;
    let grows = old.seq < between.seq && between.seq < new.seq;
    holds("places in the store's order grow, over all threads", grows)?;
    equal("the graph", new.graph.as_str(), "graph")
}

async fn finds_the_work_on_top(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    let name = thread("t");
    b.saver.record_result(&name, second.id, result(1, "1")).await?;
    b.saver.fail(&name, second.id, failure(2, "it")).await?;
    b.saver.ask(&name, second.id, vec![ask(1)]).await?;
    b.saver.begin_effect(&name, second.id, effect(1)).await?;
    b.saver.note_effect(&name, second.id, ended(effect(2), "2")).await?;
    for loaded in [b.head("t").await?, b.at("t", second.id).await?] {
        equal("its results", loaded.results, [result(1, "1")])?;
        equal("its failures", loaded.failures, [failure(2, "it")])?;
        equal("its questions", loaded.asks, [ask(1)])?;
        equal("its effects", loaded.effects, [effect(1), ended(effect(2), "2")])?;
    }
    let older = b.at("t", first.id).await?;
    let is_bare = older.results.is_empty()
        && older.failures.is_empty()
        && older.asks.is_empty()
        && older.effects.is_empty();
    holds("there is no work on the one before", is_bare)
}

async fn known_is_not_read_again(b: &Bench<'_>) -> Verdict {
    let t = thread("t");
    let first = b.advance("t", None, [set(0, "1")]).await?;
    b.saver.record_result(&t, first.id, result(1, "1")).await?;
    let held = b.head("t").await?;
    let work = Carried { results: held.results.clone(), ..Carried::default() };
    let again = b.saver.load(&t, At::Head, Some(first.id)).await?;
    equal("the head that is known", again, Load::Unchanged(work))?;

    let second = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let moved = b.saver.load(&t, At::Head, Some(first.id)).await?.loaded();
    equal("a head that has moved", moved, Some(b.head("t").await?))?;
    let back = b.saver.load(&t, At::Id(first.id), Some(second.id)).await?.loaded();
    equal("another checkpoint than the known one", back.map(|back| back.checkpoint), Some(first.clone()))?;
    equal("no thread", b.saver.load(&thread("u"), At::Head, Some(first.id)).await?, Load::Missing)
}

async fn a_task_finds_its_work(b: &Bench<'_>) -> Verdict {
    let (t, one) = (thread("t"), task(1));
    is!("no thread", b.saver.load_task(&t, one, None).await?, Load::Missing);
    let head = b.advance("t", None, [set(0, "1")]).await?;
    let ask = |number| AskRecord { task: task(number), ..ask(number) };
    let effect = |number: u8| {
        let mut effect = effect(number.into());
        effect.id.task = task(number);
        effect
    };
    for number in [1, 2] {
        b.saver.record_result(&t, head.id, result(number, "1")).await?;
        b.saver.ask(&t, head.id, vec![ask(number)]).await?;
        b.saver.begin_effect(&t, head.id, effect(number)).await?;
    }
    b.saver.fail(&t, head.id, failure(3, "it")).await?;
    let whole = b.saver.load_task(&t, one, None).await?;
    let values = whole.clone().loaded().map(|loaded| (loaded.checkpoint, loaded.values));
    let expected = b.head("t").await?;
    equal("its checkpoint and values", values, Some((expected.checkpoint, expected.values)))?;
    for (load, number) in [(whole, 1), (b.saver.load_task(&t, task(2), Some(head.id)).await?, 2)] {
        let is_known = matches!(load, Load::Unchanged(_));
        equal("only the work of a known head is read", is_known, number == 2)?;
        let work = work_in(load);
        let results = work.results.into_iter().filter(|of| of.task == task(number));
        equal("its result", results.collect::<Vec<_>>(), [result(number, "1")])?;
        let asks = work.asks.into_iter().filter(|of| of.task == task(number));
        equal("its question", asks.collect::<Vec<_>>(), [ask(number)])?;
        let effects = work.effects.into_iter().filter(|of| of.id.task == task(number));
        equal("its effect", effects.collect::<Vec<_>>(), [effect(number)])?;
    }
    let work = work_in(b.saver.load_task(&t, task(3), Some(head.id)).await?);
    equal("its failure", work.failures, [failure(3, "it")])
}

fn work_in(load: Load) -> Carried {
    match load {
        Load::Missing => Carried::default(),
        Load::Unchanged(work) => work,
        Load::Whole(loaded) => {
            let Loaded { results, failures, asks, effects, .. } = *loaded;
            Carried { results, failures, asks, effects }
        }
    }
}

async fn finds_work_of_its_thread_only(b: &Bench<'_>) -> Verdict {
    let above = b.advance("t", None, [set(0, "1")]).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, [set(0, "2")]).await?;
    b.saver.record_result(&below, inner.id, result(2, "2")).await?;
    b.saver.record_result(&thread("t"), above.id, result(1, "1")).await?;
    let (outer, inner_head) = (b.head("t").await?, b.head(below.as_str()).await?);
    equal("the head above", outer.checkpoint, above)?;
    equal("the results above", outer.results, [result(1, "1")])?;
    equal("the head below", inner_head.checkpoint, inner)?;
    equal("the results below", inner_head.results, [result(2, "2")])
}
