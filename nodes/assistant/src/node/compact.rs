//! The node that compacts the conversation.

use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Node, NodeDescription, Output, Task};
use superstep_core::state::{FieldWrite, StateUpdate};
use superstep_nodes::__private::ModelCalls;
use superstep_nodes::model::ModelRequest;
use superstep_nodes::node::{Compact as CompactNode, WithoutSummary};

use super::gate::now_ms;
use crate::budget::Call;
use crate::config::AssistantConfig;
use crate::context::trimmed;
use crate::state::AssistantState;

/// The node that has the earlier part of the conversation summarised, as models are shown it. `turn` and `recover` decide
/// when. An attempt that leaves the conversation unchanged counts as a failure, and so does one that the budget forbids.
pub(crate) struct Compact {
    config: Arc<AssistantConfig>,
    node: CompactNode<AssistantState>,
}

impl Compact {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        let model = Arc::clone(config.small());
        let context = config.compaction.clone().threshold(0).counter(Arc::clone(&config.context.counter));
        let node = CompactNode::new(model, context, AssistantState::MESSAGES, AssistantState::COMPACTIONS)
            .shown(|state, messages| trimmed(messages, &state.trims))
            .without_summary(WithoutSummary::Unchanged)
            .count(AssistantState::LEDGER);
        Self { config: Arc::clone(config), node }
    }

    /// Asks the meter for a request of a summary, and limits its reply to what the budget allows.
    fn permit(
        &self,
        state: &AssistantState,
        calls: &ModelCalls,
        now_ms: Option<u64>,
        request: &mut ModelRequest,
    ) -> Result<(), String> {
        let input_tokens = self.config.context.counter.request(request);
        let call = Call { model: self.config.small().name(), input_tokens, max_output: None };
        let most =
            self.config.may_call(state, calls, now_ms, call).map_err(|exceeded| exceeded.to_string())?;
        request.settings.max_output_tokens = most;
        Ok(())
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Compact {
    type Output = Result<Output<AssistantState, ()>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let state = Arc::clone(task.state());
        let now_ms = now_ms(&self.config.meter_of(&state), &task.extract()).await;
        let calls = ModelCalls::of(&task).interrupted_by(self.config.interrupts.of(&task.extract()));
        drop(task);
        let permit = |request: &mut ModelRequest| self.permit(&state, &calls, now_ms, request);
        let update = self.node.visit(&state, &calls, &permit).await?.unwrap_or_default();
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
