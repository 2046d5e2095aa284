//! Streams of the events of runs and threads.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use superstep_core::id::ThreadId;
use superstep_core::records::RunRow;
use superstep_core::run::{AnyGraph, CheckpointView};

use super::{Scope, Service};
use crate::legacy::Legacy;
use crate::log::{Frame, PER_ENTRY, Projected, Projection, Subscription, frames};
use crate::protocol::{EventFilter, Protocol};
use crate::wire::request::{Kwargs, StreamMode};
use crate::wire::{Failure, state};

/// The place in a log at which a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// The begin of the run, for the client that created it.
    Start,
    /// The next event.
    Live,
    /// The message after the one with this [number](crate::log::LogEntry::number).
    After(u64),
    /// The oldest event that is kept.
    All,
}

impl Resume {
    /// Returns the number of the entry after which a client continues.
    fn place(self) -> Option<u64> {
        match self {
            Self::After(number) => Some(number / PER_ENTRY),
            Self::Start | Self::Live | Self::All => None,
        }
    }
}

/// The kinds of events of the stream of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadMode {
    /// The events of its runs, in the modes of each run.
    RunModes,
    /// The begin and the end of its runs.
    Lifecycle,
    /// The state after each change.
    StateUpdate,
}

impl ThreadMode {
    /// Reads the name of a mode.
    ///
    /// # Errors
    /// Returns status 422 for an unknown name.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        match name {
            "run_modes" => Ok(Self::RunModes),
            "lifecycle" => Ok(Self::Lifecycle),
            "state_update" => Ok(Self::StateUpdate),
            _ => Err(Failure::invalid(format!(
                "stream_mode: {name:?} is not valid; expected one of run_modes, lifecycle, state_update"
            ))),
        }
    }
}

impl Service {
    /// Streams a run, in these modes or in those of its request.
    pub(crate) async fn stream(
        &self,
        _scope: &Scope,
        run: &RunRow,
        modes: Option<Vec<StreamMode>>,
        resume: Resume,
    ) -> Result<BoxStream<'static, Frame>, Failure> {
        let kwargs: Kwargs = run.kwargs.decode().unwrap_or_default();
        let modes = modes.unwrap_or(kwargs.stream_mode);
        let project = |seen| -> Box<dyn Projection> {
            Box::new(Legacy::of_run(&modes, kwargs.subgraphs, kwargs.resumable).after(seen))
        };
        self.run_frames(run, project, resume).await
    }

    /// Streams all runs of a thread.
    pub(crate) async fn thread_stream(
        &self,
        scope: &Scope,
        thread: &str,
        modes: Vec<ThreadMode>,
        resume: Resume,
    ) -> Result<BoxStream<'static, Frame>, Failure> {
        // Each run has its own modes; the other kinds are fewer events, the same of all runs.
        let states: &[StreamMode] = match modes.contains(&ThreadMode::StateUpdate) {
            true => &[StreamMode::Values],
            false => &[],
        };
        let of_runs = modes.is_empty() || modes.contains(&ThreadMode::RunModes);
        let project = |seen| -> Box<dyn Projection> {
            Box::new(Legacy::of_thread((!of_runs).then_some(states)).after(seen))
        };
        self.thread_frames(scope, thread, project, resume, on_missed).await
    }

    /// Streams the events of the thread protocol.
    pub(crate) async fn protocol_events(
        &self,
        scope: &Scope,
        thread: &str,
        filter: EventFilter,
    ) -> Result<BoxStream<'static, Frame>, Failure> {
        let project = |_| -> Box<dyn Projection> { Box::new(Protocol::new(filter)) };
        self.thread_frames(scope, thread, project, Resume::All, |_| None).await
    }

    /// Returns the messages of a run's stream. `project` makes its projection, for a client that has the messages up
    /// to a number.
    pub(super) async fn run_frames(
        &self,
        run: &RunRow,
        project: impl FnOnce(u64) -> Box<dyn Projection>,
        resume: Resume,
    ) -> Result<BoxStream<'static, Frame>, Failure> {
        let row = self.0.records.run(&run.id).await?;
        let is_over = row.is_none_or(|row| row.status.is_terminal());
        let seen = match resume {
            Resume::Start | Resume::All => 0,
            Resume::After(u64::MAX) => return Ok(stream::empty().boxed()),
            Resume::After(number) => number,
            Resume::Live if is_over => return Ok(stream::empty().boxed()),
            Resume::Live => self.last_message(&run.thread).await?,
        };
        let subscription = Subscription::of_run(&self.0.hub, run, 0);
        let graph = self.0.graphs.named(run.graph.as_str()).cloned();
        let of = (graph, run.thread.clone());
        let projected = self.projected(subscription, project(seen), of, seen, on_missed);
        Ok(frames(Projected { place: resume.place(), ..projected }))
    }

    /// Returns the messages of a thread's stream, which does not end.
    pub(super) async fn thread_frames(
        &self,
        scope: &Scope,
        thread: &str,
        project: impl FnOnce(u64) -> Box<dyn Projection>,
        resume: Resume,
        on_missed: fn(&CheckpointView) -> Option<Frame>,
    ) -> Result<BoxStream<'static, Frame>, Failure> {
        let id = super::state::thread_id(thread);
        let seen = match resume {
            Resume::Start | Resume::All => 0,
            Resume::After(number) => number,
            Resume::Live => self.last_message(&id).await?,
        };
        // A stream may be opened before its thread exists.
        let row = self.present_or_future(scope, thread).await?;
        let graph = row.as_ref().map(|row| self.graph_of(row)).transpose()?.flatten().cloned();
        let subscription = Subscription::of_thread(&self.0.hub, &id, 0);
        let projected = self.projected(subscription, project(seen), (graph, id), seen, on_missed);
        let (scope, is_admitted) = (scope.clone(), row.is_some());
        Ok(frames(Projected { place: resume.place(), scope, is_admitted, ..projected }))
    }

    /// Returns the last number that a message of a thread's log may have.
    pub(super) async fn last_message(&self, thread: &ThreadId) -> Result<u64, Failure> {
        let last = Subscription::last(&self.0.hub, thread).await?;
        Ok(last.saturating_mul(PER_ENTRY).saturating_add(PER_ENTRY - 1))
    }

    fn projected(
        &self,
        subscription: Subscription,
        projection: Box<dyn Projection>,
        (graph, thread): (Option<AnyGraph>, ThreadId),
        seen: u64,
        on_missed: fn(&CheckpointView) -> Option<Frame>,
    ) -> Projected {
        let (graphs, views) = (Arc::clone(&self.0.graphs), Arc::clone(&self.0.views));
        let stop = self.0.stop.clone();
        let seen = seen / PER_ENTRY;
        let (scope, is_admitted) = (Scope::default(), true);
        Projected {
            subscription,
            projection,
            graph,
            graphs,
            thread,
            scope,
            is_admitted,
            views,
            seen,
            place: None,
            on_missed,
            stop,
        }
    }
}

/// Returns the state, for a client that has missed events.
fn on_missed(view: &CheckpointView) -> Option<Frame> {
    Some(Frame { event: "values".to_owned(), data: state::values_of(view), id: None })
}
