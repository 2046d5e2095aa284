//! Tool calls of a task, as effects.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::node::{Effects, Emit, OnUnknown, Task, TaskInfo};
use superstep_core::run::CancellationToken;
use superstep_core::state::State;

use super::CallCost;
use super::events::ToolRun;
use super::tool_sessions::ToolSessions;
use crate::message::{MessageId, ToolCall, ToolMessage, ToolStatus};
use crate::tool::{
    Execution, ExecutionPolicy, LongResults, PreparedCall, ToolContext, ToolNotes, ToolOutcome, ToolRegistry,
    ToolSession, ToolSpec,
};

/// The name of the custom events that calls emit.
pub(super) const EVENT: &str = "tool";

/// Tools, and the settings for running their calls. Clones share the sessions of the threads.
#[derive(Clone)]
pub struct ToolRunner {
    tools: ToolRegistry,
    policy: ExecutionPolicy,
    sessions: Arc<ToolSessions>,
    long_results: Option<Arc<dyn LongResults>>,
}

/// A task that runs tools.
pub struct ToolTask {
    effects: Effects,
    emit: Emit,
    info: TaskInfo,
}

/// The calls of one task that run, or wait for others. When this is dropped they stop, and so does what their tools
/// have started beside themselves.
pub struct RunningTools<'t> {
    task: &'t ToolTask,
    session: ToolSession,
    turn: CancellationToken,
    execution: Execution<'t, Answer>,
}

/// The record of a call.
#[derive(Serialize, Deserialize)]
struct RecordedCall {
    #[serde(flatten)]
    message: ToolMessage,
    /// The outcome of the call; `None` where it was not recorded.
    #[serde(default)]
    outcome: Option<ToolOutcome>,
    /// The duration of the call, in milliseconds; 0 where it was not recorded.
    #[serde(default)]
    elapsed_ms: u64,
    /// The notes that the call has made.
    #[serde(default, skip_serializing_if = "ToolNotes::is_empty")]
    notes: ToolNotes,
}

/// The answer to a call.
pub struct Answer {
    /// The message that answers the call.
    pub message: ToolMessage,
    /// The outcome of the call.
    pub outcome: ToolOutcome,
    /// The notes that the call has made.
    pub notes: ToolNotes,
    elapsed_ms: u64,
}

/// Returns the record of a call as a person gives it, for a call whose outcome is unknown. The text is for the model.
pub fn recorded_by_person(call: &ToolCall, status: ToolStatus, text: &str) -> Value {
    let message = match status {
        ToolStatus::Ok => ToolMessage::done("", call, text),
        ToolStatus::Error => ToolMessage::failed("", call, text),
    };
    let record = RecordedCall { message, outcome: None, elapsed_ms: 0, notes: ToolNotes::new() };
    serde_json::to_value(record).expect("the record of a call has a JSON form")
}

impl Answer {
    /// Returns the cost of the call.
    pub(super) fn cost(&self) -> CallCost {
        CallCost::Tool { name: self.message.name.clone(), elapsed_ms: self.elapsed_ms }
    }
}

impl ToolRunner {
    /// Makes a runner of these tools.
    pub fn new(tools: ToolRegistry) -> Self {
        Self { tools, policy: ExecutionPolicy::default(), sessions: Arc::default(), long_results: None }
    }

    /// Runs calls as this policy allows.
    pub fn set_policy(&mut self, policy: ExecutionPolicy) {
        self.policy = policy;
    }

    /// Sets the folder that the tools of all threads work in; from now on in other sessions than before.
    pub fn set_workspace(&mut self, folder: PathBuf) {
        self.sessions = Arc::new(ToolSessions::in_workspace(folder));
    }

    /// Stores the whole texts of long results in this place.
    pub fn set_long_results(&mut self, place: Arc<dyn LongResults>) {
        self.long_results = Some(place);
    }

    /// Returns the model that calls of a tool pay for.
    pub fn paid_model(&self, tool: &str) -> Option<&str> {
        self.tools.get(tool)?.paid_model()
    }

    /// Returns the descriptions of the tools for a model.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.specs()
    }

    /// Looks a call up.
    pub fn prepare(&self, call: &ToolCall) -> PreparedCall {
        self.tools.prepare(call)
    }

    /// Returns the session of a task's thread.
    pub fn session(&self, task: &ToolTask) -> ToolSession {
        let session = self.sessions.of(task.info.thread());
        match &self.long_results {
            Some(place) => session.with_long_results(Arc::clone(place)),
            None => session,
        }
    }

    /// Begins with no call yet, in the session of the task's thread.
    pub fn begin<'t>(&'t self, task: &'t ToolTask) -> RunningTools<'t> {
        self.begin_in(self.session(task), task)
    }

    /// Begins with no call yet, in this session.
    pub fn begin_in<'t>(&'t self, session: ToolSession, task: &'t ToolTask) -> RunningTools<'t> {
        RunningTools { task, session, turn: CancellationToken::new(), execution: Execution::new(self.policy) }
    }
}

impl ToolTask {
    /// Takes the means of a task to run tools.
    pub fn of<S: State, C>(task: &Task<S, C>) -> Self {
        Self { effects: task.extract(), emit: task.extract(), info: task.extract() }
    }

    /// Returns the id of a message that this task writes.
    pub fn message_id_of(&self, part: impl fmt::Display) -> MessageId {
        MessageId::new(format!("{}.{part}", self.info.place()))
    }

    /// Makes a call, or returns its recorded answer.
    async fn answer(
        &self,
        call: ToolCall,
        prepared: PreparedCall,
        key: String,
        id: MessageId,
        context: ToolContext,
    ) -> Answer {
        let name = format!("tool.{}", call.name);
        // What becomes of a call that may have happened, and may not be made twice, is the node's policy.
        let effects = match prepared.effect().may_repeat() {
            true => self.effects.on_unknown(OnUnknown::Retry),
            false => self.effects.clone(),
        };
        let is_live = AtomicBool::new(false);
        let message_id = id.clone();
        let run = || async {
            is_live.store(true, Ordering::Relaxed);
            let begun = self.info.clock();
            let result = prepared.run(&context).await;
            let elapsed_ms = self.info.clock().saturating_sub(begun).as_millis();
            let (outcome, message) = (Some(result.outcome()), result.into_message(id, &call));
            let elapsed_ms = u64::try_from(elapsed_ms).unwrap_or(u64::MAX);
            Ok::<_, Infallible>(RecordedCall { message, outcome, elapsed_ms, notes: context.notes() })
        };
        let RecordedCall { mut message, outcome, elapsed_ms, notes } =
            match effects.run_keyed(&name, key, run).await {
                Ok(recorded) => recorded,
                Err(never) => match never {},
            };
        // A person who says what happened does not know it.
        message.id = message_id;
        let recorded = !is_live.into_inner();
        let outcome = outcome.unwrap_or(match message.status {
            ToolStatus::Ok => ToolOutcome::Ok,
            ToolStatus::Error => ToolOutcome::Error,
        });
        if recorded {
            notes.iter().for_each(|(key, text)| context.note(key, text));
            prepared.tell_again(&context, outcome, &message.content.to_text());
        }
        if self.emit.is_observed() {
            let tool = prepared.is_known().then(|| call.name.clone());
            self.emit.emit(
                ToolRun::EVENT,
                &ToolRun { call: call.id.clone(), tool, outcome, elapsed_ms, recorded },
            );
        }
        Answer { message, outcome, notes, elapsed_ms }
    }

    /// Has the events of a call emitted if the run is observed.
    fn observed(&self, context: ToolContext) -> ToolContext {
        if !self.emit.is_observed() {
            return context;
        }
        let emit = self.emit.clone();
        context.observe(move |event| emit.emit(EVENT, &event))
    }
}

impl RunningTools<'_> {
    /// Stops the calls that are handed in later when this is cancelled.
    #[must_use]
    pub fn interrupted_by(mut self, token: &CancellationToken) -> Self {
        self.turn = token.child_token();
        self
    }

    /// Runs a call as soon as the policy allows; the id is that of its answer, and the key distinguishes its effect
    /// from those of other calls.
    pub fn hand_in(&mut self, id: MessageId, call: ToolCall, prepared: PreparedCall, key: String) {
        let context = ToolContext::new(&call, self.session.clone()).cancel_on(&self.turn);
        let context = self.task.observed(context);
        let concurrency = prepared.concurrency();
        self.execution.hand_in(concurrency, self.task.answer(call, prepared, key, id, context));
    }

    /// Tells whether the answer of every call that was handed in has been given.
    pub(super) fn is_done(&self) -> bool {
        self.execution.is_done()
    }

    /// Waits for the answer of the next call in order.
    pub async fn next(&mut self) -> Option<Answer> {
        self.execution.next().await
    }
}

impl Drop for RunningTools<'_> {
    fn drop(&mut self) {
        self.turn.cancel();
    }
}

impl fmt::Debug for ToolRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tools.fmt(f)
    }
}
