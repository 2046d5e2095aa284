//! The tool calls that have no answer.

use super::{Message, ToolCall};

/// Returns the tool calls that no tool message answers, in the order they were made.
///
/// The answers to an AI message's calls are the tool messages between it and the next human or AI message. Later ones
/// do not count: model providers refuse a conversation in which something else comes first. So a request may be sent
/// only when this returns nothing. Of calls with one id each needs an answer of its own, and the first ones have the
/// answers that there are.
pub fn unanswered_tool_calls(messages: &[Message]) -> Vec<&ToolCall> {
    let mut unanswered = Vec::new();
    for (position, message) in messages.iter().enumerate() {
        if message.tool_calls().is_empty() {
            continue;
        }
        let calls = message.tool_calls();
        let open = open_positions(calls, &messages[position + 1..]);
        unanswered.extend(open.into_iter().map(|position| &calls[position]));
    }
    unanswered
}

/// Returns the tool calls of the last AI message that have no answer, each with its position there.
pub fn open_calls(messages: &[Message]) -> Vec<(usize, ToolCall)> {
    let Some(asked) = messages.iter().rposition(|message| matches!(message, Message::Ai(_))) else {
        return Vec::new();
    };
    let calls = messages[asked].tool_calls();
    let open = open_positions(calls, &messages[asked + 1..]);
    open.into_iter().map(|position| (position, calls[position].clone())).collect()
}

/// Returns the positions of those calls of one message that none of the messages behind it answers.
fn open_positions(calls: &[ToolCall], later: &[Message]) -> Vec<usize> {
    let mut answers: Vec<&str> = later
        .iter()
        .take_while(|later| !matches!(later, Message::Human(_) | Message::Ai(_)))
        .filter_map(|later| match later {
            Message::Tool(answer) => Some(answer.tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    let mut is_open = |call: &ToolCall| match answers.iter().position(|answer| *answer == call.id) {
        Some(answer) => {
            answers.remove(answer);
            false
        }
        None => true,
    };
    (0..calls.len()).filter(|position| is_open(&calls[*position])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id, "t", Value::Null)
    }

    #[test]
    fn parallel_calls_are_matched_by_id_whatever_the_order() {
        let (a, b, c) = (call("a"), call("b"), call("c"));
        let messages = [
            Message::ai_with_calls("1", "", vec![a.clone(), b.clone(), c.clone()]),
            Message::tool("2", &c, "x"),
            Message::tool_error("3", &a, "y"),
        ];
        assert_eq!(unanswered_tool_calls(&messages), [&b]);
    }

    #[test]
    fn an_answer_after_the_next_turn_does_not_count() {
        let a = call("a");
        let messages = [
            Message::ai_with_calls("1", "", vec![a.clone()]),
            Message::human("2", "well?"),
            Message::tool("3", &a, "late"),
        ];
        assert_eq!(unanswered_tool_calls(&messages), [&a]);
    }

    #[test]
    fn of_calls_with_one_id_each_needs_an_answer() {
        let (a, again) = (call("a"), ToolCall::new("a", "other", Value::Null));
        let asked = Message::ai_with_calls("1", "", vec![a.clone(), again.clone()]);
        assert_eq!(unanswered_tool_calls(&[asked.clone(), Message::tool("2", &a, "x")]), [&again]);
        let both = [asked, Message::tool("2", &a, "x"), Message::tool("3", &again, "y")];
        assert!(unanswered_tool_calls(&both).is_empty());
    }

    #[test]
    fn an_id_used_again_needs_an_answer_again() {
        let a = call("a");
        let messages = [
            Message::ai_with_calls("1", "", vec![a.clone()]),
            Message::tool("2", &a, "x"),
            Message::ai_with_calls("3", "", vec![a.clone()]),
        ];
        assert_eq!(unanswered_tool_calls(&messages).len(), 1);
    }
}
