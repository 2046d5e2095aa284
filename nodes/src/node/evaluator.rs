//! The node that judges a response.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::state::{Field, State};

use super::conversation::last_response;
use super::fields::{MessagesField, all, turn_of};
use super::judge::judge;
use super::model_calls::ModelCalls;
use super::tally::{Tallies, Tally};
use super::turn_judgements::{TurnEvaluation, Unjudged};
use crate::model::{ChatModel, Purpose, RoughTokens, TokenCounter};
use crate::prompt::{EvaluatorPrompt, Evidence};

/// The node that has a model judge the latest response, and appends the evaluation.
///
/// If a reply is not an evaluation, the model is asked once more, with that reply and what is wrong with it. If the
/// second is none either, or the model fails for good, the node fails, or [accepts](Self::accept_errors) the response
/// without an evaluation.
pub struct Evaluator<S: State> {
    model: Arc<dyn ChatModel>,
    task: Field<S, String>,
    messages: MessagesField<S>,
    evaluations: Field<S, Vec<TurnEvaluation>>,
    iteration: Option<Field<S, u32>>,
    turn: Option<Field<S, u32>>,
    evidence_tokens: u64,
    unjudged: Option<Field<S, Vec<Unjudged>>>,
    tallies: Tallies<S>,
}

impl<S: State> Evaluator<S> {
    /// Makes an evaluator of the responses to `task` in `messages`; `evaluations` has the reducer `Append`.
    pub fn new(
        model: Arc<dyn ChatModel>,
        task: Field<S, String>,
        messages: MessagesField<S>,
        evaluations: Field<S, Vec<TurnEvaluation>>,
    ) -> Self {
        Self {
            model,
            task,
            messages,
            evaluations,
            iteration: None,
            turn: None,
            evidence_tokens: Evidence::MOST_TOKENS,
            unjudged: None,
            tallies: Tallies::none(),
        }
    }

    /// Numbers responses by this count. Without it they are numbered in the order of their evaluation, from 1 in each
    /// turn.
    #[must_use]
    pub fn iteration(mut self, iteration: Field<S, u32>) -> Self {
        self.iteration = Some(iteration);
        self
    }

    /// Tells the turns of a conversation apart by this count. Without it there is one turn.
    #[must_use]
    pub fn turn(mut self, turn: Field<S, u32>) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Shows the model about so many tokens of the outputs of the turn's tools, as they are [estimated](RoughTokens):
    /// of the longest outputs the beginning and the end. The default is [16,000](Evidence::MOST_TOKENS).
    #[must_use]
    pub fn evidence_tokens(mut self, most: u64) -> Self {
        self.evidence_tokens = most;
        self
    }

    /// Accepts a response that the model fails to judge: no evaluation is appended, and `unjudged`, which has the
    /// reducer `Append`, gets the reason. An error that may pass is left to the node's retry policy first. Without this
    /// the node fails.
    #[must_use]
    pub fn accept_errors(mut self, unjudged: Field<S, Vec<Unjudged>>) -> Self {
        self.unjudged = Some(unjudged);
        self
    }

    /// Counts the model calls in a field: as [`LlmCalls`](super::LlmCalls), as a [`Ledger`](crate::model::Ledger), or
    /// in both.
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    async fn evaluate(&self, state: &S, calls: &ModelCalls) -> Result<Output<S, ()>, NodeError> {
        let messages = self.messages.get(state);
        let said = last_response(messages)
            .ok_or_else(|| NodeError::terminal("there is no response to evaluate: no AI message is there"))?;
        let turn = turn_of(self.turn.as_ref(), state);
        let evidence = Evidence::within(Evidence::of_turn(messages), self.evidence_tokens, |output| {
            RoughTokens.text(output)
        });
        let iteration = self.iteration_of(state, turn);
        let prompt = EvaluatorPrompt {
            task: self.task.get(state).clone(),
            iteration,
            response: said.content.to_text().into_owned(),
            evidence,
        };
        let request = prompt.to_request(calls.message_id());
        let judged = judge(calls, &self.model, request, |reply| prompt.read(reply)).await?;
        let update = match (judged, &self.unjudged) {
            (Ok(evaluation), _) => {
                let message = said.id.clone();
                [self.evaluations.write(vec![TurnEvaluation { turn, message, evaluation }])]
            }
            (Err(none), Some(unjudged)) if !none.is_worth_another_attempt(calls) => {
                let (judge, reason) = (Purpose::Evaluator, none.to_string());
                [unjudged.write(vec![Unjudged { turn, iteration, judge, reason }])]
            }
            (Err(none), _) => return Err(none.into()),
        };
        Ok(Output::updated(all(update.into_iter().chain(self.tallies.writes(&calls.made())))))
    }

    fn iteration_of(&self, state: &S, turn: u32) -> u32 {
        if let Some(iteration) = &self.iteration {
            return *iteration.get(state);
        }
        let judged = self.evaluations.get(state).iter();
        let before = judged.filter(|judged| judged.turn == turn).count();
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Evaluator<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        self.evaluate(&state, &calls).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.evaluations.id());
        if let Some(unjudged) = &self.unjudged {
            node.writes_field(unjudged.id());
        }
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Evaluator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
