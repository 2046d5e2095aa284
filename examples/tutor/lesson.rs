//! A scripted lesson.

use serde_json::json;
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ModelReply, Scripted, Turn};

/// The question of the lesson.
pub(crate) const QUESTION: &str = "What does a fork copy?";

/// Makes a model that gives the lesson once, whatever it is asked.
pub(crate) fn model() -> Scripted {
    let search = json!({ "query": "what does a fork copy?", "limit": 1 });
    let text = "A fork begins where another thread was, and shares what came before.";
    let note = json!({ "title": "Forks", "text": text });
    Scripted::new()
        .then(saying("I look up what the documents say.", ToolCall::new("c1", "search_docs", search)))
        .then(saying("That is worth a note.", ToolCall::new("c2", "note", note)))
        .say("A fork copies nothing: it begins where another thread was, and shares what came before. So a fork is cheap, \
              and you may try as many as you like.")
}

fn saying(text: &str, call: ToolCall) -> Turn {
    Turn::Reply(ModelReply::new(Scripted::NAME, text).with_calls(vec![call]))
}
