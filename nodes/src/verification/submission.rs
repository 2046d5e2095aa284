//! A response that is to be verified.

use serde::{Deserialize, Serialize};

use crate::message::{Image, Message, Part};
use crate::prompt::{Evidence, Said};

/// The material of a verification: a response, the request that it responds to, and the sources that it may rest on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The request of the user.
    pub request: String,
    /// The response.
    pub response: String,
    /// `true` if the response was cut off by a limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut_off: bool,
    /// The last messages before the request, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<Said>,
    /// The outputs of the tools of this turn.
    pub sources: Vec<Evidence>,
    /// The outputs of the tools of earlier turns, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_sources: Vec<Evidence>,
    /// The pictures of this turn: those of the user, of the tools, and of the response.
    pub images: Vec<Image>,
}

impl Submission {
    /// The number of messages before the request that belong to a submission.
    pub const MESSAGES: usize = 6;

    /// Takes the response with which a conversation ends. The request is the text of the last human message, and the
    /// sources are those of the messages after it. Of the messages before it, the submission has the last
    /// [six](Self::MESSAGES), and all outputs of tools.
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

    /// Returns why there is no response to verify, whatever the verifier; `None` if there is one.
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
