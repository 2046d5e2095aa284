//! The node that compacts the conversation.

use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::state::{FieldWrite, StateUpdate};
use superstep_nodes::__private::ModelCalls;
use superstep_nodes::message::Message;
use superstep_nodes::model::ModelRequest;
use superstep_nodes::node::{Compact as CompactNode, WithoutSummary};

use super::gate::now_ms;
use super::guidance::behind_summary;
use crate::budget::Call;
use crate::config::AssistantConfig;
use crate::context::trimmed;
use crate::state::{ATTACHED, AssistantState, AssistantStateUpdate};

/// The node that has the earlier part of the conversation summarised, as models are shown it. `turn` and `recover` decide
/// when. An attempt that leaves the conversation unchanged counts as a failure, and so does one that the budget forbids.
/// Instructions, the plan and the list of tasks are attached behind the summary.
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

/// Returns the messages that the compaction of an update does not cover.
fn uncovered<'s>(
    state: &'s AssistantState,
    update: &AssistantStateUpdate,
) -> Result<&'s [Message], NodeError> {
    let mut made = AssistantState::default();
    for write in update.writes().iter().filter(|write| write.field() == AssistantState::COMPACTIONS.id()) {
        write.duplicate().map_err(NodeError::terminal)?.apply(&mut made);
    }
    let through = made.compactions.last().map(|compaction| &compaction.through);
    let covered = state.messages.iter().rposition(|message| Some(message.id()) == through);
    Ok(covered.map_or(&[], |covered| &state.messages[covered + 1..]))
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Compact {
    type Output = Result<Output<AssistantState, ()>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let (state, effects): (_, Effects) = (Arc::clone(task.state()), task.extract());
        let info: TaskInfo = task.extract();
        let now_ms = now_ms(&self.config.meter_of(&state), &effects).await;
        let calls = ModelCalls::of(&task).interrupted_by(self.config.interrupts.of(&info));
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
        let update = match has_compacted {
            true => {
                let (id, shown) = (format!("{}{ATTACHED}", info.place()), uncovered(&state, &update)?);
                let (messages, attached) = behind_summary(&self.config, &state, shown, &effects, id).await?;
                update.attachments(messages).attached(attached)
            }
            false => update,
        };
        Ok(Output { update: Some(update.auto_compact(attempts).set_failure(None)), route: () })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <CompactNode<AssistantState> as Node<AssistantState, C>>::describe(&self.node, node);
        node.writes_field(AssistantState::AUTO_COMPACT.id());
        node.writes_field(AssistantState::ATTACHMENTS.id());
        node.writes_field(AssistantState::ATTACHED.id());
        node.writes_field(AssistantState::FAILURE.id());
    }
}
