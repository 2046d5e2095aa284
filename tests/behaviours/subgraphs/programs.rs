//! Small programs, with their outcomes in LangGraph if those are right.

use superstep::id::CheckpointId;
use superstep::run::{Interrupt, ThreadError};

use super::*;

/// s1 writes the state that it sees, s2 asks.
fn asking_at_the_end() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("sub");
    let s1 = g.node("s1", async |inner: Snapshot<Inner>, calls: Dep<Calls>| {
        calls.note(format!("s1 {:?}", inner.said));
        inner_said("s1")
    });
    let s2 = g.node("s2", async |ask: Ask<String, String>, calls: Dep<Calls>| {
        calls.note("s2");
        inner_said(ask.ask("q".into()).await)
    });
    g.edge(START, s1);
    g.edge(s1, s2);
    g.edge(s2, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn g02_a_subgraph_with_a_question_starts_over_each_time_or_continues_with_its_kept_state() {
    for (keeps, second_time, result) in
        [(false, r#"s1 ["in"]"#, "in s1 R2"), (true, r#"s1 ["in", "s1", "R", "in"]"#, "in s1 R in s1 R2")]
    {
        on_both_savers(|saver| async move {
            let stage = Stage::default();
            let mut g = StateGraph::<Outer, Stage>::new("g");
            let lens = Lens::new()
                .give_with(|_: &Outer| inner_said("in"))
                .take_with(|inner: &Inner| Outer::update().result(inner.said.join(" ")));
            let lens = if keeps { lens.keep("sub") } else { lens };
            let call = g.subgraph("call", asking_at_the_end(), lens);
            g.edge(START, call);
            g.edge(call, END);
            let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
            let thread = graph.thread("1");
            drop(open(thread.run(Outer::update()).await));
            assert_eq!(thread.answer("R").await.expect("it goes on").state.result, "in s1 R");
            assert_eq!(stage.calls.take(), [r#"s1 ["in"]"#, "s2", "s2"], "s1 is not repeated");
            drop(open(thread.run(Outer::update()).await));
            assert_eq!(thread.answer("R2").await.expect("it goes on").state.result, result);
            assert_eq!(stage.calls.take(), [second_time, "s2", "s2"]);
        })
        .await;
    }
}

#[tokio::test]
async fn g03_a_subgraph_is_distinguished_by_the_task_that_runs_it() {
    on_both_savers(|saver| async move {
        let graph = around(inner_graph(), &Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("1");
        drop(thread.run(Outer::update()).await.expect("it runs"));
        let before = thread.before_named("sub").await.expect("it was next");
        let levels = before.subgraphs().await.expect("the store reads");
        let [level] = levels.as_slice() else { panic!("{levels:?}") };
        let task = before.view().tasks[0].id.clone();
        assert_eq!((level.task.to_string(), level.view.config.checkpoint_ns.clone()), (task.clone(), task));
    })
    .await;
}

#[tokio::test]
async fn g06_questions_of_parallel_subgraphs_are_answered_at_once() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Inner, Stage>::new("sub");
        let s = g.node("s", async |inner: Snapshot<Inner>, ask: Ask<String, String>| {
            let answer = ask.ask(inner.query.clone()).await;
            Inner::update().answer(format!("{}:{answer}", inner.query))
        });
        g.edge(START, s);
        g.edge(s, END);
        let sub = g.compile().expect("sound");
        let mut g = StateGraph::<Outer, Stage>::new("g");
        let fan = g.node("fan", async || Fan::Out(["a", "b", "c"].map(String::from).into()));
        let lens = Lens::new()
            .item(|item: &String| Inner::update().query(item.clone()))
            .take_with(|inner: &Inner| outer_said(inner.answer.clone()));
        let call = g.subgraph("call", sub, lens);
        g.edge(START, fan);
        g.route(fan, move |Fan::Out(items)| each(call, items));
        g.edge(call, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("1");
        let asked = open(thread.run(Outer::update()).await);
        let answers = asked.iter().map(|ask: &Interrupt| {
            let question: String = ask.question().expect("a text");
            (ask.id, superstep::state::Json::encode(&format!("ans-{question}")).expect("a text"))
        });
        let run = thread.answers(answers).await.expect("it goes on");
        assert_eq!(run.finished().expect("it finishes").said, ["a:ans-a", "b:ans-b", "c:ans-c"]);
    })
    .await;
}

#[tokio::test]
async fn n07_a_breakpoint_inside_is_seen_from_outside() {
    on_both_savers(|saver| async move {
        let graph = around(stopping_graph(), &Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("1");
        drop(thread.run(Outer::update()).await.expect("it stops"));
        let head = thread.head().await.expect("it ran");
        assert_eq!(head.next(), ["sub".into()]);
        assert_eq!(head.subgraphs().await.expect("the store reads")[0].view.next, ["conclude"]);
        assert!(thread.resume().await.expect("it goes on").finished().is_ok());
    })
    .await;
}

#[tokio::test]
async fn b46_a_breakpoint_two_levels_down_stops_every_level() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Inner, Stage>::new("middle");
        let lens = Lens::new().give(Inner::QUERY, Inner::QUERY).share(Inner::SAID, Inner::SAID);
        let child = g.subgraph("child", stopping_graph(), lens);
        g.edge(START, child);
        g.edge(child, END);
        let graph = around(g.compile().expect("sound"), &stage).shared_checkpointer(saver);
        let thread = graph.thread("1");
        let run = thread.run(Outer::update().topic("x")).await.expect("it stops");
        assert!(matches!(run.status, Status::Breakpoint { .. }), "{:?}", run.status);
        assert_eq!(stage.calls.take(), ["read"]);
        let state = thread.resume().await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read x", "concluded", "ended"]);
        assert_eq!(stage.calls.take(), ["conclude"]);
    })
    .await;
}

#[tokio::test]
async fn o17_a_resume_after_an_error_skips_the_nodes_that_are_done() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("conclude");
        let graph = around(inner_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("1");
        drop(thread.run(Outer::update()).await.expect_err("it is broken"));
        stage.broken.mend("conclude");
        assert!(thread.resume().await.expect("it is mended").finished().is_ok());
        assert_eq!(stage.calls.take(), ["read", "conclude", "conclude"]);
    })
    .await;
}

/// Two questions in a row, each in a node of its own.
fn two_questions() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("two");
    let ask = |number: u32| {
        move |ask: Ask<String, String>, calls: Dep<Calls>| async move {
            calls.note(format!("ask {number}"));
            inner_said(ask.ask(format!("question {number}")).await)
        }
    };
    let first = g.node("first", ask(1));
    let second = g.node("second", ask(2));
    g.edge(START, first);
    g.edge(first, second);
    g.edge(second, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn b67_a_branch_may_begin_in_the_middle_of_a_subgraph() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let inner = two_questions();
        let graph = around(inner.clone(), &stage).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update()).await));
        drop(open(thread.answer("one").await));
        let head = thread.head().await.expect("it ran");
        let level = head.subgraphs().await.expect("the store reads").remove(0);
        let at: CheckpointId = level.view.config.checkpoint_id.parse().expect("an id");
        let run = thread.answer("two").await.expect("it goes on");
        assert_eq!(run.finished().expect("it finishes").said, ["begun", "one", "two", "ended"]);
        stage.calls.take();

        let before = thread.before_named("sub").await.expect("it was next");
        let fork = before.fork_below("f", &level.thread, at).await.expect("a new name");
        assert_eq!(question(&open(fork.resume().await)), "question 2");
        let run = fork.answer("other").await.expect("it goes on");
        assert_eq!(run.finished().expect("it finishes").said, ["begun", "one", "other", "ended"]);
        assert_eq!(stage.calls.take(), ["ask 2", "ask 2"], "the first question is not asked again");

        let stranger = before.fork_below("g", &"t".into(), at).await.expect_err("it is the root");
        assert!(matches!(stranger, ThreadError::NotBelow { .. }), "{stranger}");
    })
    .await;
}

#[tokio::test]
async fn b75_an_edit_inside_one_of_several_subgraphs_changes_only_that_one() {
    on_both_savers(|saver| async move {
        let inner = stopping_graph();
        let mut g = StateGraph::<Outer, Stage>::new("g");
        let fan = g.node("fan", async || Fan::Out(["cats", "dogs"].map(String::from).into()));
        let lens = Lens::new()
            .item(|item: &String| Inner::update().query(item.clone()))
            .take_with(|inner: &Inner| outer_said(inner.answer.clone()));
        let joke = g.subgraph("joke", inner.clone(), lens);
        g.edge(START, fan);
        g.route(fan, move |Fan::Out(items)| each(joke, items));
        g.edge(joke, END);
        let stage = Stage::default();
        let graph =
            g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        drop(thread.run(Outer::update()).await.expect("it stops"));
        let levels = thread.head().await.expect("it ran").subgraphs().await.expect("the store reads");
        let dogs = levels.iter().find(|level| level.view.values["query"] == "dogs").expect("one of two");
        let inner = inner.with_context(stage).shared_checkpointer(saver);
        inner.thread(dogs.thread.clone()).edit(Inner::update().query("turtles")).await.expect("it is edited");
        let run = thread.resume().await.expect("it goes on");
        assert_eq!(run.finished().expect("it finishes").said, ["cats of 1", "turtles of 1"]);
    })
    .await;
}

#[tokio::test]
async fn b45_a_breakpoint_inside_keeps_what_runs_beside_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Outer, Stage>::new("g");
        let inner = g.subgraph("inner", stopping_graph(), lens());
        let beside = g.node("outer_1", async |calls: Dep<Calls>| {
            calls.note("outer_1");
            outer_said("and parallel")
        });
        let last = g.node("outer_2", async || outer_said("and back again"));
        g.edge(START, inner);
        g.edge(START, beside);
        g.join([inner, beside], last);
        g.edge(last, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("1");
        let run = thread.run(Outer::update().topic("here")).await.expect("it stops");
        assert!(matches!(run.status, Status::Breakpoint { .. }), "{:?}", run.status);
        assert_eq!(stage.calls.take_sorted(), ["outer_1", "read"]);
        let state = thread.resume().await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["read here", "concluded", "and parallel", "and back again"]);
        assert_eq!(stage.calls.take(), ["conclude"]);
    })
    .await;
}
