//! Drives a projection over a subscription.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::json;
use superstep_core::checkpoint::{At, StoreError};
use superstep_core::id::{CheckpointId, NodeName, TaskId, ThreadId};
use superstep_core::run::{AnyGraph, CheckpointView, EventKind, PathSegment, RunEvent, ThreadError};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::entry::{Frame, LogEntry, Logged, Projection};
use super::subscription::{Received, Subscription};
use crate::graphs::Graphs;
use crate::scope::Scope;

/// The number of checkpoints that are kept for other subscriptions.
const CACHED: usize = 256;

type Cell = Arc<OnceCell<Option<Arc<CheckpointView>>>>;

/// Stored checkpoints as documents, read once for all subscriptions.
#[derive(Default)]
pub(crate) struct Views {
    cached: Mutex<(HashMap<CheckpointId, Cell>, VecDeque<CheckpointId>)>,
}

impl Views {
    fn cell(&self, id: CheckpointId) -> Cell {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let (cells, order) = &mut *cached;
        if let Some(cell) = cells.get(&id) {
            return Arc::clone(cell);
        }
        if order.len() == CACHED
            && let Some(oldest) = order.pop_front()
        {
            cells.remove(&oldest);
        }
        order.push_back(id);
        Arc::clone(cells.entry(id).or_default())
    }

    /// Reads a checkpoint of a graph's thread, or of a subgraph below `nodes`; `None` if there is no such checkpoint.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    async fn read(
        &self,
        place: &Place<'_>,
        id: CheckpointId,
    ) -> Result<Option<Arc<CheckpointView>>, StoreError> {
        let cell = self.cell(id);
        let read = cell.get_or_try_init(|| async {
            let thread = place.graph.thread(place.root.clone());
            match thread.view_below(&place.nodes, &place.thread, At::Id(id)).await {
                Ok(view) => Ok(view.map(Arc::new)),
                Err(ThreadError::Store(error)) => Err(error),
                Err(error) => {
                    tracing::warn!(%error, %id, "a checkpoint cannot be read");
                    Ok(None)
                }
            }
        });
        read.await.cloned()
    }
}

/// A graph, or a subgraph of it, with the thread.
struct Place<'g> {
    graph: &'g AnyGraph,
    root: ThreadId,
    nodes: Vec<NodeName>,
    thread: ThreadId,
}

/// The tasks of the current supersteps, by the path of their subgraph and their step.
#[derive(Default)]
struct Tasks(HashMap<(Vec<PathSegment>, i64), Vec<TaskId>>);

impl Tasks {
    fn note(&mut self, event: &RunEvent) {
        if let EventKind::SuperstepStarted { step, tasks, .. } = &event.kind {
            if event.path.is_empty() {
                self.0.retain(|(_, known), _| known == step);
            }
            self.0.insert((unattempted(&event.path), *step), tasks.clone());
        }
    }

    /// Returns the thread of the subgraph with this path.
    fn thread(&self, root: &ThreadId, path: &[PathSegment]) -> Option<ThreadId> {
        let path = unattempted(path);
        let mut thread = root.clone();
        for (depth, segment) in path.iter().enumerate() {
            let tasks = self.0.get(&(path[..depth].to_vec(), segment.step))?;
            thread = thread.below(*tasks.get(usize::try_from(segment.task).ok()?)?);
        }
        Some(thread)
    }
}

fn unattempted(path: &[PathSegment]) -> Vec<PathSegment> {
    path.iter().map(|segment| PathSegment { attempt: 0, ..segment.clone() }).collect()
}

/// A subscription with its projection.
pub(crate) struct Projected {
    pub(crate) subscription: Subscription,
    pub(crate) projection: Box<dyn Projection>,
    /// The graph of the thread, for reading checkpoints; `None` until its first run begins.
    pub(crate) graph: Option<AnyGraph>,
    pub(crate) graphs: Arc<Graphs>,
    pub(crate) thread: ThreadId,
    /// The part of the threads that the client may use.
    pub(crate) scope: Scope,
    /// `true` once the thread's row was checked: a stream may begin before its thread.
    pub(crate) is_admitted: bool,
    pub(crate) views: Arc<Views>,
    /// The number of the last entry that the client has seen. Earlier entries are read for the projection only.
    pub(crate) seen: u64,
    /// The entry after which the client continues, until it was found in the log.
    pub(crate) place: Option<u64>,
    /// Returns the message for a client that has missed entries, from the latest checkpoint.
    pub(crate) on_missed: fn(&CheckpointView) -> Option<Frame>,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
}

/// Returns the messages of a subscription. They end with the run, with the server, or with an `error`.
pub(crate) fn frames(projected: Projected) -> BoxStream<'static, Frame> {
    let state = Some((projected, Tasks::default(), VecDeque::new()));
    let stream = stream::unfold(state, |state| async {
        let (mut projected, mut tasks, mut ready) = state?;
        loop {
            if let Some(frame) = ready.pop_front() {
                return Some((frame, Some((projected, tasks, ready))));
            }
            let stop = projected.stop.clone();
            let received = tokio::select! {
                biased;
                received = projected.subscription.next() => received,
                () = stop.cancelled() => return Some((stopped(), None)),
            };
            let received = match received {
                Ok(Some(received)) => projected.admitted(received).await,
                other => other,
            };
            let shown = match received {
                Ok(None) => return None,
                Ok(Some(Received::Entry(entry))) => projected.next(&entry, &mut tasks).await,
                Ok(Some(Received::Missed)) if projected.subscription.after() < projected.seen => continue,
                Ok(Some(Received::Missed)) => projected.missed().await,
                Ok(Some(Received::Gone(ended))) => projected.gone(ended, &mut tasks).await,
                Err(error) => Err(error),
            };
            match shown {
                Ok(frames) => ready.extend(frames),
                Err(error) => {
                    tracing::error!(%error, "the log of a thread cannot be read");
                    let message = "the log cannot be read at the moment; connect again to continue";
                    return Some((failed("StoreError", message), None));
                }
            }
        }
    });
    stream.boxed()
}

impl Projected {
    /// Returns `None` in place of an item of another client's thread, which may be created with this id while the
    /// stream is open.
    async fn admitted(&mut self, received: Received) -> Result<Option<Received>, StoreError> {
        let begins =
            matches!(&received, Received::Entry(entry) if matches!(entry.what, Logged::Begun { .. }));
        if self.scope == Scope::default() || (self.is_admitted && !begins) {
            return Ok(Some(received));
        }
        let row = self.subscription.thread_row().await?;
        self.is_admitted = row.is_some_and(|row| self.scope.admits(&row.metadata));
        Ok(self.is_admitted.then_some(received))
    }

    /// Returns the messages of an entry, after the state if the place of the client is no longer in the log.
    async fn next(&mut self, entry: &LogEntry, tasks: &mut Tasks) -> Result<Vec<Frame>, StoreError> {
        let mut frames = match self.place.take_if(|place| entry.seq >= *place) {
            Some(place) if entry.seq > place => self.missed().await?,
            _ => Vec::new(),
        };
        frames.extend(self.on(entry, tasks).await?);
        Ok(frames)
    }

    /// Returns the state and the end of a run, for a client that misses at least its last events.
    async fn gone(&mut self, mut ended: Box<LogEntry>, tasks: &mut Tasks) -> Result<Vec<Frame>, StoreError> {
        ended.seq = ended.seq.max(self.seen.saturating_add(1));
        let mut frames = self.missed().await?;
        frames.extend(self.on(&ended, tasks).await?);
        Ok(frames)
    }

    async fn on(&mut self, entry: &LogEntry, tasks: &mut Tasks) -> Result<Vec<Frame>, StoreError> {
        let mut view = None;
        if let Logged::Begun { graph, .. } = &entry.what {
            self.graph = self.graphs.named(graph).cloned();
        }
        if let Logged::Event { event } = &entry.what {
            tasks.note(event);
            if let EventKind::CheckpointSaved { id, .. } | EventKind::RunStarted { resumes: Some(id), .. } =
                event.kind
                && self.projection.needs_view(entry)
                && let Some(graph) = &self.graph
                && let Some(thread) = tasks.thread(&self.thread, &event.path)
            {
                let nodes = event.path.iter().map(|segment| segment.node.clone()).collect();
                let place = Place { graph, root: self.thread.clone(), nodes, thread };
                view = self.views.read(&place, id).await?;
            }
        }
        Ok(self.projection.frames(entry, view.as_deref()))
    }

    async fn missed(&mut self) -> Result<Vec<Frame>, StoreError> {
        let Some(graph) = &self.graph else { return Ok(Vec::new()) };
        let view = match graph.thread(self.thread.clone()).view_below(&[], &self.thread, At::Head).await {
            Ok(view) => view,
            Err(ThreadError::Store(error)) => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "the state of a thread cannot be read");
                None
            }
        };
        Ok(view.as_ref().and_then(self.on_missed).into_iter().collect())
    }
}

fn stopped() -> Frame {
    failed("ServerStopped", "the server stops; connect again to continue")
}

fn failed(error: &str, message: &str) -> Frame {
    Frame { event: "error".to_owned(), data: json!({ "error": error, "message": message }), id: None }
}
