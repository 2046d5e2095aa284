//! The events of a session as lines.

use std::collections::{BTreeMap, VecDeque};

use anstyle::Style;
use serde_json::Value;
use superstep_assistant::AssistantEvent;
use superstep_assistant::exit::{Exit, Resource, Transition};
use superstep_nodes::message::MessageId;
use superstep_nodes::model::{Prices, Purpose};
use superstep_nodes::node::ModelCall;
use superstep_nodes::tool::ToolOutcome;

use super::line::{Line, wrap};
use super::markdown::Markdown;
use super::status::{Status, count};
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, PLAIN, plain, span};
use crate::screen::Look;

/// The lines of a result that are shown.
const RESULT_LINES: usize = 4;

/// Makes lines of the events of a session, and the status of its work.
#[derive(Debug)]
pub(crate) struct View {
    look: Look,
    prices: Prices,
    status: Status,
    /// The reply that arrives.
    text: Markdown,
    /// The message that the reply is part of, if a part of it is shown.
    shown: Option<MessageId>,
    thinking: String,
    /// The calls that are not answered, by id.
    calls: BTreeMap<String, String>,
    /// The call whose line is the last one.
    last_call: Option<String>,
    last: Block,
    /// The messages that the user has just typed, which are on the screen.
    typed: VecDeque<String>,
    /// The sub-agents at work, by kind and place.
    agents: BTreeMap<(String, i64, u32), View>,
    /// `true` for the view of a sub-agent.
    is_agent: bool,
}

/// The kind of the last lines. An empty line separates different ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Block {
    None,
    Text,
    Call,
    Note,
}

impl View {
    /// Makes the view of a session. `prices` are those of its models.
    pub(crate) fn new(look: Look, prices: Prices) -> Self {
        Self {
            look,
            prices,
            status: Status::default(),
            text: Markdown::new(),
            shown: None,
            thinking: String::new(),
            calls: BTreeMap::new(),
            last_call: None,
            last: Block::None,
            typed: VecDeque::new(),
            agents: BTreeMap::new(),
            is_agent: false,
        }
    }

    /// Sets the width and the colours for the lines from now on.
    pub(crate) fn set_look(&mut self, look: Look) {
        self.look = look;
        self.agents.values_mut().for_each(|agent| agent.set_look(look));
    }

    /// Returns the status of the work.
    pub(crate) const fn status(&self) -> &Status {
        &self.status
    }

    /// Returns the status, to set what is known from elsewhere.
    pub(crate) const fn status_mut(&mut self) -> &mut Status {
        &mut self.status
    }

    /// Says that the user has typed a message, so that it is not shown again when the session takes it.
    pub(crate) fn typed(&mut self, message: &str) {
        self.typed.push_back(message.trim().to_owned());
        self.status.activity = "waits for the model".to_owned();
        self.last = Block::None;
    }

    /// Says that the user has typed a message while the agent works.
    pub(crate) fn typed_meanwhile(&mut self, message: &str) {
        self.typed.push_back(message.trim().to_owned());
    }

    /// Returns a remark of the program as lines. A reply that arrives continues behind it.
    pub(crate) fn remark(&mut self, style: Style, text: &str) -> Vec<Line> {
        self.last = Block::None;
        self.last_call = None;
        let wrapped = |line| wrap(&Line::new(style, line).0, self.columns(), &[], &[]);
        text.lines().flat_map(wrapped).collect()
    }

    /// Returns the lines that an event adds.
    pub(crate) fn event(&mut self, event: &AssistantEvent) -> Vec<Line> {
        match event {
            AssistantEvent::Text { message, text } => self.text(message, text),
            AssistantEvent::Thinking { text, .. } => {
                self.status.activity = "thinks".to_owned();
                self.thinking.push_str(text);
                Vec::new()
            }
            AssistantEvent::Message { text, .. } => self.message(text),
            AssistantEvent::Call { call, .. } | AssistantEvent::Result { call, .. } if is_context(call) => {
                Vec::new()
            }
            AssistantEvent::Call { call, tool, input } => self.call(call, tool, input),
            AssistantEvent::Progress { tool, data, .. } => {
                self.status.activity = format!("{tool} {}", one_line(tool, data));
                Vec::new()
            }
            AssistantEvent::Result { call, tool, outcome, text } => self.result(call, tool, *outcome, text),
            AssistantEvent::Asked { .. } => self.end_text(),
            AssistantEvent::Compacted { summarised, tokens_before, tokens_after } => {
                let tokens = format!("{} → {} tokens", count(*tokens_before), count(*tokens_after));
                self.note(DIM, &format!("compacted {summarised} messages: {tokens}"))
            }
            AssistantEvent::Recovered { transition } => self.recovered(*transition),
            AssistantEvent::Agent { kind, step, task, event } => self.agent(kind, *step, *task, event),
            AssistantEvent::Budget(call) => {
                self.spend(call);
                Vec::new()
            }
            AssistantEvent::Exited { exit, reason } => self.exited(*exit, reason.as_deref()),
            // Events of later versions.
            _ => Vec::new(),
        }
    }

    /// Returns the lines of a reply that has not ended, such as one that was cut off.
    pub(crate) fn end(&mut self) -> Vec<Line> {
        let lines = self.end_text();
        self.calls.clear();
        self.agents.clear();
        self.shown = None;
        lines
    }

    fn text(&mut self, message: &MessageId, text: &str) -> Vec<Line> {
        let mut lines = self.end_thinking();
        if self.shown.as_ref() != Some(message) {
            lines.extend(self.end_text());
            self.shown = Some(message.clone());
        }
        self.status.activity = "answers".to_owned();
        let new = self.text.push(text, self.look);
        lines.extend(self.block(Block::Text, new));
        lines
    }

    /// Separates lines from those of another kind.
    fn block(&mut self, block: Block, mut lines: Vec<Line>) -> Vec<Line> {
        if lines.is_empty() {
            return lines;
        }
        if self.last != block && self.last != Block::None {
            lines.insert(0, Line::default());
        }
        self.last = block;
        if block != Block::Call {
            self.last_call = None;
        }
        lines
    }

    fn end_text(&mut self) -> Vec<Line> {
        let mut lines = self.end_thinking();
        let rest = self.text.end(self.look);
        lines.extend(self.block(Block::Text, rest));
        lines
    }

    /// Shows the first line of the model's thinking.
    fn end_thinking(&mut self) -> Vec<Line> {
        let thinking = std::mem::take(&mut self.thinking);
        let Some(first) = thinking.lines().map(str::trim).find(|line| !line.is_empty()) else {
            return Vec::new();
        };
        let mark = if thinking.trim().lines().nth(1).is_some() { " …" } else { "" };
        let line = Line::new(DIM.italic(), &format!("{first}{mark}")).cut(self.columns());
        self.block(Block::Note, vec![line])
    }

    fn columns(&self) -> usize {
        self.look.width.unwrap_or(usize::MAX)
    }

    fn message(&mut self, text: &str) -> Vec<Line> {
        let mut lines = self.end_text();
        let is_typed = |typed: &String| match text.trim().strip_prefix(typed.as_str()) {
            // The prompt of a command of the user's own stands behind it.
            Some(rest) => rest.is_empty() || rest.starts_with("\n\n["),
            None => false,
        };
        if let Some(at) = self.typed.iter().position(is_typed) {
            self.typed.remove(at);
            return lines;
        }
        let look = self.columns();
        let margin = [span(NOTE, "› ")];
        let rest = [plain("  ")];
        let message = text.trim_end().lines().zip(0..);
        let wrapped = message.flat_map(|(line, at)| {
            wrap(&Line::new(PLAIN, line).0, look, if at == 0 { &margin } else { &rest }, &rest)
        });
        let wrapped = wrapped.collect();
        lines.extend(self.block(Block::Note, wrapped));
        lines
    }

    fn call(&mut self, call: &str, tool: &str, input: &Value) -> Vec<Line> {
        let mut lines = self.end_text();
        let input = one_line(tool, input);
        let line = call_line(tool, &input, GOOD).cut(self.columns());
        lines.extend(self.block(Block::Call, vec![line]));
        self.last_call = Some(call.to_owned());
        self.calls.insert(call.to_owned(), input);
        self.show_calls(tool);
        lines
    }

    /// Shows the calls at work in the status.
    fn show_calls(&mut self, tool: &str) {
        self.status.activity = match self.calls.len() {
            0 => "waits for the model".to_owned(),
            1 => format!("{tool} {}", self.calls.values().next().map_or("", String::as_str)),
            calls => format!("{calls} calls"),
        };
    }

    fn result(&mut self, call: &str, tool: &str, outcome: ToolOutcome, text: &str) -> Vec<Line> {
        let mut lines = self.end_text();
        let input = self.calls.remove(call);
        let mut result = Vec::new();
        // A result that does not follow its call names it.
        if self.last_call.as_deref() != Some(call) {
            let sign = if outcome == ToolOutcome::Ok { DIM } else { BAD };
            result.push(call_line(tool, input.as_deref().unwrap_or_default(), sign).cut(self.columns()));
        }
        let (word, style) = match outcome {
            ToolOutcome::Ok => ("", DIM),
            ToolOutcome::Error => ("failed: ", BAD),
            ToolOutcome::Denied => ("denied: ", BAD),
            ToolOutcome::Invalid => ("invalid: ", BAD),
            ToolOutcome::Cancelled => ("stopped: ", BAD),
            ToolOutcome::TimedOut => ("timed out: ", BAD),
        };
        let text =
            if outcome == ToolOutcome::Denied { text.trim_start_matches("Not permitted: ") } else { text };
        let shown: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let most = self.columns();
        let line = |(at, text): (usize, &&str)| {
            let margin = plain(if at == 0 { "  └ " } else { "    " });
            let word = if at == 0 { word } else { "" };
            Line::new(style, &format!("{word}{text}")).after(margin).cut(most)
        };
        result.extend(shown.iter().take(RESULT_LINES).enumerate().map(line));
        match shown.len().saturating_sub(RESULT_LINES) {
            0 if shown.is_empty() => result.push(Line::new(style, &format!("  └ {word}no output"))),
            0 => {}
            1 => result.push(Line::new(DIM, "    … 1 more line")),
            more => result.push(Line::new(DIM, &format!("    … {more} more lines"))),
        }
        lines.extend(self.block(Block::Call, result));
        self.last_call = Some(call.to_owned());
        self.show_calls(tool);
        lines
    }

    /// Adds a remark about the work.
    fn note(&mut self, style: Style, text: &str) -> Vec<Line> {
        let mut lines = self.end_text();
        let note = text.lines().flat_map(|line| wrap(&Line::new(style, line).0, self.columns(), &[], &[]));
        let note = note.collect();
        lines.extend(self.block(Block::Note, note));
        lines
    }

    fn recovered(&mut self, transition: Transition) -> Vec<Line> {
        let text = match transition {
            Transition::Collapsed | Transition::Compacted => {
                "the request was too long: it is sent again, shorter"
            }
            Transition::StrippedMedia => {
                "the model refused a picture: the request is sent again without pictures"
            }
            Transition::Escalated => "the reply was cut off: it is asked for again, with a higher limit",
            Transition::Resumed => "the reply was cut off: the model continues it",
            Transition::SwitchedModel => "the model failed: the fallback model takes over",
            Transition::Waited => "the model failed: it is asked again",
            _ => "the model is asked again",
        };
        if transition == Transition::Resumed {
            return self.note(DIM, text);
        }
        let discarded = self.shown.take().is_some();
        self.thinking.clear();
        self.text = Markdown::new();
        let end = if discarded { "; the reply above does not count" } else { "" };
        self.note(DIM, &format!("{text}{end}"))
    }

    fn agent(&mut self, kind: &str, step: i64, task: u32, event: &AssistantEvent) -> Vec<Line> {
        if let AssistantEvent::Budget(call) = event {
            let tokens = self.status.tokens;
            self.spend(call);
            self.status.tokens = tokens;
        }
        let mut lines = self.end_text();
        let look = Look { width: self.look.width.map(|width| width.saturating_sub(2)), ..self.look };
        let key = (kind.to_owned(), step, task);
        let agent = self.agents.entry(key.clone()).or_insert_with(|| {
            let mut agent = Self::new(look, Prices::none());
            agent.is_agent = true;
            agent
        });
        let mut made = agent.event(event);
        self.status.activity = format!("{kind}: {}", agent.status.activity);
        if matches!(event, AssistantEvent::Exited { .. }) {
            self.agents.remove(&key);
        }
        made.retain(|line| !line.0.is_empty());
        if made.is_empty() {
            return lines;
        }
        // The name stands above the lines of an agent, unless those before are its own.
        let name = format!("{kind}.{step}.{task}");
        let margin = span(NOTE, "│ ");
        let mut block: Vec<_> = made.into_iter().map(|line| line.after(margin.clone())).collect();
        if self.last_call.as_ref() != Some(&name) {
            block.insert(0, Line::of([span(NAME, kind), span(DIM, format!("  step {step}.{task}"))]));
        }
        lines.extend(self.block(Block::Call, block));
        self.last_call = Some(name);
        lines
    }

    fn spend(&mut self, call: &ModelCall) {
        if call.purpose == Purpose::Agent {
            self.status.tokens = call.usage.input_tokens + call.usage.output_tokens;
        }
        if call.recorded {
            return;
        }
        let price = self.prices.of(&call.model).or_else(|| self.prices.of(&call.asked));
        if let Some(price) = price {
            *self.status.micro_usd.get_or_insert(0) += price.micro_usd(&call.usage);
        }
    }

    fn exited(&mut self, exit: Exit, reason: Option<&str>) -> Vec<Line> {
        let mut lines = self.end();
        if let Some(text) = exit_text(exit).filter(|_| !(self.is_agent && exit == Exit::Completed)) {
            let text = match reason {
                Some(reason) => format!("{text}: {reason}"),
                None => text.to_owned(),
            };
            lines.extend(self.note(BAD, &text));
        }
        lines
    }
}

/// Returns the sentence for an exit; `None` if the work is complete.
pub(crate) const fn exit_text(exit: Exit) -> Option<&'static str> {
    Some(match exit {
        Exit::Completed => return None,
        Exit::BlockingLimit => "The conversation fills the model's window. Compact it with /compact",
        Exit::ImageError => "The model refused a picture",
        Exit::ModelError => "The model failed",
        Exit::AbortedStreaming | Exit::AbortedTools => "Stopped. The next message continues the session",
        Exit::PromptTooLong => "The request is too long for the model, also after compaction",
        Exit::StopHookPrevented => "A stop hook objected to every response",
        Exit::HookStopped => "A hook ended the work",
        Exit::MaxTurns => "The limit of turns is reached. The next message continues the session",
        Exit::BudgetExceeded(Resource::Tokens) => "The budget of tokens is used up",
        Exit::BudgetExceeded(Resource::Money) => "The budget of money is used up",
        Exit::BudgetExceeded(Resource::Time) => "The time is used up",
    })
}

/// Returns `true` for calls that no model made: those of the context before a message. Their ids are numbers.
fn is_context(call: &str) -> bool {
    call.bytes().all(|byte| byte.is_ascii_digit())
}

fn call_line(tool: &str, input: &str, sign: Style) -> Line {
    Line::of([span(sign, "● "), span(NAME, tool), plain(" "), plain(input)])
}

/// Returns the input of a call in one line: the field that says most, or all of it as JSON.
pub(crate) fn one_line(tool: &str, input: &Value) -> String {
    const TELLING: [&str; 12] = [
        "command", "path", "pattern", "url", "sql", "query", "task", "question", "name", "plan", "text",
        "message",
    ];
    let told = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    let text = match (told, input) {
        (Some(told), _) => told.to_owned(),
        (None, Value::String(text)) => text.clone(),
        (None, Value::Null) => String::new(),
        (None, Value::Object(fields)) if fields.is_empty() => String::new(),
        (None, _) if tool == "todo" => {
            let tasks = input.get("items").and_then(Value::as_array).map_or(0, Vec::len);
            format!("{tasks} tasks")
        }
        (None, input) => input.to_string(),
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests;
