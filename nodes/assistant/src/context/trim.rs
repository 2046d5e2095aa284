//! The records of what models are shown instead of messages.

use std::collections::HashMap;
use std::ops::Deref;

use foldhash::fast::FixedState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::Keyed;
use superstep_nodes::message::{AiMessage, Content, Message, MessageId, Part, ToolMessage};

use super::Held;

/// The record of a decision on how models are shown a message.
///
/// A state keeps them in a field `Vec<Trim>` with the reducer [`KeyedLog`](superstep_core::reducer::KeyedLog). No message
/// is changed: without the record, models are shown the message again. A pass may then decide the same once more; a
/// record [`Trim::whole`] prevents that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trim {
    /// The id of the record: that of the message and the name of the pass. So a pass that decides again replaces its
    /// record.
    pub id: String,
    /// The message, or the first of several.
    pub message: MessageId,
    /// The form in which models are shown it.
    pub shown: Shown,
    /// The number of tokens before; 0 where nothing was counted.
    #[serde(default)]
    pub tokens_before: u64,
    /// The number of tokens in the new form.
    #[serde(default)]
    pub tokens_after: u64,
    /// The part of the saved tokens that an earlier request had, so that the provider's cache may have held them.
    #[serde(default)]
    pub cache_deleted_input_tokens: u64,
}

/// The form in which models are shown a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Shown {
    /// Unchanged: earlier records on the message do not count, and no pass shortens it.
    Whole,
    /// Unchanged behind the summary that covers it, as long as this compaction counts: a question that was not answered
    /// when the conversation was compacted.
    Question {
        /// The id of the compaction.
        compaction: String,
    },
    /// With this text instead of its texts. Pictures stay.
    Shortened {
        /// The text: a beginning, an end, and the place of the whole.
        text: String,
        /// The path of the whole text.
        blob: String,
    },
    /// As one line instead of all its content.
    Line {
        /// The line.
        text: String,
    },
    /// Together with all messages up to another one, as a summary.
    Fold {
        /// The last of the messages.
        through: MessageId,
        /// The text that stands for them.
        summary: String,
    },
    /// With a line instead of each picture.
    WithoutPictures,
}

/// The line instead of a picture.
pub(super) const NO_PICTURE: &str = "[a picture, left out]";

impl Trim {
    /// Makes the record that shows a message unchanged, and keeps the passes from shortening it.
    pub fn whole(message: MessageId) -> Self {
        Self::uncounted(message, Shown::Whole)
    }

    pub(super) fn uncounted(message: MessageId, shown: Shown) -> Self {
        let id = format!("{message}.{}", shown.pass());
        Self { id, message, shown, tokens_before: 0, tokens_after: 0, cache_deleted_input_tokens: 0 }
    }

    /// Returns the name of the pass that made the record; `whole` and `pictures` are made outside of the passes.
    pub const fn pass(&self) -> &'static str {
        self.shown.pass()
    }

    /// Returns the number of tokens saved.
    pub const fn saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }

    /// Returns the last message of a fold.
    pub(super) fn through(&self) -> Option<&MessageId> {
        match &self.shown {
            Shown::Fold { through, .. } => Some(through),
            _ => None,
        }
    }

    /// Returns the message that models are shown for a fold.
    pub(super) fn folded(&self) -> Option<Message> {
        match &self.shown {
            Shown::Fold { summary, .. } => Some(Message::human(self.id.clone(), summary.as_str())),
            _ => None,
        }
    }
}

impl Shown {
    const fn pass(&self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Question { .. } => "boundary",
            Self::Shortened { .. } => "result_budget",
            Self::Line { .. } => "micro",
            Self::Fold { .. } => "fold",
            Self::WithoutPictures => "pictures",
        }
    }
}

impl Keyed for Trim {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Records by their messages.
pub(super) struct ByMessage<'t>(HashMap<&'t str, Vec<&'t Trim>, FixedState>);

impl<'t> ByMessage<'t> {
    pub(super) fn of(trims: impl IntoIterator<Item = &'t Trim>) -> Self {
        let mut by_message: HashMap<_, Vec<_>, _> = HashMap::default();
        for trim in trims {
            by_message.entry(trim.message.as_str()).or_default().push(trim);
        }
        Self(by_message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The records on a message, oldest first.
    pub(super) fn on(&self, message: &Message) -> &[&'t Trim] {
        self.0.get(message.id().as_str()).map_or(&[], Vec::as_slice)
    }
}

/// Returns messages in the form that the records give each of them; folds are not applied. A
/// [summariser](superstep_nodes::node::Compact::shown) is asked for a summary of these, so that its request is as short
/// as the passes made the conversation.
pub fn trimmed(messages: &[Message], trims: &[Trim]) -> Vec<Message> {
    let by_message = ByMessage::of(trims);
    messages.iter().map(|message| shown(message, by_message.on(message)).into_owned()).collect()
}

/// Returns a message as the records on it show it.
pub(super) fn shown<'m>(message: &'m Message, trims: &[impl Deref<Target = Trim>]) -> Held<'m, Message> {
    let mut shown = Held::Borrowed(message);
    for trim in trims {
        match &trim.shown {
            Shown::Whole => shown = Held::Borrowed(message),
            Shown::Shortened { text, .. } => shown = Held::new(with_text(&shown, text)),
            Shown::Line { text } => shown = Held::new(with_content(&shown, Content::text(text))),
            Shown::WithoutPictures => shown = Held::new(without_pictures(&shown)),
            Shown::Question { .. } | Shown::Fold { .. } => {}
        }
    }
    shown
}

/// A message with this text at the place of its first one, and without its other texts.
pub(super) fn with_text(message: &Message, text: &str) -> Message {
    let others = message.content().parts().iter().filter(|part| part.as_text().is_none()).cloned();
    with_content(message, [Part::text(text)].into_iter().chain(others).collect())
}

pub(super) fn without_pictures(message: &Message) -> Message {
    let part = |part: &Part| match part {
        Part::Image(_) => Part::text(NO_PICTURE),
        other => other.clone(),
    };
    with_content(message, message.content().parts().iter().map(part).collect())
}

/// A message with other content; the data of a result is not copied, as no model is shown it.
pub(super) fn with_content(message: &Message, content: Content) -> Message {
    match message {
        Message::Human(said) => Message::human(said.id.clone(), content),
        Message::System(said) => Message::system(said.id.clone(), content),
        Message::Ai(AiMessage { id, tool_calls, .. }) => {
            Message::ai_with_calls(id.clone(), content, tool_calls.clone())
        }
        Message::Tool(ToolMessage { id, tool_call_id, name, status, .. }) => Message::Tool(ToolMessage {
            id: id.clone(),
            tool_call_id: tool_call_id.clone(),
            name: name.clone(),
            status: *status,
            content,
            data: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use superstep_core::reducer::{KeyedLog, LogWrite, Reducer};
    use superstep_nodes::message::{Image, ToolCall};

    use super::*;

    fn result() -> Message {
        let call = ToolCall::new("c", "look", json!({}));
        let parts = [Part::text("long "), Part::Image(Image::url("u")), Part::text("text")];
        Message::tool("m", &call, Content::from_iter(parts))
    }

    fn shortened(text: &str) -> Shown {
        Shown::Shortened { text: text.into(), blob: "b".into() }
    }

    #[test]
    fn s2_130_140_a_record_changes_the_view_and_removing_it_undoes_that() {
        let mut trims: Vec<Trim> = Vec::new();
        let record = |shown| Trim::uncounted("m".into(), shown);
        KeyedLog::reduce(
            &mut trims,
            LogWrite(
                vec![record(shortened("short")), record(Shown::WithoutPictures)]
                    .into_iter()
                    .map(superstep_core::reducer::LogEdit::Put)
                    .collect(),
            ),
        );
        let shown = &trimmed(&[result()], &trims)[0];
        let parts = [Part::text("short"), Part::text(NO_PICTURE)];
        assert_eq!(shown.content(), &Content::from_iter(parts));
        KeyedLog::reduce(&mut trims, LogWrite::remove(["m.result_budget", "m.pictures"]));
        assert_eq!(trimmed(&[result()], &trims), [result()]);
    }

    #[test]
    fn later_records_count_and_a_whole_message_is_shown_whole() {
        let line = || Trim::uncounted("m".into(), Shown::Line { text: "gone".into() });
        let trims = [Trim::uncounted("m".into(), shortened("short")), line()];
        assert_eq!(trimmed(&[result()], &trims)[0].content(), &Content::text("gone"));
        let trims = [line(), Trim::whole("m".into())];
        assert_eq!(trimmed(&[result()], &trims), [result()]);
    }

    #[test]
    fn a_record_survives_json_and_names_its_pass() {
        let fold = Shown::Fold { through: "n".into(), summary: "They look.".into() };
        let question = Shown::Question { compaction: "c".into() };
        let line = Shown::Line { text: "gone".into() };
        let passes = ["fold", "boundary", "micro", "result_budget", "pictures", "whole"];
        let all = [fold, question, line, shortened("s"), Shown::WithoutPictures, Shown::Whole];
        for (shown, pass) in all.into_iter().zip(passes) {
            let trim = Trim { tokens_before: 9, ..Trim::uncounted("m".into(), shown) };
            let json = serde_json::to_value(&trim).unwrap();
            assert_eq!(json["id"], format!("m.{pass}"));
            assert_eq!(serde_json::from_value::<Trim>(json).unwrap(), trim);
        }
    }
}
