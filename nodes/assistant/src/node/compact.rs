//! The node that compacts the conversation.

use std::sync::Arc;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::state::{FieldWrite, StateUpdate};
use superstep_nodes::__private::ModelCalls;
use superstep_nodes::compaction::Compaction;
use superstep_nodes::message::Message;
use superstep_nodes::model::ModelRequest;
use superstep_nodes::node::{Compact as CompactNode, WithoutSummary};

use super::gate::now_ms;
use super::guidance::behind_summary;
use crate::budget::Call;
use crate::config::AssistantConfig;
use crate::context::{task_remaining, trimmed};
use crate::state::{ATTACHED, AssistantState};

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

/// Returns the messages that a compaction does not cover.
fn uncovered<'s>(state: &'s AssistantState, compaction: &Compaction) -> &'s [Message] {
    let covered = state.messages.iter().rposition(|message| *message.id() == compaction.through);
    covered.map_or(&[], |covered| &state.messages[covered + 1..])
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Compact {
    type Output = Result<Output<AssistantState, ()>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let (state, effects): (_, Effects) = (Arc::clone(task.state()), task.extract());
        let info: TaskInfo = task.extract();
        let now_ms = now_ms(&self.config.meter_of(&state), &effects).await;
        let calls = ModelCalls::of(&task).interrupted_by(self.config.interrupts.of(&info));
        let calls = self.config.metered(calls, &state, now_ms);
        drop(task);
        let permit = |request: &mut ModelRequest| self.permit(&state, &calls, now_ms, request);
        let update = self.node.visit(&state, &calls, &permit).await?.unwrap_or_default();
        let mut made = AssistantState::default();
        for write in update.writes().iter().filter(|write| write.field() == AssistantState::COMPACTIONS.id())
        {
            write.duplicate().map_err(NodeError::terminal)?.apply(&mut made);
        }
        let (mut attempts, mut left) = (state.auto_compact, state.task_remaining);
        let update = match made.compactions.last() {
            Some(compaction) => {
                attempts.succeeded(state.turn_count);
                left = left.map(|left| task_remaining(left, compaction));
                let (id, shown) = (format!("{}{ATTACHED}", info.place()), uncovered(&state, compaction));
                let (messages, attached) = behind_summary(&self.config, &state, shown, &effects, id).await?;
                update.attachments(messages).attached(attached)
            }
            None => {
                attempts.failed(state.turn_count);
                update
            }
        };
        let update = update.auto_compact(attempts).set_task_remaining(left).set_failure(None);
        Ok(Output { update: Some(update), route: () })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <CompactNode<AssistantState> as Node<AssistantState, C>>::describe(&self.node, node);
        node.writes_field(AssistantState::AUTO_COMPACT.id());
        node.writes_field(AssistantState::TASK_REMAINING.id());
        node.writes_field(AssistantState::ATTACHMENTS.id());
        node.writes_field(AssistantState::ATTACHED.id());
        node.writes_field(AssistantState::FAILURE.id());
    }
}
