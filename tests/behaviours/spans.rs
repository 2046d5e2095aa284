//! Spans of a run for subscribers of `tracing`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use superstep::prelude::*;
use tracing::field::{Field as FieldName, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::support::{Broken, Smashed, Stage};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// Keeps every span, with its place among the others.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    spans: Vec<Span>,
    entered: Vec<u64>,
}

#[derive(Debug)]
struct Span {
    name: &'static str,
    parent: Option<u64>,
    fields: Fields,
}

#[derive(Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &FieldName, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &FieldName, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut kept = self.0.lock().expect("nothing panics");
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let parent = match attributes.parent() {
            Some(parent) => Some(parent.into_u64()),
            None => kept.entered.last().copied(),
        };
        kept.spans.push(Span { name: attributes.metadata().name(), parent, fields });
        Id::from_u64(kept.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut kept = self.0.lock().expect("nothing panics");
        let at = usize::try_from(span.into_u64()).expect("a few spans") - 1;
        values.record(&mut kept.spans[at].fields);
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.0.lock().expect("nothing panics").entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let exited = self.0.lock().expect("nothing panics").entered.pop();
        assert_eq!(exited, Some(span.into_u64()), "spans are left in the order in which they were entered");
    }
}

impl Spans {
    /// Each span as a line, indented by its depth. Ids of runs are left out.
    fn lines(&self) -> Vec<String> {
        let kept = self.0.lock().expect("nothing panics");
        let depth = |span: &Span| {
            std::iter::successors(span.parent, |parent| {
                kept.spans[usize::try_from(*parent).expect("a few spans") - 1].parent
            })
            .count()
        };
        let line = |span: &Span| {
            let fields = span.fields.0.iter().filter(|(name, _)| **name != "run");
            let fields: String = fields.map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{}{}{fields}", "  ".repeat(depth(span)), span.name)
        };
        kept.spans.iter().map(line).collect()
    }
}

/// A second, unused subscriber. With only one, a span that another test's thread enters first would ask that thread's
/// subscriber, which does not exist, and stay disabled for all.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Spans::default()));

/// Records the spans of this thread in `spans`.
fn listen(spans: &Spans) -> DefaultGuard {
    LazyLock::force(&SECOND);
    tracing::subscriber::set_default(spans.clone())
}

async fn work(task: TaskInfo, broken: Dep<Broken>) -> Result<Update<Log>, NodeError> {
    let inner = tracing::info_span!("inner");
    let _entered = inner.enter();
    if broken.check(task.node().as_str()).is_err() && task.attempt() == 1 {
        return Err(NodeError::retryable(Smashed(task.node().to_string())));
    }
    Ok(Log::update().ran([task.node().as_str()]))
}

#[tokio::test]
async fn a_run_is_reported_as_spans_within_spans() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let a = g.node("a", work);
    let asks = g.node("asks", |ask: Ask<String, String>| async move {
        Log::update().ran([ask.ask("who?".into()).await])
    });
    g.policy(a).retry(Retry::fixed(2, Duration::ZERO));
    g.edge(START, a);
    g.edge(a, asks);
    g.edge(asks, END);
    let stage = Stage::default();
    stage.broken.smash("a");
    let graph = g.compile().expect("sound").with_context(stage).checkpointer(MemorySaver::new());
    let spans = Spans::default();
    let guard = listen(&spans);
    let run = graph.thread("t").run(Log::update()).await.expect("a recovers");
    drop(guard);
    run.interrupted().expect("it asks");
    assert_eq!(
        spans.lines(),
        [
            "run graph=g outcome=interrupted thread=t",
            "  superstep step=0 tasks=1",
            "    task attempt=1 node=__start__ outcome=finished step=0 task=0",
            "  superstep step=1 tasks=1",
            "    task attempt=1 node=a outcome=a is broken step=1 task=0",
            "      inner",
            "    task attempt=2 node=a outcome=finished step=1 task=0",
            "      inner",
            "  superstep step=2 tasks=1",
            "    task attempt=1 node=asks outcome=paused step=2 task=0",
        ]
    );
}

#[tokio::test]
async fn parallel_tasks_are_beside_each_other_and_a_failed_run_says_why() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    for name in ["a", "b"] {
        let node = g.node(name, work);
        g.edge(START, node);
        g.edge(node, END);
    }
    let stage = Stage::default();
    stage.broken.smash("b");
    let graph = g.compile().expect("sound").with_context(stage);
    let spans = Spans::default();
    let guard = listen(&spans);
    graph.thread("t").run(Log::update()).await.expect_err("b is broken, and not tried again");
    drop(guard);
    let told = spans.lines();
    assert_eq!(told[0], r#"run graph=g outcome=node "b" failed at step 1: b is broken thread=t"#);
    let tasks: Vec<_> = told.iter().filter(|line| line.contains("step=1 task=")).collect();
    assert_eq!(
        tasks,
        [
            "    task attempt=1 node=a outcome=finished step=1 task=0",
            "    task attempt=1 node=b outcome=b is broken step=1 task=1",
        ]
    );
    assert_eq!(told.iter().filter(|line| *line == "      inner").count(), 2);
}
