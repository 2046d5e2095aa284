//! The model calls of one task, as effects.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, Emit, OnUnknown, Task, TaskInfo};
use superstep_core::reducer::Addend;
use superstep_core::run::CancellationToken;
use superstep_core::state::State;

use super::events::{ModelCall, ModelChunk};
use crate::message::{MessageId, ToolCall};
use crate::model::{
    Accumulator, ChatModel, Ledger, ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, StopReason,
    Usage,
};

/// The means of a task to call a model and to name the messages that it writes.
pub struct ModelCalls {
    effects: Effects,
    emit: Emit,
    info: TaskInfo,
    made: Mutex<Ledger>,
    waited_ms: AtomicU64,
    /// The number of calls so far whose reply becomes no message.
    unwritten: AtomicU64,
    /// Stops a reply while it arrives.
    interrupt: Option<CancellationToken>,
    /// Replies are not streamed.
    is_whole: bool,
    /// Decides on continuations; without it, replies are always continued.
    may_continue: Option<MayContinue>,
}

/// Decides whether a reply in which a model pauses is continued: by the model's name, the request, whose limit of output it
/// may lower, the usage of the last call, and all calls that the task has made.
type MayContinue = Box<dyn Fn(&str, &mut ModelRequest, Usage, &Ledger) -> bool + Send + Sync>;

/// The record of a call.
#[derive(Serialize, Deserialize)]
struct RecordedReply {
    #[serde(flatten)]
    reply: ModelReply,
    /// The duration of the call, in milliseconds; 0 where it was not recorded.
    #[serde(default)]
    elapsed_ms: u64,
}

/// The most times that a reply in which the model pauses is continued.
const CONTINUATIONS: u32 = 8;

/// A function that is called with the tool calls of a reply as it arrives.
pub(super) type Tell<'t> = &'t mut (dyn FnMut(ToolCall) + Send);

impl ModelCalls {
    /// Takes them from a task.
    pub fn of<S: State, C>(task: &Task<S, C>) -> Self {
        let effects: Effects = task.extract();
        Self {
            // A reply that was lost in a crash cost money, but asking again does no harm.
            effects: effects.on_unknown(OnUnknown::Retry),
            emit: task.extract(),
            info: task.extract(),
            made: Mutex::default(),
            waited_ms: AtomicU64::new(0),
            unwritten: AtomicU64::new(0),
            interrupt: None,
            is_whole: false,
            may_continue: None,
        }
    }

    /// Continues a reply in which a model pauses only if this returns `true` for the model's name, the request, which it
    /// may change, the usage of the last call, and all calls that the task has made. Otherwise the reply is returned as it is. It has to decide in
    /// the same way in a replay.
    #[must_use]
    pub fn continuing_if(
        mut self,
        may_continue: impl Fn(&str, &mut ModelRequest, Usage, &Ledger) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.may_continue = Some(Box::new(may_continue));
        self
    }

    /// Has models give their replies in one piece.
    #[must_use]
    pub fn in_one_piece(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// Ends a reply when this is cancelled: it has the part that came, and the reason
    /// [`Interrupted`](StopReason::Interrupted). It is recorded like any other.
    #[must_use]
    pub fn interrupted_by(mut self, token: CancellationToken) -> Self {
        self.interrupt = Some(token);
        self
    }

    /// Returns the calls that this task has made so far.
    pub fn made(&self) -> Ledger {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time that the task sees, in milliseconds.
    pub(super) fn clock_ms(&self) -> u64 {
        millis(self.info.clock())
    }

    /// Returns how long this task has waited for models so far, in milliseconds.
    pub(super) fn waited_ms(&self) -> u64 {
        self.waited_ms.load(Ordering::Relaxed)
    }

    /// Emits a custom event if the run is observed.
    pub(super) fn emit(&self, name: &str, data: &impl Serialize) {
        if self.emit.is_observed() {
            self.emit.emit(name, data);
        }
    }

    /// Returns the id of the message that this task writes.
    pub fn message_id(&self) -> MessageId {
        MessageId::new(self.info.place())
    }

    /// Returns the id of one more message that this task writes.
    pub fn message_id_of(&self, part: impl Display) -> MessageId {
        MessageId::new(format!("{}.{part}", self.message_id()))
    }

    /// Returns an id for the reply of a call that becomes no message: another one for each call of the task.
    fn unwritten_id(&self, purpose: Purpose) -> MessageId {
        let number = self.unwritten.fetch_add(1, Ordering::Relaxed);
        self.message_id_of(format_args!("{purpose}.{number}"))
    }

    /// Tells whether an error should be left to the node's retry policy: it may pass, and there is an attempt left.
    pub(super) fn is_worth_another_attempt(&self, error: &ModelError) -> bool {
        error.is_retryable() && !self.info.is_last_attempt()
    }

    /// Runs an effect of the task that is no model call.
    pub async fn run<T, E, Fut>(&self, name: &str, effect: impl FnOnce() -> Fut) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
        Fut: Future<Output = Result<T, E>>,
    {
        self.effects.run(name, effect).await
    }

    /// Calls the model for the message that the task writes, or returns its recorded reply. The calls of one task are
    /// distinguished by their purpose and their order.
    pub(super) async fn ask(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
    ) -> Result<ModelReply, NodeError> {
        self.try_ask(model, request, self.message_id()).await?.map_err(failure)
    }

    /// Calls the model as [`ask`](Self::ask) does, for the message with this id and for a node that continues after a
    /// failed call: the model's error is the inner one.
    pub async fn try_ask(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
        message: MessageId,
    ) -> Result<Result<ModelReply, ModelError>, NodeError> {
        let answered = self.whole(model, request, message, String::new(), None).await?;
        Ok(answered.map(|(reply, _)| reply))
    }

    /// Calls the model as [`try_ask`](Self::try_ask) does, for calls that may differ from one attempt to the next, as
    /// failed calls are not recorded: the whole request distinguishes them, too.
    pub(super) async fn try_ask_about(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
    ) -> Result<Result<ModelReply, ModelError>, NodeError> {
        let json = serde_json::to_vec(&request).map_err(NodeError::terminal)?;
        let key = blake3::hash(&json).to_hex()[..32].to_owned();
        let message = self.unwritten_id(request.purpose);
        Ok(self.whole(model, request, message, key, None).await?.map(|(reply, _)| reply))
    }

    /// Calls the model as [`try_ask`](Self::try_ask) does, and tells whether the reply was taken from the record.
    pub(super) async fn try_ask_again(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
    ) -> Result<Result<(ModelReply, bool), ModelError>, NodeError> {
        let message = self.unwritten_id(request.purpose);
        self.whole(model, request, message, String::new(), None).await
    }

    /// Calls the model as [`ask`](Self::ask) does, and passes each tool call to `tell` as soon as its input is
    /// complete, in the order of the calls: not one behind a call whose input does not end, and none of a recorded
    /// reply.
    pub(super) async fn ask_and_tell(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
        tell: Tell<'_>,
    ) -> Result<Result<ModelReply, ModelError>, NodeError> {
        let answered = self.whole(model, request, self.message_id(), String::new(), Some(tell)).await?;
        Ok(answered.map(|(reply, _)| reply))
    }

    /// Makes a call, and counts it if it was answered. A reply in which the model pauses is continued,
    /// [`CONTINUATIONS`] times at most and [if it may be](Self::continuing_if); each continuation is a call of its own. Tells whether all of it was taken from
    /// the record.
    async fn whole(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
        message: MessageId,
        key: String,
        mut tell: Option<Tell<'_>>,
    ) -> Result<Result<(ModelReply, bool), ModelError>, NodeError> {
        let purpose = request.purpose;
        let mut next = request.clone();
        let mut paused: Option<ModelReply> = None;
        let (mut continuations, mut all_recorded) = (0, true);
        loop {
            let tell: Option<Tell<'_>> = match &mut tell {
                Some(tell) => Some(&mut **tell),
                None => None,
            };
            let (recorded, is_recorded) = match self.call(model, next, &message, key.clone(), tell).await {
                Ok(answered) => answered,
                Err(error) => return Ok(Err(error)),
            };
            all_recorded &= is_recorded;
            let usage = recorded.reply.usage;
            let rest = self.count(purpose, recorded)?;
            let reply = match paused.take() {
                Some(beginning) => beginning.continued_by(rest),
                None => rest,
            };
            if !reply.is_paused() || continuations == CONTINUATIONS {
                return Ok(Ok((reply, all_recorded)));
            }
            next = request.clone().continuing(reply.clone().into_message(message.clone()));
            let is_refused = |it: &MayContinue| !it(model.name(), &mut next, usage, &self.made());
            if self.may_continue.as_ref().is_some_and(is_refused) {
                return Ok(Ok((reply, all_recorded)));
            }
            continuations += 1;
            paused = Some(reply);
        }
    }

    /// Makes a call as an effect, or takes its record, and tells which. The key distinguishes the calls of one task and
    /// purpose, and their order those of one key.
    async fn call(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
        message: &MessageId,
        key: String,
        tell: Option<Tell<'_>>,
    ) -> Result<(RecordedReply, bool), ModelError> {
        let purpose = request.purpose;
        let name = format!("model.{purpose}");
        let begun_ms = self.clock_ms();
        let asked_ms = AtomicU64::new(begun_ms);
        let is_live = AtomicBool::new(false);
        let call = || async {
            is_live.store(true, Ordering::Relaxed);
            let reply = self.converse(model, request, message, &asked_ms, tell).await?;
            Ok::<_, ModelError>(RecordedReply { reply, elapsed_ms: self.since(&asked_ms) })
        };
        let result = self.effects.run_keyed(&name, key, call).await;
        let is_recorded = !is_live.load(Ordering::Relaxed);
        match &result {
            Ok(recorded) if is_recorded => self.say_again(message, purpose, &recorded.reply),
            _ => {
                let waited = self.clock_ms().saturating_sub(begun_ms);
                self.waited_ms.fetch_add(waited, Ordering::Relaxed);
            }
        }
        if self.emit.is_observed() {
            self.tell(purpose, model.name(), &result, is_recorded, self.since(&asked_ms));
        }
        result.map(|recorded| (recorded, is_recorded))
    }

    /// Emits that a call has ended.
    fn tell(
        &self,
        purpose: Purpose,
        asked: &str,
        result: &Result<RecordedReply, ModelError>,
        recorded: bool,
        elapsed_ms: u64,
    ) {
        let asked = asked.to_owned();
        let call = match result {
            Ok(RecordedReply { reply, elapsed_ms }) => {
                let (model, usage, elapsed_ms) = (reply.model.clone(), reply.usage, *elapsed_ms);
                ModelCall { purpose, asked, model, usage, elapsed_ms, recorded, error: None }
            }
            Err(error) => ModelCall { recorded, ..failed_call(purpose, &asked, error.kind(), elapsed_ms) },
        };
        self.emit.emit(ModelCall::EVENT, &call);
    }

    fn since(&self, asked_ms: &AtomicU64) -> u64 {
        self.clock_ms().saturating_sub(asked_ms.load(Ordering::Relaxed))
    }

    /// Counts a call that was made.
    fn count(
        &self,
        purpose: Purpose,
        RecordedReply { reply, elapsed_ms }: RecordedReply,
    ) -> Result<ModelReply, NodeError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.try_add(Ledger::of(purpose, &reply, elapsed_ms)).map_err(NodeError::terminal)?;
        Ok(reply)
    }

    /// Emits the events of a recorded reply, for the observers of this run.
    fn say_again(&self, message: &MessageId, purpose: Purpose, reply: &ModelReply) {
        if self.emit.is_observed() {
            for event in reply.to_events() {
                self.emit.message(&ModelChunk { message: message.clone(), purpose, event });
            }
        }
    }

    /// Asks the model now. Each failed model of a [`Fallback`](crate::model::Fallback) is reported by itself if the run
    /// is observed; `asked_ms` holds the time at which the last one was asked.
    async fn converse(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
        message: &MessageId,
        asked_ms: &AtomicU64,
        mut tell: Option<Tell<'_>>,
    ) -> Result<ModelReply, ModelError> {
        if !self.emit.is_observed() && tell.is_none() && self.interrupt.is_none() {
            return model.complete(request).await;
        }
        let purpose = request.purpose;
        let mut reply = Accumulator::new(model.name());
        if self.interrupt.as_ref().is_some_and(CancellationToken::is_cancelled) {
            // A model may send the request as soon as it is handed over, before anything is read.
            reply.push(ModelEvent::Stop { reason: StopReason::Interrupted })?;
            return Ok(reply.finish()?);
        }
        let mut events = match self.is_whole {
            true => events_of(Arc::clone(model), request),
            false => model.stream(request),
        };
        let mut told = 0;
        while let Some(event) = self.event(events.next(), &reply).await {
            let event = event?;
            if let ModelEvent::Fallback { failed, error } = &event {
                let call = failed_call(purpose, failed, error, self.since(asked_ms));
                self.emit(ModelCall::EVENT, &call);
                asked_ms.store(self.clock_ms(), Ordering::Relaxed);
            }
            if self.emit.is_observed() {
                self.emit.message(&ModelChunk { message: message.clone(), purpose, event: event.clone() });
            }
            reply.push(event)?;
            if let Some(tell) = &mut tell {
                while let Some(call) = reply.complete_call(told) {
                    tell(call);
                    told += 1;
                }
            }
        }
        Ok(reply.finish()?)
    }

    /// Waits for the next event of a reply; an interruption is its last event.
    async fn event(
        &self,
        next: impl Future<Output = Option<Result<ModelEvent, ModelError>>>,
        reply: &Accumulator,
    ) -> Option<Result<ModelEvent, ModelError>> {
        let Some(token) = &self.interrupt else { return next.await };
        match token.run_until_cancelled(next).await {
            Some(event) => event,
            None if reply.has_stopped() => None,
            None => Some(Ok(ModelEvent::Stop { reason: StopReason::Interrupted })),
        }
    }
}

/// Returns the events of a reply that comes in one piece.
fn events_of(
    model: Arc<dyn ChatModel>,
    request: ModelRequest,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let reply = async move { model.complete(request).await };
    let events = |reply: Result<ModelReply, ModelError>| match reply {
        Ok(reply) => reply.to_events().into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    };
    reply.map(move |reply| stream::iter(events(reply))).flatten_stream().boxed()
}

/// Makes the event of a model that failed.
fn failed_call(purpose: Purpose, asked: &str, error: &str, elapsed_ms: u64) -> ModelCall {
    ModelCall {
        purpose,
        asked: asked.to_owned(),
        model: asked.to_owned(),
        usage: Usage::default(),
        elapsed_ms,
        recorded: false,
        error: Some(error.to_owned()),
    }
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Says whether a failed call is worth another attempt of its node.
pub(super) fn failure(error: ModelError) -> NodeError {
    match error.retry_after() {
        _ if !error.is_retryable() => NodeError::terminal(error),
        Some(wait) => NodeError::retryable(error).after(wait),
        None => NodeError::retryable(error),
    }
}

#[cfg(test)]
mod tests;
