//! Working on a question: search first, then quote.

use serde_json::json;
use superstep_nodes::message::{Message, ToolCall, ToolMessage, ToolStatus};
use superstep_nodes::model::ModelRequest;

use super::answer::{NOT_SEARCHED_IN_TIME, NOTHING_SEARCHED, answer};
use super::extractive_model::Saying;
use crate::docs::{Passage, PassageKind, SearchDocs, SearchHits};

/// Says what comes next in the conversation.
pub(super) fn say(request: &ModelRequest) -> Saying {
    let messages = &request.messages;
    let Some(asked) = messages.iter().rposition(is_human) else {
        return Saying::Text(NOTHING_SEARCHED.to_owned());
    };
    let question = messages[asked].text();
    let results = results(&messages[asked..]);
    let searched = results.iter().any(|result| result.name == SearchDocs::NAME);
    if !searched && request.tools.iter().any(|tool| tool.name == SearchDocs::NAME) {
        // Conversations only grow, so their length makes an id that no other call of this one has.
        let id = format!("{}-{}", SearchDocs::NAME, messages.len());
        return Saying::Call(ToolCall::new(id, SearchDocs::NAME, json!({ "query": question })));
    }
    Saying::Text(conclude(&question, &results))
}

/// Says what can be said when no more tools may be asked for. The last human message is the request to do so,
/// the one before it began the turn.
pub(super) fn say_without_tools(question: &str, messages: &[Message]) -> String {
    let end = messages.iter().rposition(is_human).unwrap_or(messages.len());
    let start = messages[..end].iter().rposition(is_human).unwrap_or(0);
    let turn = &messages[start..end];
    let results = results(turn);
    let searched = results.iter().any(|result| result.status == ToolStatus::Ok);
    let mut calls = turn.iter().flat_map(Message::tool_calls);
    if !searched && calls.any(|call| call.name == SearchDocs::NAME) {
        return NOT_SEARCHED_IN_TIME.to_owned();
    }
    conclude(question, &results)
}

fn is_human(message: &Message) -> bool {
    matches!(message, Message::Human(_))
}

fn results(turn: &[Message]) -> Vec<&ToolMessage> {
    let results = turn.iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    results.collect()
}

fn conclude(question: &str, results: &[&ToolMessage]) -> String {
    let hits: Vec<_> =
        results.iter().filter(|result| result.status == ToolStatus::Ok).map(|result| hits(result)).collect();
    match results.last() {
        None => NOTHING_SEARCHED.to_owned(),
        Some(_) if !hits.is_empty() => answer(question, &hits).to_string(),
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
