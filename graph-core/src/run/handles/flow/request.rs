//! A run of a flow about to happen, one that is watched, and how it ended.

use std::boxed::Box;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::state::FlowState;
use crate::id::{CheckpointId, RunId, ThreadId};
use crate::run::handles::request::RunRequest;
use crate::run::handles::run_stream::RunStream;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::{Observer, RunEvent};
use crate::run::runtime::outcome::{Interrupt, Run, Status, Unfinished};
use crate::run::runtime::stream::view::Views;
use crate::state::{Json, Update};

/// A run of a flow, ready to start: await it, or [`stream`](Self::stream) its events.
#[must_use = "a run starts when it is awaited or streamed"]
pub struct FlowRequest<O> {
    /// An input without a JSON form fails the run, not the call.
    request: Result<RunRequest<FlowState>, RunError>,
    value: PhantomData<fn() -> O>,
}

impl<O: DeserializeOwned> FlowRequest<O> {
    pub(super) fn new(request: RunRequest<FlowState>) -> Self {
        Self { request: Ok(request), value: PhantomData }
    }

    pub(super) fn input<I: Serialize>(
        input: &I,
        run: impl FnOnce(Update<FlowState>) -> RunRequest<FlowState>,
    ) -> Self {
        let request = match Json::encode(input) {
            Ok(input) => Ok(run(FlowState::update().input(input))),
            Err(reason) => Err(RunError::Encode { what: "the input".into(), reason }),
        };
        Self { request, value: PhantomData }
    }

    fn map(self, change: impl FnOnce(RunRequest<FlowState>) -> RunRequest<FlowState>) -> Self {
        Self { request: self.request.map(change), value: PhantomData }
    }

    /// Cancels the run when `token` is cancelled. What its effects did is kept, and the thread can be resumed.
    pub fn cancel_on(self, token: CancellationToken) -> Self {
        self.map(|request| request.cancel_on(token))
    }

    /// Lets `observer` watch this run.
    pub fn observe(self, observer: impl Observer) -> Self {
        self.map(|request| request.observe(observer))
    }

    /// Adds an entry to the metadata of every checkpoint that this run writes. A value that has no JSON form is
    /// kept as its error text.
    pub fn metadata<T: Serialize + ?Sized>(self, name: impl Into<String>, value: &T) -> Self {
        self.map(|request| request.metadata(name, value))
    }

    /// Starts the run and hands out its events. See [`RunRequest::stream`].
    ///
    /// # Errors
    /// When the input has no JSON form.
    pub fn stream(self) -> Result<FlowStream<O>, RunError> {
        Ok(FlowStream { stream: self.request?.stream(), value: PhantomData })
    }
}

impl<O: DeserializeOwned + 'static> IntoFuture for FlowRequest<O> {
    type Output = Result<FlowRun<O>, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let request = self.request;
        Box::pin(async move { FlowRun::of(request?.await?) })
    }
}

impl<O> fmt::Debug for FlowRequest<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlowRequest").field(&self.request).finish()
    }
}

/// A run of a flow that is watched: a lossless log of its events, and its end.
#[must_use = "a run goes on while its handle is asked for events, and is cancelled when that is dropped"]
pub struct FlowStream<O> {
    stream: RunStream<FlowState>,
    value: PhantomData<fn() -> O>,
}

impl<O: DeserializeOwned> FlowStream<O> {
    /// Shows only the events of these views. See [`RunStream::view`].
    pub fn view(self, views: impl Into<Views>) -> Self {
        Self { stream: self.stream.view(views), ..self }
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.stream.next().await
    }

    /// Runs to the end, dropping the events that are left, and says how it ended.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn finish(self) -> Result<FlowRun<O>, RunError> {
        FlowRun::of(self.stream.finish().await?)
    }
}

impl<O> fmt::Debug for FlowStream<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlowStream").field(&self.stream).finish()
    }
}

/// A run of a flow that ended without an error: it returned a value, or it can be continued.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a run may have paused; look at its status"]
pub struct FlowRun<O> {
    /// The thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// The thread's latest checkpoint; `None` without a checkpointer.
    pub checkpoint: Option<CheckpointId>,
    /// The status that the run ended with.
    pub status: Status,
    /// The return value of the flow, if the run finished.
    pub value: Option<O>,
}

impl<O: DeserializeOwned> FlowRun<O> {
    fn of(ended: Run<FlowState>) -> Result<Self, RunError> {
        let Run { thread, run, checkpoint, status, state, .. } = ended;
        let value = match status {
            Status::Finished => {
                let returned = state.returned.unwrap_or_else(Json::null).decode();
                Some(returned.map_err(|reason| RunError::Returned { thread: thread.clone(), reason })?)
            }
            _ => None,
        };
        Ok(Self { thread, run, checkpoint, status, value })
    }
}

impl<O> FlowRun<O> {
    /// The value of a run that finished.
    ///
    /// # Errors
    /// [`Unfinished`] when it paused or was cancelled.
    pub fn finished(self) -> Result<O, Unfinished> {
        match self.value {
            Some(value) => Ok(value),
            None => Err(Unfinished::instead_of("to finish", self.thread, self.status)),
        }
    }

    /// The open questions of a run that paused.
    ///
    /// # Errors
    /// [`Unfinished`] when it did not pause.
    pub fn interrupted(self) -> Result<Vec<Interrupt>, Unfinished> {
        match self.status {
            Status::Interrupted { interrupts } => Ok(interrupts),
            status => Err(Unfinished::instead_of("to pause", self.thread, status)),
        }
    }
}
