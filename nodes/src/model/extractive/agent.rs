//! Working on a question: search first, then quote.

use serde_json::json;

use super::answer::{NOT_ANSWERED, NOTHING_SEARCHED, answer};
use super::extractive_model::Saying;
use crate::docs::{Passage, PassageKind, SearchDocs, SearchHits};
use crate::message::{Message, ToolCall, ToolMessage, ToolStatus};
use crate::model::ModelRequest;

/// Says what comes next in the conversation.
pub(super) fn say(request: &ModelRequest) -> Saying {
    let messages = &request.messages;
    let Some(asked) = messages.iter().rposition(|message| matches!(message, Message::Human(_))) else {
        return Saying::Text(NOTHING_SEARCHED.to_owned());
    };
    let question = messages[asked].text();
    let results: Vec<&ToolMessage> = messages[asked..]
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some(result),
            _ => None,
        })
        .collect();
    let searched = results.iter().any(|result| result.name == SearchDocs::NAME);
    if !searched && request.tools.iter().any(|tool| tool.name == SearchDocs::NAME) {
        // Conversations only grow, so their length makes an id that no other call of this one has.
        let id = format!("{}-{}", SearchDocs::NAME, messages.len());
        return Saying::Call(ToolCall::new(id, SearchDocs::NAME, json!({ "query": question })));
    }
    Saying::Text(conclude(&question, &results))
}

fn conclude(question: &str, results: &[&ToolMessage]) -> String {
    let hits: Vec<_> =
        results.iter().filter(|result| result.status == ToolStatus::Ok).map(|result| hits(result)).collect();
    if let Some(answer) = answer(question, &hits) {
        return answer.to_string();
    }
    match results.last() {
        None => NOTHING_SEARCHED.to_owned(),
        Some(_) if !hits.is_empty() => NOT_ANSWERED.to_owned(),
        Some(failed) => format!("The documents could not be searched: {}.", failed.content.to_text()),
    }
}

/// Reads what a search found. The output of another tool is taken as one passage.
fn hits(result: &ToolMessage) -> SearchHits {
    let data = result.data.as_ref().and_then(|data| serde_json::from_value(data.clone()).ok());
    data.unwrap_or_else(|| {
        let text = result.content.to_text().into_owned();
        SearchHits {
            query: String::new(),
            words: Vec::new(),
            searched: 1,
            passages: vec![Passage {
                path: result.name.clone(),
                heading: String::new(),
                kind: PassageKind::Prose,
                line_start: 1,
                line_end: u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX),
                text,
                score: 0.0,
            }],
        }
    })
}
