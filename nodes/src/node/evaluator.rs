//! The node that judges a response.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::state::{Field, State};

use super::conversation::last_response;
use super::fields::{MessagesField, all, turn_of};
use super::judge::{Judged, judge};
use super::llm_calls::LlmCalls;
use super::model_calls::ModelCalls;
use super::turn_evaluation::TurnEvaluation;
use crate::model::{ChatModel, Purpose};
use crate::prompt::{EvaluatorPrompt, Evidence};

/// The node that has a model judge the latest response, and appends the evaluation.
///
/// A reply that is no evaluation is shown to the model with what is wrong with it, once; if the second is
/// none either, the node fails with the [`ReplyError`](crate::prompt::ReplyError).
pub struct Evaluator<S: State> {
    model: Arc<dyn ChatModel>,
    task: Field<S, String>,
    messages: MessagesField<S>,
    evaluations: Field<S, Vec<TurnEvaluation>>,
    iteration: Option<Field<S, u32>>,
    turn: Option<Field<S, u32>>,
    llm_calls: Option<Field<S, LlmCalls>>,
}

impl<S: State> Evaluator<S> {
    /// Makes an evaluator of the responses to `task` in `messages`; `evaluations` has the reducer `Append`.
    pub fn new(
        model: Arc<dyn ChatModel>,
        task: Field<S, String>,
        messages: MessagesField<S>,
        evaluations: Field<S, Vec<TurnEvaluation>>,
    ) -> Self {
        Self { model, task, messages, evaluations, iteration: None, turn: None, llm_calls: None }
    }

    /// Names responses by this count. Without it they are numbered as they are evaluated, from 1 in each turn.
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

    /// Counts the model calls.
    #[must_use]
    pub fn count(mut self, llm_calls: Field<S, LlmCalls>) -> Self {
        self.llm_calls = Some(llm_calls);
        self
    }

    async fn evaluate(&self, state: &S, calls: &ModelCalls) -> Result<Output<S, ()>, NodeError> {
        let messages = self.messages.get(state);
        let said = last_response(messages)
            .ok_or_else(|| NodeError::terminal("there is no response to evaluate: no AI message is there"))?;
        let turn = turn_of(self.turn.as_ref(), state);
        let prompt = EvaluatorPrompt {
            task: self.task.get(state).clone(),
            iteration: self.iteration_of(state, turn),
            response: said.content.to_text().into_owned(),
            evidence: Evidence::of_turn(messages),
        };
        let request = prompt.to_request(calls.message_id());
        let Judged { judgement, calls: made } =
            judge(calls, &self.model, request, |reply| prompt.read(reply)).await?;
        let evaluation = TurnEvaluation { turn, message: said.id.clone(), evaluation: judgement };
        let counted =
            self.llm_calls.as_ref().map(|count| count.write(LlmCalls::of(Purpose::Evaluator, made)));
        let update = [self.evaluations.write(vec![evaluation])];
        Ok(Output::updated(all(update.into_iter().chain(counted))))
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
        if let Some(count) = &self.llm_calls {
            node.writes_field(count.id());
        }
    }
}

impl<S: State> fmt::Debug for Evaluator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
