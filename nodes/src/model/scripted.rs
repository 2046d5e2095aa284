//! A model that gives replies written down beforehand.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest, Purpose};
use crate::message::{Content, Message, ToolCall};

/// A model that gives replies written down beforehand, for tests and demonstrations.
///
/// Each call takes the next [`Turn`] of the queue for its purpose or, if there is none for that purpose, of the queue
/// for all others. A call for which no turn is left fails with [`ModelError::ScriptExhausted`]. The requests are kept,
/// to be looked at with [`requests`](Self::requests).
///
/// ```
/// use superstep_nodes::message::Message;
/// use superstep_nodes::model::{ChatModel, ModelRequest, Purpose, Scripted};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = Scripted::new().say("Paris.").on(Purpose::Evaluator, [r#"{"score": 1}"#]);
///
/// let question = vec![Message::human("m1", "What is the capital of France?")];
/// let reply = model.complete(ModelRequest::new(Purpose::Agent, question)).await?;
/// assert_eq!(reply.text(), "Paris.");
/// assert_eq!(model.requests()[0].messages.len(), 1);
/// # Ok::<(), superstep_nodes::model::ModelError>(())
/// # }).unwrap();
/// ```
pub struct Scripted {
    state: Mutex<State>,
}

struct State {
    script: Script,
    requests: Vec<ModelRequest>,
}

/// The script of a [`Scripted`] model. It can be kept in a JSON file:
///
/// ```
/// use superstep_nodes::model::Script;
///
/// let script: Script = serde_json::from_str(r#"{
///     "turns": [
///         { "call": [{ "id": "c1", "name": "add", "input": { "a": 1, "b": 2 } }] },
///         { "say": "The sum is 3." }
///     ],
///     "purposes": { "evaluator": [{ "say": "{\"score\": 1}" }] }
/// }"#).unwrap();
/// assert_eq!(script.turns.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The turns for every purpose that has no queue of its own.
    #[serde(default)]
    pub turns: VecDeque<Turn>,
    /// The turns for single purposes.
    #[serde(default)]
    pub purposes: BTreeMap<Purpose, VecDeque<Turn>>,
    /// `true` to choose the turn by the number of replies in the conversation, instead of the number of calls: a
    /// session can then be rewound, and continued by another process. The requests are not kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_replies: bool,
}

/// The behaviour of a [`Scripted`] model in one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Turn {
    /// Says a text, in several pieces.
    Say(String),
    /// Says a value as JSON text.
    Json(Value),
    /// Asks for tools.
    Call(Vec<ToolCall>),
    /// Gives a whole reply, with its usage, stop reason and model name.
    Reply(ModelReply),
    /// Says the text and then breaks off, without a stop event.
    BreakOff(String),
    /// Fails.
    Fail(ModelError),
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::Say(text.to_owned())
    }
}

impl From<String> for Turn {
    fn from(text: String) -> Self {
        Self::Say(text)
    }
}

impl From<ToolCall> for Turn {
    fn from(call: ToolCall) -> Self {
        Self::Call(vec![call])
    }
}

impl From<ModelError> for Turn {
    fn from(error: ModelError) -> Self {
        Self::Fail(error)
    }
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Script> for Scripted {
    fn from(script: Script) -> Self {
        Self { state: Mutex::new(State { script, requests: Vec::new() }) }
    }
}

impl Scripted {
    /// The name of every scripted model.
    pub const NAME: &'static str = "scripted";

    /// Makes a model with an empty script.
    pub fn new() -> Self {
        Script::default().into()
    }

    /// Adds a turn to the queue for all purposes.
    pub fn then(self, turn: impl Into<Turn>) -> Self {
        self.state().script.turns.push_back(turn.into());
        self
    }

    /// Adds a turn that says a text.
    pub fn say(self, text: impl Into<String>) -> Self {
        self.then(Turn::Say(text.into()))
    }

    /// Adds a turn that asks for one tool.
    pub fn call(self, id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        self.then(ToolCall::new(id, name, input))
    }

    /// Adds a turn that fails.
    pub fn fail(self, error: ModelError) -> Self {
        self.then(error)
    }

    /// Adds turns to the queue for one purpose. From then on, calls of that purpose take from no other.
    pub fn on<T: Into<Turn>>(self, purpose: Purpose, turns: impl IntoIterator<Item = T>) -> Self {
        self.state().script.purposes.entry(purpose).or_default().extend(turns.into_iter().map(Into::into));
        self
    }

    /// Returns the requests so far, in the order they came in.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// Returns how many turns are left in all queues.
    pub fn remaining(&self) -> usize {
        let state = self.state();
        state.script.turns.len() + state.script.purposes.values().map(VecDeque::len).sum::<usize>()
    }

    /// Records a request and takes its turn.
    fn take(&self, request: ModelRequest) -> Turn {
        let mut state = self.state();
        let purpose = request.purpose;
        let State { script, requests } = &mut *state;
        let queue = script.purposes.get_mut(&purpose).unwrap_or(&mut script.turns);
        let turn = match script.by_replies {
            true => queue.get(replies(&request)).cloned(),
            false => queue.pop_front(),
        };
        let turn = turn.unwrap_or_else(|| {
            let given = match script.by_replies {
                true => replies(&request),
                false => requests.iter().filter(|earlier| earlier.purpose == purpose).count(),
            };
            Turn::Fail(ModelError::ScriptExhausted { purpose, given })
        });
        if !script.by_replies {
            requests.push(request);
        }
        turn
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is valid between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of replies of a model in the conversation of a request.
fn replies(request: &ModelRequest) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Ai(_))).count()
}

impl ChatModel for Scripted {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::iter(self.take(request).events()).boxed()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}

impl Turn {
    fn events(self) -> Vec<Result<ModelEvent, ModelError>> {
        let reply = |content: Content| ModelReply::new(Scripted::NAME, content);
        let said = |reply: ModelReply| reply.to_events().into_iter().map(Ok).collect();
        match self {
            Self::Say(text) => said(reply(text.into())),
            Self::Json(value) => said(reply(value.to_string().into())),
            Self::Call(calls) => said(reply(Content::empty()).with_calls(calls)),
            Self::Reply(reply) => said(reply),
            Self::BreakOff(text) => vec![Ok(ModelEvent::TextDelta { text })],
            Self::Fail(error) => vec![Err(error)],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::{StreamFault, Usage};
    use super::*;

    async fn ask(model: &dyn ChatModel, purpose: Purpose) -> Result<ModelReply, ModelError> {
        model.complete(ModelRequest::new(purpose, vec![Message::human("m", "well?")])).await
    }

    #[tokio::test]
    async fn a_purpose_with_turns_of_its_own_takes_from_no_other() {
        let model = Scripted::new().say("one").say("two").on(Purpose::Ranker, ["ranked"]);
        assert_eq!(ask(&model, Purpose::Agent).await.unwrap().text(), "one");
        assert_eq!(ask(&model, Purpose::Ranker).await.unwrap().text(), "ranked");
        assert_eq!(
            ask(&model, Purpose::Ranker).await.unwrap_err(),
            ModelError::ScriptExhausted { purpose: Purpose::Ranker, given: 1 }
        );
        assert_eq!(ask(&model, Purpose::Evaluator).await.unwrap().text(), "two");
        assert_eq!(model.remaining(), 0);
        let purposes: Vec<_> = model.requests().iter().map(|request| request.purpose).collect();
        assert_eq!(purposes, [Purpose::Agent, Purpose::Ranker, Purpose::Ranker, Purpose::Evaluator]);
    }

    #[tokio::test]
    async fn a_reply_arrives_as_it_was_written() {
        let written = ModelReply::new("other", "a  few\nwords ")
            .with_calls(vec![ToolCall::new("c", "add", json!({ "a": 1.5 }))])
            .with_usage(Usage::of(3, 4));
        let model: Arc<dyn ChatModel> = Arc::new(Scripted::new().then(Turn::Reply(written.clone())));
        assert_eq!(ask(&model, Purpose::Agent).await.unwrap(), written);
    }

    #[tokio::test]
    async fn a_turn_chosen_by_replies_is_the_same_after_a_restart_and_a_rewind() {
        let turns = ["one".into(), "two".into()].into();
        let model = Scripted::from(Script { turns, by_replies: true, ..Script::default() });
        let conversation =
            [Message::human("m1", "well?"), Message::ai("m2", "one"), Message::human("m3", "and?")];
        let request = |messages: &[Message]| ModelRequest::new(Purpose::Agent, messages.to_vec());
        for (messages, expected) in [(3, "two"), (3, "two"), (1, "one")] {
            assert_eq!(model.complete(request(&conversation[..messages])).await.unwrap().text(), expected);
        }
        let replied_twice =
            [&conversation[..], &[Message::ai("m4", "two"), Message::human("m5", "so?")]].concat();
        assert_eq!(
            model.complete(request(&replied_twice)).await.unwrap_err(),
            ModelError::ScriptExhausted { purpose: Purpose::Agent, given: 2 }
        );
        assert_eq!(model.requests(), []);
    }

    #[tokio::test]
    async fn failures_are_played_too() {
        let overloaded = ModelError::Overloaded { reason: "busy".into(), retry_after: None };
        let model = Scripted::new().fail(overloaded.clone()).then(Turn::BreakOff("half an ans".into()));
        assert_eq!(ask(&model, Purpose::Agent).await.unwrap_err(), overloaded);
        let broken = ask(&model, Purpose::Agent).await.unwrap_err();
        assert_eq!(broken, StreamFault::EndedEarly.into());
        assert!(broken.is_retryable());
    }

    #[test]
    fn a_script_survives_json() {
        let script = Script {
            turns: [
                Turn::Json(json!({ "a": 1 })),
                Turn::Fail(ModelError::RateLimited { retry_after: None, reason: "slow down".into() }),
                Turn::Call(vec![ToolCall::new("c", "t", json!({}))]),
            ]
            .into(),
            purposes: BTreeMap::from([(Purpose::Decider, VecDeque::from(["done".into()]))]),
            by_replies: true,
        };
        let json = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&json).unwrap(), script);
    }

    #[test]
    fn a_misspelled_key_of_a_script_is_an_error() {
        assert!(serde_json::from_str::<Script>(r#"{ "truns": [] }"#).is_err());
        assert!(serde_json::from_str::<Script>(r#"{ "purposes": { "rancor": [] } }"#).is_err());
    }
}
