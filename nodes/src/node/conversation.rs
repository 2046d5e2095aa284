//! A conversation as it is kept, and its form for a model.

use super::model_calls::ModelCalls;
use super::turn_judgements::TurnEvaluation;
use crate::message::{AiMessage, Conversation, Message, MessageId};
use crate::verification::Verification;

/// Returns the latest AI message.
pub(super) fn last_response(messages: &[Message]) -> Option<&AiMessage> {
    messages.iter().rev().find_map(|message| match message {
        Message::Ai(message) => Some(message),
        _ => None,
    })
}

/// Returns the last message of the user.
pub fn last_request(messages: &[Message]) -> String {
    let said = messages.iter().rev().find(|message| matches!(message, Message::Human(_)));
    said.map(|message| message.text().into_owned()).unwrap_or_default()
}

/// Tells whether a conversation ends with this request.
pub(super) fn ends_with(messages: &[Message], request: &str) -> bool {
    matches!(messages.last(), Some(message @ Message::Human(_)) if message.text() == request)
}

/// Tells whether a conversation ends with an AI message that asks for no tools.
pub(super) fn ends_with_response(messages: &[Message]) -> bool {
    matches!(messages.last(), Some(Message::Ai(said)) if said.tool_calls.is_empty())
}

/// Makes the message with which a turn begins, unless the conversation ends with it already.
pub(super) fn opening(messages: &[Message], request: &str, calls: &ModelCalls) -> Option<Message> {
    let is_there = request.trim().is_empty() || ends_with(messages, request);
    (!is_there).then(|| Message::human(calls.message_id_of("task"), request))
}

/// Finds an AI message by its id.
pub(super) fn response<'m>(messages: &'m [Message], id: &MessageId) -> Option<&'m AiMessage> {
    messages.iter().rev().find_map(|message| match message {
        Message::Ai(message) if message.id == *id => Some(message),
        _ => None,
    })
}

/// Returns the conversation in the form that a model is shown: an AI message that was followed by another iteration, or
/// is about to be, is followed by the evaluator's feedback on it, as a system message.
pub(super) fn shown(messages: &[Message], evaluations: &[TurnEvaluation]) -> Conversation {
    let mut shown = Vec::with_capacity(messages.len() + evaluations.len());
    for (position, message) in messages.iter().enumerate() {
        shown.push(message.clone());
        let goes_on = matches!(messages.get(position + 1), None | Some(Message::Ai(_)));
        if matches!(message, Message::Ai(_)) && goes_on {
            let judged = evaluations.iter().rev().find(|evaluation| evaluation.message == *message.id());
            shown.extend(judged.map(feedback));
        }
    }
    shown.into()
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

/// Returns the message for a model that is to respond again after responses of this turn were refused; `None` if none
/// was refused.
pub(super) fn correction(verifications: &[Verification], turn: u32) -> Option<Message> {
    let refused = Verification::of_turn(verifications, turn).filter(|it| it.result.requires_refinement());
    let refused: Vec<_> = refused.collect();
    let last = refused.last()?;
    let mut text = String::from(
        "The user was given no response yet: what you responded was not accepted, and is not shown here. This was said of it:\n",
    );
    for Verification { attempt, result, .. } in &refused {
        text.push_str(&format!("\nResponse {attempt}"));
        // A score that is high enough is not what is wrong.
        if let Some(score) = result.score.filter(|score| *score < result.threshold) {
            text.push_str(&format!(", score {score} of 1, where {} is needed", result.threshold));
        }
        text.push_str(&format!(": {}\n", result.feedback.trim()));
        // Broken rules are their feedback already.
        let critical =
            result.critical_issues.iter().filter(|issue| !result.feedback.contains(issue.as_str()));
        critical.for_each(|issue| text.push_str(&format!("- must not be: {issue}\n")));
        result.suggestions.iter().for_each(|it| text.push_str(&format!("- suggestion: {it}\n")));
    }
    text.push_str(
        "\nRespond to the request again, in full, and mind all of this. Do not speak of earlier responses.",
    );
    Some(Message::system(format!("{}.correction", last.message), text))
}

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

#[cfg(test)]
mod tests {
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
    fn a_blank_response_is_not_shown_but_its_feedback_is() {
        let messages = [Message::human("q1", "?"), Message::ai("a1", " \n")];
        assert_eq!(ids(&shown(&messages, &[evaluation("a1")])), ["q1", "a1.feedback"]);
    }
}
