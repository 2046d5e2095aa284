//! Material for a model as JSON in a message, and replies that are to be JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{Content, Message, MessageId, Part};
use crate::model::{ModelReply, ModelRequest};
use crate::verification::VerificationCriterion;

const OPENING: &str = "```json\n";
const CLOSING: &str = "\n```";

/// Makes the message that shows a model its material: an introduction, and the material as JSON in a part
/// of its own. A fence inside the material does no harm, as JSON strings have no line breaks.
pub(super) fn message(id: MessageId, introduction: &str, material: &impl Serialize) -> Message {
    let json =
        serde_json::to_value(material).expect("a prompt is strings and numbers, which always serialise");
    let content =
        [Part::text(format!("{introduction}\n\n")), Part::text(format!("{OPENING}{json:#}{CLOSING}"))];
    Message::human(id, Content::from_iter(content))
}

/// Reads the material back from a request.
pub fn material<T: DeserializeOwned>(request: &ModelRequest) -> Option<T> {
    let last = request.messages.iter().rev().find(|message| matches!(message, Message::Human(_)))?;
    let json = last.content().parts().last()?.as_text()?.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    serde_json::from_str(json).ok()
}

/// Reads a reply that is to be JSON; a code fence around it is forgiven.
pub(super) fn parse<T: DeserializeOwned>(reply: &ModelReply) -> Result<T, ReplyError> {
    crate::model::parse(reply).map_err(|reason| ReplyError::Form { reason })
}

/// An error of a reply that is not the structured answer that was asked for. Asking again may help: language
/// models do not always keep to a form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The text is not JSON of the schema that was asked for.
    #[error("the reply does not have the form that was asked for: {reason}")]
    Form {
        /// A description of the mismatch.
        reason: String,
    },
    /// The reply is about another iteration.
    #[error("the reply is about iteration {found}, not {expected}")]
    OtherIteration {
        /// The iteration that was asked about.
        expected: u32,
        /// The iteration the reply is about.
        found: u32,
    },
    /// The score is not from 0 to 1.
    #[error("the score {score} is not from 0 to 1")]
    Score {
        /// The score.
        score: f64,
    },
    /// The order does not have every compared iteration exactly once.
    #[error("the order {order:?} does not have each of the compared iterations once")]
    Order {
        /// The order.
        order: Vec<u32>,
    },
    /// The best is not the first of the order.
    #[error("iteration {best} is called the best but is not the first of the order")]
    Best {
        /// The iteration that is called the best.
        best: u32,
    },
    /// The criteria that are judged are not those that were asked about, each once.
    #[error("the findings are about {found:?}, and not about each of {expected:?} once")]
    Criteria {
        /// Those that were asked about.
        expected: Vec<VerificationCriterion>,
        /// Those that are judged.
        found: Vec<VerificationCriterion>,
    },
    /// Something is to be better, and it is not said what.
    #[error("the feedback is empty, and the response is not called perfect")]
    NoFeedback,
}
