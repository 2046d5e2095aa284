//! Streams: views of the log, back-pressure, and feeds for subscribers that do not drive the run.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep::prelude::*;
use superstep::run::{EventKind, Received, RunEvent, RunRequest, Subscription, View, Views};
use tokio::task::yield_now;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
    #[reducer(Sum)]
    total: u32,
    #[state(transient)]
    hidden: u32,
}

/// An event in a few words.
fn line(event: &RunEvent) -> String {
    match &event.kind {
        EventKind::Values { step, values } => format!("{step} values {values}"),
        EventKind::Update { node, writes, recorded, .. } => {
            let writes: Vec<_> =
                writes.iter().map(|write| format!("{} {} {}", write.op, write.field, write.value)).collect();
            let before = if *recorded { " before" } else { "" };
            format!("{node} updated{before} {}", writes.join(", "))
        }
        EventKind::TaskStarted { node, .. } => format!("{node} starts"),
        EventKind::TaskFinished { node, .. } => format!("{node} finished"),
        EventKind::TaskPaused { node, .. } => format!("{node} paused"),
        EventKind::CheckpointSaved { step, .. } => format!("{step} saved"),
        EventKind::Interrupted { interrupts } => {
            let questions: Vec<_> = interrupts.iter().map(|ask| ask.question.as_str()).collect();
            format!("asks {}", questions.join(", "))
        }
        EventKind::Custom { node, name, data, .. } => format!("{node} emits {name} {data}"),
        EventKind::MessageChunk { node, chunk, .. } => format!("{node} says {chunk}"),
        EventKind::RunStarted { resumes, .. } => format!("run, resuming: {}", resumes.is_some()),
        other => format!("{other:?}"),
    }
}

/// The events of a request in the given views.
async fn seen(request: RunRequest<Log>, views: impl Into<Views>) -> Vec<String> {
    let mut stream = request.stream().view(views);
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(line(&event));
    }
    let _run = stream.finish().await.expect("no node fails");
    lines
}

/// `a`, then `b`, which asks.
fn asking() -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    let a = g.node("a", |emit: Emit| async move {
        emit.emit("step", &1);
        emit.message(&"hel");
        emit.message(&"lo");
        Log::update().v(["a"]).total(2).hidden(7)
    });
    let b = g.node("b", |ask: Ask<String, String>| async move {
        let answer = ask.ask("who?".into()).await;
        Log::update().set_v([answer])
    });
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn b47_updates_and_values_come_by_step_and_a_question_ends_both() {
    on_both_savers(|saver| async move {
        let thread = asking().shared_checkpointer(saver).thread("t");
        let views = View::Updates | View::Values;
        assert_eq!(
            seen(thread.run(Log::update().v(["in"])), views).await,
            [
                r#"0 values {"total":0,"v":["in"]}"#,
                r#"a updated extend v ["a"], reduce total 2"#,
                r#"1 values {"total":2,"v":["in","a"]}"#,
                r#"asks "who?""#,
            ]
        );
        assert_eq!(
            seen(thread.answer("me"), views).await,
            [
                r#"1 values {"total":2,"v":["in","a"]}"#,
                r#"b updated set v ["me"]"#,
                r#"2 values {"total":2,"v":["me"]}"#,
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn l12_a_resume_shows_the_values_it_continues_and_what_was_finished_before() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let a =
            g.node(
                "a",
                |ask: Ask<String, String>| async move { Log::update().v([ask.ask("q".into()).await]) },
            );
        let b = g.node("b", || async { Log::update().v(["b"]) });
        for node in [a, b] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let run = thread.run(Log::update()).await.expect("no node fails");
        run.interrupted().expect("a asks");
        assert_eq!(
            seen(thread.answer("R"), View::Values | View::Updates).await,
            [
                r#"0 values {"total":0,"v":[]}"#,
                r#"b updated before extend v ["b"]"#,
                r#"a updated extend v ["R"]"#,
                r#"1 values {"total":0,"v":["R","b"]}"#,
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn h03_every_superstep_shows_its_values_whatever_it_wrote() {
    let mut g = StateGraph::<Log>::new("g");
    let a = g.node("a", || async { Log::update().total(1).hidden(1) });
    let b = g.node("b", || async { Log::update().v(["b"]) });
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, END);
    let graph = g.compile().expect("sound");
    let values = seen(graph.run(Log::update().v(["i"])), View::Values).await;
    assert_eq!(
        values,
        [
            r#"0 values {"total":0,"v":["i"]}"#,
            r#"1 values {"total":1,"v":["i"]}"#,
            r#"2 values {"total":1,"v":["i","b"]}"#
        ]
    );
    let updates = seen(graph.run(Log::update().v(["i"])), View::Updates).await;
    assert_eq!(updates, ["a updated reduce total 1", r#"b updated extend v ["b"]"#]);
}

#[tokio::test]
async fn each_view_shows_its_events_and_no_others() {
    let thread = asking().checkpointer(MemorySaver::new()).thread("t");
    let run = |views: Views| seen(thread.run(Log::update()), views);
    assert_eq!(run(View::Messages.into()).await, [r#"a says "hel""#, r#"a says "lo""#]);
    assert_eq!(run(View::Custom.into()).await, ["a emits step 1"]);
    let tasks = run(View::Tasks.into()).await;
    assert_eq!(
        tasks,
        [
            "__start__ starts",
            "__start__ finished",
            "a starts",
            "a finished",
            "b starts",
            "b paused",
            r#"asks "who?""#
        ]
    );
    assert_eq!(run(View::Checkpoints.into()).await.len(), 3);
    assert_eq!(run(Views::NONE).await, Vec::<String>::new());
}

#[tokio::test]
async fn in_a_superstep_tasks_come_first_then_the_values_then_the_checkpoint() {
    let thread = asking().checkpointer(MemorySaver::new()).thread("t");
    let views = View::Debug | View::Values | View::Updates;
    let told = seen(thread.run(Log::update()), views).await;
    let from = told.iter().position(|line| line == "a starts").expect("a ran");
    assert_eq!(
        told[from..from + 8],
        [
            "a starts",
            "a emits step 1",
            r#"a says "hel""#,
            r#"a says "lo""#,
            "a finished",
            r#"a updated extend v ["a"], reduce total 2"#,
            r#"1 values {"total":2,"v":["a"]}"#,
            "1 saved",
        ]
    );
}

#[tokio::test]
async fn k07_a_breakpoint_is_shown_like_a_question() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", || async { Log::update().v(["a"]) });
        let q =
            g.node(
                "q",
                |ask: Ask<String, String>| async move { Log::update().v([ask.ask("?".into()).await]) },
            );
        g.policy(q).interrupt_before();
        g.edge(START, a);
        g.edge(a, q);
        g.edge(q, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let views = View::Updates | View::Values;
        let told = seen(thread.run(Log::update()), views).await;
        assert_eq!(
            told[..3],
            [
                r#"0 values {"total":0,"v":[]}"#,
                r#"a updated extend v ["a"]"#,
                r#"1 values {"total":0,"v":["a"]}"#
            ]
        );
        assert!(told[3].starts_with("BreakpointReached") && told.len() == 4, "{told:?}");
        assert_eq!(seen(thread.resume(), views).await, [r#"1 values {"total":0,"v":["a"]}"#, r#"asks "?""#]);
    })
    .await;
}

/// The cost of a value in the state: the number of times that it was encoded.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(from = "u8")]
struct Counted(Arc<Count>);

impl From<u8> for Counted {
    fn from(_: u8) -> Self {
        Self::default()
    }
}

#[derive(Debug, Default)]
struct Count(AtomicUsize);

impl PartialEq for Count {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl serde::Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        serializer.serialize_u8(1)
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Dear {
    counted: Counted,
    word: String,
}

#[tokio::test]
async fn values_are_built_only_for_those_who_want_them() {
    let mut g = StateGraph::<Dear>::new("g");
    let node = g.node("node", || async { Dear::update().word("x") });
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound");
    let counted = Counted::default();
    let input = || Dear::update().counted(counted.clone());
    let encoded = || counted.0.0.swap(0, Ordering::SeqCst);
    let run = graph.run(input()).await.expect("no node fails");
    assert_eq!((run.status, encoded()), (Status::Finished, 0));
    let run = graph.run(input()).observe(|_: &RunEvent| {}).await.expect("no node fails");
    let observed = encoded();
    assert_eq!((run.status, observed), (Status::Finished, 1), "the input, as START writes it");
    let run = graph.run(input()).observe(|_: &RunEvent| {}).include(View::Values).await;
    assert_eq!((run.expect("no node fails").status, encoded()), (Status::Finished, observed + 2));
}

#[tokio::test]
async fn b55_a_pause_is_reported_once_and_so_is_each_resume() {
    on_both_savers(|saver| async move {
        let calls = Calls::default();
        let noted = calls.clone();
        let graph = asking().shared_checkpointer(saver).observe(move |event: &RunEvent| match &event.kind {
            EventKind::Interrupted { interrupts } => noted.note(format!("{} questions", interrupts.len())),
            EventKind::RunStarted { resumes: Some(_), .. } => noted.note("resumed"),
            _ => {}
        });
        let thread = graph.thread("t");
        let asked = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("b asks");
        assert_eq!(asked.len(), 1);
        thread.resume().await.expect("no node fails").interrupted().expect("b asks again");
        let run = thread.answer("me").await.expect("no node fails");
        assert_eq!(run.status, Status::Finished);
        assert_eq!(calls.take(), ["1 questions", "resumed", "1 questions", "resumed"]);
    })
    .await;
}

/// Two nodes that emit a lot, side by side, each awaiting after every event.
fn chatty(calls: &Calls, events: u32) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    for name in ["a", "b"] {
        let calls = calls.clone();
        let node = g.node(name, move |emit: Emit| {
            let calls = calls.clone();
            async move {
                for number in 0..events {
                    emit.emit("number", &number);
                    calls.note("emitted");
                    yield_now().await;
                }
                Log::update().v([name])
            }
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound")
}

/// Events of tasks in flight used to accumulate without a limit while the stream was not polled.
#[tokio::test]
async fn tasks_are_held_up_while_no_events_are_polled_and_nothing_is_lost() {
    let calls = Calls::default();
    let mut stream = chatty(&calls, 1_000).run(Log::update()).stream().view(View::Custom);
    let mut events = vec![stream.next().await.expect("they emit")];
    let mut before = 0;
    while calls.of("emitted") != before {
        before = calls.of("emitted");
        for _ in 0..50 {
            yield_now().await;
        }
    }
    assert!((200..400).contains(&before), "{before} events wait");
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    assert_eq!(events.len(), 2_000);
    assert!(events.is_sorted_by(|one, other| one.seq < other.seq));
    assert_eq!(stream.finish().await.expect("no node fails").state.v, ["a", "b"]);
}

/// In LangGraph the work done meanwhile is lost, and runs again.
#[tokio::test]
async fn n02_a_stream_that_is_dropped_leaves_a_thread_that_can_be_resumed() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let nodes = ["a", "b", "c"].map(|name| {
            g.node(name, move |calls: Dep<Calls>| async move {
                calls.note(name);
                Log::update().v([name])
            })
        });
        g.edge(START, nodes[0]);
        g.edge(nodes[0], nodes[1]);
        g.edge(nodes[1], nodes[2]);
        g.edge(nodes[2], END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let mut stream = thread.run(Log::update()).stream().view(View::Updates);
        let first = stream.next().await.expect("a writes");
        assert_eq!(line(&first), r#"a updated extend v ["a"]"#);
        drop(stream);
        let run = thread.resume().await.expect("no node fails");
        assert_eq!(run.state.v, ["a", "b", "c"]);
        assert_eq!((stage.calls.of("b"), stage.calls.of("c")), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_not_polled_runs_nothing() {
    let calls = Calls::default();
    drop(chatty(&calls, 1).run(Log::update()).stream());
    assert_eq!(calls.of("emitted"), 0);
    let run = chatty(&calls, 1).run(Log::update()).stream().finish().await;
    assert_eq!(run.expect("no node fails").status, Status::Finished);
}

/// Everything that a subscriber receives until the end.
async fn received(mut events: Subscription) -> Vec<Received> {
    let mut all = Vec::new();
    while let Some(received) = events.next().await {
        all.push(received);
    }
    all
}

fn numbers(received: &[Received]) -> Vec<u64> {
    let seq = |received: &Received| match received {
        Received::Event(event) => Some(event.seq),
        Received::Missed { .. } => None,
    };
    received.iter().filter_map(seq).collect()
}

#[tokio::test]
async fn subscribers_see_the_run_and_may_come_back_where_they_were() {
    let mut request = asking().checkpointer(MemorySaver::new()).thread("t").run(Log::update());
    let feed = request.feed(1_000);
    let (mut early, whole) = (feed.subscribe(), feed.subscribe());
    let run = tokio::spawn(request.into_future());
    let mut last = None;
    for _ in 0..5 {
        match early.next().await {
            Some(Received::Event(event)) => last = Some(event.seq),
            other => panic!("{other:?}"),
        }
    }
    drop(early);
    let whole = received(whole).await;
    assert_eq!(numbers(&whole), (0..whole.len() as u64).collect::<Vec<_>>());
    let back = received(feed.subscribe_from(last.expect("it saw some") + 1)).await;
    assert_eq!(back, whole[5..]);
    // The run has ended: no event follows, and all events are still there.
    assert_eq!(received(feed.subscribe()).await, []);
    assert_eq!(received(feed.subscribe_from(0)).await, whole);
    let asked = run.await.expect("nothing panics").expect("no node fails").interrupted();
    assert_eq!(asked.expect("b asks").len(), 1);
}

#[tokio::test]
async fn a_slow_subscriber_learns_what_it_missed() {
    let mut request = chatty(&Calls::default(), 100).run(Log::update());
    let feed = request.feed(16);
    let slow = feed.subscribe();
    let run = request.await.expect("no node fails");
    assert_eq!(run.status, Status::Finished);
    let all = received(slow).await;
    let Received::Missed { from: 0, to } = all[0] else { panic!("{:?}", all[0]) };
    assert_eq!(numbers(&all), (to + 1..to + 17).collect::<Vec<_>>());
    let Some(Received::Event(last)) = all.last() else { panic!("{all:?}") };
    assert!(matches!(last.kind, EventKind::RunFinished { .. }));
    // A view does not change the reported number of missing events.
    let seen = received(feed.subscribe_from(3).view(View::Checkpoints)).await;
    assert_eq!(seen, [Received::Missed { from: 3, to }]);
}

#[tokio::test]
async fn a_feed_of_a_run_that_was_dropped_ends() {
    let mut request = asking().run(Log::update());
    let feed = request.feed(16);
    drop(request);
    assert_eq!(received(feed.subscribe_from(0)).await, []);
    let mut request = chatty(&Calls::default(), 100_000).run(Log::update());
    let feed = request.feed(16).subscribe().view(View::Checkpoints);
    let run = tokio::spawn(request.into_future());
    yield_now().await;
    run.abort();
    assert!(run.await.expect_err("it was aborted").is_cancelled());
    assert!(received(feed).await.iter().all(|received| matches!(received, Received::Missed { .. })));
}

#[tokio::test]
async fn a_feed_has_values_where_the_request_includes_them() {
    for include in [false, true] {
        let mut request = asking().checkpointer(MemorySaver::new()).thread("t").run(Log::update());
        if include {
            request = request.include(View::Values);
        }
        let feed = request.feed(100);
        request.await.expect("no node fails").interrupted().expect("b asks");
        let seen = received(feed.subscribe_from(0).view(View::Values)).await;
        assert_eq!(seen.len(), if include { 3 } else { 1 }, "{seen:?}");
    }
}
