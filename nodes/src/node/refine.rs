//! The node that makes room for another response.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Emit, Node, NodeDescription, Output, Task};
use superstep_core::reducer::LogWrite;
use superstep_core::state::{Field, State};

use super::OptionalCount;
use super::conversation::response;
use super::fields::{MessagesField, all};
use crate::message::{Message, MessageId};
use crate::verification::{Score, Verification};

/// The node that takes a response out of the conversation that was [refused](super::Verify), with what answers its tool calls, and adds
/// 1 to the attempts. No other node counts them. The verification keeps the response; what was said of it
/// [`Agent::corrections`](super::Agent::corrections) tells the model.
///
/// While the run is observed, each refinement is emitted as a custom event of the name [`Refine::EVENT`], with a [`Refinement`] as its
/// data.
pub struct Refine<S: State, T: OptionalCount = u32> {
    messages: MessagesField<S>,
    verifications: Field<S, Vec<Verification>>,
    attempts: Field<S, T>,
}

/// The data of a refinement's event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refinement {
    /// The turn of the conversation.
    pub turn: u32,
    /// The number of the refinement in the turn, from 1.
    pub attempt: u32,
    /// The message that was taken out.
    pub message: MessageId,
    /// The score of the refused response.
    pub score: Option<Score>,
}

impl<S: State, T: OptionalCount> Refine<S, T> {
    /// The name of the events that tell of refinements.
    pub const EVENT: &'static str = "refinement";

    /// The default for the maximum number of refinements in a turn, which makes four responses.
    pub const MAX_ATTEMPTS: u32 = 3;

    /// Makes a node that takes the response of the latest of `verifications` out of `messages`, and counts in `attempts`: the same
    /// field that [`Verify::attempts`](super::Verify::attempts) is given, and 0 when a turn begins.
    pub fn new(
        messages: MessagesField<S>,
        verifications: Field<S, Vec<Verification>>,
        attempts: Field<S, T>,
    ) -> Self {
        Self { messages, verifications, attempts }
    }

    fn refine(&self, state: &S, emit: &Emit) -> Result<Output<S, ()>, NodeError> {
        let verifications = self.verifications.get(state);
        let refused = verifications.last().filter(|last| last.result.requires_refinement());
        let refused =
            refused.ok_or_else(|| NodeError::terminal("there is no response to refine: none was refused"))?;
        let attempt = self.attempts.get(state).get().saturating_add(1);
        if emit.is_observed() {
            let Verification { turn, message, result, .. } = refused;
            let refinement =
                Refinement { turn: *turn, attempt, message: message.clone(), score: result.score };
            emit.emit(Self::EVENT, &refinement);
        }
        let gone =
            self.messages.write(LogWrite::remove(with_answers(self.messages.get(state), &refused.message)));
        Ok(Output::updated(all([gone, self.attempts.write(T::of(attempt))])))
    }
}

/// A message, and those that answer its tool calls.
fn with_answers<'m>(messages: &'m [Message], id: &'m MessageId) -> Vec<&'m MessageId> {
    let calls = response(messages, id).map_or(&[][..], |said| &said.tool_calls);
    let behind = messages.iter().skip_while(|message| message.id() != id).skip(1);
    let answers = behind.filter(|message| match message {
        Message::Tool(answer) => calls.iter().any(|call| call.id == answer.tool_call_id),
        _ => false,
    });
    std::iter::once(id).chain(answers.map(Message::id)).collect()
}

impl<S: State, T: OptionalCount, C: Send + Sync + 'static> Node<S, C> for Refine<S, T> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, emit) = (Arc::clone(task.state()), task.extract::<Emit>());
        drop(task);
        self.refine(&state, &emit)
    }

    fn describe(&self, node: &mut NodeDescription) {
        node.writes_field(self.messages.id());
        node.writes_field(self.attempts.id());
    }
}

impl<S: State, T: OptionalCount> fmt::Debug for Refine<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refine").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}
