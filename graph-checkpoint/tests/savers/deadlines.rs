//! Questions across threads: which wait for an answer, and which answer themselves.

use superstep_core::checkpoint::{AnsweredBy, AskRecord, Deadline, StoreError};
use superstep_core::id::InterruptId;

use crate::material::*;
use crate::work::ask;

/// Question `number`, which answers itself with its number at a time.
fn due(number: u8, at_ms: u64) -> AskRecord {
    AskRecord { deadline: Some(Deadline { at_ms, default: json(&number.to_string()) }), ..ask(number) }
}

/// The same, after it did.
fn expired(number: u8, at_ms: u64) -> AskRecord {
    let answer = Some(json(&number.to_string()));
    AskRecord { answer, answered_by: AnsweredBy::Deadline, ..due(number, at_ms) }
}

async fn tick(saver: &Saver, now_ms: u64) -> Vec<(String, InterruptId)> {
    let expired = saver.expire(&"graph".into(), None, now_ms).await.unwrap();
    expired.into_iter().map(|(thread, ask)| (thread.to_string(), ask.id)).collect()
}

#[test]
fn a_question_answers_itself_once_and_only_when_nobody_has() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let thread = thread("t");
        let asks = vec![due(1, 100), due(2, 100), due(3, 200), ask(4)];
        saver.ask(&thread, first.id, asks.clone()).await.unwrap();
        assert_eq!(head(&saver, "t").await.asks, asks);
        assert_eq!(tick(&saver, 99).await, []);
        saver.answer(&thread, vec![(ask(2).id, json("\"by hand\""))]).await.unwrap();
        assert_eq!(tick(&saver, 100).await, [("t".to_owned(), ask(1).id)]);
        assert_eq!(tick(&saver, 100).await, []);
        let late = saver.answer(&thread, vec![(ask(1).id, json("9"))]).await;
        assert!(matches!(late, Err(StoreError::AlreadyAnswered(id)) if id == ask(1).id), "{late:?}");
        let by_hand = AskRecord { answer: Some(json("\"by hand\"")), ..due(2, 100) };
        assert_eq!(head(&saver, "t").await.asks, [expired(1, 100), by_hand, due(3, 200), ask(4)]);
        // A question that is asked again keeps its first deadline, and its answer.
        saver.ask(&thread, first.id, vec![due(1, 500), due(3, 500), ask(4)]).await.unwrap();
        assert_eq!(tick(&saver, 300).await, [("t".to_owned(), ask(3).id)]);
        advance(&saver, "t", Some(&first), []).await;
        assert_eq!(tick(&saver, u64::MAX).await, []);
        assert_eq!(at(&saver, "t", first.id).await.asks[0], expired(1, 100));
    });
}

#[test]
fn deadlines_count_for_one_thread_or_for_all_of_a_graph() {
    on_every_saver(|saver| async move {
        for name in ["b", "a", "c"] {
            let first = advance(&saver, name, None, []).await;
            saver.ask(&thread(name), first.id, vec![due(1, 5)]).await.unwrap();
        }
        // A subgraph's questions are those of the thread above it.
        let below = thread("a").below(task(1));
        let first = advance(&saver, below.as_str(), None, []).await;
        saver.ask(&below, first.id, vec![due(1, 5)]).await.unwrap();
        assert_eq!(saver.expire(&"another".into(), None, 9).await.unwrap(), []);
        let one = saver.expire(&"graph".into(), Some(&thread("b")), 9).await.unwrap();
        assert_eq!(one, [(thread("b"), expired(1, 5))]);
        assert_eq!(tick(&saver, 9).await, [("a".to_owned(), ask(1).id), ("c".to_owned(), ask(1).id)]);
    });
}

#[test]
fn open_questions_and_unfinished_threads_are_listed_by_graph() {
    on_every_saver(|saver| async move {
        for name in ["b", "a"] {
            let first = advance(&saver, name, None, []).await;
            saver.ask(&thread(name), first.id, vec![due(2, 5), ask(1)]).await.unwrap();
        }
        saver.answer(&thread("b"), vec![(ask(1).id, json("1"))]).await.unwrap();
        let open = saver.open_asks(&"graph".into()).await.unwrap();
        assert_eq!(open, [(thread("a"), due(2, 5)), (thread("a"), ask(1)), (thread("b"), due(2, 5))]);
        assert_eq!(saver.open_asks(&"another".into()).await.unwrap(), []);

        let mut done = step(None, []);
        done.frontier.tasks.clear();
        put(&saver, "done", &done).await;
        let names = |threads: Vec<superstep_core::checkpoint::ThreadSummary>| -> Vec<String> {
            threads.iter().map(|summary| summary.thread.to_string()).collect()
        };
        assert_eq!(names(saver.threads().await.unwrap()), ["a", "b", "done"]);
        let unfinished = saver.unfinished(&"graph".into()).await.unwrap();
        assert_eq!(unfinished[0].open_asks, [due(2, 5), ask(1)]);
        assert_eq!(names(unfinished), ["a", "b"]);
        assert_eq!(names(saver.unfinished(&"another".into()).await.unwrap()), Vec::<String>::new());
    });
}
