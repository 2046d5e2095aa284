//! Tools of the session itself: a list of tasks, a plan that a person approves, and questions to the user.
//!
//! The node `authorize` answers their calls, so none of them is run: a [`Todo`](SessionTool::Todo) list becomes a field
//! of the state, and a plan and a question wait for a person, as questions for permission do.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Tool, TypedTool};

use crate::permission::PermissionMode;

/// A tool of the session itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionTool {
    /// `todo`: replaces the list of tasks.
    Todo,
    /// `present_plan`: shows the user a plan. An approval sets the permission mode, so a sub-agent should not have it.
    PresentPlan,
    /// `ask_user`: asks the user a question.
    AskUser,
}

/// A task of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoItem {
    /// The task, in a few words.
    pub task: String,
    /// The status of the task.
    #[serde(default)]
    pub status: TodoStatus,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// It is not begun.
    #[default]
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Done,
}

/// A question whether to carry out a plan. It is stored with the thread until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanQuestion {
    /// The plan, as Markdown: the steps, and how to tell that each is done.
    pub plan: String,
}

/// The answer to a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanAnswer {
    /// Carry it out.
    Approve {
        /// The permission mode from now on.
        mode: PermissionMode,
    },
    /// Change it first.
    Revise {
        /// The changes to make, which the model reads.
        feedback: String,
    },
}

/// A question of the model to the user. The answer is a text. It is stored with the thread until it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// Answers to choose from. Another answer is possible, too.
    pub options: Vec<String>,
    /// The sub-agent that asks.
    pub agent: Option<String>,
}

/// The input of `ask_user`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskUser {
    /// The question.
    question: String,
    /// Answers to choose from. The user may give another one, too.
    #[serde(default)]
    options: Vec<String>,
}

/// The input of `todo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TodoList {
    /// All tasks, in their order. The list replaces the one before.
    items: Vec<TodoItem>,
}

/// A call of a tool of the session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionCall {
    Todo(Vec<TodoItem>),
    Plan(PlanQuestion),
    Ask(UserQuestion),
}

/// The maximum size of an input, in bytes: it is stored with the thread, and attached after a compaction.
const MAX_INPUT: usize = 32 << 10;

impl SessionTool {
    /// All tools of the session.
    pub const ALL: [Self; 3] = [Self::Todo, Self::PresentPlan, Self::AskUser];

    /// Returns the name of the tool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::PresentPlan => "present_plan",
            Self::AskUser => "ask_user",
        }
    }

    /// Makes the tool, for the requests.
    pub(crate) fn tool(self) -> Arc<dyn Tool> {
        match self {
            Self::Todo => tool::<TodoList>(
                self,
                "Replaces your list of tasks. Use it for work of three or more steps: list them before you begin, keep \
                 one task in progress, and mark each as done when it is. The list may have 32 KiB.",
            ),
            Self::PresentPlan => tool::<PlanQuestion>(
                self,
                "Shows the user your plan and waits for an approval. Use it in mode plan, when you know enough to say what \
                 you would change. The plan may have 32 KiB. The answer says in which mode to continue, or what to change.",
            ),
            Self::AskUser => tool::<AskUser>(
                self,
                "Asks the user a question and waits for the answer. Use it if only the user can decide, and not for what \
                 you can look up. Offer options if there are a few good answers. The question may have 32 KiB.",
            ),
        }
    }

    /// Reads the input of a call.
    ///
    /// # Errors
    /// Returns the reason for which it is none, for the model.
    pub(crate) fn read(self, call: &ToolCall) -> Result<SessionCall, String> {
        let input = &call.input;
        let bytes = input.to_string().len();
        if bytes > MAX_INPUT {
            return Err(format!("the input has {bytes} bytes, and {MAX_INPUT} are allowed: shorten it"));
        }
        Ok(match self {
            Self::Todo => SessionCall::Todo(parsed::<TodoList>(input)?.items),
            Self::PresentPlan => SessionCall::Plan(parsed(input)?),
            Self::AskUser => {
                let AskUser { question, options } = parsed(input)?;
                SessionCall::Ask(UserQuestion { question, options, agent: None })
            }
        })
    }
}

fn parsed<I: DeserializeOwned>(input: &Value) -> Result<I, String> {
    I::deserialize(input).map_err(|error| error.to_string())
}

fn tool<I: DeserializeOwned + JsonSchema + Send + 'static>(tool: SessionTool, prompt: &str) -> Arc<dyn Tool> {
    let run =
        move |_: I| async move { Err::<String, _>(format!("`{}` is answered by the session", tool.name())) };
    // It does not count as read-only, so no call of it begins before `authorize` sees it.
    Arc::new(TypedTool::new(tool.name(), prompt, run))
}

/// Writes a list of tasks, one in each line.
pub(crate) struct TodoLines<'t>(pub(crate) &'t [TodoItem]);

impl fmt::Display for TodoLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for TodoItem { task, status } in self.0 {
            let sign = match status {
                TodoStatus::Pending => "[ ]",
                TodoStatus::InProgress => "[~]",
                TodoStatus::Done => "[x]",
            };
            writeln!(f, "- {sign} {task}")?;
        }
        Ok(())
    }
}
