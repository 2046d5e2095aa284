//! A conversation as it is kept, and as a model is shown it.

use super::turn_evaluation::TurnEvaluation;
use crate::message::{AiMessage, Message, MessageId, ToolCall, unanswered_tool_calls};

/// Returns the latest AI message.
pub(super) fn last_response(messages: &[Message]) -> Option<&AiMessage> {
    messages.iter().rev().find_map(|message| match message {
        Message::Ai(message) => Some(message),
        _ => None,
    })
}

/// Finds an AI message by its id.
pub(super) fn response<'m>(messages: &'m [Message], id: &MessageId) -> Option<&'m AiMessage> {
    messages.iter().rev().find_map(|message| match message {
        Message::Ai(message) if message.id == *id => Some(message),
        _ => None,
    })
}

/// Returns the conversation as a model may be shown it.
///
/// - An AI message that was followed by another iteration, or is about to be, is followed by what the
///   evaluator said of it, as a system message.
/// - A tool call that was never answered, because its run was given up for a new input, is answered by an
///   error: providers refuse a conversation with an open call.
/// - An AI message of nothing but white space is left out: providers refuse that too.
pub(super) fn shown(messages: &[Message], evaluations: &[TurnEvaluation]) -> Vec<Message> {
    let mut shown = Vec::with_capacity(messages.len() + evaluations.len());
    for (position, message) in messages.iter().enumerate() {
        let Message::Ai(said) = message else {
            shown.push(message.clone());
            continue;
        };
        if !(said.tool_calls.is_empty() && said.content.to_text().trim().is_empty()) {
            shown.push(message.clone());
        }
        let later = &messages[position + 1..];
        let answers = later.iter().take_while(|later| !matches!(later, Message::Human(_) | Message::Ai(_)));
        let answered = &messages[position..=position + answers.count()];
        shown.extend(given_up(&said.id, &unanswered_tool_calls(answered)));
        if matches!(later.first(), None | Some(Message::Ai(_))) {
            let judged = evaluations.iter().rev().find(|evaluation| evaluation.message == said.id);
            shown.extend(judged.map(feedback));
        }
    }
    shown
}

fn feedback(judged: &TurnEvaluation) -> Message {
    let TurnEvaluation { message, evaluation, .. } = judged;
    Message::system(
        format!("{message}.feedback"),
        format!(
            "The response above is not accepted as complete. An evaluation of it, with the score {:.2} of 1, says: \
             {}\nRespond to the task again, in full.",
            evaluation.score, evaluation.feedback
        ),
    )
}

fn given_up(owner: &MessageId, calls: &[&ToolCall]) -> impl Iterator<Item = Message> {
    calls.iter().enumerate().map(move |(position, call)| {
        Message::tool_error(format!("{owner}.{position}"), call, "Not run: the work was given up before.")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Evaluation;

    fn evaluation(message: &str) -> TurnEvaluation {
        TurnEvaluation {
            turn: 1,
            message: message.into(),
            evaluation: Evaluation {
                iteration: 1,
                score: 0.25,
                complete: false,
                feedback: "Too short.".into(),
            },
        }
    }

    fn ids(messages: &[Message]) -> Vec<&str> {
        messages.iter().map(|message| message.id().as_str()).collect()
    }

    #[test]
    fn feedback_follows_a_response_that_another_iteration_follows() {
        let messages = [
            Message::human("q1", "?"),
            Message::ai("a1", "no"),
            Message::ai("a2", "a whole answer"),
            Message::human("q2", "?"),
            Message::ai("a3", "no"),
        ];
        let judged = ["a1", "a2", "a3"].map(evaluation);
        let shown = shown(&messages, &judged);
        assert_eq!(ids(&shown), ["q1", "a1", "a1.feedback", "a2", "q2", "a3", "a3.feedback"]);
        assert!(shown[2].text().contains("0.25 of 1, says: Too short."));
    }

    #[test]
    fn a_call_that_was_given_up_is_answered() {
        let (a, b) = (ToolCall::new("a", "t", Value::Null), ToolCall::new("b", "t", Value::Null));
        let messages = [
            Message::ai_with_calls("m1", "", vec![a.clone(), b]),
            Message::tool("m2", &a, "x"),
            Message::human("m3", "something else"),
            Message::ai_with_calls("m4", "", vec![a]),
        ];
        let shown = shown(&messages, &[]);
        assert_eq!(ids(&shown), ["m1", "m1.0", "m2", "m3", "m4", "m4.0"]);
        assert!(unanswered_tool_calls(&shown).is_empty());
    }

    #[test]
    fn a_blank_response_is_not_shown_but_its_feedback_is() {
        let messages = [Message::human("q1", "?"), Message::ai("a1", " \n")];
        assert_eq!(ids(&shown(&messages, &[evaluation("a1")])), ["q1", "a1.feedback"]);
    }
}
