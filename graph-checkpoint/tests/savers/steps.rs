//! What happened: steps, what is left on top of them, and what their tasks emitted.

use superstep_core::checkpoint::{
    At, Checkpoint, Commit, Committed, EffectOutcome, EffectRecord, Emitted, EmittedEvent, StepRecord,
    StoreError,
};

use crate::material::*;
use crate::work::{ask, effect};

fn emitted(texts: &[&str]) -> Emitted {
    let mut events: Vec<_> =
        texts.iter().map(|text| EmittedEvent::Message { at_ms: 7, chunk: json(text) }).collect();
    events.push(EmittedEvent::Custom { at_ms: 8, name: "n".into(), data: json("null") });
    Emitted { dropped: 1, events }
}

async fn steps(saver: &Saver, name: &str, from: At, limit: usize) -> Vec<StepRecord> {
    saver.steps(&thread(name), from, limit).await.unwrap()
}

fn checkpoints(steps: Vec<StepRecord>) -> Vec<Checkpoint> {
    steps.into_iter().map(|step| step.checkpoint).collect()
}

#[test]
fn steps_are_read_from_anywhere_newest_first() {
    on_every_saver(|saver| async move {
        assert_eq!(steps(&saver, "t", At::Head, 9).await, []);
        let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
        let second = advance(&saver, "t", Some(&first), [extend(0, "[2]")]).await;
        let third = advance(&saver, "t", Some(&second), [set(1, "2")]).await;
        let all = steps(&saver, "t", At::Head, 9).await;
        assert_eq!(all[0].seq, head(&saver, "t").await.seq);
        assert!(all.iter().all(|step| step.thread == thread("t") && step.graph.as_str() == "graph"));
        assert!(all.iter().all(|step| step.schema.fingerprint() == step.checkpoint.schema));
        assert_eq!(checkpoints(all), [third.clone(), second.clone(), first.clone()]);
        let some = steps(&saver, "t", At::Id(third.id), 2).await;
        assert_eq!(checkpoints(some), [third, second.clone()]);
        saver.fork(&thread("t"), second.id, &thread("fork")).await.unwrap();
        let fourth = advance(&saver, "fork", Some(&second), []).await;
        let forked = steps(&saver, "fork", At::Head, 9).await;
        let written_on: Vec<_> = forked.iter().map(|step| step.thread.as_str()).collect();
        assert_eq!(written_on, ["fork", "t", "t"]);
        assert_eq!(checkpoints(forked), [fourth.clone(), second, first]);
        let foreign = saver.steps(&thread("t"), At::Id(fourth.id), 1).await;
        assert!(matches!(foreign, Err(StoreError::NoCheckpoint { .. })), "{foreign:?}");
    });
}

#[test]
fn a_lineage_is_the_whole_tree_that_a_thread_is_part_of() {
    on_every_saver(|saver| async move {
        assert_eq!(saver.lineage(&thread("t")).await.unwrap(), []);
        let first = advance(&saver, "t", None, []).await;
        let second = advance(&saver, "t", Some(&first), []).await;
        saver.fork(&thread("t"), first.id, &thread("fork")).await.unwrap();
        let forked = advance(&saver, "fork", Some(&first), []).await;
        advance(&saver, "other", None, []).await;
        let below = thread("t").below(result(1, "1").task);
        advance(&saver, below.as_str(), None, []).await;
        // A branch inside the thread: it goes on from an earlier checkpoint.
        let branch = step(Some(&first), []);
        let moved = Commit { expected: Some(second.id), ..commit_of("t", &branch) };
        assert!(matches!(saver.commit(moved).await.unwrap(), Committed::New));

        let tree = saver.lineage(&thread("fork")).await.unwrap();
        let lines: Vec<_> = tree.iter().map(|line| (line.id, line.parent, line.thread.as_str())).collect();
        let on_first = Some(first.id);
        let expected = [
            (branch.id, on_first, "t"),
            (forked.id, on_first, "fork"),
            (second.id, on_first, "t"),
            (first.id, None, "t"),
        ];
        assert_eq!(lines, expected);
        assert_eq!(saver.lineage(&thread("t")).await.unwrap(), tree);
        assert_eq!(saver.lineage(&thread("other")).await.unwrap().len(), 1);

        saver.delete(&"graph".into(), &thread("t")).await.unwrap();
        let left: Vec<_> = saver.lineage(&thread("fork")).await.unwrap();
        let left: Vec<_> = left.iter().map(|line| (line.id, line.thread.as_str())).collect();
        assert_eq!(
            left,
            [(forked.id, "fork"), (first.id, "t")],
            "the past of a deleted thread is shown as its"
        );
    });
}

#[test]
fn steps_tell_what_their_thread_has_left_on_top_of_them() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        saver.ask(&thread("t"), first.id, vec![ask(1), ask(2)]).await.unwrap();
        saver.answer(&thread("t"), vec![(ask(1).id, json("1"))]).await.unwrap();
        saver.begin_effect(&thread("t"), first.id, effect(1)).await.unwrap();
        saver
            .end_effect(&thread("t"), first.id, &effect(1).id, EffectOutcome::Err("no".into()))
            .await
            .unwrap();
        saver.fork(&thread("t"), first.id, &thread("fork")).await.unwrap();
        let second = advance(&saver, "t", Some(&first), []).await;
        saver.record(&thread("t"), second.id, result(1, "1")).await.unwrap();
        saver.fail(&thread("t"), second.id, failure(2, "it")).await.unwrap();
        let other = advance(&saver, "fork", Some(&first), []).await;

        let on_t = steps(&saver, "t", At::Head, 9).await;
        assert_eq!(on_t[0].work.results, [result(1, "1")]);
        assert_eq!(on_t[0].work.failures, [failure(2, "it")]);
        assert_eq!(on_t[1].work.asks.len(), 1, "open questions went at the barrier");
        assert_eq!(on_t[1].work.asks[0].answer, Some(json("1")));
        let ended = EffectRecord { outcome: Some(EffectOutcome::Err("no".into())), ..effect(1) };
        assert_eq!(on_t[1].work.effects, [ended]);
        assert_eq!(steps(&saver, "t", At::Id(first.id), 1).await[0].work, on_t[1].work);
        let on_fork = steps(&saver, "fork", At::Head, 9).await;
        assert_eq!(on_fork[0].checkpoint, other);
        assert!(on_fork.iter().all(|step| step.work.is_empty()), "that work is not the fork's");
    });
}

#[test]
fn what_is_emitted_is_stored_with_its_checkpoint_or_not_at_all() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let next = step(Some(&first), [set(0, "1")]);
        let said = vec![(0, emitted(&["\"a\""])), (3, emitted(&[]))];
        let commit = || Commit { emitted: said.clone(), ..commit_of("t", &next) };
        assert!(matches!(saver.commit(commit()).await.unwrap(), Committed::New));
        assert!(matches!(saver.commit(commit()).await.unwrap(), Committed::Already));
        let lost = Commit { emitted: said.clone(), ..commit_of("t", &step(Some(&first), [])) };
        assert!(!matches!(saver.commit(lost).await.unwrap(), Committed::New));
        let all = steps(&saver, "t", At::Head, 9).await;
        assert_eq!(all[0].emitted, said);
        assert_eq!(all[1].emitted, []);
        saver.fork(&thread("t"), next.id, &thread("fork")).await.unwrap();
        assert_eq!(steps(&saver, "fork", At::Head, 1).await[0].emitted, said, "a fork shares the past");
        saver.delete(&"graph".into(), &thread("t")).await.unwrap();
        let left = steps(&saver, "fork", At::Head, 9).await;
        assert_eq!((left.len(), &left[0].emitted), (2, &said), "and keeps it");
        assert_eq!(left[0].thread, thread("t"));
    });
}

#[test]
fn a_result_keeps_what_its_task_emitted() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let mut said = result(1, "1");
        said.emitted = Some(Box::new(emitted(&["\"a\""])));
        saver.record(&thread("t"), first.id, said.clone()).await.unwrap();
        saver.flush(&thread("t")).await.unwrap();
        // The first result of a task counts, with what was emitted on the way to it.
        let counts = saver.record(&thread("t"), first.id, result(1, "1")).await.unwrap();
        assert_eq!(counts, said);
        assert_eq!(head(&saver, "t").await.results, [said]);
    });
}
