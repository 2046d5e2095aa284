//! A model with a small window.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, BoxStream, StreamExt};

use super::*;
use crate::message::{Message, ToolCall};
use crate::model::{ModelError, ModelEvent, ModelReply, ModelRequest, RoughTokens, TokenCounter, ToolChoice};

/// The maximum number of tokens of a request.
const WINDOW: u64 = 16_000;

/// In which turns the user asks for something that takes tools, and in which the first response is refused.
const PAGES: usize = 5;
const GUESSES: usize = 7;

/// A model in all roles, which refuses what does not fit its window.
#[derive(Default)]
struct Windowed {
    refused: Mutex<Vec<(Purpose, u64)>>,
    /// The largest request in each role, in tokens.
    largest: Mutex<std::collections::BTreeMap<&'static str, u64>>,
    judged: AtomicUsize,
}

impl Windowed {
    fn reply(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let (purpose, tokens) = (request.purpose, RoughTokens.request(&request));
        let mut largest = self.largest.lock().unwrap();
        let most = largest.entry(purpose.as_str()).or_default();
        *most = tokens.max(*most);
        if tokens > WINDOW {
            self.refused.lock().unwrap().push((purpose, tokens));
            let (tokens, limit) = (Some(tokens), Some(WINDOW));
            return Err(ModelError::RequestTooLong { reason: "prompt is too long".into(), tokens, limit });
        }
        let said = request.messages.iter().rev().find(|message| matches!(message, Message::Human(_)));
        let said = said.map(|message| message.text().into_owned()).unwrap_or_default();
        let text = match purpose {
            Purpose::Summarizer => "They talk, and read pages. ".repeat(20),
            Purpose::Router => {
                routed(if said.contains("What do the pages") { "use_tools" } else { "respond" }).to_string()
            }
            Purpose::Verifier => {
                self.judged.fetch_add(1, Ordering::Relaxed);
                judged(if said.contains("<response>I guess") { 0.3 } else { 0.9 }).to_string()
            }
            Purpose::Agent if request.tool_choice != ToolChoice::None && !request.tools.is_empty() => {
                let call = |number| ToolCall::new(format!("c{number}"), "page", json!({ "number": number }));
                return Ok(ModelReply::new("windowed", "I read on.").with_calls((1..5).map(call).collect()));
            }
            Purpose::Agent if said.ends_with('!') => "I guess so.".to_owned(),
            _ => format!("I see. {}", "As I said. ".repeat(10)),
        };
        Ok(ModelReply::new("windowed", text))
    }
}

impl ChatModel for Windowed {
    fn name(&self) -> &str {
        "windowed"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.reply(request) {
            Ok(reply) => stream::iter(reply.to_events()).map(Ok).boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Page {
    number: u32,
}

/// A tool that gives a thousand tokens. Of a turn they are twenty thousand.
fn pages() -> ToolRegistry {
    let page = TypedTool::new("page", "Reads a page.", |Page { number }| async move {
        Ok::<_, std::convert::Infallible>(format!("Page {number}. {}", "<word> ".repeat(570)))
    });
    ToolRegistry::new().with(page).unwrap()
}

fn question(turn: usize) -> String {
    let sign = if turn.is_multiple_of(GUESSES) { '!' } else { '.' };
    match turn % PAGES {
        0 => format!("What do the pages of day {turn} say{sign}"),
        _ => format!("Turn {turn}. {}and on{sign}", "Tell me more of it. ".repeat(20)),
    }
}

#[tokio::test]
async fn s0_002_three_hundred_turns_with_tools_and_a_judge_never_overflow_a_window_of_16_000_tokens() {
    let model = Arc::new(Windowed::default());
    let loop_ = graph(AgenticConfig::new(Arc::clone(&model) as Arc<dyn ChatModel>).tools(pages()));
    let mut state = AgenticState::default();
    for number in 0..300 {
        state = turn(&loop_, AgenticState::ask(question(number))).await.0;
        assert_eq!(*model.refused.lock().unwrap(), [], "turn {number}");
        assert!(state.verdict().is_verified(), "turn {number}: {:?}", state.verdict());
        let refined = state.refinement_attempts.unwrap_or(0);
        assert_eq!(refined, u32::from(number.is_multiple_of(GUESSES)), "{number}");
    }
    assert_eq!(model.judged.load(Ordering::Relaxed), 300 + 300_usize.div_ceil(GUESSES));
    assert!(state.compactions.len() > 60, "{}", state.compactions.len());
    // A judge is shown as much of the pages as a model of the conversation, and its own material beside it.
    let largest = model.largest.lock().unwrap().clone();
    assert!((8_000..10_000).contains(&largest[Purpose::Verifier.as_str()]), "{largest:?}");
}
