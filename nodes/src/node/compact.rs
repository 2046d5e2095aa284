//! The node that has a conversation shown in short.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::reducer::{LogEdit, LogWrite};
use superstep_core::state::{Field, State};

use super::fields::{CompactionsField, MessagesField, all};
use super::model_calls::ModelCalls;
use super::tally::{Tallies, Tally};
use crate::compaction::{Compaction, CompactionPlan, ContextManager};
use crate::model::{ChatModel, ModelError};

/// The node that compacts a conversation that has become too long: it asks a model for a summary of the earlier part and records
/// what the [`Agent`](super::Agent) is to be shown. A conversation that is short enough it leaves alone, without any call.
///
/// It fails for no model's sake. Messages that are too many for the model are shown to it without the oldest ones; a summary
/// that is of no use, and an error of the model, leave what could be [noted](crate::compaction::KeyInformation); and if
/// that is no shorter either, everything stays as it was.
///
/// While the run is observed, each compaction is emitted as a custom event of the name [`Compact::EVENT`], with the
/// [`Compaction`] as its data.
pub struct Compact<S: State> {
    model: Arc<dyn ChatModel>,
    manager: ContextManager,
    messages: MessagesField<S>,
    compactions: CompactionsField<S>,
    tallies: Tallies<S>,
}

impl<S: State> Compact<S> {
    /// The name of the events that tell of compactions.
    pub const EVENT: &'static str = "compaction";

    /// Makes a node that has `model` summarise `messages` when `manager` says so, and records it in `compactions`.
    pub fn new(
        model: Arc<dyn ChatModel>,
        manager: ContextManager,
        messages: MessagesField<S>,
        compactions: CompactionsField<S>,
    ) -> Self {
        Self { model, manager, messages, compactions, tallies: Tallies::none() }
    }

    /// Counts the model calls in a field, such as a [`Ledger`](crate::model::Ledger), for the purpose
    /// [`Summarizer`](crate::model::Purpose::Summarizer).
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    async fn compaction(
        &self,
        plan: &CompactionPlan<'_>,
        calls: &ModelCalls,
    ) -> Result<Option<Compaction>, NodeError> {
        let id = calls.message_id().to_string();
        let mut left_out = 0;
        let reason = loop {
            let request = plan.request(calls.message_id_of("request"), left_out);
            match calls.try_ask(&self.model, request).await? {
                Ok(reply) => match plan.accept(&id, &reply, left_out) {
                    Ok(compaction) => return Ok(Some(compaction)),
                    Err(unaccepted) => break unaccepted.to_string(),
                },
                Err(ModelError::RequestTooLong { .. }) if plan.shown() - left_out > 1 => {
                    left_out += (plan.shown() - left_out) / 2;
                }
                Err(error) => break error.to_string(),
            }
        };
        Ok(plan.without_summary(&id, reason).ok())
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Compact<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        let Some(plan) = self.manager.plan(self.messages.get(&state), self.compactions.get(&state)) else {
            return Ok(Output { update: None, route: () });
        };
        let compaction = self.compaction(&plan, &calls).await?;
        if let Some(compaction) = &compaction {
            calls.emit(Self::EVENT, compaction);
        }
        let record =
            compaction.map(|compaction| self.compactions.write(LogWrite(vec![LogEdit::Put(compaction)])));
        Ok(Output::updated(all(record.into_iter().chain(self.tallies.writes(&calls.made())))))
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.compactions.id());
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Compact<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut node = f.debug_struct("Compact");
        node.field("model", &self.model.name()).field("manager", &self.manager).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "compact/tests.rs"]
mod tests;
