//! Calls that begin while the model still answers.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use superstep_core::node::Effects;
use superstep_core::run::CancellationToken;
use superstep_nodes::__private::{EarlyCalls, ToolRunner, ToolTask};
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::ToolSession;

use super::authorize::checked;
use crate::config::AssistantConfig;
use crate::permission::{CallView, Decision, Verdict};
use crate::state::AssistantState;

/// The means of a task to begin calls early, and the decisions on those that began.
pub(super) struct Early {
    pub(super) state: Arc<AssistantState>,
    pub(super) tools: ToolTask,
    pub(super) effects: Effects,
    pub(super) stop: CancellationToken,
    decisions: Mutex<Vec<Decision>>,
}

impl Early {
    pub(super) fn new(
        state: &Arc<AssistantState>,
        tools: ToolTask,
        effects: Effects,
        stop: &CancellationToken,
    ) -> Self {
        Self { state: Arc::clone(state), tools, effects, stop: stop.clone(), decisions: Mutex::default() }
    }

    /// Returns the calls that begin early: the first ones of a reply that change nothing and are allowed as they are.
    pub(super) fn calls<'e>(&'e self, config: &'e AssistantConfig, runner: &'e ToolRunner) -> EarlyCalls<'e> {
        let session = runner.session(&self.tools).with_notes(self.state.files.clone());
        let running = runner.begin_in(session.clone(), &self.tools).interrupted_by(&self.stop);
        let may_begin = move |position: usize, call: ToolCall| -> BoxFuture<'e, bool> {
            let session = session.clone();
            async move {
                let allowed = self.allowed(config, runner, position, &call, session).await;
                let is_allowed = allowed.is_some();
                self.decisions.lock().unwrap_or_else(PoisonError::into_inner).extend(allowed);
                is_allowed
            }
            .boxed()
        };
        EarlyCalls::new(runner, &self.tools, running, may_begin)
    }

    /// Returns the decisions on the calls that began.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Decides on a call. `None` if `authorize` has to decide.
    async fn allowed(
        &self,
        config: &AssistantConfig,
        runner: &ToolRunner,
        position: usize,
        call: &ToolCall,
        session: ToolSession,
    ) -> Option<Decision> {
        if config.session_tool(&call.name).is_some() {
            return None;
        }
        if config.agent_tool().is_some_and(|agents| agents.delegation(position, call).is_some()) {
            return None;
        }
        // A reply that is asked for again may give the same id to another call.
        let key = format!("{position}:{}:{}", call.id, call.input);
        let (tool, check) = checked(runner, &self.effects, &session, call, key).await.ok()?;
        let matcher = tool.permission_matcher(&call.input);
        if config.hooks.of_call(call, matcher.as_ref()).next().is_some() {
            return None;
        }
        let (matcher, is_read_only) = (matcher.as_ref(), tool.is_read_only(&call.input));
        let view = CallView { call, is_read_only, matcher, check: &check, hooks: &[] };
        let decision = config.permissions.decide(&view, self.state.mode, &self.state.grants);
        (decision.verdict == Verdict::Allow).then_some(decision)
    }
}
