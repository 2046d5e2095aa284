//! The node that decides whether a response is final.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_core::state::{Field, State};

use super::conversation::{is_complete, last_response, shown};
use super::fields::{MessagesField, all, appended, turn_of};
use super::model_calls::ModelCalls;
use super::tally::{Tallies, Tally};
use super::turn_judgements::{TurnEvaluation, TurnRanking, candidates};
use crate::message::{AiMessage, Message};
use crate::model::{ChatModel, ModelRequest};
use crate::prompt::DeciderPrompt;
use crate::tool::{ToolRegistry, ToolSpec};

/// The node that decides whether the latest response is final. It is logic only, with one exception.
///
/// | the latest response | iterations left | what happens |
/// |---|---|---|
/// | [is complete](is_complete) | – | it is the response, verbatim; [`DeciderNext::Finish`] |
/// | is not | yes, or no [`limit`](Self::limit) | [`DeciderNext::Iterate`] |
/// | is not | no | a model is asked for a final response, once; [`DeciderNext::Finish`] |
///
/// The last row is the only model call, and needs [`final_response`](Self::final_response); without that, a
/// run that reaches its limit ends without a response. What the evaluator and the ranker said decides
/// nothing: it helps the agent and the final response.
pub struct Decider<S: State> {
    messages: MessagesField<S>,
    response: Field<S, Option<String>>,
    limit: Option<Limit<S>>,
    last_word: Option<LastWord<S>>,
    tools: Vec<ToolSpec>,
    turn: Option<Field<S, u32>>,
    tallies: Tallies<S>,
}

struct Limit<S: State> {
    iteration: Field<S, u32>,
    max_iterations: Field<S, u32>,
}

struct LastWord<S: State> {
    model: Arc<dyn ChatModel>,
    task: Field<S, String>,
    evaluations: Field<S, Vec<TurnEvaluation>>,
    rankings: Field<S, Vec<TurnRanking>>,
}

impl<S: State> Decider<S> {
    /// Makes a decider over `messages` that writes the final response to `response`.
    pub fn new(messages: MessagesField<S>, response: Field<S, Option<String>>) -> Self {
        Self {
            messages,
            response,
            limit: None,
            last_word: None,
            tools: Vec::new(),
            turn: None,
            tallies: Tallies::none(),
        }
    }

    /// Ends the turn when `iteration` has reached `max_iterations`.
    #[must_use]
    pub fn limit(mut self, iteration: Field<S, u32>, max_iterations: Field<S, u32>) -> Self {
        self.limit = Some(Limit { iteration, max_iterations });
        self
    }

    /// Asks a model for a final response when the limit is reached without a complete one. The reply becomes
    /// the response, whatever its length, and is appended to the conversation.
    #[must_use]
    pub fn final_response(
        mut self,
        model: Arc<dyn ChatModel>,
        task: Field<S, String>,
        evaluations: Field<S, Vec<TurnEvaluation>>,
        rankings: Field<S, Vec<TurnRanking>>,
    ) -> Self {
        self.last_word = Some(LastWord { model, task, evaluations, rankings });
        self
    }

    /// Describes the agent's tools in the request for a final response: providers want to know the tools that
    /// a conversation mentions. Calls in the reply are dropped.
    #[must_use]
    pub fn tools(mut self, tools: &ToolRegistry) -> Self {
        self.tools = tools.specs();
        self
    }

    /// Tells the turns of a conversation apart by this count. Without it there is one turn.
    #[must_use]
    pub fn turn(mut self, turn: Field<S, u32>) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Counts the model calls in a field: as [`LlmCalls`](super::LlmCalls), as a [`Ledger`](crate::model::Ledger), or
    /// in both.
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    async fn decide(&self, state: &S, calls: &ModelCalls) -> Result<Output<S, DeciderNext>, NodeError> {
        let complete = last_response(self.messages.get(state)).filter(|said| is_complete(said));
        if let Some(said) = complete {
            return Ok(self.finish(said.content.to_text().into_owned()));
        }
        if !self.at_limit(state) {
            return Ok(Output::routed(DeciderNext::Iterate));
        }
        let Some(last_word) = &self.last_word else {
            return Ok(Output::routed(DeciderNext::Finish));
        };
        let request = self.request(last_word, state, calls);
        let reply = calls.ask(&last_word.model, request).await?;
        let said = AiMessage { id: calls.message_id(), content: reply.content, tool_calls: Vec::new() };
        let mut output = self.finish(said.content.to_text().into_owned());
        let message = self.messages.write(appended(vec![Message::from(said)]));
        let made = calls.made();
        let counted = self.tallies.writes(&made);
        output.update = Some(all(output.update.into_iter().chain([message]).chain(counted)));
        Ok(output)
    }

    fn finish(&self, response: String) -> Output<S, DeciderNext> {
        Output { update: Some(self.response.write(Some(response))), route: DeciderNext::Finish }
    }

    fn at_limit(&self, state: &S) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.iteration.get(state) >= limit.max_iterations.get(state))
    }

    fn request(&self, last_word: &LastWord<S>, state: &S, calls: &ModelCalls) -> ModelRequest {
        let turn = turn_of(self.turn.as_ref(), state);
        let (messages, evaluations) = (self.messages.get(state), last_word.evaluations.get(state));
        let rankings = last_word.rankings.get(state).iter();
        let prompt = DeciderPrompt {
            task: last_word.task.get(state).clone(),
            candidates: candidates(messages, evaluations, turn),
            best: rankings.rev().find(|ranked| ranked.turn == turn).map(|ranked| ranked.ranking.best),
        };
        prompt
            .to_request(calls.message_id_of("task"), shown(messages, evaluations))
            .with_tools(self.tools.clone())
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Decider<S> {
    type Output = Result<Output<S, DeciderNext>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        self.decide(&state, &calls).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
    }
}

impl<S: State> fmt::Debug for Decider<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decider")
    }
}

/// The next step after a [`Decider`](super::Decider).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeciderNext {
    /// The response is complete, or there are no iterations left.
    Finish,
    /// Another iteration may give a complete response.
    Iterate,
}
