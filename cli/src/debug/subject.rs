//! A graph without the type of its state: what the debugger needs of one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use superstep_core::checkpoint::Checkpointer;
use superstep_core::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep_core::run::{
    CancellationToken, Flow, Graph, PastEvents, Replay, Run, RunEvent, RunRequest, Status, ThreadCheck,
    ThreadError,
};
use superstep_core::state::{Json, State};

use super::known_secrets::KnownSecrets;
use super::stopped::Stopped;

/// A graph that can be given to a [`debugger`](super::debugger): every [`Graph`] whose context is there, and every
/// [`Flow`].
///
/// Nothing else implements it.
pub trait Debuggable: sealed::Sealed {
    #[doc(hidden)]
    fn erased(&self) -> Erased;
}

/// A graph whose type nobody knows.
pub struct Erased {
    pub(super) graph: Box<dyn Subject>,
    /// From what is given as an input to the update that it is.
    pub(super) input: fn(Value) -> Result<Value, serde_json::Error>,
}

mod sealed {
    pub trait Sealed {}
}

/// What is going to come.
pub(super) type Later<'s, T> = Pin<Box<dyn Future<Output = T> + 's>>;

/// Gets the events of a run as they happen.
pub(super) type Watch<'s> = &'s mut dyn FnMut(&RunEvent);

/// What a thread is to do.
#[derive(Debug)]
pub(super) enum Work {
    /// A turn with an update, given as an object of fields.
    Run(Value),
    /// The rest of what it has begun.
    Resume,
    /// The same with the answer to the only question.
    Answer(Json),
    /// The same with answers to these questions.
    Answers(Vec<(InterruptId, Json)>),
    /// A branch from a checkpoint, once more.
    Rerun(CheckpointId),
}

/// How a run ended that did not fail.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) step: i64,
    pub(super) status: Status,
}

pub(super) trait Subject {
    fn name(&self) -> &NodeName;

    fn saver(&self) -> Option<&Arc<dyn Checkpointer>>;

    /// The same graph, over another file.
    fn kept_in(&self, saver: Arc<dyn Checkpointer>) -> Box<dyn Subject>;

    fn carry_out<'s>(
        &'s self,
        thread: ThreadId,
        work: Work,
        cancel: CancellationToken,
        watch: Watch<'s>,
    ) -> Later<'s, Result<Ended, Stopped>>;

    /// Verifies what led to a checkpoint.
    fn replay(
        &self,
        thread: ThreadId,
        to: CheckpointId,
        after: Option<CheckpointId>,
    ) -> Later<'_, Result<Replay, ThreadError>>;

    fn check_threads(&self) -> Later<'_, Result<ThreadCheck, ThreadError>>;

    fn events(&self, thread: &ThreadId) -> Result<PastEvents, ThreadError>;
}

impl<S: State> sealed::Sealed for Graph<S> {}

impl<S: State> Debuggable for Graph<S> {
    fn erased(&self) -> Erased {
        Erased { graph: Box::new(self.clone()), input: Ok }
    }
}

impl<S: State> Subject for Graph<S> {
    fn name(&self) -> &NodeName {
        Graph::name(self)
    }

    fn saver(&self) -> Option<&Arc<dyn Checkpointer>> {
        Graph::saver(self)
    }

    fn kept_in(&self, saver: Arc<dyn Checkpointer>) -> Box<dyn Subject> {
        Box::new(self.clone().shared_checkpointer(saver))
    }

    fn carry_out<'s>(
        &'s self,
        thread: ThreadId,
        work: Work,
        cancel: CancellationToken,
        watch: Watch<'s>,
    ) -> Later<'s, Result<Ended, Stopped>> {
        Box::pin(async move {
            let secrets = KnownSecrets::of(Graph::saver(self), &thread);
            let thread = self.thread(thread);
            let request = match work {
                Work::Run(values) => thread.run(self.update(&values).map_err(Stopped::input)?),
                Work::Resume => thread.resume(),
                Work::Answer(answer) => thread.answer(&answer),
                Work::Answers(answers) => thread.answers(answers),
                Work::Rerun(checkpoint) => thread.at(checkpoint).await?.rerun(),
            };
            watched(request.cancel_on(cancel), secrets, watch).await
        })
    }

    fn replay(
        &self,
        thread: ThreadId,
        to: CheckpointId,
        after: Option<CheckpointId>,
    ) -> Later<'_, Result<Replay, ThreadError>> {
        Box::pin(async move {
            let replay = self.thread(thread).at(to).await?.replay();
            match after {
                Some(after) => replay.after(after).await,
                None => replay.await,
            }
        })
    }

    fn check_threads(&self) -> Later<'_, Result<ThreadCheck, ThreadError>> {
        Box::pin(Graph::check_threads(self))
    }

    fn events(&self, thread: &ThreadId) -> Result<PastEvents, ThreadError> {
        self.thread(thread.clone()).events()
    }
}

/// Runs to the end. What is told on the way, and of the end, is without what is known to be secret.
async fn watched<S: State>(
    request: RunRequest<S>,
    mut secrets: KnownSecrets,
    watch: Watch<'_>,
) -> Result<Ended, Stopped> {
    let mut run = request.stream();
    while let Some(event) = run.next().await {
        watch(&secrets.out_of(event).await);
    }
    let Run { step, mut status, .. } = run.finish().await?;
    secrets.in_status(&mut status).await;
    Ok(Ended { step, status })
}

impl<I: DeserializeOwned + 'static, O: 'static> sealed::Sealed for Flow<I, O> {}

impl<I: DeserializeOwned + 'static, O: 'static> Debuggable for Flow<I, O> {
    fn erased(&self) -> Erased {
        Erased { graph: Box::new(self.graph().clone()), input: input_of_flow::<I> }
    }
}

/// A flow is a graph behind whose field `input` one value is.
fn input_of_flow<I: DeserializeOwned>(input: Value) -> Result<Value, serde_json::Error> {
    I::deserialize(&input)?;
    Ok(json!({ "input": input }))
}
