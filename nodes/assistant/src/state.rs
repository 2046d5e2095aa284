//! The state of an assistant.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::id::CheckpointId;
use superstep_core::reducer::{Append, KeyedLog, Merge, Sum};
use superstep_core::state::State;
use superstep_nodes::compaction::Compaction;
use superstep_nodes::message::{AiMessage, Message, MessageId, MessageLog, Part};
use superstep_nodes::model::{Ledger, ModelError, ModelFailure, StopReason};
use superstep_nodes::tool::ToolNotes;

use crate::agents::{Access, AgentResult, BackgroundAgent, Delegation};
use crate::budget::{Meter, Spent};
use crate::context::{Anchor, AutoCompact, ContextWindows, History, Trim};
use crate::exit::{Exit, Transition};
use crate::guidance::{Attached, Wanted, nested};
use crate::permission::{Decision, Grant, PermissionMode};
use crate::plan::TodoItem;
use crate::recovery::Recovery;
use crate::snapshot::{Change, NotCovered, Restored, SnapshotId};

/// The state of an [`assistant`](crate::assistant()) graph.
///
/// A thread is a session. Each run with an input made by [`ask`](Self::ask) works on one message of the user; it ends
/// with an [`Exit`] in `exit`, and the next message continues the session.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AssistantState {
    /// The conversation.
    #[reducer(KeyedLog)]
    pub messages: MessageLog,
    /// The compactions of the conversation, for the parts that models are no longer shown.
    #[reducer(KeyedLog)]
    pub compactions: Vec<Compaction>,
    /// The decisions on the form in which models are shown messages.
    #[reducer(KeyedLog)]
    pub trims: Vec<Trim>,
    /// The decisions on calls of tools.
    #[reducer(Append)]
    pub decisions: Vec<Decision>,
    /// The rules that a person approved for this session.
    #[reducer(KeyedLog)]
    pub grants: Vec<Grant>,
    /// The permission mode.
    pub mode: PermissionMode,
    /// The list of tasks, as the model wrote it.
    pub todo: Vec<TodoItem>,
    /// The plan that the user approved.
    pub plan: Option<String>,
    /// The texts of files that the conversation has, such as instructions.
    pub attached: BTreeMap<String, Attached>,
    /// The messages that models are shown behind the summary of a compaction: instructions, tasks, the plan.
    pub attachments: Vec<Message>,
    /// The positions of the calls of the last reply that are allowed and not made yet.
    pub allowed: Vec<u32>,
    /// The notes of tools, such as the digest of each file that was read, by `file:` and its path.
    #[reducer(Merge)]
    pub files: ToolNotes,
    /// The task of a sub-agent, with its budget; `None` in a session.
    pub delegation: Option<Delegation>,
    /// The calls of the last reply that delegate to agents that have not begun.
    pub delegations: Vec<Delegation>,
    /// The ends of agents to which calls of the last reply delegated.
    #[reducer(Append)]
    pub results: Vec<AgentResult>,
    /// The agents that work beside the session.
    #[reducer(KeyedLog)]
    pub background: Vec<BackgroundAgent>,
    /// The snapshot of the files after the last call that may have changed some.
    pub snapshot: Option<SnapshotId>,
    /// The changes of files that calls of the session made, and of its agents that have ended.
    #[reducer(Append)]
    pub changes: Vec<Change>,
    /// The first files of those that snapshots do not cover.
    pub not_covered: Vec<NotCovered>,
    /// The rewind that led here, until the next turn.
    pub rewound: Option<Rewound>,
    /// The model calls of the session, with those of its sub-agents.
    #[reducer(Sum)]
    pub ledger: Ledger,
    /// The message of the user that the next visit of `gate` appends.
    pub request: Option<String>,
    /// The ids of the messages that the last visit of `gate` took. They are removed from the inbox by the next one.
    pub inbox_taken: Vec<String>,
    /// The time of this message of the user, in milliseconds of Unix time; only where time is limited.
    pub began_ms: Option<u64>,
    /// The number of replies of the model to this message of the user.
    pub turn_count: u32,
    /// The number of responses to this message of the user to which stop hooks objected.
    pub objections: u32,
    /// The attempts at recovery so far.
    pub recovery: Recovery,
    /// The tokens of the last request and its reply.
    pub anchor: Option<Anchor>,
    /// The attempts at compaction so far.
    pub auto_compact: AutoCompact,
    /// The tokens that are left for this message of the user, if they are limited: those of the conversation before each
    /// compaction are used up.
    pub task_remaining: Option<u64>,
    /// The small model's summary of the last calls of tools, if it is to write one.
    pub tool_summary: Option<String>,
    /// The context windows that providers stated in errors.
    pub windows: ContextWindows,
    /// The failure that `recover` works on; after the run, the one that ended it.
    pub failure: Option<TurnFailure>,
    /// The reason for which the loop called the model again.
    pub transition: Option<Transition>,
    /// The stop reason of the last reply.
    pub stop: Option<StopReason>,
    /// The reason for which the run ended.
    pub exit: Option<Exit>,
}

/// The end of the ids of messages about a rewind.
pub(crate) const REWOUND: &str = ".rewound";

/// The ends of the ids of messages in the user's role that the user did not write.
const OF_THE_LOOP: [&str; 5] = [OBJECTION, RESUMED, ATTACHED, OF_AGENT, REWOUND];

/// Returns `true` for the id of a message in the user's role that the user did not write.
pub(crate) fn is_of_loop(message: &MessageId) -> bool {
    let id = message.as_str();
    id.contains(CONTEXT) || OF_THE_LOOP.iter().any(|end| id.ends_with(end))
}

/// The part of the ids of messages with context before the number of its source.
pub(crate) const CONTEXT: &str = ".context.";

/// The end of the ids of messages with objections of stop hooks.
pub(crate) const OBJECTION: &str = ".objection";

/// The end of the ids of messages that ask the model to continue a reply.
pub(crate) const RESUMED: &str = ".resume";

/// The end of the ids of messages of agents.
pub(crate) const OF_AGENT: &str = ".agent";

/// The end of the ids of messages with texts of files.
pub(crate) const ATTACHED: &str = ".attached";

/// The end of the ids of messages of the user that name a command. The prompt of the command is their second part.
pub(crate) const COMMAND: &str = ".command";

/// The failure of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnFailure {
    /// The model call failed.
    Failed(#[schemars(with = "serde_json::Value")] ModelError),
    /// A limit cut the reply off.
    CutOff {
        /// The part that came.
        reply: AiMessage,
        /// The limit.
        stop: StopReason,
    },
}

/// A rewind of a session, in the state that it led to: it can be taken back, and the model is to be told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rewound {
    /// The latest checkpoint before the rewind.
    #[schemars(with = "String")]
    pub from: CheckpointId,
    /// The part of the session that was taken back.
    #[serde(default)]
    pub scope: RewindScope,
    /// The snapshots around the restore of the files; `None` if there was nothing to restore.
    pub change: Option<Change>,
    /// The files that were restored, by path.
    pub restored: Vec<String>,
    /// The files that the session had changed and that stayed as they were, by path.
    pub left: Vec<String>,
}

/// The part of a session that a rewind takes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    /// The conversation and the files.
    #[default]
    Both,
    /// The files. The conversation continues where it is, and the next request names the files.
    Files,
    /// The conversation. The files stay, and the next request names them.
    Talk,
}

/// The maximum number of paths in a text for a model.
const MOST_PATHS: usize = 50;

impl Rewound {
    /// Makes the record of a rewind in which these files stayed because others had changed them, too.
    pub(crate) fn new(
        from: CheckpointId,
        scope: RewindScope,
        restored: Option<&Restored>,
        mut left: Vec<String>,
    ) -> Self {
        let files = restored.into_iter().flat_map(|it| &it.restored).map(|file| file.path.clone());
        left.extend(restored.into_iter().flat_map(|it| &it.left).map(|left| left.path.clone()));
        left.sort();
        Self { from, scope, change: restored.map(Restored::change), restored: files.collect(), left }
    }

    /// Returns the text that tells a model of the rewind; `None` if no file is concerned.
    pub(crate) fn note(&self) -> Option<String> {
        let mut text = String::new();
        let mut say = |what: &str, paths: &[String]| {
            if !paths.is_empty() {
                text.push_str(what);
                text.push_str(&listed(paths.iter().map(String::as_str)));
                text.push('\n');
            }
        };
        let (what, restored, left) = match self.scope {
            RewindScope::Both => (
                "The user took the session back to this point.",
                "These files are again as they were at this point of the session: ",
                "These files were changed by others since, and may differ: read them again: ",
            ),
            RewindScope::Files => (
                "The user took back changes of files.",
                "These files are again as they were earlier in the session: read them again: ",
                "These files were changed by others since, and stay as they are: ",
            ),
            RewindScope::Talk => (
                "The user took the conversation back to this point, but not the files.",
                "",
                "These files have changed since, and may differ: read them again: ",
            ),
        };
        say(restored, &self.restored);
        say(left, &self.left);
        (!text.is_empty()).then(|| format!("{what}\n{}", text.trim_end()))
    }
}

/// Lists paths for a model: all, or the first ones and the number of the others.
pub(crate) fn listed<'p>(paths: impl ExactSizeIterator<Item = &'p str>) -> String {
    let more = paths.len().saturating_sub(MOST_PATHS);
    let shown: Vec<_> = paths.take(MOST_PATHS).collect();
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

impl TurnFailure {
    /// Returns the kind of the failure.
    pub fn kind(&self) -> ModelFailure {
        match self {
            Self::Failed(error) => error.failure(),
            Self::CutOff { stop, .. } => stop.failure().unwrap_or(ModelFailure::Truncated),
        }
    }
}

impl AssistantState {
    /// Returns the input that gives the assistant a message of the user, on a new thread or in a session.
    pub fn ask(request: impl Into<String>) -> AssistantStateUpdate {
        Self::update()
            .set_request(Some(request.into()))
            .turn_count(0)
            .set_failure(None)
            .set_transition(None)
            .set_stop(None)
            .set_exit(None)
    }

    /// Returns the input of a sub-agent: its task.
    pub(crate) fn delegated(task: Delegation) -> AssistantStateUpdate {
        Self::ask(task.task.clone()).set_delegation(Some(task))
    }

    /// Returns the part of its parent's state that a sub-agent begins with. Its mode is never looser.
    pub(crate) fn inherited(parent: &Self, access: Access) -> AssistantStateUpdate {
        let mode = match access {
            Access::ReadOnly => PermissionMode::Plan,
            Access::Writes => parent.mode,
        };
        Self::update().mode(mode).windows(parent.windows.clone())
    }

    /// Returns the conversation for the passes; `overhead` is the number of tokens of a request beside its messages.
    pub(crate) fn history(&self, overhead: u64) -> History<'_> {
        History {
            messages: &self.messages,
            compactions: &self.compactions,
            trims: &self.trims,
            anchor: self.anchor.as_ref(),
            attachments: &self.attachments,
            overhead,
            auto: self.auto_compact,
            turn: self.turn_count,
            compaction: None,
        }
    }

    /// Returns the amounts that are spent, or reserved for agents in the background.
    pub(crate) fn spent(&self, meter: &Meter, now_ms: Option<u64>) -> Spent {
        let time_ms = now_ms.unwrap_or(0).saturating_sub(self.began_ms.unwrap_or(0));
        let reserved = self.background.iter().map(BackgroundAgent::reserved);
        reserved.fold(meter.spent(&self.ledger, time_ms), Spent::and)
    }

    /// Returns the end of this sub-agent, for its parent.
    pub(crate) fn result(&self) -> AgentResult {
        let failure = self.failure.as_ref().map(|failure| match failure {
            TurnFailure::Failed(error) => error.to_string(),
            TurnFailure::CutOff { .. } => "its reply was cut off".to_owned(),
        });
        let texts = self.messages.iter().rev().filter(|message| matches!(message, Message::Ai(_)));
        let text = texts.map(Message::text).find(|text| !text.trim().is_empty());
        let (call, agent) = match &self.delegation {
            Some(delegation) => (delegation.call, delegation.agent.clone()),
            None => (0, String::new()),
        };
        let text = text.unwrap_or_default().into_owned();
        AgentResult { call, agent, exit: self.exit, failure, text }
    }

    /// Returns the message of the user that is not in the conversation yet.
    pub(crate) fn new_request(&self) -> Option<&str> {
        self.request.as_deref().filter(|request| !request.trim().is_empty())
    }

    /// Returns `true` if a stop hook has objected to a response to this message of the user.
    pub const fn stop_hook_active(&self) -> bool {
        self.objections > 0
    }

    /// Returns the last message of the user. Messages that the loop writes in the user's role do not count, nor does the
    /// prompt of a command: what a hook, a file or an agent says is no task.
    pub(crate) fn task(&self) -> String {
        let Some(said) = self.task_at().map(|at| &self.messages[at]) else { return String::new() };
        match said.id().as_str().ends_with(COMMAND) {
            true => said.content().parts().first().and_then(Part::as_text).unwrap_or_default().to_owned(),
            false => said.text().into_owned(),
        }
    }

    /// Returns the texts that are wanted for a message of the user: those that the models are no longer shown are not
    /// known.
    pub(crate) fn wanted(&self, request: String) -> Wanted {
        let behind_summary = if self.compactions.is_empty() { &[][..] } else { &self.attachments[..] };
        let shown: HashSet<&MessageId> =
            self.messages.iter().chain(behind_summary).map(Message::id).collect();
        let is_shown = |it: &Attached| it.digest.is_empty() || shown.contains(&it.message);
        let known = self.attached.iter().filter(|(_, it)| is_shown(it));
        let known = known.map(|(key, it)| (key.clone(), it.digest.clone())).collect();
        Wanted { request: Some(request), known, folders: nested(self.attached.keys()), files: Vec::new() }
    }

    /// Returns the messages since the last message of the user.
    pub(crate) fn since_task(&self) -> &[Message] {
        &self.messages[self.task_at().unwrap_or_default()..]
    }

    fn task_at(&self) -> Option<usize> {
        let is_task = |message: &Message| matches!(message, Message::Human(_)) && !is_of_loop(message.id());
        self.messages.iter().rposition(is_task)
    }

    /// Returns the text of the last reply; empty before the first one.
    pub fn response(&self) -> String {
        let said = self.messages.iter().rev().find(|message| matches!(message, Message::Ai(_)));
        said.map(|message| message.text().into_owned()).unwrap_or_default()
    }
}
