//! Answers to questions of a subgraph that was edited while they were open: each answer is used or refused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use superstep::checkpoint::{Checkpointer, CheckpointerExt, StoreError};
use superstep::driver::checkpoint::{Answered, Answers, Around};
use superstep::id::{InterruptId, ThreadId};
use superstep::run::{Ambient, System, ThreadError};
use superstep::state::Json;
use uuid::Uuid;

use super::*;

/// The threads of the subgraphs below a thread, from the outermost to the innermost.
async fn below(thread: &Thread<Outer>) -> Vec<ThreadId> {
    let levels = thread.head().await.expect("it ran").subgraphs().await.expect("the store reads");
    levels.into_iter().map(|level| level.thread).collect()
}

/// The thread of a subgraph, for reading and editing.
fn inside(graph: Graph<Inner, Stage>, saver: &Arc<dyn Checkpointer>, thread: &ThreadId) -> Thread<Inner> {
    graph.with_context(Stage::default()).shared_checkpointer(Arc::clone(saver)).thread(thread.clone())
}

fn json(text: &str) -> Json {
    Json::encode(text).expect("a text")
}

fn is_gone(refused: &RunError, id: InterruptId) -> bool {
    matches!(
        refused,
        RunError::Thread(ThreadError::Store(StoreError::NoInterrupt { interrupt, .. })) if *interrupt == id
    )
}

/// The outer thread used to show the old id of the question, and an answer to it was accepted and lost.
#[tokio::test]
async fn a_question_stays_open_under_its_id_when_the_subgraph_is_edited() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        let mut asked = open(thread.run(Outer::update().topic("rust")).await);
        for (next, answer) in [("second?", "one"), ("", "two")] {
            let inner = inside(asking_graph(), &saver, &below(&thread).await[0]);
            for text in ["edited", "twice"] {
                inner.edit(inner_said(text)).await.expect("no other edit is made");
            }
            assert_eq!(thread.head().await.expect("it ran").interrupts(), asked);
            let answered = thread.answer_to(asked[0].id, answer).await;
            if next.is_empty() {
                let state = answered.expect("no node fails").finished().expect("it finishes");
                assert_eq!(state.said[1..4], ["read rust", "edited", "twice"]);
                assert_eq!(state.said[6..], ["one two", "ended"]);
                assert_eq!(state.result, "two");
            } else {
                asked = open(answered);
                assert_eq!(question(&asked), next);
            }
        }
        thread.replay().await.expect("it reads").agrees().expect("nothing else happened");
    })
    .await;
}

#[tokio::test]
async fn an_answer_finds_its_question_below_several_levels_that_were_edited() {
    on_both_savers(|saver| async move {
        let graph = around(nested(2), &Stage::default()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update().topic("deep")).await);
        let levels = below(&thread).await;
        for (level, below) in levels.iter().enumerate().rev() {
            let depth = u32::try_from(2 - level).expect("three levels");
            inside(nested(depth), &saver, below)
                .edit(inner_said("edited"))
                .await
                .expect("no other edit is made");
        }
        let asked = open(thread.answer_to(asked[0].id, "one").await);
        let state = thread.answer_to(asked[0].id, "two").await.expect("it goes on").finished();
        assert_eq!(state.expect("it finishes").result, "two");
    })
    .await;
}

/// Both questions have the same key and the same text.
async fn ask_at_once(ask: Ask<String, String>) -> Update<Inner> {
    let (first, second) = tokio::join!(ask.ask("which?".to_owned()), ask.ask("which?".to_owned()));
    inner_said(format!("{first} {second}"))
}

fn asking_at_once() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("at once");
    let ask = g.node("ask", ask_at_once);
    g.edge(START, ask);
    g.edge(ask, END);
    g.compile().expect("sound")
}

/// A subgraph for each of two items; each asks two equal questions.
fn two_items(stage: &Stage) -> Graph<Outer> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let fan = g.node("fan", async || Fan::Out(vec!["a".into(), "b".into()]));
    let lens =
        Lens::new().item(|item: &String| Inner::update().query(item.clone())).share(Outer::SAID, Inner::SAID);
    let sub = g.subgraph("sub", asking_at_once(), lens);
    g.edge(START, fan);
    g.route(fan, move |Fan::Out(items)| each(sub, items));
    g.edge(sub, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn answers_to_several_questions_that_are_alike_find_theirs() {
    on_both_savers(|saver| async move {
        let thread = two_items(&Stage::default()).shared_checkpointer(saver.clone()).thread("t");
        let asked = open(thread.run(Outer::update()).await);
        inside(asking_at_once(), &saver, &below(&thread).await[1])
            .edit(inner_said("edited"))
            .await
            .expect("no other edit is made");
        let answers = ["a1", "a2", "b1", "b2"].iter().zip(&asked).rev();
        let answers: Vec<_> = answers.map(|(answer, asked)| (asked.id, json(answer))).collect();
        let run = thread.answers(answers).await.expect("no node fails");
        assert_eq!(run.finished().expect("it finishes").said, ["a1 a2", "edited", "b1 b2"]);
    })
    .await;
}

#[tokio::test]
async fn an_answer_whose_question_is_gone_is_refused_before_any_is_stored() {
    on_both_savers(|saver| async move {
        let thread = two_items(&Stage::default()).shared_checkpointer(saver.clone()).thread("t");
        let asked = open(thread.run(Outer::update()).await);
        let inner = inside(asking_at_once(), &saver, &below(&thread).await[1]);
        inner.discard_pending().await.expect("no other edit is made");
        let all: Vec<_> = asked.iter().map(|asked| (asked.id, json("yes"))).collect();
        let refused = thread.answers(all.clone()).await.expect_err("two are not asked any more");
        assert!(is_gone(&refused, asked[2].id), "{refused}");
        let head = thread.head().await.expect("it ran");
        assert!(head.loaded().asks.iter().all(|ask| ask.answer.is_none()), "nothing is stored");
        let run = thread.answers(all[..2].to_vec()).await.expect("these are asked");
        assert_eq!(run.finished().expect("it finishes").said, ["yes yes"]);
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_a_question_that_was_asked_again_or_on_another_branch_is_refused() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update()).await);
        let old = asked[0].id;
        let fork = thread.head().await.expect("it ran").fork("f").await.expect("a new name");
        let refused = fork.answer_to(old, "one").await.expect_err("the fork has not asked yet");
        assert!(is_gone(&refused, old), "{refused}");
        inside(asking_graph(), &saver, &below(&thread).await[0])
            .edit(inner_said("edited"))
            .await
            .expect("no other edit is made");
        let again = open(thread.resume().await);
        assert_ne!(again[0].id, old, "the resume has asked under the new id");
        let refused = thread.answer_to(old, "one").await.expect_err("it is not asked any more");
        assert!(is_gone(&refused, old), "{refused}");
        assert_eq!(question(&open(thread.answer_to(again[0].id, "one").await)), "second?");
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_a_question_that_has_one_below_is_refused() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update()).await);
        let answer = vec![(asked[0].id, json("first"))];
        saver.answer_all(&below(&thread).await[0], answer).await.expect("it is open there");
        let refused = thread.answer("second").await.expect_err("it has an answer");
        let told = format!("question {} is already answered", asked[0].id);
        assert_eq!(refused.to_string(), told);
        assert_eq!(question(&open(thread.resume().await)), "second?", "the answer that came first is used");
    })
    .await;
}

/// An action, such as an edit.
type Meanwhile = Mutex<Option<BoxFuture<'static, ()>>>;

/// A saver that runs an action just before it stores an answer.
struct Hasty {
    saver: Arc<dyn Checkpointer>,
    meanwhile: Arc<Meanwhile>,
}

#[async_trait]
impl Around for Hasty {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.saver
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        let meanwhile = self.meanwhile.lock().expect("no test panics with it").take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.saver.answer(answers).await
    }
}

/// The question disappears after it was read, and before the subgraph gets the answer: the run reports this, and the
/// thread is not harmed.
#[tokio::test]
async fn an_answer_whose_question_goes_at_the_last_moment_fails_its_run_and_no_later_one() {
    on_both_savers(|saver| async move {
        let meanwhile = Arc::<Meanwhile>::default();
        let hasty = Hasty { saver: Arc::clone(&saver), meanwhile: Arc::clone(&meanwhile) };
        let thread = around(asking_graph(), &Stage::default()).checkpointer(hasty).thread("t");
        let asked = open(thread.run(Outer::update()).await);
        let inner = inside(asking_graph(), &saver, &below(&thread).await[0]);
        let discard = async move { assert!(inner.discard_pending().await.is_ok()) };
        *meanwhile.lock().expect("no test panics with it") = Some(Box::pin(discard));
        let failed = thread.answer("lost").await.expect_err("it was not used");
        let told = format!("has no open question {}", asked[0].id);
        assert!(failed.to_string().contains(&told), "{failed}");
        let state = thread.resume().await.expect("no node fails").finished().expect("nothing is asked");
        assert_eq!(state.said, ["begun", "read ", "ended"]);
    })
    .await;
}

/// A clock that stands until it is set.
#[derive(Clone, Default)]
struct Clock(Arc<Mutex<Duration>>);

impl Ambient for Clock {
    fn id(&self) -> Uuid {
        System.id()
    }

    fn now(&self) -> Duration {
        *self.0.lock().expect("no test panics with it")
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

#[tokio::test]
async fn a_deadline_answers_the_question_of_a_subgraph_that_was_edited() {
    on_both_savers(|saver| async move {
        let within = || {
            let mut g = StateGraph::<Inner, Stage>::new("within");
            let ask = g.node("ask", async |ask: Ask<String, String>| {
                inner_said(ask.within(Duration::from_secs(60), "default".into()).ask("who?".into()).await)
            });
            g.edge(START, ask);
            g.edge(ask, END);
            g.compile().expect("sound")
        };
        let clock = Clock::default();
        let graph = around(within(), &Stage::default()).ambient(clock.clone());
        let thread = graph.shared_checkpointer(saver.clone()).thread("t");
        let asked = open(thread.run(Outer::update()).await);
        inside(within(), &saver, &below(&thread).await[0])
            .edit(inner_said("edited"))
            .await
            .expect("no other edit is made");
        *clock.0.lock().expect("no test panics with it") = Duration::from_secs(3_600);
        let late = thread.answer_to(asked[0].id, "late").await.expect_err("its time is over");
        assert!(late.to_string().contains("already answered"), "{late}");
        let state = thread.resume().await.expect("no node fails").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "edited", "default", "ended"]);
    })
    .await;
}
