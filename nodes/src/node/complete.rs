//! The condition under which a response is complete.

use crate::message::AiMessage;

/// The least number of characters of a complete response.
pub const MIN_RESPONSE_CHARS: usize = 10;

/// Tells whether an AI message is a complete response: it asks for no tools, and its text has at least
/// [`MIN_RESPONSE_CHARS`] characters.
///
/// Characters are Unicode scalar values of the text as it stands: spaces at its ends count. But a text of
/// nothing but white space is never complete, however long.
///
/// ```
/// use superstep_nodes::message::{AiMessage, Content};
/// use superstep_nodes::node::is_complete;
///
/// let say = |text: &str| AiMessage { id: "m".into(), content: text.into(), tool_calls: Vec::new() };
/// assert!(!is_complete(&say("123456789")));
/// assert!(is_complete(&say("1234567890")));
/// assert!(is_complete(&say("äöüäöüäöüä")));
/// assert!(!is_complete(&say("            ")));
/// ```
pub fn is_complete(message: &AiMessage) -> bool {
    let text = message.content.to_text();
    message.tool_calls.is_empty()
        && !text.trim().is_empty()
        && text.chars().nth(MIN_RESPONSE_CHARS - 1).is_some()
}
