//! Work on top of a checkpoint: results, questions and answers, effects.

use superstep_core::checkpoint::{
    AnsweredBy, AskRecord, Carried, Commit, Committed, EffectId, EffectOutcome, EffectRecord, Source,
    StoreError, TargetRecord,
};
use superstep_core::id::{CheckpointId, IdempotencyKey, InterruptId};

use crate::material::*;

pub(crate) fn ask(number: u8) -> AskRecord {
    AskRecord {
        id: InterruptId::from_bytes([number; 16]),
        task: task(1),
        node: "n".into(),
        path: Vec::new(),
        key: number.to_string(),
        argument: Some(u32::from(number)),
        question: json(&format!("\"question {number}\"")),
        deadline: None,
        answer: None,
        answered_by: AnsweredBy::Caller,
    }
}

pub(crate) fn effect(number: u32) -> EffectRecord {
    EffectRecord {
        id: EffectId { task: task(1), name: "call".into(), key: String::new(), occurrence: number },
        attempt: 1,
        starts: 1,
        token: IdempotencyKey::from_bytes([7; 16]),
        outcome: None,
    }
}

#[test]
fn results_come_back_in_order_until_the_barrier() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        for number in [3, 1, 2] {
            let recorded = saver.record(&"t".into(), first.id, result(number, "1")).await.unwrap();
            assert_eq!(recorded, result(number, "1"));
        }
        let loaded = head(&saver, "t").await;
        assert_eq!(loaded.results, [result(3, "1"), result(1, "1"), result(2, "1")]);
        advance(&saver, "t", Some(&first), []).await;
        assert_eq!(head(&saver, "t").await.results, []);
        assert_eq!(at(&saver, "t", first.id).await.results, []);
        // Late: nothing is stored, and nothing fails.
        let late = saver.record(&"t".into(), first.id, result(9, "1")).await.unwrap();
        assert_eq!(late, result(9, "1"));
        assert_eq!(at(&saver, "t", first.id).await.results, []);
    });
}

/// An input deleted what the superstep that it discards had come to, and the two savers disagreed about that of a
/// superstep from which a branch goes another way.
#[test]
fn a_superstep_that_is_given_up_still_shows_what_it_has_come_to() {
    on_every_saver(|saver| async move {
        let name = thread("t");
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let second = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        let mut input = step(Some(&second), [set(0, "3")]);
        input.source = Source::Input;
        let branch = Commit { expected: Some(input.id), ..commit_of("t", &step(Some(&second), [])) };
        for (given_up, by) in [(&second, commit_of("t", &input)), (&input, branch)] {
            saver.record(&name, given_up.id, result(1, "1")).await.unwrap();
            saver.fail(&name, given_up.id, failure(2, "boom")).await.unwrap();
            saver.ask(&name, given_up.id, vec![ask(1)]).await.unwrap();
            saver.begin_effect(&name, given_up.id, effect(1)).await.unwrap();
            assert!(matches!(saver.commit(by).await.unwrap(), Committed::New));
            let loaded = at(&saver, "t", given_up.id).await;
            assert_eq!((loaded.results, loaded.failures), (vec![result(1, "1")], vec![failure(2, "boom")]));
            assert_eq!((loaded.asks, loaded.effects), (vec![], vec![]), "nobody waits for those");
            let head = head(&saver, "t").await;
            assert!(head.results.is_empty() && head.failures.is_empty());
        }
    });
}

#[test]
fn the_first_result_of_a_task_counts() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        saver.record(&"t".into(), first.id, result(1, "\"first\"")).await.unwrap();
        let counted = saver.record(&"t".into(), first.id, result(1, "\"second\"")).await.unwrap();
        assert_eq!(counted, result(1, "\"first\""));
        assert_eq!(head(&saver, "t").await.results, [result(1, "\"first\"")]);
    });
}

#[test]
fn a_result_without_targets_is_completed() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let mut routed = result(1, "1");
        routed.targets = None;
        saver.record(&"t".into(), first.id, routed.clone()).await.unwrap();
        assert_eq!(head(&saver, "t").await.results, [routed.clone()]);
        routed.targets = Some(vec![TargetRecord { node: "m".into(), input: Some(json("null")) }]);
        let counted = saver.record(&"t".into(), first.id, routed.clone()).await.unwrap();
        assert_eq!(counted, routed);
        assert_eq!(head(&saver, "t").await.results, [routed]);
    });
}

#[test]
fn a_failure_stays_until_the_task_has_a_result() {
    on_every_saver(|saver| async move {
        let thread = thread("t");
        let first = advance(&saver, "t", None, []).await;
        saver.fail(&thread, first.id, failure(1, "first")).await.unwrap();
        saver.fail(&thread, first.id, failure(2, "second")).await.unwrap();
        saver.fail(&thread, first.id, failure(1, "again")).await.unwrap();
        let loaded = head(&saver, "t").await;
        let mut failures = loaded.failures.clone();
        failures.sort_by_key(|failure| failure.task);
        assert_eq!(failures, [failure(1, "again"), failure(2, "second")]);
        assert_eq!(loaded.results, []);

        let counted = saver.record(&thread, first.id, result(1, "1")).await.unwrap();
        assert_eq!(counted, result(1, "1"));
        saver.fail(&thread, first.id, failure(1, "late")).await.unwrap();
        let loaded = head(&saver, "t").await;
        assert_eq!((loaded.results, loaded.failures), (vec![result(1, "1")], vec![failure(2, "second")]));

        let second = advance(&saver, "t", Some(&first), []).await;
        assert_eq!(head(&saver, "t").await.failures, []);
        saver.fail(&thread, first.id, failure(2, "late")).await.unwrap();
        assert_eq!(at(&saver, "t", first.id).await.failures, []);
        assert!(saver.flush(&thread).await.is_ok(), "a late failure is none of the saver");
        drop(second);
    });
}

#[test]
fn work_on_an_unknown_checkpoint_is_an_error() {
    on_every_saver(|saver| async move {
        let stranger = step(None, []).id;
        let thread = thread("t");
        for there in [false, true] {
            if there {
                advance(&saver, "t", None, []).await;
            }
            // A thread that is not there may have been deleted: nothing is stored, and nothing fails.
            assert_eq!(saver.record(&thread, stranger, result(1, "1")).await.is_err(), there);
            assert!(saver.ask(&thread, stranger, vec![ask(1)]).await.is_err());
            assert!(saver.begin_effect(&thread, stranger, effect(1)).await.is_err());
        }
    });
}

#[test]
fn questions_are_answered_one_by_one_and_once() {
    on_every_saver(|saver| async move {
        let thread = thread("t");
        let first = advance(&saver, "t", None, []).await;
        saver.ask(&thread, first.id, vec![ask(1), ask(2)]).await.unwrap();
        saver.ask(&thread, first.id, vec![ask(1), ask(2), ask(3)]).await.unwrap();
        assert_eq!(head(&saver, "t").await.asks, [ask(1), ask(2), ask(3)]);
        assert_eq!(saver.threads().await.unwrap()[0].open_asks.len(), 3);

        saver.answer(&thread, vec![(ask(2).id, json("null"))]).await.unwrap();
        // A question that is asked again keeps its answer.
        saver.ask(&thread, first.id, vec![ask(1), ask(2), ask(3)]).await.unwrap();
        let again = saver.answer(&thread, vec![(ask(1).id, json("1")), (ask(2).id, json("2"))]).await;
        assert!(matches!(again, Err(StoreError::AlreadyAnswered(id)) if id == ask(2).id), "{again:?}");
        let unknown = saver.answer(&thread, vec![(ask(1).id, json("1")), (ask(9).id, json("2"))]).await;
        assert!(matches!(unknown, Err(StoreError::NoInterrupt { .. })), "{unknown:?}");
        let twice = saver.answer(&thread, vec![(ask(1).id, json("1")), (ask(1).id, json("2"))]).await;
        assert!(matches!(twice, Err(StoreError::AlreadyAnswered(_))), "{twice:?}");
        let answered = AskRecord { answer: Some(json("null")), ..ask(2) };
        assert_eq!(head(&saver, "t").await.asks, [ask(1), answered.clone(), ask(3)]);

        advance(&saver, "t", Some(&first), []).await;
        assert_eq!(head(&saver, "t").await.asks, []);
        assert_eq!(at(&saver, "t", first.id).await.asks, [answered]);
        let late = saver.answer(&thread, vec![(ask(1).id, json("1"))]).await;
        assert!(matches!(late, Err(StoreError::NoInterrupt { .. })), "{late:?}");
        let nobody = saver.answer(&"u".into(), vec![(ask(1).id, json("1"))]).await;
        assert!(matches!(nobody, Err(StoreError::NoInterrupt { .. })), "{nobody:?}");
    });
}

/// A question that its task no longer asked stayed open for ever, beside the one that took its place.
#[test]
fn what_a_task_asks_now_takes_the_place_of_what_it_asked_before() {
    on_every_saver(|saver| async move {
        let thread = thread("t");
        let first = advance(&saver, "t", None, []).await;
        let of_another = AskRecord { task: task(2), ..ask(9) };
        saver.ask(&thread, first.id, vec![ask(1), ask(2), of_another.clone()]).await.unwrap();
        saver.answer(&thread, vec![(ask(1).id, json("1"))]).await.unwrap();
        saver.ask(&thread, first.id, vec![ask(3)]).await.unwrap();
        let answered = AskRecord { answer: Some(json("1")), ..ask(1) };
        assert_eq!(head(&saver, "t").await.asks, [answered, of_another, ask(3)]);
    });
}

#[test]
fn a_commit_carries_work_of_the_superstep_that_follows() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let next = step(Some(&first), []);
        let answered = AskRecord { answer: Some(json("1")), ..ask(1) };
        let ended = EffectRecord { outcome: Some(EffectOutcome::Ok(json("1"))), ..effect(1) };
        let carried = Carried {
            results: vec![result(1, "1")],
            failures: vec![failure(2, "it")],
            asks: vec![answered, ask(2)],
            effects: vec![ended, effect(2)],
        };
        let commit = || Commit { carried: Some(Box::new(carried.clone())), ..commit_of("t", &next) };
        assert!(matches!(saver.commit(commit()).await.unwrap(), Committed::New));
        let loaded = head(&saver, "t").await;
        let Carried { results, failures, asks, effects } = carried.clone();
        assert_eq!((loaded.results, loaded.failures), (results, failures));
        assert_eq!((loaded.asks, loaded.effects), (asks, effects));
        assert!(matches!(saver.commit(commit()).await.unwrap(), Committed::Already));
        // A commit that lost carries nothing.
        let lost = Commit { carried: Some(Box::new(carried)), ..commit_of("t", &step(Some(&first), [])) };
        assert!(!matches!(saver.commit(lost).await.unwrap(), Committed::New));
        assert_eq!(head(&saver, "t").await.results.len(), 1);
        // The barrier takes it like any other.
        advance(&saver, "t", Some(&next), []).await;
        assert_eq!(head(&saver, "t").await.asks, []);
        let left = at(&saver, "t", next.id).await;
        assert_eq!((left.results.len(), left.asks.len(), left.effects.len()), (0, 1, 1));
    });
}

#[test]
fn the_journal_keeps_outcomes_and_drops_what_only_began() {
    on_every_saver(|saver| async move {
        let thread = thread("t");
        let first = advance(&saver, "t", None, []).await;
        for number in 0..3 {
            saver.begin_effect(&thread, first.id, effect(number)).await.unwrap();
        }
        saver.end_effect(&thread, first.id, &effect(0).id, EffectOutcome::Err("no".into())).await.unwrap();
        saver.end_effect(&thread, first.id, &effect(1).id, EffectOutcome::Ok(json("null"))).await.unwrap();
        let retried = EffectRecord { attempt: 2, starts: 2, ..effect(0) };
        saver.begin_effect(&thread, first.id, retried.clone()).await.unwrap();
        let ended = EffectRecord { outcome: Some(EffectOutcome::Ok(json("null"))), ..effect(1) };
        assert_eq!(head(&saver, "t").await.effects, [retried, ended.clone(), effect(2)]);
        saver.flush(&thread).await.unwrap();

        advance(&saver, "t", Some(&first), []).await;
        assert_eq!(head(&saver, "t").await.effects, []);
        assert_eq!(at(&saver, "t", first.id).await.effects, [ended]);
        let late = saver.begin_effect(&thread, first.id, effect(7)).await;
        assert!(matches!(late, Err(StoreError::Superseded { .. })), "{late:?}");
        let late = saver.ask(&thread, first.id, vec![ask(7)]).await;
        assert!(matches!(late, Err(StoreError::Superseded { .. })), "{late:?}");
    });
}

#[test]
fn an_effect_is_begun_by_the_first_who_starts_it() {
    on_every_saver(|saver| async move {
        let thread = thread("t");
        let first = advance(&saver, "t", None, []).await;
        let begin = async |effect: EffectRecord| saver.begin_effect(&thread, first.id, effect).await.unwrap();
        assert_eq!(begin(effect(1)).await, None);
        assert_eq!(begin(effect(1)).await, Some(effect(1)), "it is begun");
        let ok = EffectOutcome::Ok(json("1"));
        saver.end_effect(&thread, first.id, &effect(1).id, ok.clone()).await.unwrap();
        let ended = EffectRecord { outcome: Some(ok), ..effect(1) };
        assert_eq!(begin(effect(1)).await, Some(ended.clone()));
        let again = EffectRecord { starts: 2, ..effect(1) };
        assert_eq!(begin(again.clone()).await, None);
        // A value that was drawn does not replace one that was drawn before.
        saver.note_effect(&thread, first.id, ended).await.unwrap();
        assert_eq!(head(&saver, "t").await.effects, [again]);
    });
}

#[test]
fn a_fork_starts_without_the_work_of_the_original() {
    on_every_saver(|saver| async move {
        let thread = thread("t");
        let first = advance(&saver, "t", None, []).await;
        saver.record(&thread, first.id, result(1, "1")).await.unwrap();
        saver.ask(&thread, first.id, vec![ask(1)]).await.unwrap();
        saver.begin_effect(&thread, first.id, effect(1)).await.unwrap();
        saver.end_effect(&thread, first.id, &effect(1).id, EffectOutcome::Ok(json("1"))).await.unwrap();
        saver.fork(&thread, first.id, &"u".into()).await.unwrap();
        let forked = head(&saver, "u").await;
        assert_eq!((forked.results.len(), forked.asks.len(), forked.effects.len()), (0, 0, 0));

        // Each has its own, under the same ids.
        saver.record(&"u".into(), first.id, result(1, "2")).await.unwrap();
        saver.ask(&"u".into(), first.id, vec![ask(1)]).await.unwrap();
        saver.answer(&"u".into(), vec![(ask(1).id, json("2"))]).await.unwrap();
        saver.begin_effect(&"u".into(), first.id, effect(1)).await.unwrap();
        saver.end_effect(&"u".into(), first.id, &effect(1).id, EffectOutcome::Ok(json("2"))).await.unwrap();
        assert_eq!(head(&saver, "t").await.results, [result(1, "1")]);
        assert_eq!(head(&saver, "t").await.asks, [ask(1)]);

        // What a shared checkpoint's work was depends on who continued it.
        advance(&saver, "t", Some(&first), []).await;
        advance(&saver, "u", Some(&first), []).await;
        let outcome = |loaded: superstep_core::checkpoint::Loaded| loaded.effects[0].outcome.clone();
        assert_eq!(outcome(at(&saver, "t", first.id).await), Some(EffectOutcome::Ok(json("1"))));
        assert_eq!(outcome(at(&saver, "u", first.id).await), Some(EffectOutcome::Ok(json("2"))));
        assert_eq!(at(&saver, "t", first.id).await.asks, []);
        assert_eq!(at(&saver, "u", first.id).await.asks.len(), 1);
    });
}

#[test]
fn tasks_that_finish_at_once_are_all_recorded() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let record = |id: CheckpointId, number: u8| {
            let saver = saver.clone();
            tokio::spawn(async move { saver.record(&"t".into(), id, result(number, "1")).await.unwrap() })
        };
        let finished: Vec<_> = (0..64).map(|number| record(first.id, number)).collect();
        for task in finished {
            task.await.unwrap();
        }
        assert_eq!(head(&saver, "t").await.results.len(), 64);
    });
}
