//! Events: one log per run without gaps, for every observer.

use std::sync::{Arc, Mutex};

use superstep::checkpoint::Source;
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent, TraceLog};

use crate::support::{Broken, Smashed, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

async fn mark(task: TaskInfo, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    broken.check(task.node().as_str())?;
    Ok(Log::update().ran([task.node().as_str()]))
}

/// `a` and `b` side by side, then `end`.
fn graph(stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [a, b, end] = ["a", "b", "end"].map(|name| g.node(name, mark));
    for node in [a, b] {
        g.edge(START, node);
        g.edge(node, end);
    }
    g.edge(end, END);
    g.compile().expect("sound").with_context(stage.clone())
}

/// Collects the lines of all events.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<RunEvent>>>);

impl Lines {
    fn observe(&self) -> impl Fn(&RunEvent) + Send + Sync + use<> {
        let lines = Arc::clone(&self.0);
        move |event: &RunEvent| lines.lock().expect("no observer panics").push(event.clone())
    }

    fn take(&self) -> Vec<RunEvent> {
        std::mem::take(&mut *self.0.lock().expect("no observer panics"))
    }
}

/// An event in a few words.
fn line(event: &RunEvent) -> String {
    match &event.kind {
        EventKind::RunStarted { graph, thread, .. } => format!("run of {graph} on {thread}"),
        EventKind::SuperstepStarted { step, nodes, .. } => format!("{step}: {nodes:?}"),
        EventKind::TaskStarted { node, attempt, .. } => format!("{node} starts {attempt}"),
        EventKind::TaskFinished { node, recorded, .. } if *recorded => format!("{node} was finished"),
        EventKind::TaskFinished { node, writes, .. } => format!("{node} finished, {} writes", writes.len()),
        EventKind::TaskPaused { node, .. } => format!("{node} paused"),
        EventKind::TaskFailed { node, retry_in_ms, .. } => format!("{node} failed, again in {retry_in_ms:?}"),
        EventKind::Custom { node, name, data, .. } => format!("{node} says {name} {data}"),
        EventKind::CheckpointSaved { step, source, next, .. } => {
            format!("saved {step} {source:?} then {next:?}")
        }
        EventKind::Interrupted { interrupts } => format!("{} questions", interrupts.len()),
        EventKind::JoinUnfinished { target, missing } => format!("{target} waits for {missing:?}"),
        EventKind::RunFinished { status } => format!("{status:?}"),
        EventKind::RunFailed { message } => format!("failed: {message}"),
        other => format!("{other:?}"),
    }
}

fn lines(events: &[RunEvent]) -> Vec<String> {
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let expected: Vec<u64> = (0..events.len() as u64).collect();
    assert_eq!(numbers, expected, "the log has no gap");
    assert!(events.iter().all(|event| event.run == events[0].run));
    events.iter().map(line).collect()
}

#[tokio::test]
async fn a_run_is_reported_in_order() {
    on_both_savers(|saver| async move {
        let events = Lines::default();
        let graph = graph(&Stage::default()).shared_checkpointer(saver).observe(events.observe());
        let run = graph.thread("t").run(Log::update().ran(["in"])).await;
        assert_eq!(run.expect("no node fails").status, Status::Finished);
        let mut told = lines(&events.take());
        // Either may end first, but both end.
        told[9..11].sort();
        assert_eq!(
            told,
            [
                "run of g on t",
                r#"saved -1 Input then ["__start__"]"#,
                r#"0: ["__start__"]"#,
                "__start__ starts 1",
                "__start__ finished, 1 writes",
                r#"saved 0 Loop then ["a", "b"]"#,
                r#"1: ["a", "b"]"#,
                "a starts 1",
                "b starts 1",
                "a finished, 1 writes",
                "b finished, 1 writes",
                r#"saved 1 Loop then ["end"]"#,
                r#"2: ["end"]"#,
                "end starts 1",
                "end finished, 1 writes",
                "saved 2 Loop then []",
                "Finished",
            ]
        );
    })
    .await;
}

/// The events never said that a task had finished before: the field for it was always false.
#[tokio::test]
async fn a_resumed_run_tells_what_was_finished_before() {
    on_both_savers(|saver| async move {
        let (stage, events) = (Stage::default(), Lines::default());
        stage.broken.smash("b");
        let graph = graph(&stage).shared_checkpointer(saver).observe(events.observe());
        let thread = graph.thread("t");
        thread.run(Log::update()).await.expect_err("b is broken");
        let told = lines(&events.take());
        assert!(told.contains(&"b failed, again in None".to_owned()), "{told:?}");
        assert_eq!(told.last().map(String::as_str), Some("failed: node \"b\" failed at step 1: b is broken"));
        stage.broken.mend("b");
        let run = thread.resume().await.expect("all is mended");
        assert_eq!(run.state.ran, ["a", "b", "end"]);
        assert_eq!(
            lines(&events.take())[..5],
            ["run of g on t", r#"1: ["a", "b"]"#, "a was finished", "b starts 1", "b finished, 1 writes",]
        );
    })
    .await;
}

#[tokio::test]
async fn a_stream_hands_out_every_event_and_then_the_run() {
    let events = Lines::default();
    let graph = graph(&Stage::default()).checkpointer(MemorySaver::new());
    let mut stream = graph.thread("t").run(Log::update()).observe(events.observe()).stream();
    let mut streamed = Vec::new();
    while let Some(event) = stream.next().await {
        streamed.push(event);
    }
    assert_eq!(streamed, events.take());
    assert_eq!(stream.next().await, None, "and it stays ended");
    assert_eq!(stream.finish().await.expect("no node fails").state.ran, ["a", "b", "end"]);
    lines(&streamed);
}

#[tokio::test]
async fn a_stream_may_be_finished_without_reading_it() {
    let stream = graph(&Stage::default()).run(Log::update()).stream();
    let run = stream.finish().await.expect("no node fails");
    assert_eq!(run.state.ran, ["a", "b", "end"]);
    let stage = Stage::default();
    stage.broken.smash("end");
    let mut stream = graph(&stage).run(Log::update()).stream();
    stream.next().await.expect("the run began");
    let error = stream.finish().await.expect_err("end is broken");
    assert!(matches!(error, RunError::Node(_)));
}

/// A node that keeps its `Emit` keeps the log alive; the stream used to wait for its end forever.
#[tokio::test]
async fn a_stream_ends_with_its_run_even_if_the_log_is_still_held() {
    let kept: Arc<Mutex<Option<Emit>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", move |emit: Emit| {
        *keep.lock().expect("nothing panics") = Some(emit);
        async {}
    });
    g.edge(START, node);
    g.edge(node, END);
    let mut stream = g.compile().expect("sound").run(Log::update()).stream();
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(line(&event));
    }
    assert_eq!(last.as_deref(), Some("Finished"));
    let kept = kept.lock().expect("nothing panics").take().expect("the node ran");
    kept.emit("too_late", &1);
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.finish().await.expect("no node fails").status, Status::Finished);
}

#[tokio::test]
async fn nodes_emit_events_of_their_own() {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", |emit: Emit| async move {
        for token in ["a", "b"] {
            emit.emit("token", token);
        }
        Log::update().ran([emit.is_observed().to_string()])
    });
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound");
    let unobserved = graph.run(Log::update()).await.expect("no node fails");
    assert_eq!(unobserved.state.ran, ["false"]);
    let events = Lines::default();
    let observed = graph.run(Log::update()).observe(events.observe()).await;
    assert_eq!(observed.expect("no node fails").state.ran, ["true"]);
    let told = lines(&events.take());
    let said: Vec<_> = told.iter().filter(|line| line.contains("says")).collect();
    assert_eq!(said, [r#"node says token "a""#, r#"node says token "b""#]);
}

#[tokio::test]
async fn a_pause_is_reported_with_its_questions() {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", |ask: Ask<String, String>| async move {
        Log::update().ran([ask.ask("who?".into()).await])
    });
    g.edge(START, node);
    g.edge(node, END);
    let events = Lines::default();
    let graph = g.compile().expect("sound").checkpointer(MemorySaver::new());
    let thread = graph.observe(events.observe()).thread("t");
    let run = thread.run(Log::update()).await.expect("no node fails");
    run.interrupted().expect("it asks");
    let told = lines(&events.take());
    assert_eq!(told[told.len() - 3..told.len() - 1], ["node paused", "1 questions"]);
    assert_eq!(thread.answer("me").await.expect("no node fails").state.ran, ["me"]);
    let told = lines(&events.take());
    assert_eq!(told[1..4], [r#"1: ["node"]"#, "node starts 1", "node finished, 1 writes"]);
}

#[tokio::test]
async fn a_join_that_never_completed_is_reported_at_the_end() {
    use serde::{Deserialize, Serialize};
    #[derive(Route, Serialize, Deserialize)]
    enum Way {
        Left,
        Right,
    }
    let mut g = StateGraph::<Log, Stage>::new("g");
    let pick = g.node("pick", || async { Way::Left });
    let [left, right, both] = ["left", "right", "both"].map(|name| g.node(name, mark));
    g.edge(START, pick);
    g.route(pick, move |way| match way {
        Way::Left => to(left),
        Way::Right => to(right),
    });
    g.join([left, right], both);
    g.edge(both, END);
    let events = Lines::default();
    let graph = g.compile().expect("sound").with_context(Stage::default());
    let run = graph.run(Log::update()).observe(events.observe()).await;
    assert_eq!(run.expect("no node fails").state.ran, ["left"]);
    let told = lines(&events.take());
    assert_eq!(told[told.len() - 2..], [r#"both waits for ["right"]"#, "Finished"]);
}

#[tokio::test]
async fn checkpoints_are_reported_with_their_ids() {
    let events = Lines::default();
    let graph = graph(&Stage::default()).checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    let run = thread.run(Log::update()).observe(events.observe()).await;
    let run = run.expect("no node fails");
    let events = events.take();
    let saved: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::CheckpointSaved { id, source, .. } => Some((id, source)),
            _ => None,
        })
        .collect();
    assert_eq!(saved.len(), 4);
    assert_eq!(saved[0].1, Source::Input);
    assert_eq!(Some(saved[3].0), run.checkpoint);
    let text = serde_json::to_value(&events[1]).expect("events have a JSON form");
    assert_eq!((&text["type"], &text["seq"]), (&"checkpoint_saved".into(), &1.into()));
}

#[tokio::test]
async fn a_trace_has_a_record_per_call_under_the_record_of_the_run() {
    let (stage, log) = (Stage::default(), TraceLog::new());
    stage.broken.smash("end");
    let graph = graph(&stage).checkpointer(MemorySaver::new());
    let thread = graph.observe(log.clone()).thread("t");
    let seen: Arc<Mutex<Vec<superstep::id::RunId>>> = Arc::default();
    let ids = Arc::clone(&seen);
    let note = move |event: &RunEvent| {
        if event.seq == 0 {
            ids.lock().expect("nothing panics").push(event.run);
        }
    };
    thread.run(Log::update()).observe(note.clone()).await.expect_err("end is broken");
    stage.broken.mend("end");
    let again = thread.run(Log::update()).observe(note).await;
    assert_eq!(again.expect("all is mended").status, Status::Finished);
    let runs = seen.lock().expect("nothing panics").clone();
    for (run, ended_well) in [(runs[0], false), (runs[1], true)] {
        let records = log.of(run);
        let names: Vec<_> = records.iter().map(|record| record.op_name.as_str()).collect();
        assert_eq!(names, ["g", "a_node", "b_node", "end_node"], "START is no call, in any turn");
        let root = &records[0];
        assert_eq!((root.parent_id.as_ref(), &root.trace_id), (None, &root.id));
        assert_eq!(root.inputs, serde_json::json!({ "thread_id": "t" }));
        for call in &records[1..] {
            assert_eq!((call.parent_id.as_ref(), &call.trace_id), (Some(&root.id), &root.id));
            assert!(call.ended_at.is_some());
        }
        let output = records[3].output.as_ref().expect("the call ended");
        assert_eq!(output.get("writes").is_some(), ended_well, "{output}");
        assert_eq!(output.get("error").is_some(), !ended_well, "{output}");
    }
}
