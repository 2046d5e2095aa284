//! Interrupts: questions that pause a thread, and the answers that continue it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::support::{Broken, Calls, Stage, on_both_savers, only};
use superstep::checkpoint::{At, Checkpointer, StoreError};
use superstep::driver::checkpoint::{Around, Load};
use superstep::id::{CheckpointId, InterruptId, ThreadId};
use superstep::prelude::*;
use superstep::run::{Interrupt, ThreadError};
use superstep::state::Json;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

fn said(text: impl Into<String>) -> Update<Log> {
    Log::update().said([text.into()])
}

fn json(value: impl serde::Serialize) -> Json {
    Json::encode(&value).expect("it has a JSON form")
}

fn open(run: Result<Run<Log>, RunError>) -> Vec<Interrupt> {
    let run = run.expect("no node fails");
    run.interrupted().expect("it asks")
}

fn questions(open: &[Interrupt]) -> Vec<String> {
    open.iter().map(|ask| ask.question().expect("questions are texts")).collect()
}

/// Asks for a number, in a superstep of its own.
async fn ask_age(name: Dep<Calls>, ask: Ask<String, u32>) -> Update<Log> {
    name.note("ran");
    let age = ask.ask("how old?".to_owned()).await;
    said(age.to_string())
}

#[tokio::test]
async fn a_question_pauses_the_thread_until_it_is_answered() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = only(ask_age, &stage, |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(said("in")).await);
        assert_eq!(questions(&asked), ["how old?"]);
        assert_eq!((asked[0].node.as_str(), asked[0].key.as_str()), ("node", "1"));
        let head = thread.head().await.expect("the start is stored");
        assert_eq!(head.step(), 0, "an interrupted superstep has no checkpoint");
        assert_eq!(head.interrupts(), asked);
        let everywhere = graph.interrupts().await.expect("the store reads");
        assert_eq!(everywhere, [("t".into(), asked[0].clone())], "with all that a form needs");
        assert!(everywhere[0].1.answer_schema.is_some() && everywhere[0].1.question_schema.is_some());

        // A resume without an answer asks the same question.
        assert_eq!(open(thread.resume().await), asked);
        let log = thread.answer(&7).await.expect("no node fails");
        assert_eq!(log.finished().expect("it was answered").said, ["in", "7"]);
        assert_eq!(stage.calls.of("ran"), 3);
        let head = thread.head().await.expect("it ran");
        assert_eq!(head.interrupts(), []);
    })
    .await;
}

#[tokio::test]
async fn an_answer_of_another_type_is_refused_and_the_question_stays_open() {
    on_both_savers(|saver| async move {
        let graph = only(ask_age, &Stage::default(), |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(said("in")).await);
        let refused = thread.answer("seven").await.expect_err("not a number");
        let RunError::WrongAnswer { interrupt, node, .. } = &refused else { panic!("{refused}") };
        assert_eq!((*interrupt, node.as_str()), (asked[0].id, "node"));
        let head = thread.head().await.expect("it ran");
        assert_eq!(head.interrupts(), asked);
        let log = thread.answer(&7).await.expect("a number").state;
        assert_eq!(log.said, ["in", "7"]);
    })
    .await;
}

#[tokio::test]
async fn k09_an_answer_is_used_once() {
    on_both_savers(|saver| async move {
        let graph = only(
            |first: Ask<String, u32>, second: Ask<String, u32>| async move {
                let a = first.ask("first?".into()).await;
                let b = second.ask("second?".into()).await;
                said(format!("{a} {b}"))
            },
            &Stage::default(),
            |node| node,
        );
        let graph = graph.shared_checkpointer(saver);
        let thread = graph.thread("t");
        let first = open(thread.run(said("in")).await);
        assert_eq!(questions(&first), ["first?"]);
        let second = open(thread.answer(&1).await);
        assert_eq!(questions(&second), ["second?"]);
        // A resume gives the first answer to the first question only.
        assert_eq!(open(thread.resume().await), second);
        let again = thread.answer_to(first[0].id, &9).await;
        let again = again.expect_err("it has an answer");
        assert!(matches!(
            again,
            RunError::Thread(ThreadError::Store(StoreError::AlreadyAnswered(id))) if id == first[0].id
        ));
        let log = thread.answer(&2).await.expect("no node fails").state;
        assert_eq!(log.said, ["in", "1 2"]);
    })
    .await;
}

/// Asks two questions at once.
async fn ask_both(left: Ask<String, u32>, right: Ask<String, String>) -> Update<Log> {
    let (a, b) = tokio::join!(left.ask("left?".into()), right.ask("right?".into()));
    said(format!("{a}{b}"))
}

#[tokio::test]
async fn k10_questions_of_one_node_are_answered_by_id_in_any_order() {
    on_both_savers(|saver| async move {
        let graph = only(ask_both, &Stage::default(), |node| node).shared_checkpointer(saver);
        for order in [[0, 1], [1, 0]] {
            let thread = graph.thread(format!("{order:?}"));
            let asked = open(thread.run(said("in")).await);
            assert_eq!(questions(&asked), ["left?", "right?"]);
            let which = thread.answer(&7).await.expect_err("two are open");
            assert!(matches!(which, RunError::WhichQuestion { open, .. } if open.len() == 2));
            let answers = [json(7), json("x")];
            let first = thread.answers([(asked[order[0]].id, answers[order[0]].clone())]).await;
            assert_eq!(open(first), [asked[order[1]].clone()]);
            let second = thread.answers([(asked[order[1]].id, answers[order[1]].clone())]).await;
            let log = second.expect("no node fails").finished().expect("all answered");
            assert_eq!(log.said, ["in", "7x"]);
        }
    })
    .await;
}

#[tokio::test]
async fn several_answers_count_all_or_none() {
    on_both_savers(|saver| async move {
        let graph = only(ask_both, &Stage::default(), |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(said("in")).await);
        let wrong = [(asked[0].id, json(7)), (asked[1].id, json(8))];
        let wrong = thread.answers(wrong).await.expect_err("a number is no text");
        assert!(matches!(wrong, RunError::WrongAnswer { interrupt, .. } if interrupt == asked[1].id));
        let unknown = [(asked[0].id, json(7)), (InterruptId::from_bytes([9; 16]), json(8))];
        thread.answers(unknown).await.expect_err("one is unknown");
        assert_eq!(thread.head().await.expect("it ran").interrupts(), asked);
        let right = [(asked[1].id, json("x")), (asked[0].id, json(7))];
        let log = thread.answers(right).await.expect("no node fails").state;
        assert_eq!(log.said, ["in", "7x"]);
    })
    .await;
}

#[tokio::test]
async fn d09_d13_an_answer_to_nothing_is_an_error() {
    on_both_savers(|saver| async move {
        let graph = only(ask_age, &Stage::default(), |node| node).shared_checkpointer(saver);
        let never = graph.thread("never").answer(&1).await.expect_err("it never ran");
        assert!(matches!(never, RunError::NothingToResume { .. }));

        let thread = graph.thread("t");
        let asked = open(thread.run(said("in")).await);
        let stranger = InterruptId::from_bytes([1; 16]);
        let unknown = thread.answer_to(stranger, &1).await.expect_err("there is no such question");
        assert!(matches!(
            unknown,
            RunError::Thread(ThreadError::Store(StoreError::NoInterrupt { interrupt, .. })) if interrupt == stranger
        ));
        // An empty list of answers used to be treated as a resume.
        let none = thread.answers([]).await.expect_err("no answer");
        assert!(matches!(none, RunError::WhichQuestion { open, .. } if open == [asked[0].id]));

        thread.answer(&7).await.expect("a number").finished().expect("answered");
        let done = thread.answer(&7).await.expect_err("it asks nothing");
        assert!(matches!(done, RunError::NothingAsked { .. }));
        let none = thread.answers([]).await.expect_err("no answer");
        assert!(matches!(none, RunError::NothingAsked { .. }));
        let old = thread.answer_to(asked[0].id, &7).await.expect_err("it is over");
        assert!(matches!(
            old,
            RunError::Thread(ThreadError::Store(StoreError::NoInterrupt { .. }))
        ));
    })
    .await;
}

#[tokio::test]
async fn d08_every_json_value_is_an_answer() {
    on_both_savers(|saver| async move {
        let graph = only(
            |ask: Ask<String, Option<u32>>| async move {
                let answer = ask.ask("any?".into()).await;
                said(format!("{answer:?}"))
            },
            &Stage::default(),
            |node| node,
        );
        let graph = graph.shared_checkpointer(saver);
        let thread = graph.thread("t");
        open(thread.run(said("in")).await);
        let log = thread.answer(&None::<u32>).await.expect("null answers").state;
        assert_eq!(log.said, ["in", "None"]);
    })
    .await;
}

/// Three nodes side by side: one that asks, one that asks, one that works.
fn panel(stage: &Stage) -> Graph<Log> {
    async fn ask(task: TaskInfo, calls: Dep<Calls>, ask: Ask<String, u32>) -> Update<Log> {
        calls.note(task.node().as_str());
        let answer = ask.ask(format!("{}?", task.node())).await;
        said(format!("{} {answer}", task.node()))
    }
    async fn work(calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, crate::support::Smashed> {
        calls.note("work");
        broken.check("work")?;
        Ok(said("work"))
    }
    let mut g = StateGraph::<Log, Stage>::new("panel");
    for name in ["a", "b"] {
        let node = g.node(name, ask);
        g.edge(START, node);
        g.edge(node, END);
    }
    let work = g.node("work", work);
    g.edge(START, work);
    g.edge(work, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn parallel_questions_are_answered_one_run_at_a_time() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = panel(&stage).shared_checkpointer(saver).thread("t");
        let asked = open(thread.run(said("in")).await);
        assert_eq!(questions(&asked), ["a?", "b?"]);
        assert_eq!(stage.calls.take_sorted(), ["a", "b", "work"]);

        let left = open(thread.answer_to(asked[1].id, &2).await);
        assert_eq!(questions(&left), ["a?"]);
        assert_eq!(stage.calls.take_sorted(), ["a", "b"], "finished work does not run again");

        let log = thread.answer(&1).await.expect("no node fails").state;
        assert_eq!(log.said, ["in", "a 1", "b 2", "work"]);
        assert_eq!(stage.calls.take(), ["a"], "nor does what was answered before");
    })
    .await;
}

#[tokio::test]
async fn a_failure_beside_a_question_leaves_the_question_open() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("work");
        let thread = panel(&stage).shared_checkpointer(saver).thread("t");
        let error = thread.run(said("in")).await.expect_err("work is broken");
        assert!(matches!(error, RunError::Node(_)));
        let asked = thread.head().await.expect("it ran").interrupts();
        assert_eq!(questions(&asked), ["a?", "b?"], "they were asked before work failed");
        stage.broken.mend("work");
        let answers = asked.iter().map(|ask| (ask.id, json(1)));
        let log = thread.answers(answers).await.expect("all is mended").state;
        assert_eq!(log.said, ["in", "a 1", "b 1", "work"]);
    })
    .await;
}

/// The question has arrived when the failure is seen, but has not been read.
#[tokio::test]
async fn a_question_in_the_moment_of_a_failure_is_asked_too() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let fails = g.node("A", || async { Err::<(), _>("it was told to") });
        let asks =
            g.node(
                "b",
                |ask: Ask<String, u32>| async move { said(ask.ask("how old?".into()).await.to_string()) },
            );
        for node in [fails, asks] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let graph = g.compile().expect("sound").shared_checkpointer(saver);
        let thread = graph.thread("t");
        thread.run(said("in")).await.expect_err("one of the two fails");
        let asked = thread.head().await.expect("it ran").interrupts();
        assert_eq!(questions(&asked), ["how old?"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_under_a_timeout_still_pauses() {
    let patient = |ask: Ask<String, u32>| async move {
        let answer = tokio::time::timeout(Duration::from_secs(1), ask.ask("how old?".into())).await;
        said(format!("{answer:?}"))
    };
    let graph = only(patient, &Stage::default(), |node| node).checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    assert_eq!(questions(&open(thread.run(said("in")).await)), ["how old?"]);
    let log = thread.answer(&7).await.expect("no node fails").state;
    assert_eq!(log.said, ["in", "Ok(7)"]);
}

#[tokio::test(start_paused = true)]
async fn the_nodes_own_timeout_does_not_run_while_it_waits_for_an_answer() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", ask_age);
    g.policy(node).timeout(Duration::from_secs(1)).retry(Retry::fixed(3, Duration::ZERO));
    g.edge(START, node);
    g.edge(node, END);
    let stage = Stage::default();
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    open(thread.run(said("in")).await);
    assert_eq!(stage.calls.of("ran"), 1, "a pause is no failure to be retried");
}

/// A question whose future the node had dropped used to be asked nevertheless, as soon as the node waited for anything
/// else.
#[tokio::test(start_paused = true)]
async fn a_question_that_the_node_gave_up_is_not_asked() {
    let hasty = |ask: Ask<String, u32>| async move {
        let asked = ask.ask("how old?".into());
        tokio::select! {
            age = asked => said(age.to_string()),
            () = async {} => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                said("never mind")
            }
        }
    };
    let graph = only(hasty, &Stage::default(), |node| node).checkpointer(MemorySaver::new());
    for turn in 0..8 {
        // `select!` polls in a random order: in some of the runs the question is polled first.
        let run = graph.thread(format!("{turn}")).run(said("in")).await;
        let run = run.expect("no node fails").finished();
        assert_eq!(run.expect("nothing is asked").said, ["in", "never mind"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_pauses_only_when_its_effects_have_ended() {
    async fn both(calls: Dep<Calls>, fx: Effects, ask: Ask<String, u32>) -> Update<Log> {
        let effect = fx.run("slow", || async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            calls.note("effect");
            Ok::<_, std::convert::Infallible>(40)
        });
        let (Ok(effect), answer) = tokio::join!(effect, ask.ask("how many?".into()));
        said((effect + answer).to_string())
    }
    let stage = Stage::default();
    let graph = only(both, &stage, |node| node).checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    open(thread.run(said("in")).await);
    assert_eq!(stage.calls.of("effect"), 1);
    let log = thread.answer(&2).await.expect("no node fails").state;
    assert_eq!(log.said, ["in", "42"]);
    assert_eq!(stage.calls.of("effect"), 1, "its value was recorded before the pause");
}

#[tokio::test]
async fn d07_a_question_needs_a_checkpointer() {
    let error = only(ask_age, &Stage::default(), |node| node).run(said("in")).await;
    let error = error.expect_err("the question is not stored");
    assert_eq!(
        error.to_string(),
        "node \"node\" failed at step 1: the node asks a question, but the graph has no checkpointer to keep \
         it until it is answered"
    );
}

#[tokio::test]
async fn keys_tell_the_questions_of_a_loop_apart() {
    on_both_savers(|saver| async move {
        let interview = |ask: Ask<String, u32>| async move {
            let mut sum = 0;
            for name in ["x", "y"] {
                sum += ask.ask_as(name, format!("{name}?")).await;
                sum += ask.ask_as("same", "again?".into()).await;
            }
            said(sum.to_string())
        };
        let graph = only(interview, &Stage::default(), |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let mut asked = open(thread.run(said("in")).await);
        let mut seen = Vec::new();
        for (answer, expected) in [(1, "x?"), (10, "again?"), (100, "y?"), (1_000, "again?")] {
            assert_eq!(questions(&asked), [expected]);
            seen.push(asked[0].id);
            let run = thread.answer(&answer).await.expect("no node fails");
            asked = match run.status {
                Status::Finished => Vec::new(),
                _ => run.interrupted().expect("it asks on"),
            };
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 4, "every question has an id of its own");
        let log = thread.head().await.expect("it ran").into_state();
        assert_eq!(log.said, ["in", "1111"]);
    })
    .await;
}

#[tokio::test]
async fn another_question_never_gets_the_old_ones_answer() {
    on_both_savers(|saver| async move {
        let fickle = |calls: Dep<Calls>, ask: Ask<String, u32>| async move {
            calls.note("ran");
            let answer = ask.ask(format!("attempt {}?", calls.of("ran"))).await;
            said(answer.to_string())
        };
        let graph = only(fickle, &Stage::default(), |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        assert_eq!(questions(&open(thread.run(said("in")).await)), ["attempt 1?"]);
        assert_eq!(questions(&open(thread.answer(&7).await)), ["attempt 2?"]);
    })
    .await;
}

#[tokio::test]
async fn a_fork_asks_again_and_its_answer_is_its_own() {
    on_both_savers(|saver| async move {
        let graph = only(ask_age, &Stage::default(), |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        open(thread.run(said("in")).await);
        let fork = thread.head().await.expect("it ran").fork("fork").await;
        let fork = fork.expect("the name is free");
        let early = fork.answer(&1).await.expect_err("the fork has not asked yet");
        assert!(matches!(early, RunError::NothingAsked { .. }));
        open(fork.resume().await);
        assert_eq!(fork.answer(&8).await.expect("no node fails").state.said, ["in", "8"]);
        assert_eq!(thread.answer(&7).await.expect("no node fails").state.said, ["in", "7"]);
    })
    .await;
}

/// Counts the reads of a state.
struct Reads {
    saver: Arc<dyn Checkpointer>,
    loads: Arc<AtomicUsize>,
}

#[async_trait]
impl Around for Reads {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.saver
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        self.saver.load(thread, at, known).await
    }
}

/// The state was read once to check the answer, and once more with the answer.
#[tokio::test]
async fn an_answer_reads_the_state_once() {
    on_both_savers(|saver| async move {
        let loads = Arc::<AtomicUsize>::default();
        let reads = Reads { saver, loads: Arc::clone(&loads) };
        let thread = only(ask_age, &Stage::default(), |node| node).checkpointer(reads).thread("t");
        drop(open(thread.run(said("in")).await));
        loads.store(0, Ordering::SeqCst);
        let log = thread.answer(&7).await.expect("no node fails").finished().expect("it ends");
        assert_eq!(
            (log.said.as_slice(), loads.load(Ordering::SeqCst)),
            (&["in".to_owned(), "7".to_owned()][..], 1)
        );
    })
    .await;
}
