//! The node that compares responses.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::state::{Field, State};

use super::fields::{MessagesField, all, turn_of};
use super::judge::judge;
use super::model_calls::ModelCalls;
use super::tally::{Tallies, Tally};
use super::turn_judgements::{TurnEvaluation, TurnRanking, Unjudged, candidates};
use crate::model::{ChatModel, Purpose};
use crate::prompt::RankerPrompt;

/// The node that has a model compare all responses of the turn that were evaluated, and appends the ranking.
///
/// If a reply is not a ranking, the model is asked once more, with that reply and what is wrong with it. If the second
/// is none either, or the model fails for good, the node fails, or [continues](Self::accept_errors) without a ranking.
pub struct Ranker<S: State> {
    model: Arc<dyn ChatModel>,
    task: Field<S, String>,
    messages: MessagesField<S>,
    evaluations: Field<S, Vec<TurnEvaluation>>,
    rankings: Field<S, Vec<TurnRanking>>,
    turn: Option<Field<S, u32>>,
    unjudged: Option<Field<S, Vec<Unjudged>>>,
    tallies: Tallies<S>,
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
        Self {
            model,
            task,
            messages,
            evaluations,
            rankings,
            turn: None,
            unjudged: None,
            tallies: Tallies::none(),
        }
    }

    /// Tells the turns of a conversation apart by this count. Without it there is one turn.
    #[must_use]
    pub fn turn(mut self, turn: Field<S, u32>) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Continues without a ranking where the model fails to give one, and `unjudged`, which has the reducer `Append`,
    /// gets the reason; and where no response of the turn was evaluated. An error that may pass is left to the node's
    /// retry policy first. Without this the node fails.
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

    async fn rank(&self, state: &S, calls: &ModelCalls) -> Result<Output<S, ()>, NodeError> {
        let turn = turn_of(self.turn.as_ref(), state);
        let candidates = candidates(self.messages.get(state), self.evaluations.get(state), turn);
        let Some(iteration) = candidates.last().map(|latest| latest.iteration) else {
            return match self.unjudged {
                // That is in the record already.
                Some(_) => Ok(Output { update: None, route: () }),
                None => {
                    Err(NodeError::terminal("there is no response to rank: none of this turn was evaluated"))
                }
            };
        };
        let prompt = RankerPrompt { task: self.task.get(state).clone(), iteration, candidates };
        let request = prompt.to_request(calls.message_id());
        let judged = judge(calls, &self.model, request, |reply| prompt.read(reply)).await?;
        let update = match (judged, &self.unjudged) {
            (Ok(ranking), _) => [self.rankings.write(vec![TurnRanking { turn, ranking }])],
            (Err(none), Some(unjudged)) if !none.is_worth_another_attempt(calls) => {
                let (judge, reason) = (Purpose::Ranker, none.to_string());
                [unjudged.write(vec![Unjudged { turn, iteration, judge, reason }])]
            }
            (Err(none), _) => return Err(none.into()),
        };
        Ok(Output::updated(all(update.into_iter().chain(self.tallies.writes(&calls.made())))))
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
        if let Some(unjudged) = &self.unjudged {
            node.writes_field(unjudged.id());
        }
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Ranker<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranker").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
