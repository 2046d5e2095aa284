//! The current state of a thread, compared with its latest checkpoint; and copies of checkpoints, from which it
//! continues.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, Source, StoreError};
use superstep::prelude::*;
use superstep::run::ThreadError;

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
    #[reducer(Sum)]
    value: i64,
}

fn ran(text: &str) -> Update<Log> {
    Log::update().ran([text])
}

async fn mark(task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    calls.note(task.node().as_str());
    broken.check(task.node().as_str())?;
    Ok(ran(task.node().as_str()))
}

/// `one` adds 2, and beside it `two` adds 3 unless it is broken.
fn sums(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    async fn add(task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
        calls.note(task.node().as_str());
        if task.node().as_str() == "two" && broken.check("two").is_err() {
            // `one` ends first.
            tokio::task::yield_now().await;
            while calls.of("one done") == 0 {
                tokio::task::yield_now().await;
            }
            broken.check("two")?;
        }
        calls.note(format!("{} done", task.node()));
        Ok(Log::update().value(if task.node().as_str() == "one" { 2 } else { 3 }))
    }
    let mut g = StateGraph::<Log, Stage>::new("sums");
    for name in ["one", "two"] {
        let node = g.node(name, add);
        if name == "two" {
            g.policy(node).retry(Retry::fixed(2, std::time::Duration::ZERO).on::<Smashed>());
        }
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

/// LangGraph's `test_pending_writes_resume`.
#[tokio::test]
async fn b22_a_failed_superstep_shows_what_finished_and_what_failed() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("two");
        let thread = sums(&stage, saver).thread("t");
        for attempts in [2, 4] {
            let run = match attempts {
                2 => thread.run(Log::update().value(1)).await,
                _ => thread.resume().await,
            };
            assert!(matches!(run.expect_err("two is broken"), RunError::Node(_)));
            assert_eq!((stage.calls.of("one"), stage.calls.of("two")), (1, attempts));
            let live = thread.state().await.expect("it ran");
            assert_eq!((live.values.value, live.step), (3, 0));
            assert_eq!(live.next, ["two".into()]);
            let [one, two] = &live.tasks[..] else { panic!("{live:?}") };
            assert_eq!((one.node.as_str(), one.is_finished(), &one.failure), ("one", true, &None));
            assert_eq!(one.result.as_ref().expect("it finished").writes.len(), 1);
            let failure = two.failure.as_ref().expect("it failed");
            assert_eq!((failure.attempts, failure.error.message.as_str()), (2, "two is broken"));
            assert_eq!((two.result.is_none(), two.interrupts.len()), (true, 0));

            let pinned = thread.head().await.expect("it ran");
            assert_eq!((pinned.id(), pinned.state().value), (live.checkpoint, 1));
            assert_eq!(pinned.next(), ["one".into(), "two".into()]);
            assert_eq!(pinned.pending(), live.tasks);
        }
        stage.broken.mend("two");
        let log = thread.resume().await.expect("it is mended").finished().expect("it finishes");
        assert_eq!((log.value, stage.calls.of("one")), (6, 1));
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.is_finished(), live.tasks.len(), live.values), (true, 0, log));
        assert_eq!(thread.history().expect("a store").collect().await.expect("it reads").len(), 3);
    })
    .await;
}

/// LangGraph's `test_checkpoint_recovery`.
#[tokio::test]
async fn b23_a_failed_checkpoint_still_shows_its_failure_when_a_new_input_has_discarded_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("node1");
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [first, second] = ["node1", "node2"].map(|name| g.node(name, mark));
        g.edge(START, first);
        g.edge(first, second);
        g.edge(second, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        thread.run(ran("start")).await.expect_err("node1 is broken");
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.values.ran.join(" "), live.next.len()), ("start".to_owned(), 1));
        assert_eq!(live.tasks[0].failure.as_ref().expect("it failed").error.message, "node1 is broken");
        stage.broken.mend("node1");
        let log = thread.run(ran("again")).await.expect("it is mended").finished().expect("it finishes");
        assert_eq!(log.ran, ["start", "again", "node1", "node2"]);
        let history = thread.history().expect("a store").collect().await.expect("it reads");
        assert_eq!(history.iter().map(|line| line.step).collect::<Vec<_>>(), [4, 3, 2, 1, 0, -1]);
        let failed = thread.at(live.checkpoint).await.expect("it is there");
        assert_eq!(failed.pending(), live.tasks);
        thread.delete().await.expect("it is this graph's");
        assert!(thread.history().expect("a store").collect().await.expect("it reads").is_empty());
    })
    .await;
}

/// `a` asks, and beside it `b` works.
fn asking(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("asking");
    let a = g.node("a", async |ask: Ask<String, String>, calls: Dep<Calls>| {
        calls.note("a");
        ran(&ask.ask("q".into()).await)
    });
    let b = g.node("b", mark);
    for node in [a, b] {
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

#[tokio::test]
async fn d03_n09_a_live_state_has_the_results_of_siblings_and_a_pinned_one_has_not() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asking(&stage, saver).thread("t");
        thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.values.ran.join(" ").as_str(), &live.next[..]), ("b", &["a".into()][..]));
        let pinned = thread.at(live.checkpoint).await.expect("it is there");
        assert_eq!((pinned.state().ran.len(), pinned.next()), (0, vec!["a".into(), "b".into()]));
        assert_eq!(stage.calls.take_sorted(), ["a", "b"]);
        assert_eq!(thread.answer("A").await.expect("no node fails").state.ran, ["A", "b"]);
        assert_eq!(stage.calls.take(), ["a"]);
    })
    .await;
}

#[tokio::test]
async fn d12_the_state_of_a_pause_shows_the_questions() {
    on_both_savers(|saver| async move {
        let thread = asking(&Stage::default(), saver).thread("t");
        let open = thread.run(ran("i")).await.expect("no node fails").interrupted().expect("it asks");
        let live = thread.state().await.expect("it ran");
        assert_eq!(live.interrupts().cloned().collect::<Vec<_>>(), open);
        let [a, b] = &live.tasks[..] else { panic!("{live:?}") };
        assert_eq!((a.node.as_str(), &a.interrupts[..], a.is_finished()), ("a", &open[..], false));
        assert_eq!((b.node.as_str(), b.interrupts.len(), b.is_finished()), ("b", 0, true));
        let schema: serde_json::Value =
            open[0].answer_schema.as_ref().expect("the node is there").decode().expect("a schema");
        assert_eq!(schema["type"], "string");
        // The same ids in every process, at every read.
        assert_eq!(thread.state().await.expect("it ran"), live);
        let view = thread.head().await.expect("it ran").view();
        let asked = &view.tasks[0].interrupts[0];
        assert_eq!(asked.value, "q");
        assert_eq!(asked.answer_schema, Some(schema));
        assert_eq!(asked.question_schema.as_ref().expect("the node is there")["type"], "string");
    })
    .await;
}

#[tokio::test]
async fn l02_a_resume_without_an_answer_asks_again_and_stores_nothing() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asking(&stage, saver).thread("t");
        let open = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        let again = thread.resume().await.expect("no node fails").interrupted().expect("it asks");
        assert_eq!(again, open);
        assert_eq!((stage.calls.of("a"), stage.calls.of("b")), (2, 1));
        assert_eq!(thread.history().expect("a store").collect().await.expect("it reads").len(), 2);
    })
    .await;
}

#[tokio::test]
async fn results_that_cannot_be_merged_have_no_live_state() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct One {
        value: u32,
    }
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<One>::new("g");
        for name in ["a", "b"] {
            let node = g.node(name, async || One::update().value(1));
            g.edge(START, node);
            g.edge(node, END);
        }
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        thread.run(One::update()).await.expect_err("one may write it");
        let error = thread.state().await.expect_err("nor can they be shown");
        assert_eq!(
            error.to_string(),
            "the results of the finished tasks cannot be merged: nodes \"a\" and \"b\" both write field \"value\""
        );
        assert_eq!(thread.head().await.expect("it ran").pending().len(), 2);
    })
    .await;
}

/// `a`, then `b`, then `c`.
fn abc(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("abc");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

async fn lines(thread: &Thread<Log>) -> Vec<String> {
    let mut lines = Vec::new();
    for line in thread.history().expect("a store").collect().await.expect("it reads") {
        let state = thread.at(line.id).await.expect("it is there").into_state();
        lines.push(format!("{:?} {} {:?} {}", line.source, line.step, line.next, state.ran.join(" ")));
    }
    lines
}

/// LangGraph lists both branches in one history. Here a history is one branch, and the other one is found by id.
#[tokio::test]
async fn f01_b58_b63_a_thread_continues_from_an_earlier_checkpoint_on_a_branch_of_its_own() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = abc(&stage, saver).thread("t");
        let first = thread.run(Log::update()).await.expect("no node fails");
        let first = first.checkpoint.expect("there is a store");
        stage.calls.take();
        let before = thread.before_named("b").await.expect("b ran");
        let copy = before.branch().await.expect("there is no other writer");
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.id(), head.source(), head.step()), (copy, Source::Fork, before.step()));
        assert_eq!(head.loaded().checkpoint.parent, before.loaded().checkpoint.parent, "it is a sibling");
        thread.edit(ran("x")).await.expect("there is no other writer");
        let log = thread.resume().await.expect("no node fails").finished().expect("it finishes");
        assert_eq!(log.ran, ["a", "x", "b", "c"]);
        assert_eq!(stage.calls.take(), ["b", "c"]);
        assert_eq!(
            lines(&thread).await,
            [
                "Loop 4 [] a x b c",
                r#"Loop 3 ["c"] a x b"#,
                r#"Update 2 ["b"] a x"#,
                r#"Fork 1 ["b"] a"#,
                r#"Loop 0 ["a"] "#,
                r#"Input -1 ["__start__"] "#,
            ]
        );
        let old = thread.at(first).await.expect("the old branch is there");
        assert_eq!(old.state().ran, ["a", "b", "c"]);
    })
    .await;
}

#[tokio::test]
async fn f02_b57_a_copy_of_a_finished_checkpoint_has_nothing_to_run() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = abc(&stage, saver).thread("t");
        thread.run(Log::update()).await.map(drop).expect("no node fails");
        stage.calls.take();
        thread.head().await.expect("it ran").branch().await.expect("there is no other writer");
        let log = thread.resume().await.expect("no node fails").finished().expect("it is finished");
        assert_eq!((log.ran.join(" "), stage.calls.take().len()), ("a b c".to_owned(), 0));
        // The first checkpoint of all can be copied, too.
        let first = thread.history().expect("a store").collect().await.expect("it reads").pop();
        let first = thread.at(first.expect("there is one").id).await.expect("it is there");
        first.branch().await.expect("there is no other writer");
        assert_eq!(lines(&thread).await, [r#"Fork -1 ["__start__"] "#]);
        assert_eq!(thread.resume().await.expect("no node fails").state.ran, ["a", "b", "c"]);
    })
    .await;
}

/// `a`, then `q` asks.
fn questioned(saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let a = g.node("a", mark);
    let q = g.node("q", async |ask: Ask<String, String>| ran(&ask.ask("?".into()).await));
    g.edge(START, a);
    g.edge(a, q);
    g.edge(q, END);
    g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver)
}

#[tokio::test]
async fn f11_b59_b65_a_branch_asks_again_and_the_old_one_stays() {
    on_both_savers(|saver| async move {
        let thread = questioned(saver).thread("t");
        let old = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        let old_end = thread.answer("old").await.expect("no node fails").checkpoint.expect("a store");
        thread.before_named("q").await.expect("it ran").branch().await.expect("there is no other writer");
        let new = thread.resume().await.expect("no node fails").interrupted().expect("it asks");
        assert_ne!(new[0].id, old[0].id);
        assert_eq!(thread.answer("new").await.expect("no node fails").state.ran, ["a", "new"]);
        assert_eq!(
            lines(&thread).await,
            ["Loop 2 [] a new", r#"Fork 1 ["q"] a"#, r#"Loop 0 ["a"] "#, r#"Input -1 ["__start__"] "#]
        );
        let old_end = thread.at(old_end).await.expect("it is there");
        assert_eq!((old_end.state().ran.join(" "), old_end.step()), ("a old".to_owned(), 2));
    })
    .await;
}

/// LangGraph gives the old answer to the new branch, and which one depends on the saver.
#[tokio::test]
async fn f12_n01_an_old_checkpoint_takes_a_new_answer_once_it_has_asked_again() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", async |ask: Ask<String, String>| {
            let first = ask.ask("1".into()).await;
            Log::update().ran([first, ask.ask("2".into()).await])
        });
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let old = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        thread.answer("A").await.map(drop).expect("no node fails");
        assert_eq!(thread.answer("B").await.expect("no node fails").state.ran, ["A", "B"]);
        thread.before_named("a").await.expect("it ran").branch().await.expect("there is no other writer");
        let early = thread.answer("NEW").await.expect_err("the branch has not asked");
        assert!(matches!(early, RunError::NothingAsked { .. }));
        let new = thread.resume().await.expect("no node fails").interrupted().expect("it asks");
        assert_ne!(new[0].id, old[0].id);
        let stale = thread.answer_to(old[0].id, "NEW").await.expect_err("that was the other branch's");
        assert!(matches!(stale, RunError::Thread(ThreadError::Store(StoreError::NoInterrupt { .. }))));
        thread.answer("NEW").await.expect("no node fails").interrupted().expect("it asks the second");
        assert_eq!(thread.answer("B").await.expect("no node fails").state.ran, ["NEW", "B"]);
    })
    .await;
}

#[tokio::test]
async fn l16_the_head_of_a_thread_is_what_was_written_last() {
    on_both_savers(|saver| async move {
        let thread = abc(&Stage::default(), saver).thread("t");
        thread.run(ran("1")).await.map(drop).expect("no node fails");
        thread.before_named("b").await.expect("it ran").branch().await.expect("there is no other writer");
        thread.edit(ran("F")).await.expect("there is no other writer");
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.values.ran.join(" ").as_str(), &live.next[..]), ("1 a F", &["b".into()][..]));
    })
    .await;
}

/// LangGraph's `test_fork_does_not_apply_pending_writes`: the result of `a` is not added again.
#[tokio::test]
async fn b71_an_edit_of_a_copy_does_not_apply_results_of_the_original() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", async || Log::update().value(10));
        let b = g.node("b", async || Log::update().value(100));
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(Log::update().value(1)).await.expect("no node fails").state.value, 111);
        thread.before(a).await.expect("it ran").branch().await.expect("there is no other writer");
        thread.edit_as(a, Log::update().value(20)).await.expect("a is next");
        assert_eq!(thread.resume().await.expect("no node fails").state.value, 121);
    })
    .await;
}

#[tokio::test]
async fn k04_a_copy_drops_what_siblings_finished_on_the_original() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("two");
        let thread = sums(&stage, saver).thread("t");
        thread.run(Log::update()).await.expect_err("two is broken");
        stage.broken.mend("two");
        stage.calls.take();
        thread.head().await.expect("it ran").branch().await.expect("there is no other writer");
        assert_eq!(thread.resume().await.expect("it is mended").state.value, 5);
        assert_eq!((stage.calls.of("one"), stage.calls.of("two")), (1, 1), "both run on the copy");
    })
    .await;
}

/// LangGraph's `test_invoke_checkpoint_two`.
#[tokio::test]
async fn b21_a_total_survives_a_retry_and_a_failure_and_belongs_to_its_thread() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("total");
        let one = g.node("one", async |task: TaskInfo, log: Snapshot<Log>| {
            match (log.ran.last().map(String::as_str), task.attempt()) {
                (Some("2"), _) => Ok(Log::update().value(2)),
                (Some("3"), 2) => Ok(Log::update().value(5)),
                (Some(input), _) => Err(Smashed(input.to_owned())),
                (None, _) => Ok(Log::update()),
            }
        });
        g.policy(one).retry(Retry::fixed(2, std::time::Duration::ZERO).on::<Smashed>());
        g.edge(START, one);
        g.edge(one, END);
        let graph = g.compile().expect("sound").shared_checkpointer(saver);
        let thread = graph.thread("t");
        assert_eq!(thread.run(ran("2")).await.expect("no node fails").state.value, 2);
        assert_eq!(thread.run(ran("3")).await.expect("the second attempt works").state.value, 7);
        thread.run(ran("4")).await.expect_err("no attempt works");
        let live = thread.state().await.expect("it ran");
        assert_eq!(live.values.value, 7);
        let failure = live.tasks[0].failure.as_ref().expect("it failed");
        assert_eq!((failure.attempts, failure.error.message.as_str()), (2, "4 is broken"));
        assert_eq!(graph.thread("other").run(ran("3")).await.expect("it is new").state.value, 5);
    })
    .await;
}
