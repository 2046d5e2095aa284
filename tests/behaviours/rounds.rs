//! The number of times that a run waits for its store. The store is far away: each call takes a second of a clock that
//! stands still otherwise, and calls that are made at the same time take the same second.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use superstep::checkpoint::{At, Checkpointer, EffectRecord, GraphDescription, MemorySaver, StoreError};
use superstep::driver::checkpoint::{
    Answered, Answers, Around, Commit, Committed, EffectWrite, Load, Naming, Page, Scan, TaskResult, Work,
};
use superstep::id::{CheckpointId, NodeName, ThreadId};
use superstep::prelude::*;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

/// The time that a call takes.
const AWAY: Duration = Duration::from_secs(1);

type Call = Box<dyn FnOnce(MemorySaver) -> BoxFuture<'static, ()> + Send>;

/// A saver at the other end of a channel.
struct Far {
    /// Answers what runs do not ask for.
    near: MemorySaver,
    calls: mpsc::UnboundedSender<Call>,
    /// The heads that were read with their values.
    whole: Arc<AtomicUsize>,
}

impl Far {
    fn new(whole: &Arc<AtomicUsize>) -> Self {
        let (calls, mut received) = mpsc::unbounded_channel::<Call>();
        let near = MemorySaver::new();
        let saver = near.clone();
        tokio::spawn(async move {
            while let Some(call) = received.recv().await {
                let saver = saver.clone();
                tokio::spawn(async move {
                    sleep(AWAY).await;
                    call(saver).await;
                });
            }
        });
        Self { near, calls, whole: Arc::clone(whole) }
    }

    /// Sends a call and waits for the answer.
    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(MemorySaver) -> BoxFuture<'static, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let call: Call = Box::new(|saver| Box::pin(async { drop(answer.send(call(saver).await)) }));
        self.calls.send(call).expect("the store is there");
        answered.await.expect("the store answers")
    }
}

#[async_trait]
impl Around for Far {
    fn inner(&self) -> &dyn Checkpointer {
        &self.near
    }

    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let graph = graph.clone();
        self.call(|saver| Box::pin(async move { saver.register(&graph).await })).await
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let thread = thread.clone();
        let load =
            self.call(move |saver| Box::pin(async move { saver.load(&thread, at, known).await })).await?;
        if matches!(load, Load::Whole(_)) {
            self.whole.fetch_add(1, Ordering::Relaxed);
        }
        Ok(load)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.call(|saver| Box::pin(async move { saver.commit(commit).await })).await
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        let thread = thread.clone();
        self.call(move |saver| Box::pin(async move { saver.record(&thread, base, work).await })).await
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let thread = thread.clone();
        self.call(move |saver| Box::pin(async move { saver.effect(&thread, base, write).await })).await
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        self.call(|saver| Box::pin(async move { saver.answer(answers).await })).await
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let thread = thread.clone();
        self.call(|saver| Box::pin(async move { saver.flush(&thread).await })).await
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.call(|saver| Box::pin(async move { saver.scan(scan).await })).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        let thread = thread.clone();
        self.call(|saver| Box::pin(async move { saver.name(&thread, naming).await })).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.call(move |saver| Box::pin(async move { saver.fork(&from, at, &to).await })).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let (graph, thread) = (graph.clone(), thread.clone());
        self.call(|saver| Box::pin(async move { saver.delete(&graph, &thread).await })).await
    }
}

/// Returns the number of times that `run` waited for the store.
async fn rounds<T>(run: impl IntoFuture<Output = T>) -> (u64, T) {
    let begun = Instant::now();
    let ended = run.await;
    let waited = begun.elapsed().as_millis();
    // The clock has milliseconds, and a timer that is set between two of them rings at the second.
    (u64::try_from((waited + AWAY.as_millis() / 2) / AWAY.as_millis()).expect("a small number"), ended)
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Talk {
    #[reducer(Append)]
    said: Vec<String>,
}

fn said(text: &str) -> Update<Talk> {
    Talk::update().said([text])
}

/// A graph of so many nodes in a row.
fn row(name: &str, nodes: usize) -> Graph<Talk> {
    let mut g = StateGraph::<Talk>::new(name);
    let mut last = None;
    for number in 0..nodes {
        let node = g.node(format!("n{number}"), async || said("node"));
        match last {
            None => g.edge(START, node),
            Some(last) => g.edge(last, node),
        };
        last = Some(node);
    }
    g.edge(last.expect("it has nodes"), END);
    g.compile().expect("sound")
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_once_for_each_superstep_and_twice_before_the_first() {
    let whole = Arc::default();
    for nodes in 1..=4 {
        let graph = row("row", nodes).checkpointer(Far::new(&whole));
        for thread in ["registers", "does not"] {
            let (waits, run) = rounds(graph.thread(thread).run(said("in"))).await;
            run.expect("it runs").finished().expect("it finishes");
            assert_eq!(waits, 2 + nodes as u64, "{nodes} nodes, on the thread that {thread}");
        }
    }
    assert_eq!(whole.load(Ordering::Relaxed), 0, "new threads");
}

#[tokio::test(start_paused = true)]
async fn a_turn_on_a_thread_waits_as_often_and_reads_no_values() {
    let whole = Arc::default();
    let far = Arc::new(Far::new(&whole));
    let graph = row("row", 1).shared_checkpointer(Arc::clone(&far) as Arc<dyn Checkpointer>);
    let thread = graph.thread("t");
    for turn in 1..=5 {
        let (waits, run) = rounds(thread.run(said("in"))).await;
        let state = run.expect("it runs").finished().expect("it finishes");
        assert_eq!((waits, state.said.len()), (3, 2 * turn));
    }
    assert_eq!(whole.load(Ordering::Relaxed), 0, "each turn knew the head");

    // Another program has moved the thread, or created it again: its head is read.
    let other = row("row", 1).shared_checkpointer(Arc::clone(&far) as Arc<dyn Checkpointer>);
    other.thread("t").run(said("other")).await.expect("it runs").finished().expect("it finishes");
    let run = thread.run(said("in")).await.expect("it runs");
    assert_eq!((run.state.said.len(), &*run.state.said[10]), (14, "other"));
    assert_eq!(whole.load(Ordering::Relaxed), 2, "by either program");
    thread.delete().await.expect("it is deleted");
    let run = thread.run(said("anew")).await.expect("it runs");
    assert_eq!(run.state.said, ["anew", "node"]);
    thread.edit(said("edited")).await.expect("it is edited");
    let run = thread.run(said("in")).await.expect("it runs");
    assert_eq!(run.state.said, ["anew", "node", "edited", "in", "node"]);
}

#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_superstep_read_its_values_once() {
    let mut g = StateGraph::<Talk>::new("tasks");
    let nodes = [0, 1, 2].map(|number| g.node(format!("n{number}"), async || said("node")));
    for node in nodes {
        g.edge(START, node);
        g.edge(node, END);
    }
    let g = g.compile().expect("sound");
    let whole = Arc::default();
    let far = Arc::new(Far::new(&whole));
    let saver = Arc::clone(&far) as Arc<dyn Checkpointer>;
    let (one, other) = (g.clone().shared_checkpointer(Arc::clone(&saver)), g.shared_checkpointer(saver));
    let run = one.thread("t").run(said("in")).interrupt_before(nodes).await.expect("it runs");
    assert_eq!(run.status.name(), "breakpoint");

    for task in other.thread("t").tasks().await.expect("they are planned") {
        let run = other.thread("t").run_task(task.id).await.expect("it runs");
        assert_eq!(run.status.name(), "task_recorded");
    }
    assert_eq!(whole.load(Ordering::Relaxed), 2, "the list of tasks, and the first of them");
    let run = other.thread("t").resume().await.expect("it commits").finished().expect("it finishes");
    assert_eq!((run.said.len(), whole.load(Ordering::Relaxed)), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_three_times() {
    let mut g = StateGraph::<Talk>::new("asks");
    let ask = g.node("ask", async |ask: Ask<String, String>| said(&ask.ask("well?".to_owned()).await));
    g.edge(START, ask);
    g.edge(ask, END);
    let whole = Arc::default();
    let graph = g.compile().expect("sound").checkpointer(Far::new(&whole));
    let thread = graph.thread("t");
    let (waits, asked) = rounds(thread.run(said("in"))).await;
    asked.expect("it runs").interrupted().expect("it asks");
    assert_eq!(waits, 4, "the head, the start, the question, and that all of it is durable");
    let (waits, run) = rounds(thread.answer(&"well")).await;
    assert_eq!(run.expect("it runs").finished().expect("it finishes").said, ["in", "well"]);
    assert_eq!((waits, whole.load(Ordering::Relaxed)), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_subgraph_waits_once_for_its_start_and_once_for_each_of_its_supersteps() {
    let whole = Arc::default();
    let lens = || Lens::<Talk, Talk>::new().share(Talk::SAID, Talk::SAID);
    for nodes in 1..=3 {
        let mut g = StateGraph::<Talk>::new("around");
        let sub = g.subgraph("sub", row("inner", nodes), lens());
        g.edge(START, sub);
        g.edge(sub, END);
        let graph = g.compile().expect("sound").checkpointer(Far::new(&whole));
        let (waits, run) = rounds(graph.thread("t").run(said("in"))).await;
        assert_eq!(run.expect("it runs").finished().expect("it finishes").said.len(), 1 + nodes);
        assert_eq!(waits, 3 + 1 + nodes as u64, "a node of the graph, and {nodes} nodes below it");
    }
    assert_eq!(whole.load(Ordering::Relaxed), 0, "what a run has just begun is not read");
}

#[tokio::test(start_paused = true)]
async fn an_edit_waits_twice() {
    let whole = Arc::default();
    let thread = row("row", 1).checkpointer(Far::new(&whole)).thread("t");
    thread.run(said("in")).await.expect("it runs").finished().expect("it finishes");
    let (waits, edited) = rounds(thread.edit(said("edited"))).await;
    edited.expect("it is edited");
    assert_eq!(waits, 2);
}
