//! Past events: the log that is rebuilt from a store equals the live log.

mod following;
mod positions;
mod recorded;
mod shapes;

use std::sync::{Arc, Mutex};

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use superstep::run::{EventKind, PastEvent, PathSegment, RunEvent};

use crate::support::Stage;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

fn ran(what: impl Into<String>) -> Update<Log> {
    Log::update().ran([what.into()])
}

/// Emits that it runs, and notes it.
async fn mark(task: TaskInfo, emit: Emit) -> Update<Log> {
    emit.emit("at", task.node());
    ran(task.node().as_str())
}

/// Keeps the events of all runs as they happen.
#[derive(Clone, Default)]
struct Live(Arc<Mutex<Vec<RunEvent>>>);

impl Live {
    fn observe(&self) -> impl Fn(&RunEvent) + Send + Sync + use<> {
        let events = Arc::clone(&self.0);
        move |event: &RunEvent| events.lock().expect("no observer panics").push(event.clone())
    }

    fn events(&self) -> Vec<RunEvent> {
        self.0.lock().expect("no observer panics").clone()
    }
}

fn chain() -> StateGraph<Log, Stage> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    g
}

/// Compiles a graph that stores custom events, and observes it.
fn watched(g: StateGraph<Log, Stage>, stage: &Stage, saver: &Arc<dyn Checkpointer>) -> (Thread<Log>, Live) {
    let live = Live::default();
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let graph = graph.shared_checkpointer(Arc::clone(saver)).record_events().observe(live.observe());
    (graph.thread("t"), live)
}

async fn past(thread: &Thread<Log>) -> Vec<PastEvent> {
    let events = thread.events().expect("it has a checkpointer").collect().await;
    events.expect("the store does not fail")
}

/// Events as in a rebuilt log: without those that are not stored.
fn known(events: &[RunEvent]) -> Vec<RunEvent> {
    let given_up = |at: usize| {
        let (path, step, task, attempt) = match &events[at].kind {
            EventKind::TaskStarted { step, task, attempt, .. } => (&events[at].path, step, task, attempt),
            _ => return false,
        };
        events[at..].iter().any(|event| match &event.kind {
            EventKind::TaskFailed { step: s, task: t, attempt: a, retry_in_ms: Some(_), .. } => {
                event.run == events[at].run && (&event.path, s, t, a) == (path, step, task, attempt)
            }
            _ => false,
        })
    };
    let kept = (0..events.len()).filter(|at| !given_up(*at)).map(|at| &events[at]);
    let kept = kept.filter(|event| match &event.kind {
        EventKind::TaskFailed { retry_in_ms, .. } => retry_in_ms.is_none(),
        EventKind::BreakpointReached { .. } => false,
        EventKind::RunFinished { status } => {
            matches!(status, Status::Finished | Status::Interrupted { .. })
        }
        _ => true,
    });
    kept.cloned().map(without_what_is_not_stored).collect()
}

fn without_what_is_not_stored(mut event: RunEvent) -> RunEvent {
    (event.seq, event.at_ms) = (0, 0);
    event.path = event.path.into_iter().map(|segment| PathSegment { attempt: 0, ..segment }).collect();
    match &mut event.kind {
        EventKind::TaskStarted { attempt, .. } => *attempt = 0,
        EventKind::TaskFinished { recorded, cached, .. } => (*recorded, *cached) = (false, false),
        _ => {}
    }
    event
}

/// The events of the graph itself, superstep by superstep. Within a superstep, live tasks take turns at random.
fn supersteps(events: &[RunEvent]) -> Vec<Vec<String>> {
    let mut blocks: Vec<Vec<String>> = vec![Vec::new()];
    for event in events {
        let is_border = event.path.is_empty()
            && !matches!(
                event.kind,
                EventKind::TaskStarted { .. }
                    | EventKind::TaskFinished { .. }
                    | EventKind::TaskFailed { .. }
                    | EventKind::TaskPaused { .. }
                    | EventKind::Custom { .. }
                    | EventKind::MessageChunk { .. }
            );
        let line = serde_json::to_string(event).expect("events are JSON");
        if is_border {
            blocks.extend([vec![line], Vec::new()]);
        } else {
            blocks.last_mut().expect("there is one").push(line);
        }
    }
    blocks.iter_mut().for_each(|block| block.sort());
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Asserts that the rebuilt events equal the live ones, superstep by superstep.
fn assert_told_again(live: &[RunEvent], rebuilt: &[PastEvent]) {
    let seqs: Vec<u64> = rebuilt.iter().map(|past| past.event.seq).collect();
    assert_eq!(seqs, (0..rebuilt.len() as u64).collect::<Vec<_>>(), "they are numbered without a gap");
    let rebuilt: Vec<RunEvent> = rebuilt.iter().map(|past| past.event.clone()).collect();
    let (live, rebuilt) = (supersteps(&known(live)), supersteps(&known(&rebuilt)));
    for (live, rebuilt) in live.iter().zip(&rebuilt) {
        assert_eq!(live, rebuilt);
    }
    assert_eq!(live.len(), rebuilt.len(), "live {live:#?}\nrebuilt {rebuilt:#?}");
}
