//! The configuration of an assistant.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::node::TaskInfo;
use superstep_nodes::__private::{ModelCalls, ToolRunner};
use superstep_nodes::compaction::ContextManager;
use superstep_nodes::model::{ChatModel, Ledger, Prices, Settings};
use superstep_nodes::tool::{
    ExecutionPolicy, PermissionDecision, PermissionPolicy, PermissionRequest, Tool, ToolRegistry,
};

use crate::agents::AgentKind;
use crate::budget::{Call, Exceeded, Limits, Meter, NoPrice};
use crate::context::{ContextSettings, ContextWindow, ContextWindows};
use crate::guidance::Guidance;
use crate::hook::Hooks;
use crate::inbox::Inbox;
use crate::interrupts::Interrupts;
use crate::permission::{PermissionMode, Permissions};
use crate::plan::SessionTool;
use crate::recovery::RecoveryOptions;
use crate::snapshot::Snapshots;
use crate::state::AssistantState;

mod agents;
mod explain;

/// The configuration of an [`assistant`](crate::assistant()): a model, and what differs from the defaults.
#[derive(Clone)]
pub struct AssistantConfig {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) small_model: Option<Arc<dyn ChatModel>>,
    pub(crate) fallback: Option<Arc<dyn ChatModel>>,
    pub(crate) tools: ToolRegistry,
    pub(crate) policy: ExecutionPolicy,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) system: String,
    pub(crate) settings: Settings,
    pub(crate) recovery: RecoveryOptions,
    pub(crate) compaction: ContextManager,
    pub(crate) context: ContextSettings,
    pub(crate) windows: ContextWindows,
    pub(crate) max_turns: NonZeroU32,
    pub(crate) permissions: Permissions,
    pub(crate) hooks: Hooks,
    pub(crate) guidance: Option<Arc<Guidance>>,
    pub(crate) session_tools: Vec<SessionTool>,
    pub(crate) meter: Meter,
    pub(crate) interrupts: Interrupts,
    pub(crate) kinds: Vec<AgentKind>,
    /// The levels of agents below this one.
    pub(crate) levels: u8,
    /// `true` for the configuration of a sub-agent.
    pub(crate) is_agent: bool,
    /// `true` if the model has only the tools that lead agents.
    pub(crate) is_coordinator: bool,
    pub(crate) snapshots: Option<Snapshots>,
    pub(crate) mode: PermissionMode,
    pub(crate) sources: Vec<ContextSource>,
    pub(crate) inbox: Option<Inbox>,
    pub(crate) speed: Speed,
    pub(crate) task_budget: Option<u64>,
    pub(crate) summarises_tools: bool,
}

/// The time at which a reply is shown, and its calls begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    /// Replies are shown when they are complete.
    Whole,
    /// Replies are shown while they arrive.
    Stream,
    /// Replies are shown while they arrive. Their first calls begin meanwhile, if they change nothing and are allowed
    /// without asking a person, a classifier or a hook.
    #[default]
    StreamTools,
}

/// A read-only call whose result is shown to the model before the message of the user.
#[derive(Clone)]
pub(crate) struct ContextSource {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) input: Value,
}

const INSTRUCTIONS: &str = "You work on requests of a user, step by step, with the tools that you are given. Look before you \
    change something. If a tool fails, read why and try another way. When the work is done, say what you did and how you know \
    that it works. If you cannot do it, say so and why.";

/// The default for the size of a compacted conversation, in tokens.
const COMPACTED: u64 = 20_000;

/// The default for the maximum number of turns.
const MAX_TURNS: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");

impl AssistantConfig {
    /// Takes a model, and the defaults for everything else: no tools, and at most 200 turns for a message.
    pub fn new(model: impl ChatModel) -> Self {
        Self {
            model: Arc::new(model),
            small_model: None,
            fallback: None,
            tools: ToolRegistry::new(),
            policy: ExecutionPolicy::default(),
            workspace: None,
            system: INSTRUCTIONS.to_owned(),
            settings: Settings::default(),
            recovery: RecoveryOptions::default(),
            compaction: ContextManager::new().target(COMPACTED),
            context: ContextSettings::default(),
            windows: ContextWindows::published(),
            max_turns: MAX_TURNS,
            permissions: Permissions::new(),
            hooks: Hooks::new(),
            guidance: None,
            session_tools: Vec::new(),
            meter: Meter::default(),
            interrupts: Interrupts::default(),
            speed: Speed::default(),
            task_budget: None,
            summarises_tools: false,
            kinds: Vec::new(),
            levels: 1,
            is_agent: false,
            is_coordinator: false,
            snapshots: None,
            mode: PermissionMode::default(),
            sources: Vec::new(),
            inbox: None,
        }
    }

    /// Uses another model for summaries, and for decisions on calls in mode `auto`.
    #[must_use]
    pub fn small_model(mut self, model: impl ChatModel) -> Self {
        self.small_model = Some(Arc::new(model));
        self
    }

    /// Switches to this model for the rest of the session if the first one stays unavailable.
    #[must_use]
    pub fn fallback(mut self, model: impl ChatModel) -> Self {
        self.fallback = Some(Arc::new(model));
        self
    }

    /// Gives the model tools.
    #[must_use]
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// Runs calls of tools as this policy allows.
    #[must_use]
    pub fn policy(mut self, policy: ExecutionPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the folder that the tools work in.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Replaces the standing instructions.
    #[must_use]
    pub fn system(mut self, instructions: impl Into<String>) -> Self {
        self.system = instructions.into();
        self
    }

    /// Sets how the model is to answer.
    #[must_use]
    pub fn model_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the limits of recovery from failed model calls.
    #[must_use]
    pub fn recovery(mut self, options: RecoveryOptions) -> Self {
        self.recovery = options;
        self
    }

    /// Sets what models are shown of a conversation, and from which size it is compacted.
    #[must_use]
    pub fn context(mut self, context: ContextSettings) -> Self {
        self.context = context;
        self
    }

    /// Sets what stays of a compacted conversation: its size, its last messages and the pinned ones. The size from which
    /// it is compacted is that of the [context settings](Self::context).
    #[must_use]
    pub fn compaction(mut self, compaction: ContextManager) -> Self {
        self.compaction = compaction;
        self
    }

    /// Sets the context windows of models, instead of the [published](ContextWindows::published) ones.
    #[must_use]
    pub fn windows(mut self, windows: ContextWindows) -> Self {
        self.windows = windows;
        self
    }

    /// Sets the maximum number of replies of the model to one message of the user.
    #[must_use]
    pub fn max_turns(mut self, turns: NonZeroU32) -> Self {
        self.max_turns = turns;
        self
    }

    /// Sets the rules by which calls of tools are allowed, denied or asked about. By default a person is asked about
    /// calls that are not read-only: the run pauses with a [`PermissionQuestion`](crate::permission::PermissionQuestion),
    /// for which the graph needs a checkpointer.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Sets the permission mode of new sessions. Call it after [`sensitivity`](Self::sensitivity), which sets it, too.
    #[must_use]
    pub const fn mode(mut self, mode: PermissionMode) -> Self {
        self.mode = mode;
        self
    }

    /// Returns the permission mode of new sessions.
    pub const fn initial_mode(&self) -> PermissionMode {
        self.mode
    }

    /// Sets the hooks, which are asked before calls of tools and before a run ends.
    #[must_use]
    pub fn hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Gives the model instructions, memory and skills of these folders, and the tools `use_skill` and `remember`.
    #[must_use]
    pub fn guidance(mut self, guidance: Guidance) -> Self {
        self.guidance = Some(Arc::new(guidance));
        self
    }

    /// Gives the model tools of the session itself. A tool of the [registry](Self::tools) with the same name counts
    /// instead.
    #[must_use]
    pub fn session_tools(mut self, tools: impl IntoIterator<Item = SessionTool>) -> Self {
        self.session_tools = tools.into_iter().collect();
        self
    }

    /// Limits what a session may spend, at these prices. A call that could exceed a limit is not sent. A limit on money
    /// needs the price of each model, also of those that [tools pay for](Tool::paid_model). The calls of tools count when
    /// they have ended: the usage of an image is not known before.
    #[must_use]
    pub fn budget(mut self, limits: Limits, prices: Prices) -> Self {
        self.meter = Meter::new(limits, prices);
        self
    }

    /// Lets these handles stop a turn.
    #[must_use]
    pub fn interrupts(mut self, interrupts: Interrupts) -> Self {
        self.interrupts = interrupts;
        self
    }

    /// Limits the work on one message of the user to a context of so many tokens: those of the conversation, and those
    /// that it had before each compaction. The run ends where the conversation alone would need what is left.
    #[must_use]
    pub const fn task_budget(mut self, tokens: u64) -> Self {
        self.task_budget = Some(tokens);
        self
    }

    /// Has the small model write a line on the last calls of tools, in [`AssistantState::tool_summary`]: while the model
    /// works on their results, or before if the budget is limited.
    #[must_use]
    pub const fn summarise_tools(mut self) -> Self {
        self.summarises_tools = true;
        self
    }

    /// Sets the time at which replies are shown, and their calls begin.
    #[must_use]
    pub fn speed(mut self, speed: Speed) -> Self {
        self.speed = speed;
        self
    }

    /// Takes snapshots of the folder that the tools work in, around calls that may change files, so that a session can be
    /// taken [back](crate::rewind) with its files. A custom event `snapshot` lists files that are not covered, once.
    ///
    /// What another program changes while a call of the session runs counts as a change of the call.
    #[must_use]
    pub fn snapshots(mut self, snapshots: Snapshots) -> Self {
        self.snapshots = Some(snapshots);
        self
    }

    /// Takes messages from this inbox while the assistant works: between two turns, and before a run ends.
    #[must_use]
    pub fn inbox(mut self, inbox: Inbox) -> Self {
        self.inbox = Some(inbox);
        self
    }

    /// Returns the inbox for a task. A sub-agent has none: the messages are for its session.
    pub(crate) fn inbox_of(&self, task: &TaskInfo) -> Option<&Inbox> {
        self.inbox.as_ref().filter(|_| !task.thread().is_below())
    }

    /// Returns the runner of the tools that rules do not hide. What it runs is authorized.
    pub(crate) fn runner(&self) -> ToolRunner {
        let tools = self.permissions.assemble(self.all_tools()).permissions(Authorized);
        let mut runner = ToolRunner::new(tools);
        runner.set_policy(self.policy);
        if let Some(folder) = &self.workspace {
            runner.set_workspace(folder.clone());
        }
        runner
    }

    /// Returns the tool of the session itself that has this name.
    pub(crate) fn session_tool(&self, name: &str) -> Option<SessionTool> {
        let tool = self.session_tools.iter().copied().find(|tool| tool.name() == name);
        tool.filter(|_| self.tools.get(name).is_none())
    }

    /// Checks that a budget can be kept.
    pub(crate) fn check_prices(&self, meter: &Meter) -> Result<(), NoPrice> {
        let others = [&self.fallback, &self.small_model].into_iter().flatten();
        let specs = self.tools.specs();
        let of_tools = specs.iter().filter_map(|tool| self.tools.get(&tool.name)?.paid_model());
        meter.check([&self.model].into_iter().chain(others).map(|model| model.name()).chain(of_tools))
    }

    /// Asks the meter for a call of a task that has made these calls so far; `now_ms` is the time, if it is limited.
    pub(crate) fn may_call(
        &self,
        state: &AssistantState,
        calls: &ModelCalls,
        now_ms: Option<u64>,
        call: Call<'_>,
    ) -> Result<Option<u32>, Exceeded> {
        self.may_call_after(state, &calls.made(), now_ms, call)
    }

    fn may_call_after(
        &self,
        state: &AssistantState,
        made: &Ledger,
        now_ms: Option<u64>,
        call: Call<'_>,
    ) -> Result<Option<u32>, Exceeded> {
        let meter = self.meter_of(state);
        let spent = state.spent(&meter, now_ms).and(meter.spent(made, 0));
        meter.may_call(&spent, call)
    }

    /// Asks the meter also for the calls that continue a reply in which a model pauses.
    pub(crate) fn metered(
        self: &Arc<Self>,
        calls: ModelCalls,
        state: &Arc<AssistantState>,
        now_ms: Option<u64>,
    ) -> ModelCalls {
        if self.meter_of(state).limits().is_none() {
            return calls;
        }
        let (config, state) = (Arc::clone(self), Arc::clone(state));
        calls.continuing_if(move |model, request, usage, made| {
            // It has all of the last one and its reply.
            let input_tokens = config.context.counter.request(request).max(usage.total());
            let call = Call { model, input_tokens, max_output: request.settings.max_output_tokens };
            let Ok(most) = config.may_call_after(&state, made, now_ms, call) else { return false };
            request.settings.max_output_tokens = most;
            true
        })
    }

    /// Returns the model for summaries and decisions on calls.
    pub(crate) fn small(&self) -> &Arc<dyn ChatModel> {
        self.small_model.as_ref().unwrap_or(&self.model)
    }

    /// Returns the context window of the model for the work; `None` if it is not known.
    pub(crate) fn window(&self, state: &AssistantState) -> Option<ContextWindow> {
        let model = self.model_of(state.recovery.switched_model).name();
        state.windows.of(model).or_else(|| self.windows.of(model))
    }

    /// Returns the model for the work, by whether the fallback has taken over.
    pub(crate) fn model_of(&self, switched: bool) -> &Arc<dyn ChatModel> {
        self.fallback.as_ref().filter(|_| switched).unwrap_or(&self.model)
    }
}

/// The policy of calls on which `authorize` has decided. A tool may still deny them.
struct Authorized;

#[async_trait]
impl PermissionPolicy for Authorized {
    async fn decide(&self, _: PermissionRequest<'_>) -> PermissionDecision {
        PermissionDecision::Allow
    }
}

impl fmt::Debug for AssistantConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssistantConfig")
            .field("model", &self.model.name())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
