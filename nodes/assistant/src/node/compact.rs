//! The node that compacts the conversation.

use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Node, NodeDescription, Output, Task};
use superstep_nodes::node::Compact as CompactNode;

use crate::config::AssistantConfig;
use crate::state::AssistantState;

/// The node that has the earlier part of the conversation summarised: if it is longer than the configuration allows, or
/// in any case after the provider found the request too long.
pub(crate) struct Compact {
    /// Compacts what is longer than the threshold.
    automatic: CompactNode<AssistantState>,
    /// Compacts in any case.
    reactive: CompactNode<AssistantState>,
}

impl Compact {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        let node = |context| {
            let model = Arc::clone(config.small_model.as_ref().unwrap_or(&config.model));
            CompactNode::new(model, context, AssistantState::MESSAGES, AssistantState::COMPACTIONS)
                .count(AssistantState::LEDGER)
        };
        Self { automatic: node(config.context.clone()), reactive: node(config.context.clone().threshold(0)) }
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Compact {
    type Output = Result<Output<AssistantState, ()>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        match task.state().failure {
            Some(_) => self.reactive.call(task).await,
            None => self.automatic.call(task).await,
        }
    }

    fn describe(&self, node: &mut NodeDescription) {
        <CompactNode<AssistantState> as Node<AssistantState, C>>::describe(&self.automatic, node);
    }
}
