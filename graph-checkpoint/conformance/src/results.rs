//! Results of finished tasks: pending writes on top of a checkpoint.

use superstep_core::checkpoint::{
    CheckpointerExt, Commit, Handled, Kept, RouteRecord, Source, StoreError, TargetRecord, TaskResult,
};
use superstep_core::state::{FieldId, Logged, LoggedWrite, Op};

use super::bench::Bench;
use super::item::items;
use super::material::{ask, commit_of, effect, failure, json, result, step, task, thread};
use super::verdict::{Verdict, equal, holds};

items! { "results":
    one_is_on_top "The result of a task is on top of the checkpoint that it was recorded on."
    come_in_the_order_of_recording "Results come in the order in which they were recorded, whatever their tasks' ids are."
    the_writes_of_one_task_stay_in_order "All writes of a task come back, and in their order."
    every_part_comes_back "Node, writes, route, targets, kept subgraph and handled failure of a result come back."
    twice_is_once "The same result recorded twice is there once."
    the_first_counts "The first result of a task counts: it is kept, and returned to later writers."
    is_completed_by_targets "A result without targets is completed by a later one with them, and keeps its own writes."
    a_completed_one_stays "A result with targets is not changed by a later one, with or without targets."
    go_at_the_barrier "A commit on the checkpoint takes its results and failures; the next one has none."
    late_ones_are_dropped "A result on a checkpoint that is not the head is stored nowhere, and returned as it is; that of an only task is superseded."
    given_up_ones_stay "A superstep that an input or a branch gives up keeps its results and failures."
    failure_and_question_of_one_task "A failure of a task stands beside its questions and effects."
    of_two_threads_stay_apart "Results under one task's id on two threads that share a checkpoint stay apart."
}

async fn one_is_on_top(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let counted = b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    equal("the result that counts", counted, result(1, "1"))?;
    equal("the results", b.head("t").await?.results, [result(1, "1")])
}

async fn come_in_the_order_of_recording(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let order = [3, 1, 200, 2, 0, 255, 7];
    for number in order {
        b.saver.record_result(&thread("t"), first.id, result(number, "1")).await?;
    }
    equal("the results", b.head("t").await?.results, order.map(|number| result(number, "1")))?;
    b.saver.flush(&thread("t")).await?;
    equal("the results, flushed", b.head("t").await?.results, order.map(|number| result(number, "1")))
}

async fn the_writes_of_one_task_stay_in_order(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let write =
        |field, text: &str| LoggedWrite { field: FieldId(field), write: Logged::Op(Op::Set(json(text))) };
    let recorded = TaskResult { writes: vec![write(2, "1"), write(0, "2"), write(2, "3")], ..result(1, "0") };
    b.saver.record_result(&thread("t"), first.id, recorded.clone()).await?;
    equal("the results", b.head("t").await?.results, [recorded])
}

async fn every_part_comes_back(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let long = format!("[\"{}\"]", "x".repeat(20_000));
    let below = thread("t").below(task(1));
    let recorded = TaskResult {
        node: "node \u{0} name".into(),
        writes: vec![
            LoggedWrite { field: FieldId(1), write: Logged::Reduce(json(&long)) },
            LoggedWrite { field: FieldId(0), write: Logged::Op(Op::Keyed(json("[]"))) },
        ],
        route: Some(RouteRecord { case: "Case".into(), value: json(&long) }),
        targets: Some(vec![
            TargetRecord { node: "m".into(), input: Some(json("null")) },
            TargetRecord { node: "m".into(), input: None },
        ]),
        kept: Some(Kept { key: "k".into(), thread: below, checkpoint: first.id }),
        handled: Some(Box::new(Handled { error: failure(1, "it").error, attempts: 3, instead: true })),
        ..result(1, "0")
    };
    b.saver.record_result(&thread("t"), first.id, recorded.clone()).await?;
    equal("the results", b.head("t").await?.results, [recorded])
}

async fn twice_is_once(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    for _ in 0..2 {
        let counted = b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
        equal("the result that counts", counted, result(1, "1"))?;
    }
    equal("the results", b.head("t").await?.results, [result(1, "1")])
}

async fn the_first_counts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "\"first\"")).await?;
    let counted = b.saver.record_result(&thread("t"), first.id, result(1, "\"second\"")).await?;
    equal("the result that counts", counted, result(1, "\"first\""))?;
    let only = b.saver.record_task(&thread("t"), first.id, result(2, "\"first\"")).await?;
    equal("the result of an only task", only, result(2, "\"first\""))?;
    let counted = b.saver.record_task(&thread("t"), first.id, result(2, "\"second\"")).await?;
    equal("the result that counts of an only task", counted, result(2, "\"first\""))?;
    let results = [result(1, "\"first\""), result(2, "\"first\"")];
    equal("the results", b.head("t").await?.results, results)
}

async fn is_completed_by_targets(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let unrouted = TaskResult { targets: None, ..result(1, "1") };
    let name = thread("t");
    let counted = b.saver.record_result(&name, first.id, unrouted.clone()).await?;
    equal("the one without targets", counted, unrouted.clone())?;
    b.saver.record_result(&name, first.id, result(2, "2")).await?;
    equal("the results", b.head("t").await?.results, [unrouted, result(2, "2")])?;
    let targets = Some(vec![TargetRecord { node: "m".into(), input: Some(json("null")) }]);
    let later = TaskResult { targets: targets.clone(), ..result(1, "\"other\"") };
    let counted = b.saver.record_result(&name, first.id, later).await?;
    let completed = TaskResult { targets, ..result(1, "1") };
    equal("the completed one", counted, completed.clone())?;
    equal("the results, completed", b.head("t").await?.results, [completed, result(2, "2")])
}

async fn a_completed_one_stays(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    let elsewhere = Some(vec![TargetRecord { node: "m".into(), input: None }]);
    for targets in [elsewhere, None] {
        let later = TaskResult { targets, ..result(1, "1") };
        let counted = b.saver.record_result(&thread("t"), first.id, later).await?;
        equal("the result that counts", counted, result(1, "1"))?;
    }
    equal("the results", b.head("t").await?.results, [result(1, "1")])
}

async fn go_at_the_barrier(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    b.saver.fail(&thread("t"), first.id, failure(2, "it")).await?;
    b.advance("t", Some(&first), []).await?;
    for loaded in [b.head("t").await?, b.at("t", first.id).await?] {
        equal("the results", loaded.results, [])?;
        equal("the failures", loaded.failures, [])?;
    }
    Ok(())
}

async fn late_ones_are_dropped(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.advance("t", Some(&first), []).await?;
    let late = b.saver.record_result(&thread("t"), first.id, result(9, "1")).await?;
    equal("the late one", late, result(9, "1"))?;
    for name in [thread("t"), thread("u")] {
        let only = b.saver.record_task(&name, first.id, result(8, "1")).await;
        let is_told = matches!(&only, Err(StoreError::Superseded { base, .. }) if *base == first.id);
        holds("the late one of an only task is superseded", is_told)?;
    }
    b.saver.flush(&thread("t")).await?;
    equal("the results of then", b.at("t", first.id).await?.results, [])?;
    equal("the results of now", b.head("t").await?.results, [])
}

async fn given_up_ones_stay(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    let mut input = step(Some(&second), []);
    input.source = Source::Input;
    let branch = Commit { expected: Some(input.id), ..commit_of("t", &step(Some(&second), [])) };
    for (given_up, by) in [(second.id, commit_of("t", &input)), (input.id, branch)] {
        b.saver.record_result(&name, given_up, result(1, "1")).await?;
        b.saver.fail(&name, given_up, failure(2, "boom")).await?;
        b.saver.ask(&name, given_up, vec![ask(1)]).await?;
        b.saver.begin_effect(&name, given_up, effect(1)).await?;
        b.put_as(by).await?;
        let loaded = b.at("t", given_up).await?;
        equal("the results that were given up", loaded.results, [result(1, "1")])?;
        equal("the failures that were given up", loaded.failures, [failure(2, "boom")])?;
        equal("questions without a waiting task", loaded.asks, [])?;
        equal("effects without an outcome", loaded.effects, [])?;
        equal("the results on the head", b.head("t").await?.results, [])?;
    }
    Ok(())
}

async fn failure_and_question_of_one_task(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.ask(&name, first.id, vec![ask(1)]).await?;
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.saver.fail(&name, first.id, failure(1, "it")).await?;
    let loaded = b.head("t").await?;
    equal("the failures", loaded.failures, [failure(1, "it")])?;
    equal("the questions", loaded.asks, [ask(1)])?;
    equal("the effects", loaded.effects, [effect(1)])
}

async fn of_two_threads_stay_apart(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    for (name, written) in [("t", "1"), ("u", "2")] {
        let counted = b.saver.record_result(&thread(name), first.id, result(1, written)).await?;
        equal("the result that counts", counted, result(1, written))?;
    }
    equal("the results of the one", b.head("t").await?.results, [result(1, "1")])?;
    equal("the results of the other", b.head("u").await?.results, [result(1, "2")])?;
    b.advance("t", Some(&first), []).await?;
    equal("the other's, after the one went on", b.head("u").await?.results, [result(1, "2")])
}
