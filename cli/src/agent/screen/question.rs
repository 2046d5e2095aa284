//! Questions to the user, and the keys that answer them.

use superstep_assistant::permission::{PermissionAnswer, PermissionMode, PermissionQuestion};
use superstep_assistant::plan::PlanAnswer;
use superstep_assistant::{CutOffAnswer, CutOffCall};

use super::line::{Line, wrap};
use super::markdown::Markdown;
use super::view::one_line;
use super::{change, changed_files};
use crate::agent::work::{Question, Reply};
use crate::page::{BAD, DIM, NAME, NOTE, PLAIN, plain, span};
use crate::screen::Look;

/// An answer that can be chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The key that chooses it.
    pub(crate) key: char,
    /// Its meaning.
    pub(crate) label: String,
    /// The answer.
    pub(crate) take: Take,
}

/// The way from a key to an answer.
#[derive(Clone, Debug)]
pub(crate) enum Take {
    /// The key is the answer.
    Now(Reply),
    /// The answer needs a text.
    Text {
        /// The question for the text.
        prompt: &'static str,
        /// Makes the answer.
        answer: fn(String) -> Reply,
    },
}

impl Question {
    /// Returns the question as lines, without its choices.
    pub(crate) fn lines(&self, look: Look) -> Vec<Line> {
        match self {
            Self::Permission(question) => permission(question, look),
            Self::Plan(question) => {
                let mut lines = vec![Line::new(NOTE, "The plan:")];
                lines.extend(markdown(&question.plan, look));
                lines
            }
            Self::User(question) => {
                let asker = question.agent.as_deref().map(|agent| span(DIM, format!("[{agent}] ")));
                let mut lines = markdown(&question.question, look);
                lines[0].0.splice(0..0, asker);
                lines
            }
            Self::CutOff(call) => cut_off(call, look),
            Self::Other(question) => {
                wrap(&[plain(question.to_string())], look.width.unwrap_or(usize::MAX), &[], &[])
            }
        }
    }

    /// Returns the answers to choose from, each with a key of its own.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        match self {
            Self::Permission(question) => permission_choices(question),
            Self::Plan(_) => {
                let approve = |mode| Take::Now(Reply::Plan(PlanAnswer::Approve { mode }));
                let revise = Take::Text {
                    prompt: "changes",
                    answer: |feedback| Reply::Plan(PlanAnswer::Revise { feedback }),
                };
                vec![
                    choice('y', "carry it out, and ask before each change", approve(PermissionMode::Default)),
                    choice(
                        'e',
                        "carry it out, and edit files without asking",
                        approve(PermissionMode::AcceptEdits),
                    ),
                    choice('n', "change the plan first", revise),
                ]
            }
            Self::User(question) => {
                let options = question.options.iter().take(9).zip('1'..);
                let options =
                    options.map(|(text, key)| choice(key, text, Take::Now(Reply::User(text.clone()))));
                let own = Take::Text { prompt: "answer", answer: Reply::User };
                options.chain([choice('t', "type an answer", own)]).collect()
            }
            // It is answered by the version of the program that asked.
            Self::Other(_) => Vec::new(),
            Self::CutOff(_) => vec![
                choice(
                    'h',
                    "it happened: tell the model",
                    Take::Text {
                        prompt: "output or note (may be empty)",
                        answer: |note| Reply::CutOff(CutOffAnswer::Happened { note }),
                    },
                ),
                choice('r', "run it again", Take::Now(Reply::CutOff(CutOffAnswer::RunAgain))),
                choice('g', "give it up", Take::Now(Reply::CutOff(CutOffAnswer::GiveUp))),
            ],
        }
    }

    /// Returns the choices as lines.
    pub(crate) fn choice_lines(&self, look: Look) -> Vec<Line> {
        let line = |choice: &Choice| {
            let margin = [span(NAME, format!("  {}  ", choice.key))];
            wrap(&[plain(&choice.label)], look.width.unwrap_or(usize::MAX), &margin, &[plain("     ")])
        };
        self.choices().iter().flat_map(line).collect()
    }
}

fn choice(key: char, label: impl Into<String>, take: Take) -> Choice {
    Choice { key, label: label.into(), take }
}

fn permission(question: &PermissionQuestion, look: Look) -> Vec<Line> {
    let PermissionQuestion { call, reason, agent, .. } = question;
    let asker = agent.as_deref().map(|agent| span(DIM, format!("[{agent}] ")));
    let title = asker.into_iter().chain([span(NOTE, "Allow "), span(NAME, &call.name), span(NOTE, "?")]);
    let mut lines = vec![Line::of(title)];
    match &question.change {
        Some(it) => lines.extend(change(it).into_iter().map(|line| line.after(plain("  ")))),
        None => lines.extend(input(&call.name, &call.input, look)),
    }
    let margin = [plain("  ")];
    lines.extend(wrap(&[span(DIM, reason)], look.width.unwrap_or(usize::MAX), &margin, &margin));
    lines
}

/// Returns the input of a call: each field, as it is what the user decides on. A command is shown alone.
fn input(tool: &str, input: &serde_json::Value, look: Look) -> Vec<Line> {
    let text = match input.as_object() {
        Some(fields) if fields.len() > 1 || fields.values().any(|value| !value.is_string()) => {
            let shown =
                |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let lines = fields.iter().map(|(name, value)| format!("{name}: {}", shown(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        Some(fields) => fields.values().filter_map(serde_json::Value::as_str).collect(),
        None => one_line(tool, input),
    };
    let margin = [plain("  ")];
    let wrapped = |line: &str| {
        let line = Line::new(PLAIN, line);
        wrap(&line.0, look.width.unwrap_or(usize::MAX), &margin, &margin)
    };
    text.lines().flat_map(wrapped).collect()
}

fn permission_choices(question: &PermissionQuestion) -> Vec<Choice> {
    let now = |answer| Take::Now(Reply::Permission(answer));
    let mut choices = vec![choice('y', "allow it once", now(PermissionAnswer::Once))];
    if !question.offer.is_empty() {
        let rules: Vec<_> = question.offer.iter().map(ToString::to_string).collect();
        let rules = rules.join(", ");
        choices.push(choice('s', format!("allow {rules} in this session"), now(PermissionAnswer::Session)));
        choices.push(choice(
            'a',
            format!("always allow {rules}, in all folders"),
            now(PermissionAnswer::Always),
        ));
    }
    let deny = |reason| Reply::Permission(PermissionAnswer::Deny { reason });
    choices.push(choice(
        'n',
        "deny it, with a reason",
        Take::Text { prompt: "reason (may be empty)", answer: deny },
    ));
    choices
}

fn cut_off(call: &CutOffCall, look: Look) -> Vec<Line> {
    let title = [
        span(BAD, "Cut off: "),
        span(NAME, &call.call.name),
        span(
            DIM,
            match call.starts {
                0 | 1 => String::new(),
                starts => format!("  (begun {starts} times)"),
            },
        ),
    ];
    let mut lines = vec![Line::of(title)];
    if !call.call.input.is_null() {
        lines.extend(input(&call.call.name, &call.call.input, look));
    }
    let text = match call.changed.as_deref() {
        None => "The program ended while it ran, so its effect is not known.",
        Some([]) => "The program ended while it ran. No file has changed since the calls of this turn began.",
        Some(_) => {
            "The program ended while it ran. Since the calls of this turn began, these files have changed:"
        }
    };
    lines.extend(wrap(&[plain(text)], look.width.unwrap_or(usize::MAX), &[], &[]));
    lines.extend(changed_files(call.changed.as_deref().unwrap_or_default()));
    lines
}

fn markdown(text: &str, look: Look) -> Vec<Line> {
    let mut markdown = Markdown::new();
    let mut lines = markdown.push(text, look);
    lines.extend(markdown.end(look));
    if lines.is_empty() {
        lines.push(Line::default());
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use superstep_assistant::permission::{Extent, FileChange};
    use superstep_assistant::plan::{PlanQuestion, UserQuestion};
    use superstep_assistant::snapshot::{ChangeKind, ChangedFile};
    use superstep_nodes::message::ToolCall;

    use super::*;

    const LOOK: Look = Look { width: Some(60), color: false };

    fn lines(question: &Question) -> Vec<String> {
        let lines = question.lines(LOOK).into_iter().chain(question.choice_lines(LOOK));
        lines.map(|line| line.text(false)).collect()
    }

    fn answer(question: &Question, key: char, text: &str) -> Reply {
        let choice = question.choices().into_iter().find(|choice| choice.key == key).unwrap();
        match choice.take {
            Take::Now(answer) => answer,
            Take::Text { answer, .. } => answer(text.to_owned()),
        }
    }

    fn ask(call: ToolCall, offer: &[&str]) -> PermissionQuestion {
        let change = FileChange::of(&call, None);
        let offer = offer.iter().map(|rule| rule.parse().unwrap()).collect();
        PermissionQuestion { call, reason: "no rule allows it".into(), change, offer, agent: None }
    }

    #[test]
    fn a_command_is_shown_whole_with_its_offers() {
        let call = ToolCall::new("c", "bash", json!({ "command": "cargo test\nrm -r \u{1b}x" }));
        let question =
            Question::Permission(Box::new(ask(call, &["bash(cargo test*)", "bash(rm*)"]).from_agent("fix")));
        let expected = [
            "[fix] Allow bash?",
            "  cargo test",
            "  rm -r \\u{1b}x",
            "  no rule allows it",
            "  y  allow it once",
            "  s  allow bash(cargo test*), bash(rm*) in this session",
            "  a  always allow bash(cargo test*), bash(rm*), in all",
            "     folders",
            "  n  deny it, with a reason",
        ];
        assert_eq!(lines(&question), expected);
        let permission = |key| answer(&question, key, "use pnpm");
        assert_eq!(permission('y'), Reply::Permission(PermissionAnswer::Once));
        assert_eq!(permission('s'), Reply::Permission(PermissionAnswer::Session));
        assert_eq!(permission('a'), Reply::Permission(PermissionAnswer::Always));
        let denied = PermissionAnswer::Deny { reason: "use pnpm".into() };
        assert_eq!(permission('n'), Reply::Permission(denied));
    }

    #[test]
    fn an_edit_is_shown_as_its_change_and_without_an_offer_there_are_two_choices() {
        let call = ToolCall::new("c", "edit_file", json!({ "path": "a", "old": "x", "new": "y" }));
        let question = Question::Permission(Box::new(ask(call, &[])));
        let shown = lines(&question);
        assert_eq!(shown[..4], ["Allow edit_file?", "  a  +1 -1", "  -x", "  +y"]);
        assert_eq!(question.choices().iter().map(|choice| choice.key).collect::<String>(), "yn");
        assert_eq!(FileChange::new("a", Extent::OnePlace, Some("x"), "y").path, "a");
    }

    #[test]
    fn a_plan_is_approved_with_a_mode_or_revised() {
        let question = Question::Plan(PlanQuestion { plan: "1. read\n2. write".into() });
        assert_eq!(lines(&question)[..3], ["The plan:", "1. read", "2. write"]);
        let approved = |mode| Reply::Plan(PlanAnswer::Approve { mode });
        assert_eq!(answer(&question, 'y', ""), approved(PermissionMode::Default));
        assert_eq!(answer(&question, 'e', ""), approved(PermissionMode::AcceptEdits));
        let revised = Reply::Plan(PlanAnswer::Revise { feedback: "tests first".into() });
        assert_eq!(answer(&question, 'n', "tests first"), revised);
    }

    #[test]
    fn a_question_of_the_model_has_its_options_and_a_free_answer() {
        let asked = UserQuestion {
            question: "Which one?".into(),
            options: vec!["red".into(), "blue".into()],
            agent: Some("scout".into()),
        };
        let question = Question::User(asked);
        assert_eq!(lines(&question), ["[scout] Which one?", "  1  red", "  2  blue", "  t  type an answer"]);
        assert_eq!(answer(&question, '2', ""), Reply::User("blue".into()));
        assert_eq!(answer(&question, 't', "green"), Reply::User("green".into()));
    }

    #[test]
    fn a_call_that_was_cut_off_is_shown_with_the_files_that_changed() {
        let file =
            ChangedFile { path: "out.txt".into(), kind: ChangeKind::Created, size_before: 0, size_after: 9 };
        let call = ToolCall::new("c", "bash", json!({ "command": "make" }));
        let question = Question::CutOff(CutOffCall { call, starts: 2, changed: Some(vec![file]) });
        let shown = lines(&question);
        assert_eq!(shown[..2], ["Cut off: bash  (begun 2 times)", "  make"]);
        assert!(shown.contains(&"  + out.txt".to_owned()), "{shown:?}");
        assert_eq!(answer(&question, 'r', ""), Reply::CutOff(CutOffAnswer::RunAgain));
        assert_eq!(answer(&question, 'g', ""), Reply::CutOff(CutOffAnswer::GiveUp));
        let happened = CutOffAnswer::Happened { note: "ok".into() };
        assert_eq!(answer(&question, 'h', "ok"), Reply::CutOff(happened));
    }
}
