//! The circumstances of a call.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use superstep_core::run::CancellationToken;

use super::{LongResults, ToolEvent, ToolEventKind, ToolNotes, ToolSession};
use crate::message::ToolCall;

/// The circumstances of a call. A clone is of the same call.
#[derive(Clone)]
pub struct ToolContext {
    call: Arc<str>,
    tool: Arc<str>,
    session: ToolSession,
    /// The notes that this call has made.
    notes: Arc<Mutex<ToolNotes>>,
    cancellation: CancellationToken,
    observer: Option<Observer>,
}

/// A function that is called with the events of calls.
type Observer = Arc<dyn Fn(ToolEvent) + Send + Sync>;

impl ToolContext {
    /// Makes the context of a call without observers, which only its tool's timeout stops.
    pub fn new(call: &ToolCall, session: ToolSession) -> Self {
        Self {
            call: call.id.as_str().into(),
            tool: call.name.as_str().into(),
            session,
            notes: Arc::default(),
            cancellation: CancellationToken::new(),
            observer: None,
        }
    }

    /// Stops the call when this is cancelled.
    #[must_use]
    pub fn cancel_on(mut self, token: &CancellationToken) -> Self {
        self.cancellation = token.child_token();
        self
    }

    /// Tells this function of the call.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(ToolEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Returns the id of the call, as the model gave it. Models have been seen to give one id to two calls.
    pub fn call_id(&self) -> &str {
        &self.call
    }

    /// Returns the token that is cancelled when the call's result is no longer awaited: for work that the tool has
    /// started beside itself, such as a spawned task or a thread. The tool's own future is dropped then.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Returns the folder to work in, if there is one.
    pub fn workspace(&self) -> Option<&Path> {
        self.session.workspace()
    }

    /// Returns the conversation's value of this type; see [`ToolSession::shared`].
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.session.shared()
    }

    /// Makes a note of the conversation, or replaces it: see [`ToolSession`]. It is a part of the call's record.
    pub fn note(&self, key: impl Into<String>, text: impl Into<String>) {
        let (key, text) = (key.into(), text.into());
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), text.clone());
        self.session.note(key, text);
    }

    /// Returns a note of the conversation.
    pub fn noted(&self, key: &str) -> Option<String> {
        self.session.noted(key)
    }

    /// Returns the notes that this call has made.
    pub(crate) fn notes(&self) -> ToolNotes {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the place for the whole texts of long results, if there is one.
    pub fn long_results(&self) -> Option<&Arc<dyn LongResults>> {
        self.session.long_results()
    }

    /// Tells observers how far the call is. Without observers it does nothing. For a value that has no form in JSON,
    /// observers get the text of the error.
    pub fn progress(&self, data: &(impl Serialize + ?Sized)) {
        self.tell(|| ToolEventKind::Progress {
            data: serde_json::to_value(data).unwrap_or_else(|error| Value::String(error.to_string())),
        });
    }

    /// Tells observers of the call, if there are any.
    pub(super) fn tell(&self, kind: impl FnOnce() -> ToolEventKind) {
        if let Some(observer) = &self.observer {
            observer(ToolEvent { call: self.call.to_string(), tool: self.tool.to_string(), kind: kind() });
        }
    }

    /// Returns the context with a cancellation of its own, which does not cancel other calls.
    pub(super) fn alone(&self) -> Self {
        self.clone().cancel_on(&self.cancellation)
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut context = f.debug_struct("ToolContext");
        context.field("call", &self.call).field("tool", &self.tool).field("session", &self.session);
        context.finish_non_exhaustive()
    }
}
