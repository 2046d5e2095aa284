//! The handle of a streamed run.

use std::boxed::Box;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::request::{RunRequest, Running};
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::RunEvent;
use crate::run::runtime::outcome::Run;
use crate::run::runtime::stream::queue::EventQueue;
use crate::run::runtime::stream::view::{View, Views};
use crate::state::StateForm;

/// A streamed run: its events, without loss, and its end.
///
/// The handle drives the run, which continues while the handle is asked for events. While it is not asked, running
/// tasks continue until too many events are waiting; then they are suspended.
#[must_use = "a run only makes progress while its handle is polled, and is cancelled when the handle is dropped"]
pub struct RunStream<S: StateForm> {
    views: Views,
    phase: Phase<S>,
}

enum Phase<S: StateForm> {
    /// The run has not started.
    Ready(Box<RunRequest<S>>),
    Running(Arc<EventQueue>, Running<S>),
    Ended(Arc<EventQueue>, Result<Run<S>, RunError>),
    /// A placeholder between two other phases.
    Moving,
}

impl<S: StateForm> RunStream<S> {
    pub(in crate::run) fn new(request: RunRequest<S>) -> Self {
        Self { views: View::Debug.into(), phase: Phase::Ready(Box::new(request)) }
    }

    /// Selects the events of these views; by default the whole log. Call it before the first event is requested,
    /// because some events are only built on request.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::run::{EventKind, View};
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default)]
    /// # struct Essay { draft: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Essay>::new("essay");
    /// # let write = g.node("write", || async { Essay::update().draft("…") });
    /// # g.edge(START, write);
    /// # g.edge(write, END);
    /// # let essays = g.compile()?;
    /// let mut run = essays.run(Essay::update()).stream().view(View::Updates | View::Custom);
    /// while let Some(event) = run.next().await {
    ///     if let EventKind::Update { node, writes, .. } = &event.kind {
    ///         println!("{node} wrote {} = {}", writes[0].field, writes[0].value);
    ///     }
    /// }
    /// let essay = run.finish().await?.finished()?;
    /// # assert_eq!(essay.draft, "…");
    /// # Ok(())
    /// # }
    /// ```
    pub fn view(mut self, views: impl Into<Views>) -> Self {
        self.views = views.into();
        self
    }

    /// Returns the next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<RunEvent> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        if matches!(self.phase, Phase::Ready(_))
            && let Phase::Ready(request) = std::mem::replace(&mut self.phase, Phase::Moving)
        {
            let queue = Arc::new(EventQueue::new(self.views));
            self.phase = Phase::Running(Arc::clone(&queue), request.watched(queue));
        }
        if let Phase::Running(queue, run) = &mut self.phase {
            // Events come first: the run waits until its events are consumed.
            if let Some(event) = queue.pop() {
                return Poll::Ready(Some(event));
            }
            match run.as_mut().poll(context) {
                Poll::Pending => return queue.poll_pop(context).map(Some),
                Poll::Ready(ended) => self.phase = Phase::Ended(Arc::clone(queue), ended),
            }
        }
        match &self.phase {
            // A node may have kept its `Emit`, and with it the log, so the end of the run is the end of its events.
            Phase::Ended(queue, _) => Poll::Ready(queue.pop()),
            _ => unreachable!("it was started, and has ended"),
        }
    }

    /// Runs to the end, discards the remaining events, and returns the result of the run.
    ///
    /// # Errors
    /// Returns the [`RunError`] of the run.
    pub async fn finish(mut self) -> Result<Run<S>, RunError> {
        while self.next().await.is_some() {}
        match std::mem::replace(&mut self.phase, Phase::Moving) {
            Phase::Ended(_, ended) => ended,
            _ => unreachable!("the log of a run ends after the run"),
        }
    }
}

impl<S: StateForm> Drop for RunStream<S> {
    fn drop(&mut self) {
        if let Phase::Running(queue, _) | Phase::Ended(queue, _) = &self.phase {
            queue.close();
        }
    }
}

impl<S: StateForm> fmt::Debug for RunStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = matches!(self.phase, Phase::Ended(..));
        f.debug_struct("RunStream").field("views", &self.views).field("ended", &ended).finish_non_exhaustive()
    }
}
