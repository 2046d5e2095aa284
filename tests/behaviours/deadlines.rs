//! Deadlines: a question without an answer in time gets its default answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep::checkpoint::{AnsweredBy, Checkpointer, Deadline, StoreError};
use superstep::prelude::*;
use superstep::run::{Ambient, Interrupt, System, ThreadError};
use superstep::state::Json;
use uuid::Uuid;

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

/// A clock that stands until it is set, in seconds.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

impl Ambient for Clock {
    fn id(&self) -> Uuid {
        System.id()
    }

    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

/// Asks for permission to continue, with a deadline of an hour; then asks for a reason, without a deadline.
async fn ask(may: Ask<String, bool>, why: Ask<String, String>) -> Update<Log> {
    let may = may.within(HOUR, false).ask("may I?".into()).await;
    let why = why.ask("why?".into()).await;
    Log::update().said([format!("{may} because {why}")])
}

fn graph(clock: &Clock, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", ask);
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("sound").ambient(clock.clone()).shared_checkpointer(saver)
}

async fn asked(thread: &Thread<Log>) -> Interrupt {
    let mut open = thread.resume().await.expect("no node fails").interrupted().expect("it asks");
    assert_eq!(open.len(), 1);
    open.remove(0)
}

fn json(value: impl serde::Serialize) -> Json {
    Json::encode(&value).expect("it has a JSON form")
}

#[tokio::test]
async fn a_tick_gives_overdue_questions_of_all_threads_their_defaults() {
    on_both_savers(|saver| async move {
        let clock = Clock::default();
        let graph = graph(&clock, saver);
        let threads = ["a", "b", "c"].map(|name| graph.thread(name));
        for (thread, seconds) in threads.iter().zip([10, 20, 5_000]) {
            clock.set(seconds);
            let open = thread.run(Log::update()).await.expect("no node fails").interrupted();
            let deadline = Deadline { at_ms: (seconds + 3_600) * 1_000, default: json(false) };
            assert_eq!(open.expect("it asks")[0].deadline, Some(deadline));
        }
        clock.set(3_609);
        assert_eq!(graph.tick().await.expect("the store works"), []);
        clock.set(3_620);
        let expired = graph.tick().await.expect("the store works");
        let names: Vec<_> = expired.iter().map(|(thread, _)| thread.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        for (_, ask) in &expired {
            assert_eq!(ask.deadline.as_ref().map(|deadline| &deadline.default), Some(&json(false)));
        }
        assert_eq!(graph.tick().await.expect("the store works"), [], "each deadline counts once");
        assert_eq!(graph.interrupts().await.expect("the store reads").len(), 1);

        // Too late: by id, and as the only question.
        let late = [threads[0].answer_to(expired[0].1.id, &true).await, threads[0].answer(&true).await];
        for late in late {
            assert!(matches!(
                late.expect_err("it has an answer"),
                RunError::Thread(ThreadError::Store(StoreError::AlreadyAnswered(id))) if id == expired[0].1.id
            ));
        }
        let why = asked(&threads[0]).await;
        assert_eq!((why.question::<String>().expect("a text").as_str(), &why.deadline), ("why?", &None));
        let log = threads[0].answer("it was late").await.expect("no node fails").state;
        assert_eq!(log.said, ["false because it was late"]);
    })
    .await;
}

#[tokio::test]
async fn a_resume_and_an_answer_let_deadlines_count_first() {
    on_both_savers(|saver| async move {
        let clock = Clock::default();
        let graph = graph(&clock, saver);
        for late in [false, true] {
            clock.set(0);
            let thread = graph.thread(format!("{late}"));
            assert_eq!(
                thread.run(Log::update()).await.expect("no node fails").interrupted().expect("asks").len(),
                1
            );
            clock.set(3_600);
            if late {
                let error = thread.answer(&true).await.expect_err("it is too late");
                assert!(error.to_string().ends_with("is already answered"), "{error}");
            }
            let why = asked(&thread).await;
            assert_eq!(why.question::<String>().expect("a text"), "why?");
            let head = thread.head().await.expect("it ran");
            let by: Vec<_> = head.loaded().asks.iter().map(|ask| ask.answered_by).collect();
            assert_eq!(by, [AnsweredBy::Deadline, AnsweredBy::Caller], "the record says who answered");
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_in_time_stays() {
    on_both_savers(|saver| async move {
        let clock = Clock::default();
        let graph = graph(&clock, saver);
        let thread = graph.thread("t");
        let open = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        clock.set(3_599);
        // A question that is asked again keeps its first deadline.
        let again = asked(&thread).await;
        assert_eq!(again, open[0]);
        let why = thread.answer(&true).await.expect("no node fails").interrupted().expect("it asks on");
        clock.set(9_999);
        assert_eq!(graph.tick().await.expect("the store works"), []);
        let log = thread.answer_to(why[0].id, "so").await.expect("no node fails").state;
        assert_eq!(log.said, ["true because so"]);
    })
    .await;
}

#[tokio::test]
async fn an_edit_takes_the_deadline_along_and_a_fork_begins_a_new_one() {
    on_both_savers(|saver| async move {
        let clock = Clock::default();
        let graph = graph(&clock, saver);
        let thread = graph.thread("t");
        let open = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        clock.set(100);
        let head = thread.head().await.expect("it ran");
        let fork = head.fork("fork").await.expect("the name is free");
        assert_eq!(asked(&fork).await.deadline.expect("it has one").at_ms, 3_700_000);
        thread.edit(Log::update().said(["edited"])).await.expect("there is no other writer");
        assert_eq!(asked(&thread).await.deadline, open[0].deadline);
        clock.set(3_600);
        let expired = graph.tick().await.expect("the store works");
        assert_eq!(expired.iter().map(|(thread, _)| thread.as_str()).collect::<Vec<_>>(), ["t"]);
    })
    .await;
}
