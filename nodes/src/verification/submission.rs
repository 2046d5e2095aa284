//! What is to be verified.

use serde::{Deserialize, Serialize};

use crate::message::{Image, Message, Part};
use crate::prompt::{Evidence, Said};

/// What is to be verified: a response, what it responds to, and what it may rest on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// What the user asked for.
    pub request: String,
    /// The response.
    pub response: String,
    /// Whether a limit has cut it off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut_off: bool,
    /// What was said last before the request, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<Said>,
    /// What the tools of this turn returned.
    pub sources: Vec<Evidence>,
    /// What the tools of earlier turns returned, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_sources: Vec<Evidence>,
    /// The pictures of this turn: those of the user, of the tools, and of the response.
    pub images: Vec<Image>,
}

impl Submission {
    /// How many of the messages before the request belong to it.
    pub const MESSAGES: usize = 6;

    /// Takes the response with which a conversation ends: what was asked for is the text of the last human message, and
    /// what came after it the response may rest on. Of what was said before it has the last [messages](Self::MESSAGES), and all
    /// that tools returned.
    pub fn of_turn(messages: &[Message], response: impl Into<String>) -> Self {
        let start = messages.iter().rposition(|message| matches!(message, Message::Human(_)));
        let request = start.map(|start| messages[start].text().into_owned()).unwrap_or_default();
        let (before, turn) = messages.split_at(start.unwrap_or(0));
        let said = before.iter().filter(|message| !message.text().trim().is_empty());
        let said: Vec<_> = said.rev().take(Self::MESSAGES).collect();
        let parts = turn.iter().flat_map(|message| message.content().parts());
        let images = parts.filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            _ => None,
        });
        Self {
            request,
            response: response.into(),
            is_cut_off: false,
            conversation: said.into_iter().rev().map(Said::of_text).collect(),
            sources: Evidence::of(turn),
            earlier_sources: Evidence::of(before),
            images: images.collect(),
        }
    }

    /// Why the response is none, whoever verifies it.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        match self {
            _ if self.response.trim().is_empty() => Some("The response is empty. Respond to the request."),
            Self { is_cut_off: true, .. } => {
                Some("The response was cut off at the limit of its length. Respond in fewer words.")
            }
            _ => None,
        }
    }
}
