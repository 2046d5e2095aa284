//! What is to be verified.

use serde::{Deserialize, Serialize};

use crate::message::{Image, Message, Part};
use crate::prompt::Evidence;

/// What is to be verified: a response, what it responds to, and what it may rest on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// What the user asked for.
    pub request: String,
    /// The response.
    pub response: String,
    /// What the tools of this turn returned.
    pub sources: Vec<Evidence>,
    /// The pictures of this turn: those of the user, of the tools, and of the response.
    pub images: Vec<Image>,
}

impl Submission {
    /// Takes the response with which a conversation ends: what was asked for is the text of the last human message, and
    /// what came after it the response may rest on.
    pub fn of_turn(messages: &[Message], response: impl Into<String>) -> Self {
        let start = messages.iter().rposition(|message| matches!(message, Message::Human(_)));
        let request = start.map(|start| messages[start].text().into_owned()).unwrap_or_default();
        let parts = messages[start.unwrap_or(0)..].iter().flat_map(|message| message.content().parts());
        let images = parts.filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            _ => None,
        });
        Self {
            request,
            response: response.into(),
            sources: Evidence::of_turn(messages),
            images: images.collect(),
        }
    }
}
