//! The node that compacts the conversation.

use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Node, NodeDescription, Output, Task};
use superstep_core::state::{FieldWrite, StateUpdate};
use superstep_nodes::node::{Compact as CompactNode, WithoutSummary};

use crate::config::AssistantConfig;
use crate::context::trimmed;
use crate::state::AssistantState;

/// The node that has the earlier part of the conversation summarised, as models are shown it. `turn` and `recover` decide
/// when. An attempt that leaves the conversation unchanged counts as a failure.
pub(crate) struct Compact {
    node: CompactNode<AssistantState>,
}

impl Compact {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        let model = Arc::clone(config.small_model.as_ref().unwrap_or(&config.model));
        let context = config.compaction.clone().threshold(0).counter(Arc::clone(&config.context.counter));
        let node = CompactNode::new(model, context, AssistantState::MESSAGES, AssistantState::COMPACTIONS)
            .shown(|state, messages| trimmed(messages, &state.trims))
            .without_summary(WithoutSummary::Unchanged)
            .count(AssistantState::LEDGER);
        Self { node }
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Compact {
    type Output = Result<Output<AssistantState, ()>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let state = Arc::clone(task.state());
        let made = self.node.call(task).await?;
        let update = made.update.unwrap_or_default();
        let has_compacted =
            update.writes().iter().any(|write| write.field() == AssistantState::COMPACTIONS.id());
        let mut attempts = state.auto_compact;
        match has_compacted {
            true => attempts.succeeded(state.turn_count),
            false => attempts.failed(state.turn_count),
        }
        Ok(Output { update: Some(update.auto_compact(attempts).set_failure(None)), route: () })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <CompactNode<AssistantState> as Node<AssistantState, C>>::describe(&self.node, node);
        node.writes_field(AssistantState::AUTO_COMPACT.id());
        node.writes_field(AssistantState::FAILURE.id());
    }
}
