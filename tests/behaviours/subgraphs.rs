//! Subgraphs: a compiled graph as a node, with a state of its own.

use crate::support::{Calls, Smashed, Stage, on_both_savers};
use superstep::prelude::*;
use superstep::run::{EventKind, Interrupt, Lens, RunEvent};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Outer {
    topic: String,
    #[reducer(Append)]
    said: Vec<String>,
    result: String,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Inner {
    query: String,
    #[reducer(Append)]
    said: Vec<String>,
    answer: String,
}

fn outer_said(text: impl Into<String>) -> Update<Outer> {
    Outer::update().said([text.into()])
}

fn inner_said(text: impl Into<String>) -> Update<Inner> {
    Inner::update().said([text.into()])
}

/// Topic in, answer out, and what is said on both levels.
fn lens() -> Lens<Outer, Inner> {
    Lens::new()
        .give(Outer::TOPIC, Inner::QUERY)
        .share(Outer::SAID, Inner::SAID)
        .take(Inner::ANSWER, Outer::RESULT)
}

async fn read(inner: Snapshot<Inner>, calls: Dep<Calls>) -> Update<Inner> {
    calls.note("read");
    inner_said(format!("read {}", inner.query))
}

async fn conclude(inner: Snapshot<Inner>, stage: Dep<Stage>) -> Result<Update<Inner>, Smashed> {
    stage.calls.note("conclude");
    stage.broken.check("conclude")?;
    Ok(inner_said("concluded").answer(format!("{} of {}", inner.query, inner.said.len())))
}

/// read, then conclude.
fn inner_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("inner");
    let read = g.node("read", read);
    let conclude = g.node("conclude", conclude);
    g.edge(START, read);
    g.edge(read, conclude);
    g.edge(conclude, END);
    g.compile().expect("sound")
}

/// begin, then the subgraph, then end.
fn around(inner: Graph<Inner, Stage>, stage: &Stage) -> Graph<Outer> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let begin = g.node("begin", async || outer_said("begun"));
    let sub = g.subgraph("sub", inner, lens());
    let end = g.node("end", async || outer_said("ended"));
    g.edge(START, begin);
    g.edge(begin, sub);
    g.edge(sub, end);
    g.edge(end, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn a_subgraph_gets_what_its_lens_gives_and_gives_back_its_own_delta() {
    on_both_savers(|saver| async move {
        let graph = around(inner_graph(), &Stage::default()).shared_checkpointer(saver);
        let run = graph.thread("t").run(Outer::update().topic("rust").said(["in"])).await.expect("it runs");
        let state = run.finished().expect("it finishes");
        assert_eq!(state.said, ["in", "begun", "read rust", "concluded", "ended"], "nothing is doubled");
        assert_eq!(state.result, "rust of 3");
    })
    .await;
}

#[tokio::test]
async fn without_a_store_it_is_the_same() {
    let graph = around(inner_graph(), &Stage::default());
    let state = graph.run(Outer::update().topic("rust")).await.expect("it runs").finished();
    assert_eq!(state.expect("it finishes").said, ["begun", "read rust", "concluded", "ended"]);
}

#[tokio::test]
async fn a_resume_goes_on_inside_the_subgraph() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("conclude");
        let graph = around(inner_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let failed = thread.run(Outer::update().topic("rust")).await.expect_err("it is broken");
        let text = failed.to_string();
        assert!(text.contains("\"sub\"") && text.contains("\"conclude\""), "{text}");
        assert_eq!(stage.calls.take(), ["read", "conclude"]);

        stage.broken.mend("conclude");
        let state = thread.resume().await.expect("it is mended").finished().expect("it finishes");
        assert_eq!(stage.calls.take(), ["conclude"], "what was done is done");
        assert_eq!(state.said, ["begun", "read rust", "concluded", "ended"]);
        assert_eq!(state.result, "rust of 2");
    })
    .await;
}

#[tokio::test]
async fn the_error_inside_keeps_its_source() {
    let stage = Stage::default();
    stage.broken.smash("conclude");
    let failed = around(inner_graph(), &stage).run(Outer::update()).await.expect_err("it is broken");
    let mut error: Option<&(dyn std::error::Error + 'static)> = Some(&failed);
    while let Some(inner) = error {
        if inner.downcast_ref() == Some(&Smashed("conclude".into())) {
            return;
        }
        error = inner.source();
    }
    panic!("{failed:?} does not lead to the node's own error");
}

async fn ask_twice(ask: Ask<String, String>, calls: Dep<Calls>) -> Update<Inner> {
    calls.note("ask_twice");
    let first = ask.ask("first?".to_owned()).await;
    let second = ask.ask("second?".to_owned()).await;
    inner_said(format!("{first} {second}")).answer(second)
}

fn asking_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("asking");
    let read = g.node("read", read);
    let ask = g.node("ask", ask_twice);
    g.edge(START, read);
    g.edge(read, ask);
    g.edge(ask, END);
    g.compile().expect("sound")
}

fn open(run: Result<Run<Outer>, RunError>) -> Vec<Interrupt> {
    run.expect("no node fails").interrupted().expect("it asks")
}

fn question(open: &[Interrupt]) -> String {
    let [ask] = open else { panic!("one question, not {open:?}") };
    ask.question().expect("questions are texts")
}

#[tokio::test]
async fn a_question_inside_pauses_the_graph_around_and_is_answered_there() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(asking_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update().topic("rust")).await);
        assert_eq!(question(&asked), "first?");
        assert_eq!((asked[0].node.as_str(), asked[0].path.len()), ("ask", 1));
        assert_eq!(asked[0].path[0].as_str(), "sub");
        assert_eq!(thread.head().await.expect("it ran").interrupts(), asked, "the state shows it");
        assert_eq!(graph.interrupts().await.expect("it has a store").len(), 1, "and so does the list, once");

        let asked = open(thread.answer("one").await);
        assert_eq!(question(&asked), "second?");
        let state = thread.answer("two").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "one two", "ended"]);
        assert_eq!(state.result, "two");
        assert_eq!(stage.calls.of("read"), 1);
        assert_eq!(stage.calls.of("ask_twice"), 3, "it is begun anew for each answer");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_answer_is_refused_before_the_subgraph_sees_it() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update()).await);
        let refused = thread.answer(&7).await.expect_err("a text is asked for");
        assert!(matches!(refused, RunError::WrongAnswer { .. }), "{refused}");
        assert_eq!(open(thread.resume().await), asked, "it is still open");
    })
    .await;
}

#[tokio::test]
async fn threads_below_are_not_listed_and_not_run() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver.clone());
        drop(open(graph.thread("t").run(Outer::update()).await));
        let names: Vec<_> = saver.threads().await.expect("it lists").into_iter().map(|t| t.thread).collect();
        assert_eq!(names, ["t".into()]);
        let task = superstep::id::TaskId::from_bytes([7; 16]);
        let below = superstep::id::ThreadId::from("t").below(task);
        let refused = graph.thread(below).run(Outer::update()).await.expect_err("it is a subgraph's");
        assert!(matches!(refused, RunError::Subgraph { .. }), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn events_inside_have_a_path_in_one_log() {
    let graph = around(inner_graph(), &Stage::default());
    let mut stream = graph.run(Outer::update().topic("rust")).stream();
    let mut events: Vec<RunEvent> = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    assert!(events.iter().zip(0..).all(|(event, seq)| event.seq == seq), "one log without a gap");
    assert!(events.iter().all(|event| event.run == events[0].run), "of one run");
    let finished = events.iter().filter_map(|event| match &event.kind {
        EventKind::TaskFinished { node, .. } => {
            let path: Vec<_> = event.path.iter().map(|above| above.node.to_string()).collect();
            Some(format!("{}/{node}", path.join("/")))
        }
        _ => None,
    });
    assert_eq!(
        finished.collect::<Vec<_>>(),
        ["/__start__", "/begin", "sub/__start__", "sub/read", "sub/conclude", "/sub", "/end"]
    );
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Fan {
    Out(Vec<String>),
}

#[tokio::test]
async fn each_item_has_a_subgraph_of_its_own_and_all_may_ask() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let fan = g.node("fan", async || Fan::Out(vec!["a".into(), "b".into()]));
        let lens = Lens::new()
            .item(|item: &String| Inner::update().query(item.clone()))
            .share(Outer::SAID, Inner::SAID);
        let sub = g.subgraph("sub", asking_graph(), lens);
        g.edge(START, fan);
        g.route(fan, move |Fan::Out(items)| each(sub, items));
        g.edge(sub, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");

        let asked = open(thread.run(Outer::update()).await);
        assert_eq!(asked.len(), 2);
        let asked = open(thread.answer_to(asked[1].id, "b1").await);
        assert_eq!(asked.len(), 2, "a's first question and b's second");
        let [first, second] = [0, 1].map(|at| asked[at].question::<String>().expect("a text"));
        assert_eq!([first.as_str(), second.as_str()], ["first?", "second?"]);
        let asked = open(thread.answer_to(asked[1].id, "b2").await);
        let asked = open(thread.answer_to(asked[0].id, "a1").await);
        let state = thread.answer_to(asked[0].id, "a2").await.expect("it goes on").finished();
        let state = state.expect("it finishes");
        assert_eq!(state.said, ["read a", "a1 a2", "read b", "b1 b2"], "in the order of the items");
        assert_eq!(stage.calls.of("read"), 2);
    })
    .await;
}

/// A graph of so many levels, the lowest of which asks.
fn nested(levels: u32) -> Graph<Inner, Stage> {
    if levels == 0 {
        return asking_graph();
    }
    let mut g = StateGraph::<Inner, Stage>::new(format!("level {levels}"));
    let lens = Lens::new()
        .give(Inner::QUERY, Inner::QUERY)
        .share(Inner::SAID, Inner::SAID)
        .take(Inner::ANSWER, Inner::ANSWER);
    let below = g.subgraph("below", nested(levels - 1), lens);
    g.edge(START, below);
    g.edge(below, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn five_levels_bubble_questions_up_and_pass_answers_down() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(nested(4), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update().topic("deep")).await);
        assert_eq!(asked[0].path.len(), 5);
        let asked = open(thread.answer_to(asked[0].id, "one").await);
        let state = thread.answer_to(asked[0].id, "two").await.expect("it goes on").finished();
        let state = state.expect("it finishes");
        assert_eq!(state.said, ["begun", "read deep", "one two", "ended"]);
        assert_eq!(state.result, "two");
        assert_eq!(stage.calls.of("read"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_drain_reaches_the_subgraph_and_is_resumed_there() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let token = CancellationToken::new();
        let mut g = StateGraph::<Inner, Stage>::new("inner");
        let drain = token.clone();
        let first = g.node("first", move |calls: Dep<Calls>| {
            let drain = drain.clone();
            async move {
                calls.note("first");
                drain.cancel();
                inner_said("first")
            }
        });
        let second = g.node("second", async |calls: Dep<Calls>| {
            calls.note("second");
            inner_said("second")
        });
        g.edge(START, first);
        g.edge(first, second);
        g.edge(second, END);
        let graph = around(g.compile().expect("sound"), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Outer::update()).drain_on(token).await.expect("it stops");
        assert_eq!(run.status, Status::Drained);
        assert_eq!(stage.calls.take(), ["first"]);
        let state = thread.resume().await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(stage.calls.take(), ["second"]);
        assert_eq!(state.said, ["begun", "first", "second", "ended"]);
    })
    .await;
}

#[tokio::test]
async fn a_limit_inside_is_an_error_that_a_resume_outlives() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(inner_graph().recursion_limit(1), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let failed = thread.run(Outer::update().topic("rust")).await.expect_err("two steps are needed");
        assert!(failed.to_string().contains("took its 1 supersteps"), "{failed}");
        let state = thread.resume().await.expect("it has one more").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "concluded", "ended"]);
        assert_eq!(stage.calls.take(), ["read", "conclude"]);
    })
    .await;
}

#[tokio::test]
async fn a_fork_runs_its_subgraph_anew_and_leaves_the_other_alone() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(asking_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update().topic("rust")).await));
        let fork = thread.head().await.expect("it ran").fork("f").await.expect("a new name");
        let asked = open(fork.resume().await);
        assert_eq!(question(&asked), "first?");
        assert_eq!(stage.calls.of("read"), 2, "the fork shares no unfinished work");
        drop(open(fork.answer("f1").await));
        let state = fork.answer("f2").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.result, "f2");
        let asked = open(thread.resume().await);
        assert_eq!(question(&asked), "first?", "the answer was the fork's");
    })
    .await;
}

#[tokio::test]
async fn g01_a_shared_list_is_not_doubled_by_an_overwrite_either() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Inner, Stage>::new("inner");
        let clear = g.node("clear", async || Inner::update().set_said(vec!["anew".to_owned()]));
        let add = g.node("add", async || inner_said("more"));
        g.edge(START, clear);
        g.edge(clear, add);
        g.edge(add, END);
        let graph = around(g.compile().expect("sound"), &Stage::default()).shared_checkpointer(saver);
        let state = graph.thread("t").run(Outer::update().said(["in"])).await.expect("it runs").finished();
        assert_eq!(state.expect("it finishes").said, ["anew", "more", "ended"]);
    })
    .await;
}

#[tokio::test]
async fn a_graph_with_a_context_of_its_own_keeps_it() {
    let (own, around) = (Stage::default(), Stage::default());
    let mut g = StateGraph::<Inner, Stage>::new("inner");
    let node = g.node("node", async |calls: Dep<Calls>| {
        calls.note("own");
        inner_said("own")
    });
    g.edge(START, node);
    g.edge(node, END);
    let inner = g.compile().expect("sound").with_context(own.clone());
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let sub = g.subgraph("sub", inner.with_own_context(), Lens::new().share(Outer::SAID, Inner::SAID));
    g.edge(START, sub);
    g.edge(sub, END);
    let graph = g.compile().expect("sound").with_context(around.clone());
    assert_eq!(graph.run(Outer::update()).await.expect("it runs").state.said, ["own"]);
    assert_eq!((own.calls.take(), around.calls.take()), (vec!["own".to_owned()], vec![]));
}

/// Counts its runs.
fn counting_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("counting");
    let count = g.node("count", async |inner: Snapshot<Inner>| {
        inner_said(format!("{} {}", inner.query, inner.said.len() + 1))
            .answer(format!("{}", inner.said.len() + 1))
    });
    g.edge(START, count);
    g.edge(count, END);
    g.compile().expect("sound")
}

fn counting_twice(lens: impl Fn() -> Lens<Outer, Inner>) -> Graph<Outer> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let first = g.subgraph("first", counting_graph(), lens());
    let second = g.subgraph("second", counting_graph(), lens());
    g.edge(START, first);
    g.edge(first, second);
    g.edge(second, END);
    g.compile().expect("sound").with_context(Stage::default())
}

#[tokio::test]
async fn a_subgraph_begins_anew_unless_it_is_told_to_keep_its_state() {
    on_both_savers(|saver| async move {
        let forgetful = || Lens::new().take(Inner::ANSWER, Outer::RESULT);
        let thread = counting_twice(forgetful).shared_checkpointer(saver).thread("t");
        for _ in 0..2 {
            let state = thread.run(Outer::update()).await.expect("it runs").finished().expect("it finishes");
            assert_eq!(state.result, "1");
        }
    })
    .await;
}

#[tokio::test]
async fn k01_kept_state_has_an_explicit_key_and_belongs_to_its_branch() {
    on_both_savers(|saver| async move {
        let keeping = || Lens::new().keep("count").take(Inner::ANSWER, Outer::RESULT);
        let graph = counting_twice(keeping).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Outer::update()).await.expect("it runs");
        assert_eq!(run.state.result, "2", "two nodes go on with one state");
        let early = run.checkpoint.expect("it has a store");
        for expected in ["4", "6"] {
            let state = thread.run(Outer::update()).await.expect("it runs").finished();
            assert_eq!(state.expect("it finishes").result, expected);
        }
        let fork = thread.at(early).await.expect("it is there").fork("f").await.expect("a new name");
        assert_eq!(fork.run(Outer::update()).await.expect("it runs").state.result, "4");
        assert_eq!(thread.run(Outer::update()).await.expect("it runs").state.result, "8");
        let other = graph.thread("other").run(Outer::update()).await.expect("it runs");
        assert_eq!(other.state.result, "2", "another thread has its own");
    })
    .await;
}

#[tokio::test]
async fn a_key_may_depend_on_the_state() {
    on_both_savers(|saver| async move {
        let keyed =
            || Lens::new().keep_by(|outer: &Outer| outer.topic.clone()).take(Inner::ANSWER, Outer::RESULT);
        let thread = counting_twice(keyed).shared_checkpointer(saver).thread("t");
        let mut results = Vec::new();
        for topic in ["a", "b", "a"] {
            let run = thread.run(Outer::update().topic(topic)).await.expect("it runs");
            results.push(run.state.result);
        }
        assert_eq!(results, ["2", "2", "4"]);
    })
    .await;
}

#[tokio::test]
async fn two_runs_of_one_kept_state_in_a_superstep_are_an_error() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        for name in ["a", "b"] {
            let sub = g.subgraph(name, counting_graph(), Lens::new().keep("count"));
            g.edge(START, sub);
            g.edge(sub, END);
        }
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let error = graph.thread("t").run(Outer::update()).await.expect_err("they collide");
        assert!(matches!(error, RunError::KeptTwice { step: 1, .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn kept_state_needs_a_store() {
    let keeping = || Lens::new().keep("count");
    let error = counting_twice(keeping).run(Outer::update()).await.expect_err("nothing is kept");
    assert!(error.to_string().contains("needs a checkpointer"), "{error}");
}

#[tokio::test]
async fn a_kept_state_that_waits_for_an_answer_goes_on_with_it() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let lens =
            Lens::new().keep("asking").give(Outer::TOPIC, Inner::QUERY).take(Inner::ANSWER, Outer::RESULT);
        let sub =
            g.subgraph("sub", asking_graph(), lens.take_with(|inner| outer_said(inner.said.join(", "))));
        g.edge(START, sub);
        g.edge(sub, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        for topic in ["a", "b"] {
            drop(open(thread.run(Outer::update().topic(topic)).await));
            drop(open(thread.answer(&format!("{topic}1")).await));
            drop(
                thread
                    .answer(&format!("{topic}2"))
                    .await
                    .expect("it goes on")
                    .finished()
                    .expect("it finishes"),
            );
        }
        let state = thread.head().await.expect("it ran").into_state();
        assert_eq!(state.said, ["read a, a1 a2", "read a, a1 a2, read b, b1 b2"]);
    })
    .await;
}

#[derive(Route, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Handoff {
    Human(String),
    Retry,
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Found {
    Enough,
    Strange,
}

/// look leaves the graph when the topic is strange; else more is said.
fn leaving_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("leaving");
    let look = g.node("look", async |inner: Snapshot<Inner>| {
        let found = if inner.query == "strange" { Found::Strange } else { Found::Enough };
        (inner_said("looked"), found)
    });
    let more = g.node("more", async |calls: Dep<Calls>| {
        calls.note("more");
        inner_said("more")
    });
    let out = g.exit::<Handoff>();
    g.edge(START, look);
    g.route(look, move |found| match found {
        Found::Enough => to(more),
        Found::Strange => to(more).and(out.with(Handoff::Human("help".into()))),
    });
    g.edge(more, END);
    g.compile().expect("sound")
}

fn around_leaving(broken: &'static str) -> Graph<Outer, Stage> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let lens = Lens::new().give(Outer::TOPIC, Inner::QUERY).share(Outer::SAID, Inner::SAID);
    let sub = g.subgraph("sub", leaving_graph(), lens.exits::<Handoff>());
    let beside = g.node("beside", move |stage: Dep<Stage>| async move {
        stage.broken.check(broken)?;
        Ok::<_, Smashed>(outer_said("beside"))
    });
    let human = g.node("human", async || outer_said("human"));
    let done = g.node("done", async || outer_said("done"));
    g.edge(START, sub);
    g.edge(START, beside);
    g.edge(beside, END);
    g.route(sub, move |exited| match exited {
        superstep::graph::Exited::Finished => to(done),
        superstep::graph::Exited::With(Handoff::Human(_)) => to(human),
        superstep::graph::Exited::With(Handoff::Retry) => END,
    });
    g.edge(human, END);
    g.edge(done, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn n04_a_route_of_a_subgraph_may_decide_for_the_graph_around_and_its_own_delta_counts() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around_leaving("beside").with_context(stage.clone()).shared_checkpointer(saver);
        let run = graph.thread("a").run(Outer::update().topic("plain")).await.expect("it runs");
        assert_eq!(run.finished().expect("it finishes").said, ["beside", "looked", "more", "done"]);
        let run = graph.thread("b").run(Outer::update().topic("strange")).await.expect("it runs");
        assert_eq!(run.finished().expect("it finishes").said, ["beside", "looked", "human"]);
        assert_eq!(stage.calls.take(), ["more"], "whoever leaves leaves with everything");
    })
    .await;
}

#[tokio::test]
async fn the_decision_with_which_it_was_left_survives_a_failure_beside_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("beside");
        let graph = around_leaving("beside").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        drop(thread.run(Outer::update().topic("strange")).await.expect_err("beside is broken"));
        stage.broken.mend("beside");
        let state = thread.resume().await.expect("it is mended").finished().expect("it finishes");
        assert_eq!(state.said, ["beside", "looked", "human"]);
    })
    .await;
}

#[tokio::test]
async fn a_graph_with_an_exit_also_runs_by_itself() {
    on_both_savers(|saver| async move {
        let graph = leaving_graph().with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Inner::update().query("strange")).await.expect("it runs");
        assert_eq!(run.finished().expect("it finishes").said, ["looked"]);
        assert!(thread.head().await.expect("it ran").next().is_empty());
        assert!(graph.unfinished().await.expect("it has a store").is_empty());
        assert!(thread.resume().await.expect("nothing is left").finished().is_ok());
    })
    .await;
}

#[test]
fn what_does_not_fit_between_a_graph_and_its_subgraph_is_said_at_compile() {
    #[derive(State, Clone, Debug, Default)]
    struct Other {
        said: Vec<String>,
    }
    let mut g = StateGraph::<Other>::new("other");
    let node = g.node("node", async || Other::update().said(vec![]));
    g.edge(START, node);
    g.edge(node, END);
    let other = g.compile().expect("sound");

    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let leaving = g.subgraph("leaving", leaving_graph(), Lens::new());
    let inner = g.subgraph("inner", inner_graph(), Lens::new().exits::<Handoff>());
    let shared = g.subgraph("shared", other.with_own_context(), Lens::new().share(Outer::SAID, Other::SAID));
    g.edge(START, leaving);
    g.edge(leaving, inner);
    g.route(inner, move |_| to(shared));
    g.edge(shared, END);
    let error = g.compile().expect_err("three things are wrong").to_string();
    for part in [
        "\"leaving\" is left with a Handoff, and its lens does not say so; add .exits::<..>() to it",
        "\"inner\" is never left, and its lens expects a Handoff",
        "shares \"said\", which is reduced by Append, and \"said\", which is reduced by LastValue",
    ] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
}

#[tokio::test]
async fn the_state_of_every_level_is_visible_from_one_checkpoint() {
    on_both_savers(|saver| async move {
        let graph = around(nested(1), &Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update().topic("deep")).await));
        let levels = thread.head().await.expect("it ran").subgraphs().await.expect("the store reads");
        let seen: Vec<_> = levels
            .iter()
            .map(|level| (level.path.len(), level.view.values["query"].clone(), level.view.next.clone()))
            .collect();
        assert_eq!(
            seen,
            [(1, "deep".into(), vec!["below".to_owned()]), (2, "deep".into(), vec!["ask".to_owned()])]
        );
        let config = &levels[1].view.config;
        assert_eq!(config.thread_id, "t");
        assert_eq!(config.checkpoint_ns, format!("{}|{}", levels[0].task, levels[1].task));
        assert_eq!(levels[1].view.tasks[0].interrupts[0].value, "first?");
    })
    .await;
}

#[tokio::test]
async fn the_thread_below_is_read_and_edited_with_its_own_graph() {
    on_both_savers(|saver| async move {
        let inner = asking_graph();
        let graph = around(inner.clone(), &Stage::default()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update().topic("rust")).await));
        let levels = thread.head().await.expect("it ran").subgraphs().await.expect("the store reads");
        let inner = inner.with_context(Stage::default()).shared_checkpointer(saver);
        let below = inner.thread(levels[0].thread.clone());
        assert_eq!(below.history().expect("it has a store").collect().await.expect("it reads").len(), 3);
        below.edit(inner_said("edited")).await.expect("it is edited");

        drop(open(thread.resume().await));
        drop(open(thread.answer("one").await));
        let state = thread.answer("two").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "edited", "one two", "ended"]);
    })
    .await;
}
