//! History: a thread's checkpoints, and the four ways to continue from one.

use std::sync::Arc;

use serde_json::json;
use superstep::checkpoint::{At, Checkpointer, CheckpointerExt, Source, StoreError};
use superstep::prelude::*;
use superstep::run::{CheckpointView, ThreadError};

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
    topic: String,
}

async fn step(task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    let node = task.node().as_str();
    calls.note(node);
    broken.check(node)?;
    Ok(Log::update().ran([node]))
}

type Handle = superstep::graph::NodeRef<superstep::node::NoInput, ()>;

/// `a`, then `b`, then `c`, with the handle of `b`.
fn chain(stage: &Stage, saver: Arc<dyn Checkpointer>) -> (Graph<Log>, Handle) {
    let mut g = StateGraph::<Log, Stage>::new("chain");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, step));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    (graph.shared_checkpointer(saver), b)
}

fn input(text: &str) -> Update<Log> {
    Log::update().ran([text])
}

/// A thread's history, newest first, a line per checkpoint.
async fn lines(thread: &Thread<Log>) -> Vec<String> {
    let history = thread.history().expect("there is a store").collect().await;
    let line = |summary: &superstep::driver::checkpoint::Summary| {
        let nodes = |nodes: &[superstep::id::NodeName]| {
            let names: Vec<_> = nodes.iter().map(|node| node.as_str()).collect();
            names.join(" ")
        };
        let (ran, next) = (nodes(&summary.ran), nodes(&summary.next));
        format!("{} {:?} [{ran}] -> [{next}]", summary.step, summary.source)
    };
    history.expect("the store reads").iter().map(line).collect()
}

#[tokio::test]
async fn the_input_is_step_minus_one_and_user_supersteps_count_from_one() {
    on_both_savers(|saver| async move {
        let (graph, _) = chain(&Stage::default(), saver);
        let thread = graph.thread("t");
        let run = thread.run(input("in")).await.expect("no node fails");
        assert_eq!((run.step, run.status), (3, Status::Finished));
        assert_eq!(
            lines(&thread).await,
            [
                "3 Loop [c] -> []",
                "2 Loop [b] -> [c]",
                "1 Loop [a] -> [b]",
                "0 Loop [__start__] -> [a]",
                "-1 Input [] -> [__start__]",
            ]
        );
        thread.run(input("again")).await.expect("no node fails").finished().expect("no pause");
        assert_eq!(
            lines(&thread).await[..5],
            [
                "8 Loop [c] -> []",
                "7 Loop [b] -> [c]",
                "6 Loop [a] -> [b]",
                "5 Loop [__start__] -> [a]",
                "4 Input [] -> [__start__]",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn every_checkpoint_holds_the_state_of_its_moment() {
    on_both_savers(|saver| async move {
        let (graph, _) = chain(&Stage::default(), saver);
        let thread = graph.thread("t");
        let request = thread.run(input("in")).metadata("who", "me");
        let run = request.await.expect("no node fails");
        let history = thread.history().expect("a store").collect().await.expect("it reads");
        let mut states = Vec::new();
        for summary in &history {
            assert_eq!(summary.metadata["who"].as_str(), r#""me""#);
            let past = thread.at(summary.id).await.expect("it is of this thread");
            assert_eq!((past.id(), past.step(), past.source()), (summary.id, summary.step, summary.source));
            states.push(past.into_state().ran.join(" "));
        }
        assert_eq!(states, ["in a b c", "in a b", "in a", "in", ""]);
        assert_eq!(history[0].id, run.checkpoint.expect("there is a store"));
        let parents: Vec<_> = history.iter().map(|summary| summary.parent).collect();
        let ids: Vec<_> = history.iter().skip(1).map(|summary| Some(summary.id)).chain([None]).collect();
        assert_eq!(parents, ids);
    })
    .await;
}

/// LangGraph's history takes a filter, a limit and a checkpoint to begin before.
#[tokio::test]
async fn f13_a_history_is_read_page_by_page_and_filtered_by_its_reader() {
    on_both_savers(|saver| async move {
        let (graph, _) = chain(&Stage::default(), Arc::clone(&saver));
        let thread = graph.thread("t");
        thread.run(input("in")).await.map(drop).expect("no node fails");
        let all = thread.history().expect("a store").collect().await.expect("it reads");
        let loops = all.iter().filter(|line| line.source == Source::Loop);
        assert_eq!(loops.map(|line| line.step).collect::<Vec<_>>(), [3, 2, 1, 0]);
        let page = async |from: At, limit: usize| -> Vec<i64> {
            let lines = saver.history(thread.id(), from, limit).await.expect("it reads");
            lines.iter().map(|line| line.step).collect()
        };
        assert_eq!(page(At::Head, 2).await, [3, 2]);
        assert_eq!(page(At::Id(all[3].id), 9).await, [0, -1]);
    })
    .await;
}

#[tokio::test]
async fn a_long_history_is_read_page_by_page() {
    on_both_savers(|saver| async move {
        let (graph, _) = chain(&Stage::default(), saver);
        let thread = graph.thread("t");
        for turn in 0..27 {
            let run = thread.run(input(&turn.to_string())).await;
            assert_eq!(run.expect("no node fails").status, Status::Finished);
        }
        let steps = |history: Vec<superstep::driver::checkpoint::Summary>| -> Vec<i64> {
            history.iter().map(|summary| summary.step).collect()
        };
        let history = thread.history().expect("a store").collect().await.expect("it reads");
        let all: Vec<i64> = (-1..27 * 5 - 1).rev().collect();
        assert_eq!(steps(history), all);
        // A fork shares the past, also over several pages.
        let fork = thread.head().await.expect("it ran").fork("fork").await.expect("free");
        let run = fork.run(input("more")).await.expect("no node fails");
        assert_eq!(run.step, 27 * 5 + 3);
        let history = fork.history().expect("a store").collect().await.expect("it reads");
        assert_eq!(steps(history).len(), 27 * 5 + 5);
        // A page has 64: one history ends exactly with a page.
        let mut history = thread.history().expect("a store");
        for expected in all.iter().take(128) {
            let summary = history.next().await.expect("it reads").expect("there are more");
            assert_eq!(summary.step, *expected);
        }
        assert!(history.next().await.expect("it reads").is_some());
    })
    .await;
}

#[tokio::test]
async fn checkpoints_are_found_by_id_and_by_what_is_next() {
    on_both_savers(|saver| async move {
        let (graph, b) = chain(&Stage::default(), saver);
        let thread = graph.thread("t");
        let never = thread.head().await.expect_err("nothing ran");
        assert!(matches!(never, ThreadError::NeverRan(_)));
        thread.run(input("in")).await.expect("no node fails").finished().expect("no pause");
        let before = thread.before(b).await.expect("b ran");
        assert_eq!((before.step(), before.next()[0].as_str()), (1, "b"));
        assert_eq!(before.state().ran, ["in", "a"]);
        assert_eq!(thread.before_named("b").await.expect("b ran").id(), before.id());
        let unknown = thread.before_named("x").await.expect_err("no such node");
        assert!(matches!(unknown, ThreadError::NoSuchNode { .. }));
        let nowhere = graph.thread("other").at(before.id()).await;
        assert!(nowhere.is_err(), "another thread does not see it");
        let (_, foreign) = chain(&Stage::default(), Arc::new(MemorySaver::new()));
        let foreign = thread.before(foreign).await.expect_err("a handle of another graph");
        assert!(matches!(foreign, ThreadError::NoSuchNode { .. }));
        // The newest one counts.
        thread.run(input("again")).await.expect("no node fails").finished().expect("no pause");
        assert_eq!(thread.before(b).await.expect("b ran").step(), 6);
    })
    .await;
}

#[tokio::test]
async fn a_fork_continues_by_itself_and_leaves_the_trunk_untouched() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let (graph, b) = chain(&stage, saver);
        let trunk = graph.thread("trunk");
        trunk.run(input("in")).await.expect("no node fails").finished().expect("no pause");
        let before = (lines(&trunk).await, trunk.head().await.expect("it ran").view());
        stage.calls.take();

        let fork = trunk.before(b).await.expect("b ran").fork("fork").await.expect("free");
        assert_eq!(fork.head().await.expect("it shares the past").state().ran, ["in", "a"]);
        fork.edit(input("edit")).await.expect("there is no other writer");
        let log = fork.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["in", "a", "edit", "b", "c"]);
        assert_eq!(stage.calls.take(), ["b", "c"]);
        assert_eq!(
            lines(&fork).await,
            [
                "4 Loop [c] -> []",
                "3 Loop [b] -> [c]",
                "2 Update [__edit__] -> [b]",
                "1 Loop [a] -> [b]",
                "0 Loop [__start__] -> [a]",
                "-1 Input [] -> [__start__]",
            ]
        );
        let after = (lines(&trunk).await, trunk.head().await.expect("it ran").view());
        assert_eq!(after, before);
        let taken = trunk.head().await.expect("it ran").fork("fork").await;
        assert!(matches!(taken, Err(ThreadError::Store(StoreError::ThreadExists(_)))));
    })
    .await;
}

#[tokio::test]
async fn an_edit_goes_through_the_reducers_and_starts_nothing() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let (graph, _) = chain(&stage, saver);
        let thread = graph.thread("t");
        let never = thread.edit(input("x")).await.expect_err("it never ran");
        assert!(matches!(never, ThreadError::NeverRan(_)));
        thread.run(input("in")).await.expect("no node fails").finished().expect("no pause");
        stage.calls.take();
        let id = thread.edit(input("x").topic("t")).await.expect("there is no other writer");
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.id(), head.step(), head.source()), (id, 4, Source::Update));
        assert_eq!(head.state().ran, ["in", "a", "b", "c", "x"]);
        thread.edit(Log::update().clear_ran()).await.expect("there is no other writer");
        let log = thread.resume().await.expect("nothing is next").state;
        assert_eq!((log.ran.len(), log.topic.as_str()), (0, "t"));
        assert_eq!(stage.calls.take(), [] as [&str; 0]);
    })
    .await;
}

/// Side by side: `a`, and `b`, which is broken; then `end`.
fn half_done(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("half");
    let end = g.node("end", step);
    for name in ["a", "b"] {
        let node = g.node(name, step);
        g.edge(START, node);
        g.edge(node, end);
    }
    g.edge(end, END);
    stage.broken.smash("b");
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

#[tokio::test]
async fn l11_an_edit_keeps_what_is_pending_and_what_siblings_finished() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = half_done(&stage, saver).thread("t");
        thread.run(input("in")).await.expect_err("b is broken");
        assert_eq!(stage.calls.take_sorted(), ["a", "b"]);
        for edit in ["one", "two"] {
            thread.edit(input(edit)).await.expect("there is no other writer");
        }
        let view = thread.head().await.expect("it ran").view();
        assert_eq!(view.next, ["a", "b"]);
        assert_eq!(view.tasks.iter().map(|task| task.finished).collect::<Vec<_>>(), [true, false]);
        stage.broken.mend("b");
        let log = thread.resume().await.expect("all is mended").state;
        assert_eq!(log.ran, ["in", "one", "two", "a", "b", "end"]);
        assert_eq!(stage.calls.take(), ["b", "end"], "a had finished");
    })
    .await;
}

#[tokio::test]
async fn an_input_is_edited_before_start_has_taken_it() {
    on_both_savers(|saver| async move {
        let (graph, _) = chain(&Stage::default(), saver);
        let thread = graph.thread("t");
        thread.run(input("in")).await.expect("no node fails").finished().expect("no pause");
        let first = thread.before_named("a").await.expect("a ran");
        let start = thread.at(first.loaded().checkpoint.parent.expect("an input")).await;
        let fork = start.expect("it is of this thread").fork("fork").await.expect("free");
        fork.edit(input("edit")).await.expect("there is no other writer");
        let log = fork.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["edit", "in", "a", "b", "c"]);
    })
    .await;
}

#[tokio::test]
async fn a_new_turn_discards_unfinished_work_and_keeps_it_in_the_history() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = half_done(&stage, saver).thread("t");
        thread.run(input("in")).await.expect_err("b is broken");
        stage.broken.mend("b");
        let log = thread.run(input("again")).await.expect("all is mended").state;
        assert_eq!(log.ran, ["in", "again", "a", "b", "end"]);
        assert_eq!(stage.calls.of("a"), 2, "the result of the turn that was given up does not count");
        assert_eq!(
            lines(&thread).await,
            [
                "4 Loop [end] -> []",
                "3 Loop [a b] -> [end]",
                "2 Loop [__start__] -> [a b]",
                "1 Input [] -> [__start__]",
                "0 Loop [__start__] -> [a b]",
                "-1 Input [] -> [__start__]",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_view_shows_every_write_of_a_task_to_one_field() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let twice = g.node("twice", async || Log::update().ran(["a"]).ran(["b"]).topic("once"));
        let fails = g.node("fails", async |broken: Dep<Broken>| broken.check("fails"));
        g.edge(START, twice);
        g.edge(START, fails);
        g.edge(twice, END);
        g.edge(fails, END);
        let stage = Stage::default();
        stage.broken.smash("fails");
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        thread.run(input("in")).await.expect_err("a node fails");

        let wrote = json!({ "ran": [["a"], ["b"]], "topic": "once" });
        let view = thread.head().await.expect("it ran").view();
        let pending =
            view.tasks.iter().find(|task| task.name == "twice").and_then(|task| task.result.clone());
        assert_eq!(json!(pending), wrote);
        stage.broken.mend("fails");
        thread.resume().await.expect("it is mended").finished().expect("it ends");
        let view = thread.head().await.expect("it ran").view();
        assert_eq!(view.metadata.writes["twice"], wrote);
    })
    .await;
}

#[tokio::test]
async fn an_entry_of_the_metadata_hides_nothing_of_a_view() {
    on_both_savers(|saver| async move {
        let (graph, _) = chain(&Stage::default(), saver);
        let names = ["source", "step", "run_id", "writes", "user.source", "origin"];
        let mut run = graph.thread("t").run(input("in"));
        for name in names {
            run = run.metadata(name, name);
        }
        run.await.expect("no node fails").finished().expect("it ends");
        let view = graph.thread("t").head().await.expect("it ran").view();
        let text = serde_json::to_string(&view).expect("a view is JSON");
        assert_eq!(serde_json::from_str::<CheckpointView>(&text).expect("it has each member once"), view);
        assert_eq!((view.metadata.source.as_str(), view.metadata.step), ("loop", 3));
        let user = json!({
            "user.source": "source", "user.step": "step", "user.run_id": "run_id", "user.writes": "writes",
            "user.user.source": "user.source", "origin": "origin",
        });
        assert_eq!(json!(view.metadata.user), user);
    })
    .await;
}
