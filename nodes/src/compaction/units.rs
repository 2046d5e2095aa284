//! Messages that only make sense together.

use std::ops::Range;

use crate::message::Message;

/// Splits the messages into units that must stay together: a message that asks for tools stays with its answers, and
/// with the messages between them. The ranges are in order, and cover all messages.
pub fn units(messages: &[Message]) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    for at in 0..messages.len() {
        match (&messages[at], units.last_mut()) {
            (Message::Tool(_), Some(unit)) => unit.end = at + 1,
            _ => units.push(at..at + 1),
        }
        // An answer that comes later draws all between it and its call into one unit.
        if let Message::Tool(answer) = &messages[at] {
            let asks =
                |message: &Message| message.tool_calls().iter().any(|call| call.id == answer.tool_call_id);
            if let Some(asked) = messages[..at].iter().rposition(asks) {
                let first = units.iter().rposition(|unit| unit.start <= asked).unwrap_or_default();
                units.truncate(first + 1);
                units[first].end = at + 1;
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::ToolCall;

    #[test]
    fn a_call_stays_with_its_answers() {
        let calls = ["a", "b"].map(|id| ToolCall::new(id, "look", json!({})));
        let messages = [
            Message::human("1", "?"),
            Message::ai_with_calls("2", "", calls.to_vec()),
            Message::tool("3", &calls[0], "x"),
            Message::human("4", "hurry"),
            Message::tool("5", &calls[1], "y"),
            Message::ai("6", "done"),
        ];
        assert_eq!(units(&messages), [0..1, 1..5, 5..6]);
        assert!(units(&[]).is_empty());
    }
}
