//! The node that compares responses.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::state::{Field, State};

use super::candidates::candidates;
use super::fields::{MessagesField, all, turn_of};
use super::judge::{Judged, judge};
use super::llm_calls::LlmCalls;
use super::model_calls::ModelCalls;
use super::turn_evaluation::TurnEvaluation;
use super::turn_ranking::TurnRanking;
use crate::model::{ChatModel, Purpose};
use crate::prompt::RankerPrompt;

/// The node that has a model compare all responses of the turn that were evaluated, and appends the ranking.
///
/// A reply that is no ranking is shown to the model with what is wrong with it, once; if the second is none
/// either, the node fails with the [`ReplyError`](crate::prompt::ReplyError).
pub struct Ranker<S: State> {
    model: Arc<dyn ChatModel>,
    task: Field<S, String>,
    messages: MessagesField<S>,
    evaluations: Field<S, Vec<TurnEvaluation>>,
    rankings: Field<S, Vec<TurnRanking>>,
    turn: Option<Field<S, u32>>,
    llm_calls: Option<Field<S, LlmCalls>>,
}

impl<S: State> Ranker<S> {
    /// Makes a ranker of the responses in `messages` that `evaluations` are about; `rankings` has the reducer
    /// `Append`.
    pub fn new(
        model: Arc<dyn ChatModel>,
        task: Field<S, String>,
        messages: MessagesField<S>,
        evaluations: Field<S, Vec<TurnEvaluation>>,
        rankings: Field<S, Vec<TurnRanking>>,
    ) -> Self {
        Self { model, task, messages, evaluations, rankings, turn: None, llm_calls: None }
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

    async fn rank(&self, state: &S, calls: &ModelCalls) -> Result<Output<S, ()>, NodeError> {
        let turn = turn_of(self.turn.as_ref(), state);
        let candidates = candidates(self.messages.get(state), self.evaluations.get(state), turn);
        let latest = candidates.last().ok_or_else(|| {
            NodeError::terminal("there is no response to rank: none of this turn was evaluated")
        })?;
        let prompt =
            RankerPrompt { task: self.task.get(state).clone(), iteration: latest.iteration, candidates };
        let request = prompt.to_request(calls.message_id());
        let Judged { judgement, calls: made } =
            judge(calls, &self.model, request, |reply| prompt.read(reply)).await?;
        let ranking = TurnRanking { turn, ranking: judgement };
        let counted = self.llm_calls.as_ref().map(|count| count.write(LlmCalls::of(Purpose::Ranker, made)));
        let update = [self.rankings.write(vec![ranking])];
        Ok(Output::updated(all(update.into_iter().chain(counted))))
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Ranker<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        self.rank(&state, &calls).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.rankings.id());
        if let Some(count) = &self.llm_calls {
            node.writes_field(count.id());
        }
    }
}

impl<S: State> fmt::Debug for Ranker<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranker").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
