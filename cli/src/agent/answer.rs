//! Answers to stored questions: those of a session, and of the agents that work beside it.

use clap::Args;
use superstep_assistant::permission::{PermissionAnswer, PermissionMode};
use superstep_assistant::plan::PlanAnswer;
use superstep_assistant::{CutOffAnswer, SessionSummary};

use super::arguments::{Options, Which};
use super::headless;
use super::past::is_name;
use super::values::FromText;
use super::work::{OpenQuestion, Question, Reply, Standing};
use super::workbench::{Trusting, Workbench};
use crate::failure::Failure;
use crate::screen::{Exit, Screen};

/// Answer a question that a session has stored, and work on like -p
#[derive(Debug, Args)]
#[command(after_help = "\
Answers to a call: allow, session, always, deny [REASON]; to a plan: approve [MODE], revise TEXT; to a call that was \
cut off: happened [NOTE], again, give-up; to another question: a text.

An agent in the background is named SESSION/NAME.

Example: superstep agent answer allow")]
pub(crate) struct Answer {
    /// The session or agent, unless it is the only one that asks, and the answer
    #[arg(required = true, value_name = "[SESSION] ANSWER")]
    words: Vec<String>,

    /// The question, by the beginning of its id; the first one without it
    #[arg(long, value_name = "ID")]
    question: Option<String>,

    #[command(flatten)]
    options: Options,
}

impl Answer {
    pub(crate) async fn carry_out(&self, json: bool, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
        let bench = Workbench::open(&self.options, Trusting::Nothing).await?;
        let (asker, words) = self.asker(&bench).await?;
        let (session, agent) = match asker.split_once('/') {
            Some((session, agent)) => (session, Some(agent)),
            None => (asker.as_str(), None),
        };
        let mut session = bench.session(&Which::Named(session.to_owned())).await?;
        let agent = match agent {
            Some(name) => Some(bench.background_agent(&session, name).await?),
            None => None,
        };
        let open = match &agent {
            Some(thread) => OpenQuestion::of_thread(thread, &bench).await?,
            None => match bench.standing(&session).await? {
                Standing::Asks(open) => open,
                _ => Vec::new(),
            },
        };
        let is_meant = |it: &&OpenQuestion| {
            self.question.as_ref().is_none_or(|id| it.id.to_string().starts_with(id.as_str()))
        };
        let question = open.iter().find(is_meant).ok_or_else(|| match (&self.question, open.is_empty()) {
            (Some(id), false) => {
                Failure::nothing(format!("{asker} has no open question whose id begins with {id}"))
            }
            _ => Failure::nothing(format!("{asker} has no open question")),
        })?;
        let reply = question.question.reply(words)?;
        let note = question.has_no_rule_for(&reply).then_some(NO_RULE);
        let start = bench.reply(question, &reply)?;
        let answered = headless::Answered { start, agent: agent.as_ref(), note };
        headless::answer(&bench, &mut session, answered, json, screen).await
    }

    /// Returns the name of the session or agent that is answered, and the words of the answer.
    async fn asker(&self, bench: &Workbench) -> Result<(String, &[String]), Failure> {
        let all = SessionSummary::list(&bench.graph).await?;
        // A name that is no session's is an error, and not the beginning of an answer.
        let is_named = |name: &str| {
            let session = name.split('/').next().unwrap_or(name);
            is_name(session)
                || session.len() >= 4 && all.iter().any(|it| it.session.as_str().starts_with(session))
        };
        if let Some((name, words)) = self.words.split_first()
            && is_named(name)
        {
            return Ok((name.clone(), words));
        }
        let mut asking = all.iter().filter(|it| it.questions > 0);
        match (asking.next(), asking.next()) {
            (Some(only), None) => Ok((only.session.to_string(), &self.words)),
            (None, _) => Err(Failure::nothing("no session of this folder asks a question")),
            (Some(one), Some(other)) => Err(Failure::unusable(format!(
                "several questions are open, such as those of {} and {}: name one before the answer",
                one.session, other.session
            ))),
        }
    }
}

/// The warning about an answer for more than one call where the question offers no rule.
const NO_RULE: &str =
    "no rule can be made for this call, so it is allowed once; for more, write a rule into the settings";

impl Question {
    /// Reads an answer from the words of the command line.
    pub(crate) fn reply(&self, words: &[String]) -> Result<Reply, Failure> {
        let (first, rest) =
            words.split_first().map_or(("", String::new()), |(first, rest)| (first.as_str(), rest.join(" ")));
        let wrong = || {
            Failure::unusable(format!(
                "this does not answer the question; the answers are {}",
                self.answers()
            ))
        };
        Ok(match self {
            Self::Permission(_) => Reply::Permission(match first {
                "allow" | "once" => PermissionAnswer::Once,
                "session" => PermissionAnswer::Session,
                "always" => PermissionAnswer::Always,
                "deny" => PermissionAnswer::Deny { reason: rest },
                _ => return Err(wrong()),
            }),
            Self::Plan(_) => Reply::Plan(match (first, rest.as_str()) {
                ("approve", "") => PlanAnswer::Approve { mode: PermissionMode::Default },
                ("approve", mode) => {
                    PlanAnswer::Approve { mode: PermissionMode::from_text(mode).map_err(Failure::unusable)? }
                }
                ("revise", text) if !text.is_empty() => PlanAnswer::Revise { feedback: rest },
                _ => return Err(wrong()),
            }),
            Self::CutOff(_) => Reply::CutOff(match first {
                "happened" => CutOffAnswer::Happened { note: rest },
                "again" => CutOffAnswer::RunAgain,
                "give-up" => CutOffAnswer::GiveUp,
                _ => return Err(wrong()),
            }),
            Self::User(_) if !first.is_empty() => Reply::User(words.join(" ")),
            Self::User(_) | Self::Other(_) => return Err(wrong()),
        })
    }
}
