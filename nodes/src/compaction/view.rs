//! A conversation as models are shown it.

use std::collections::HashSet;

use super::{Compaction, Summariser};
use crate::message::Message;

/// Returns the messages that models are shown: system messages first, then the pinned ones, then the summary, and then
/// the messages after it. The last message of a person is shown unchanged until it is answered, right after the summary
/// if that covers it. Without a compaction, all messages are returned unchanged.
///
/// The last compaction counts. One whose messages no longer exist is ignored, and the one before counts.
pub fn view(messages: &[Message], compactions: &[Compaction]) -> Vec<Message> {
    let ViewParts { kept, summary, question, recent, .. } = ViewParts::of(messages, compactions);
    let kept = kept.into_iter().cloned();
    kept.chain(summary).chain(question.cloned()).chain(recent.iter().cloned()).collect()
}

/// The parts of a [`view`], in order. They borrow the messages.
#[derive(Clone, Debug)]
pub struct ViewParts<'m> {
    /// The compaction that counts; `None` if all messages are shown.
    pub compaction: Option<&'m Compaction>,
    /// The system messages that the compaction covers, then the pinned messages.
    pub kept: Vec<&'m Message>,
    /// The message with the summary and the notes.
    pub summary: Option<Message>,
    /// The last message of a person, if the compaction covers it and it is not answered.
    pub question: Option<&'m Message>,
    /// The messages behind those that the compaction covers.
    pub recent: &'m [Message],
}

impl<'m> ViewParts<'m> {
    /// Finds the parts of a conversation that has been compacted like this.
    pub fn of(messages: &'m [Message], compactions: &'m [Compaction]) -> Self {
        let Some((compaction, end)) = in_force(messages, compactions) else {
            return Self {
                compaction: None,
                kept: Vec::new(),
                summary: None,
                question: None,
                recent: messages,
            };
        };
        let pinned: HashSet<_> = compaction.pinned.iter().collect();
        let (covered, recent) = messages.split_at(end);
        let (system, others): (Vec<_>, Vec<_>) =
            covered.iter().partition(|message| matches!(message, Message::System(_)));
        let question = covered_question(messages, end);
        let is_question = |message: &&Message| question.is_some_and(|question| question.id() == message.id());
        let pinned =
            others.into_iter().filter(|message| pinned.contains(message.id()) && !is_question(message));
        let kept = system.into_iter().chain(pinned).collect();
        Self { compaction: Some(compaction), kept, summary: Some(summary(compaction)), question, recent }
    }
}

/// The last message of a person, if it is among the first so many, and is not answered yet.
pub(super) fn covered_question(messages: &[Message], covered: usize) -> Option<&Message> {
    let last = messages.iter().rposition(|message| matches!(message, Message::Human(_)))?;
    let is_response = |message: &Message| matches!(message, Message::Ai(said) if said.tool_calls.is_empty());
    match messages[last..].iter().any(is_response) {
        true => None,
        false => messages[..covered].get(last),
    }
}

/// The compaction that counts, and how many messages it covers.
pub(super) fn in_force<'c>(
    messages: &[Message],
    compactions: &'c [Compaction],
) -> Option<(&'c Compaction, usize)> {
    compactions.iter().rev().find_map(|compaction| covers(messages, compaction))
}

/// The last summary that a model wrote, of those that count or did before, and how many messages it covers.
pub(super) fn last_summary<'c>(
    messages: &[Message],
    compactions: &'c [Compaction],
) -> Option<(&'c Compaction, usize)> {
    let by_models = compactions.iter().filter(|made| matches!(made.by, Summariser::Model { .. }));
    by_models.rev().find_map(|compaction| covers(messages, compaction))
}

fn covers<'c>(messages: &[Message], compaction: &'c Compaction) -> Option<(&'c Compaction, usize)> {
    let through = messages.iter().rposition(|message| *message.id() == compaction.through)?;
    Some((compaction, through + 1))
}

/// A person's message, as what was said may not give orders that the instructions do not.
pub(super) fn summary(compaction: &Compaction) -> Message {
    let Compaction { id, summarised, summary, notes, by, .. } = compaction;
    let (messages, are) = if *summarised == 1 { ("message", "is") } else { ("messages", "are") };
    let mut text = match by {
        Summariser::Model { .. } => {
            format!("[Summary of {summarised} earlier {messages}, which {are} not shown]")
        }
        Summariser::Nobody { .. } => {
            let but = match (summary.is_empty(), notes.is_empty()) {
                (true, true) => " and not summarised",
                (true, false) => " and not summarised; only what follows was noted",
                (false, true) => "; only the first of them are summarised",
                (false, false) => {
                    "; only the first of them are summarised, and of the others only lines noted"
                }
            };
            format!("[{summarised} earlier {messages} {are} not shown{but}]")
        }
    };
    if !summary.is_empty() {
        text.extend(["\n", summary]);
    }
    if !notes.is_empty() {
        text.push_str("\n\nNoted word for word:");
        notes.iter().for_each(|line| text.extend(["\n- ", line]));
    }
    Message::human(format!("{id}.summary"), text)
}
