//! Calls of the session's own tools, which `authorize` answers.

use superstep_core::node::Ask;

use crate::permission::PermissionMode;
use crate::plan::{PlanAnswer, PlanQuestion, SessionCall, TodoItem, UserQuestion};

/// The questions of the session's own tools.
pub(super) struct SessionAsks {
    pub(super) plan: Ask<PlanQuestion, PlanAnswer>,
    pub(super) user: Ask<UserQuestion, String>,
    /// `false` if the session runs without a person.
    pub(super) has_person: bool,
    /// The sub-agent that asks.
    pub(super) agent: Option<String>,
}

/// The answer to a call, and the changes of the state.
#[derive(Default)]
pub(super) struct SessionAnswer {
    pub(super) text: String,
    pub(super) is_error: bool,
    pub(super) todo: Option<Vec<TodoItem>>,
    pub(super) plan: Option<String>,
    pub(super) mode: Option<PermissionMode>,
}

const NO_PERSON: &str =
    "The session runs without a person, so there is no answer. Decide yourself, within your permissions.";

impl SessionAsks {
    /// Answers a call. If a person has to, this waits for the answer.
    pub(super) async fn answer(&self, call: &Result<SessionCall, String>, key: &str) -> SessionAnswer {
        let said = |text: String| SessionAnswer { text, ..SessionAnswer::default() };
        let failed = |text: &str| SessionAnswer { is_error: true, ..said(text.to_owned()) };
        match call {
            Err(reason) => failed(reason),
            Ok(SessionCall::Todo(items)) => {
                SessionAnswer { todo: Some(items.clone()), ..said("The list is replaced.".to_owned()) }
            }
            Ok(SessionCall::Plan(_) | SessionCall::Ask(_)) if !self.has_person => failed(NO_PERSON),
            Ok(SessionCall::Plan(question)) => match self.plan.ask_as(key, question.clone()).await {
                PlanAnswer::Approve { mode } => {
                    let text = format!(
                        "The user approved the plan. The permission mode is now {mode}. Carry it out."
                    );
                    SessionAnswer { plan: Some(question.plan.clone()), mode: Some(mode), ..said(text) }
                }
                PlanAnswer::Revise { feedback } => {
                    failed(&format!("The user wants another plan: {feedback}"))
                }
            },
            Ok(SessionCall::Ask(question)) => {
                let question = UserQuestion { agent: self.agent.clone(), ..question.clone() };
                said(self.user.ask_as(key, question).await)
            }
        }
    }
}
