//! Questions of paused tasks, and their answers.

use superstep_core::checkpoint::{AskRecord, Carried, CheckpointerExt, Loaded, StoreError};

use super::bench::Bench;
use super::item::items;
use super::material::{answered, ask, due, effect, failure, json, result, step, task, thread};
use super::verdict::{Verdict, equal, is};

items! { "asks":
    come_back_whole "A question comes back with task, node, path, key, argument, deadline and text."
    come_in_the_order_of_asking "Questions come in the order in which they were asked."
    asked_again_is_left_alone "A question that is asked again keeps its answer and its deadline."
    what_is_not_asked_any_more_goes "Open questions of the tasks that ask go when they are not asked again; others stay."
    are_answered_one_by_one "An answer counts for its question; null is an answer."
    answers_come_with_all_the_work "An answer returns the head, and the work on top of it as a load finds it, with the answer."
    are_answered_once "A second answer is `AlreadyAnswered`, also twice in one call, and changes nothing."
    are_answered_all_or_none "Of several answers all count, or none."
    unknown_ones_are_refused "An answer to an unknown or closed question is `NoInterrupt`."
    answers_stay_at_the_barrier "At the barrier open questions go; answered ones stay on their checkpoint, for replay."
    asking_on_a_passed_head_is_superseded "Questions on a checkpoint that is not the head are `Superseded`, and stored nowhere."
}

async fn come_back_whole(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let asked = AskRecord {
        node: "inner".into(),
        path: vec!["n".into(), "m".into()],
        key: String::new(),
        argument: None,
        question: json(&format!("[\"{}\"]", "x".repeat(20_000))),
        ..due(1, 5)
    };
    b.saver.ask(&thread("t"), first.id, vec![asked.clone(), ask(2)]).await?;
    equal("the questions", b.head("t").await?.asks, [asked, ask(2)])
}

async fn come_in_the_order_of_asking(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![ask(9), ask(1)]).await?;
    let others = [200, 3].map(|number| AskRecord { task: task(2), ..ask(number) });
    b.saver.ask(&thread("t"), first.id, others.to_vec()).await?;
    let [third, fourth] = others;
    equal("the questions", b.head("t").await?.asks, [ask(9), ask(1), third, fourth])
}

async fn asked_again_is_left_alone(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.ask(&name, first.id, vec![due(1, 5), ask(2)]).await?;
    b.saver.answer_all(&name, vec![(ask(2).id, json("null"))]).await?;
    b.saver.ask(&name, first.id, vec![due(1, 500), ask(2), ask(3)]).await?;
    equal("the questions", b.head("t").await?.asks, [due(1, 5), answered(ask(2), "null"), ask(3)])
}

async fn what_is_not_asked_any_more_goes(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    let of_another = AskRecord { task: task(2), ..ask(9) };
    b.saver.ask(&name, first.id, vec![ask(1), ask(2), of_another.clone()]).await?;
    b.saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await?;
    b.saver.ask(&name, first.id, vec![ask(3)]).await?;
    equal("the questions", b.head("t").await?.asks, [answered(ask(1), "1"), of_another, ask(3)])
}

async fn are_answered_one_by_one(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![ask(1), ask(2), ask(3)]).await?;
    b.saver.answer_all(&thread("t"), vec![(ask(2).id, json("null"))]).await?;
    equal("the questions", b.head("t").await?.asks, [ask(1), answered(ask(2), "null"), ask(3)])
}

async fn answers_come_with_all_the_work(b: &Bench<'_>) -> Verdict {
    let (name, first) = (thread("t"), b.advance("t", None, []).await?);
    b.saver.record_result(&name, first.id, result(1, "1")).await?;
    b.saver.fail(&name, first.id, failure(2, "it")).await?;
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.saver.ask(&name, first.id, vec![ask(1), ask(2)]).await?;
    for (number, asks) in
        [(2, [ask(1), answered(ask(2), "1")]), (1, [answered(ask(1), "1"), answered(ask(2), "1")])]
    {
        let (head, work) = b.saver.answer_all(&name, vec![(ask(number).id, json("1"))]).await?;
        equal("the head", head, first.id)?;
        equal("the questions", &*work.asks, asks)?;
        let loaded = b.head("t").await?;
        let Loaded { results, failures, asks, effects, .. } = loaded;
        equal("the work", work, Carried { results, failures, asks, effects })?;
    }
    Ok(())
}

async fn are_answered_once(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.ask(&name, first.id, vec![ask(1), ask(2)]).await?;
    b.saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await?;
    let again = b.saver.answer_all(&name, vec![(ask(1).id, json("2"))]).await;
    is!("a second answer", again, Err(StoreError::AlreadyAnswered(id)) if id == ask(1).id);
    let twice = b.saver.answer_all(&name, vec![(ask(2).id, json("1")), (ask(2).id, json("2"))]).await;
    is!("two answers at once", twice, Err(StoreError::AlreadyAnswered(id)) if id == ask(2).id);
    equal("the questions", b.head("t").await?.asks, [answered(ask(1), "1"), ask(2)])
}

async fn are_answered_all_or_none(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.ask(&name, first.id, vec![ask(1), ask(2), ask(3)]).await?;
    b.saver.answer_all(&name, vec![(ask(2).id, json("2"))]).await?;
    let again = b.saver.answer_all(&name, vec![(ask(1).id, json("1")), (ask(2).id, json("9"))]).await;
    is!("answers of which one is there", again, Err(StoreError::AlreadyAnswered(_)));
    let unknown = b.saver.answer_all(&name, vec![(ask(1).id, json("1")), (ask(9).id, json("9"))]).await;
    is!("answers of which one is unknown", unknown, Err(StoreError::NoInterrupt { .. }));
    equal("the questions", b.head("t").await?.asks, [ask(1), answered(ask(2), "2"), ask(3)])?;
    b.saver.answer_all(&name, vec![(ask(3).id, json("3")), (ask(1).id, json("1"))]).await?;
    let all = [answered(ask(1), "1"), answered(ask(2), "2"), answered(ask(3), "3")];
    equal("the questions, all answered", b.head("t").await?.asks, all)
}

async fn unknown_ones_are_refused(b: &Bench<'_>) -> Verdict {
    let nobody = b.saver.answer_all(&thread("nobody"), vec![(ask(1).id, json("1"))]).await;
    is!("an answer on no thread", nobody, Err(StoreError::NoInterrupt { .. }));
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&name, first.id, vec![ask(1)]).await?;
    let unknown = b.saver.answer_all(&name, vec![(ask(2).id, json("1"))]).await;
    is!("an answer to an unknown question", unknown, Err(StoreError::NoInterrupt { thread, interrupt })
        if thread == name && interrupt == ask(2).id);
    b.advance("t", Some(&first), []).await?;
    let late = b.saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await;
    is!("an answer after the barrier", late, Err(StoreError::NoInterrupt { .. }));
    Ok(())
}

async fn answers_stay_at_the_barrier(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![ask(1), ask(2)]).await?;
    b.saver.answer_all(&thread("t"), vec![(ask(2).id, json("2"))]).await?;
    b.advance("t", Some(&first), []).await?;
    equal("the questions on the head", b.head("t").await?.asks, [])?;
    equal("the questions on the one before", b.at("t", first.id).await?.asks, [answered(ask(2), "2")])
}

async fn asking_on_a_passed_head_is_superseded(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let nowhere = b.saver.ask(&name, step(None, []).id, vec![ask(1)]).await;
    is!("a question on no thread", nowhere, Err(StoreError::Superseded { .. }));
    let first = b.advance("t", None, []).await?;
    b.advance("t", Some(&first), []).await?;
    let late = b.saver.ask(&name, first.id, vec![ask(1)]).await;
    is!("a question on a passed head", late, Err(StoreError::Superseded { thread, base })
        if thread == name && base == first.id);
    equal("the questions of then", b.at("t", first.id).await?.asks, [])?;
    equal("the questions of now", b.head("t").await?.asks, [])
}
