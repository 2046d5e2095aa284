//! The texts sent to a model beside the conversation, whatever the protocol.

use serde_json::json;
use superstep_nodes::message::{Content, Conversation, Message};
use superstep_nodes::model::ModelRequest;
use superstep_nodes::tool::ToolSpec;

/// The user message that is sent if the conversation has nothing for the model to answer: providers require one.
pub(super) const OPENING: &str = "Begin.";

/// The user message that is sent if the conversation ends with a message of the model.
pub(super) const GO_ON: &str = "Go on.";

/// The instructions with which a request begins, and the conversation after them.
pub(super) fn instructions(request: &ModelRequest) -> (Vec<String>, &[Message]) {
    let conversation: &Conversation = &request.messages;
    let leading = conversation.iter().take_while(|message| matches!(message, Message::System(_))).count();
    let given = request.system.iter().cloned();
    let said = conversation[..leading].iter().map(|message| message.text().into_owned());
    let all = given.chain(said).filter(|text| !text.trim().is_empty());
    (all.collect(), &conversation[leading..])
}

/// Instructions in the middle of a conversation, where there is no role for them.
pub(super) fn note(content: &Content) -> String {
    format!("<system>\n{}\n</system>", content.to_text())
}

/// A tool that a conversation mentions and that is not offered any more: some providers want to know it.
pub(super) fn no_longer_there(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "Not available.".to_owned(), input_schema: json!({}) }
}
