//! Small programs with questions, with the outcomes of LangGraph, or with the right ones.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{Checkpointer, StoreError};
use superstep::id::InterruptId;
use superstep::prelude::*;
use superstep::run::{Interrupt, ThreadError};
use superstep::state::Json;

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

fn v(text: impl Into<String>) -> Update<Log> {
    Log::update().v([text.into()])
}

type Text = Ask<String, String>;

/// A graph of one node.
fn only<Signature, N>(node: N, stage: &Stage, saver: &Arc<dyn Checkpointer>) -> Graph<Log>
where
    N: superstep::node::IntoNode<Log, Stage, Signature, Input = superstep::node::NoInput, Route = ()>,
{
    let mut g = StateGraph::<Log, Stage>::new("g");
    let a = g.node("a", node);
    g.policy(a).retry(Retry::fixed(3, Duration::ZERO));
    g.edge(START, a);
    g.edge(a, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver.clone())
}

fn open(run: Result<Run<Log>, RunError>) -> Vec<Interrupt> {
    run.expect("no node fails").interrupted().expect("it asks")
}

fn asked(open: &[Interrupt]) -> Vec<String> {
    open.iter().map(|ask| ask.question().expect("questions are texts")).collect()
}

fn end(run: Result<Run<Log>, RunError>) -> String {
    run.expect("no node fails").finished().expect("all is answered").v.join(" ")
}

#[tokio::test]
async fn d01_two_questions_of_one_node_run_it_again_from_its_start() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let ask = async |calls: Dep<Calls>, ask: Text| {
            calls.note("start");
            let x = ask.ask("q1".into()).await;
            calls.note("mid");
            let y = ask.ask("q2".into()).await;
            v(format!("{x}{y}"))
        };
        let thread = only(ask, &stage, &saver).thread("t");
        let first = open(thread.run(Log::update()).await);
        let second = open(thread.answer("A").await);
        assert_eq!((asked(&first), asked(&second)), (vec!["q1".into()], vec!["q2".into()]));
        assert_ne!(first[0].id, second[0].id);
        assert_eq!(end(thread.answer("B").await), "AB");
        assert_eq!(stage.calls.take(), ["start", "start", "mid", "start", "mid"]);
    })
    .await;
}

/// Two nodes that ask their own names, side by side.
fn pair(saver: &Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("pair");
    for name in ["a", "b"] {
        let node = g.node(name, async |task: TaskInfo, ask: Text| {
            let name = task.node().to_string();
            v(format!("{name}={}", ask.ask(name.clone()).await))
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver.clone())
}

#[tokio::test]
async fn d02_parallel_questions_need_ids() {
    on_both_savers(|saver| async move {
        let thread = pair(&saver).thread("t");
        let both = open(thread.run(Log::update()).await);
        assert_eq!(asked(&both), ["a", "b"]);
        let which = thread.answer("x").await.expect_err("two are open");
        assert!(matches!(which, RunError::WhichQuestion { .. }));
        assert_eq!(asked(&open(thread.answer_to(both[1].id, "B").await)), ["a"]);
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.values.v.join(" ").as_str(), &live.next[..]), ("b=B", &["a".into()][..]));
        assert_eq!(end(thread.answer("A").await), "a=A b=B");
    })
    .await;
}

#[tokio::test]
async fn d06_a_new_input_discards_the_question() {
    on_both_savers(|saver| async move {
        let thread =
            only(async |ask: Text| v(ask.ask("q".into()).await), &Stage::default(), &saver).thread("t");
        let first = open(thread.run(v("1")).await);
        let second = open(thread.run(v("2")).await);
        let late = thread.answer_to(first[0].id, "A").await.expect_err("it is not asked any more");
        assert!(matches!(late, RunError::Thread(ThreadError::Store(StoreError::NoInterrupt { .. }))));
        let lines = thread.history().expect("a store").collect().await.expect("it reads");
        let lines: Vec<_> = lines.iter().map(|line| (line.step, line.next.len())).collect();
        assert_eq!(lines, [(2, 1), (1, 1), (0, 1), (-1, 1)]);
        assert_eq!(end(thread.answer_to(second[0].id, "A").await), "1 2 A");
    })
    .await;
}

#[tokio::test]
async fn d10_a_pause_is_not_retried() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let ask = async |calls: Dep<Calls>, ask: Text| {
            calls.note("a");
            v(ask.ask("q".into()).await)
        };
        open(only(ask, &stage, &saver).thread("t").run(Log::update()).await);
        assert_eq!(stage.calls.of("a"), 1);
    })
    .await;
}

/// LangGraph's `Command(resume, update, goto)` is an edit and an answer here; `x` runs when it is routed to.
#[tokio::test]
async fn d11_an_update_with_an_answer_is_an_edit_before_it() {
    on_both_savers(|saver| async move {
        let thread =
            only(async |ask: Text| v(ask.ask("q".into()).await), &Stage::default(), &saver).thread("t");
        open(thread.run(Log::update()).await);
        thread.edit(v("u")).await.expect("there is no other writer");
        assert_eq!(end(thread.answer("R").await), "u R");
    })
    .await;
}

#[tokio::test]
async fn d14_k05_the_ids_of_questions_and_tasks_are_the_same_at_every_look() {
    on_both_savers(|saver| async move {
        let thread = pair(&saver).thread("t");
        let both = open(thread.run(Log::update()).await);
        let head = thread.head().await.expect("it ran");
        assert_eq!(head.interrupts(), both);
        let ids = |state: superstep::run::ThreadState<Log>| -> Vec<_> {
            state.tasks.iter().map(|task| task.id).collect()
        };
        let first = ids(thread.state().await.expect("it ran"));
        assert_eq!(first, ids(thread.state().await.expect("it ran")));
        let base = head.id();
        let derived = superstep::id::TaskId::derive(base, "", 1, &"a".into(), None);
        assert_eq!(first[0], derived);
        assert_eq!(both[0].id, InterruptId::derive(derived, "1", 0, "\"a\""));
    })
    .await;
}

#[tokio::test]
async fn d15_a_refused_answer_can_be_given_again() {
    on_both_savers(|saver| async move {
        #[derive(Serialize, Deserialize, schemars::JsonSchema)]
        struct Decision {
            ok: bool,
        }
        let ask = async |ask: Ask<String, Decision>| v(ask.ask("q".into()).await.ok.to_string());
        let thread = only(ask, &Stage::default(), &saver).thread("t");
        let first = open(thread.run(Log::update()).await);
        let wrong = thread.answer(&serde_json::json!({ "ok": "notabool" })).await;
        assert!(matches!(wrong.expect_err("no bool"), RunError::WrongAnswer { .. }));
        assert_eq!(thread.head().await.expect("it ran").interrupts(), first);
        assert_eq!(end(thread.answer(&Decision { ok: true }).await), "true");
    })
    .await;
}

/// A key of the node's own used to be checked against every `Ask` of the node.
#[tokio::test]
async fn an_answer_is_checked_against_the_ask_that_asked_whatever_its_key() {
    on_both_savers(|saver| async move {
        let ask = async |name: Text, age: Ask<String, u32>| {
            let age = age.ask_as("age", "age?".into()).await;
            v(format!("{} {age}", name.ask_as("name", "name?".into()).await))
        };
        let thread = only(ask, &Stage::default(), &saver).thread("t");
        let first = open(thread.run(Log::update()).await);
        let schema: serde_json::Value =
            first[0].answer_schema.as_ref().expect("known").decode().expect("JSON");
        assert_eq!(schema["type"], "integer");
        let wrong = thread.answer("seven").await.expect_err("a text is right for the other ask only");
        assert!(matches!(wrong, RunError::WrongAnswer { .. }));
        open(thread.answer(&7).await);
        assert_eq!(end(thread.answer("Ann").await), "Ann 7");
    })
    .await;
}

/// LangGraph gives the first answer to the second question.
#[tokio::test]
async fn l01_an_answer_before_a_failure_is_not_given_to_the_next_question() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("a");
        let ask = async |broken: Dep<Broken>, one: Text, two: Text| {
            let x = one.ask("1".into()).await;
            broken.check("a")?;
            let y = two.ask("2".into()).await;
            Ok::<_, Smashed>(v(format!("{x}{y}")))
        };
        let thread = only(ask, &stage, &saver).thread("t");
        open(thread.run(Log::update()).await);
        assert!(matches!(thread.answer("ANS1").await, Err(RunError::Node(_))));
        stage.broken.mend("a");
        assert_eq!(asked(&open(thread.resume().await)), ["2"]);
        assert_eq!(end(thread.answer("ANS2").await), "ANS1ANS2");
    })
    .await;
}

#[tokio::test]
async fn l03_unknown_ids_and_no_answers_are_errors() {
    on_both_savers(|saver| async move {
        let thread =
            only(async |ask: Text| v(ask.ask("q".into()).await), &Stage::default(), &saver).thread("t");
        open(thread.run(Log::update()).await);
        let stranger = InterruptId::from_bytes([0; 16]);
        let unknown = thread.answer_to(stranger, "z").await.expect_err("there is no such question");
        assert_eq!(
            unknown.to_string(),
            format!("thread t has no open question {stranger}; resume the thread to get its open questions")
        );
        let none: [(InterruptId, Json); 0] = [];
        assert!(matches!(thread.answers(none).await, Err(RunError::WhichQuestion { .. })));
        assert_eq!(end(thread.answer("ok").await), "ok");
    })
    .await;
}

#[derive(Route, Serialize, Deserialize)]
enum Fan {
    Out(Vec<String>),
}

/// One task of `w` per item; `w` asks about some of the items.
fn fan(
    items: &'static [&'static str],
    about: &'static str,
    stage: &Stage,
    saver: &Arc<dyn Checkpointer>,
) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("fan");
    let w = g.node("w", async move |item: Input<String>, calls: Dep<Calls>, ask: Text| {
        let item = item.to_string();
        calls.note(item.clone());
        if !about.contains(&item) {
            return v(item);
        }
        v(format!("({item} {})", ask.ask(item.clone()).await))
    });
    let out = move |_: &Log| Fan::Out(items.iter().map(ToString::to_string).collect());
    g.branch(START, out, move |Fan::Out(items)| each(w, items));
    g.edge(w, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver.clone())
}

#[tokio::test]
async fn l07_two_tasks_of_one_node_ask_each_by_itself() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = fan(&["a", "b"], "ab", &stage, &saver).thread("t");
        let both = open(thread.run(Log::update()).await);
        assert_eq!(asked(&both), ["a", "b"]);
        assert_eq!(asked(&open(thread.answer_to(both[0].id, "1").await)), ["b"]);
        assert_eq!(end(thread.answer_to(both[1].id, "2").await), "(a 1) (b 2)");
        assert_eq!(stage.calls.take_sorted(), ["a", "a", "b", "b", "b"]);
    })
    .await;
}

#[tokio::test]
async fn o11_a_question_of_one_item_keeps_the_others_and_their_order() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = fan(&["1", "2", "3"], "2", &stage, &saver).thread("t");
        assert_eq!(open(thread.run(Log::update()).await).len(), 1);
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.values.v.join(" ").as_str(), &live.next[..]), ("1 3", &["w".into()][..]));
        assert_eq!(end(thread.answer("R").await), "1 (2 R) 3");
        assert_eq!(stage.calls.take_sorted(), ["1", "2", "2", "3"]);
    })
    .await;
}

/// In Python `except Exception` catches an interrupt, which is an exception. Here there is nothing to catch.
#[tokio::test]
async fn m04_a_question_cannot_be_swallowed() {
    on_both_savers(|saver| async move {
        let ask = async |ask: Text| {
            let caught = std::panic::AssertUnwindSafe(ask.ask("q".into()));
            let answer = futures_util::FutureExt::catch_unwind(caught).await;
            v(answer.unwrap_or_else(|_| "caught".into()))
        };
        let thread = only(ask, &Stage::default(), &saver).thread("t");
        assert_eq!(asked(&open(thread.run(Log::update()).await)), ["q"]);
        assert_eq!(end(thread.answer("A").await), "A");
    })
    .await;
}

#[tokio::test]
async fn m05_what_is_before_a_question_runs_once_per_answer_and_once_more() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let ask = async |calls: Dep<Calls>, ask: Text| {
            calls.note("a");
            let mut all = String::new();
            for number in 0..5 {
                all += &ask.ask(number.to_string()).await;
            }
            v(all)
        };
        let thread = only(ask, &stage, &saver).thread("t");
        open(thread.run(Log::update()).await);
        for answer in ["0", "1", "2", "3"] {
            open(thread.answer(answer).await);
        }
        assert_eq!(end(thread.answer("4").await), "01234");
        assert_eq!(stage.calls.of("a"), 6);
    })
    .await;
}

/// LangGraph's `test_dynamic_interrupt`: a pause, an edit while it lasts, a resume without an answer, and the answer.
#[tokio::test]
async fn b53_a_thread_is_edited_while_it_waits() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let ask = async |log: Snapshot<Log>, calls: Dep<Calls>, ask: Text| {
            calls.note("a");
            let answer = ask.ask("what next?".into()).await;
            v(format!("{answer} after {}", log.v.len()))
        };
        let thread = only(ask, &stage, &saver).thread("t");
        let first = open(thread.run(v("value")).await);
        thread.edit(v("edited")).await.expect("there is no other writer");
        let again = open(thread.resume().await);
        assert_ne!(again[0].id, first[0].id, "the task stands on another checkpoint");
        assert_eq!(asked(&again), asked(&first));
        let sources: Vec<_> = thread
            .history()
            .expect("a store")
            .collect()
            .await
            .expect("it reads")
            .iter()
            .map(|line| line.step)
            .collect();
        assert_eq!(sources, [1, 0, -1]);
        assert_eq!(end(thread.answer("go").await), "value edited go after 2");
        assert_eq!(stage.calls.of("a"), 3);
    })
    .await;
}

/// LangGraph's `test_sequential_interrupts_fork_from_middle`.
#[tokio::test]
async fn b61_a_branch_between_two_questions_asks_the_second_only() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [one, two] = ["one", "two"].map(|name| {
            g.node(name, async |task: TaskInfo, ask: Text| v(ask.ask(task.node().to_string()).await))
        });
        g.edge(START, one);
        g.edge(one, two);
        g.edge(two, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        open(thread.run(Log::update()).await);
        open(thread.answer("1").await);
        assert_eq!(end(thread.answer("2").await), "1 2");
        let branch =
            thread.before(two).await.expect("it ran").fork("branch").await.expect("the name is free");
        assert_eq!(asked(&open(branch.resume().await)), ["two"]);
        assert_eq!(end(branch.answer("other").await), "1 other");
        assert_eq!(thread.state().await.expect("it ran").values.v, ["1", "2"]);
    })
    .await;
}

#[tokio::test]
async fn b26_a_question_does_not_cancel_what_runs_beside_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("g");
        let agent = g.node("agent", async |calls: Dep<Calls>| {
            calls.note("began");
            tokio::time::sleep(Duration::from_millis(20)).await;
            calls.note("ended");
            v("again")
        });
        let bad = g.node("bad", async |ask: Text| v(ask.ask("q".into()).await));
        for node in [agent, bad] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let first = open(thread.run(v("world")).await);
        assert_eq!(thread.state().await.expect("it ran").values.v.join(" "), "world again");
        assert_eq!(open(thread.resume().await), first);
        assert_eq!(end(thread.answer("okay").await), "world again okay");
        assert_eq!(stage.calls.take(), ["began", "ended"]);
    })
    .await;
}

#[tokio::test]
async fn b39_an_edit_between_two_questions_of_one_node_counts() {
    on_both_savers(|saver| async move {
        let ask = async |first: Text, second: Text| {
            first.ask("1".into()).await;
            v(second.ask("2".into()).await)
        };
        let thread = only(ask, &Stage::default(), &saver).thread("t");
        assert_eq!(asked(&open(thread.run(v("DE")).await)), ["1"]);
        thread.edit(v("foofoo")).await.expect("there is no other writer");
        let second = open(thread.answer("answer 1").await);
        assert_eq!(asked(&second), ["2"]);
        assert_eq!(thread.state().await.expect("it ran").values.v.join(" "), "DE foofoo");
        assert_eq!(end(thread.answer_to(second[0].id, "answer 2").await), "DE foofoo answer 2");
    })
    .await;
}

#[tokio::test]
async fn b62_a_copy_from_before_a_node_with_two_questions_asks_the_first_again() {
    on_both_savers(|saver| async move {
        let ask = async |ask: Text| {
            let first = ask.ask("1".into()).await;
            v(format!("{first}{}", ask.ask("2".into()).await))
        };
        let thread = only(ask, &Stage::default(), &saver).thread("t");
        open(thread.run(Log::update()).await);
        let second = open(thread.answer("A").await);
        assert_eq!(end(thread.answer_to(second[0].id, "B").await), "AB");
        thread.before_named("a").await.expect("it ran").branch().await.expect("there is no other writer");
        assert_eq!(asked(&open(thread.resume().await)), ["1"]);
        assert_eq!(asked(&open(thread.answer("C").await)), ["2"]);
        assert_eq!(end(thread.answer("D").await), "CD");
    })
    .await;
}
