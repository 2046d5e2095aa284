//! Benchmarks of long conversations: compaction, except for the call of the model, and the passes before a request.

use std::time::Instant;

use serde_json::Map;
use superstep::nodes::compaction::{ContextManager, view};
use superstep::nodes::message::Message;
use superstep::nodes::model::{ModelReply, RoughTokens, TokenCounter};

use crate::report::{Figure, median, round};

const ROUNDS: usize = 21;

/// Returns a conversation with instructions of 2,000 tokens, 14 messages of 500 and 5 of 600 tokens: 12,000 in the
/// estimate.
fn conversation() -> Vec<Message> {
    // Three tokens are for the frame of each message.
    let text = |tokens: usize| "word ".repeat(tokens)[..4 * (tokens - 3)].to_owned();
    let system = Message::system("system", text(2_000));
    let sizes = std::iter::repeat_n(500, 14).chain(std::iter::repeat_n(600, 5));
    let said = sizes.enumerate().map(|(number, tokens)| Message::human(format!("m{number}"), text(tokens)));
    [system].into_iter().chain(said).collect()
}

/// Compacts a conversation. Returns the time of everything except the model, and of counting the tokens once, in
/// milliseconds.
fn compact(counter: impl TokenCounter + Clone + 'static, messages: &[Message]) -> (f64, f64) {
    let manager = ContextManager::new().counter(counter);
    let begun = Instant::now();
    let tokens = manager.count(messages);
    let counting = begun.elapsed();
    assert!(tokens > ContextManager::THRESHOLD, "{tokens}");
    let reply = ModelReply::new("m", "fact ".repeat(300));

    let begun = Instant::now();
    let plan = manager.plan(messages, &[]).expect("it is too long");
    let request = plan.request("r", 0);
    let compaction = plan.accept("c", &reply, 0).expect("it is shorter");
    let shown = view(messages, &[compaction]);
    let compacting = begun.elapsed();
    assert_eq!((request.messages.len(), shown.len()), (1, 7));
    (compacting.as_secs_f64() * 1e3, counting.as_secs_f64() * 1e3)
}

/// Compares planning, summarising with a prepared reply and shortening a conversation of 12,000 tokens with
/// counting its tokens once.
pub(crate) fn compaction() -> Figure {
    let messages = conversation();
    let (values, baselines): (Vec<f64>, Vec<f64>) =
        (0..ROUNDS).map(|_| compact(RoughTokens, &messages)).unzip();
    let mut extra = Map::new();
    #[cfg(feature = "tokens")]
    {
        let counter = superstep::nodes::model::Tiktoken::default();
        // This call loads the vocabulary.
        counter.text("word");
        let times: Vec<f64> = (0..ROUNDS).map(|_| compact(counter, &messages).0).collect();
        extra.insert("tiktoken_ms".to_owned(), round(median(&times)).into());
    }
    let target = "counting its tokens once; less than 20 ms, with tiktoken too";
    Figure { unit: "ms", values, baselines, extra, target }
}

/// Returns 500 turns with a call each, of 200,000 tokens.
#[cfg(feature = "assistant")]
fn turns() -> Vec<Message> {
    use superstep::nodes::message::ToolCall;
    let turn = |n: usize| {
        let tool = if n.is_multiple_of(2) { "grep" } else { "read_file" };
        let input = serde_json::json!({ "path": format!("{}", n % 300), "pattern": format!("{}", n % 300) });
        let call = ToolCall::new(format!("call{n}"), tool, input);
        [
            Message::human(format!("q{n}"), "Look at it. ".repeat(35)),
            Message::ai_with_calls(format!("w{n}"), "I look. ".repeat(50), vec![call.clone()]),
            Message::tool(format!("t{n}"), &call, "line of a file ".repeat(28)),
            Message::ai(format!("a{n}"), "It is good. ".repeat(25)),
        ]
    };
    (0..500).flat_map(turn).collect()
}

/// W20: the five passes over 2,000 messages of 200,000 tokens, with one message more since the last request, against
/// counting the tokens of all once.
#[cfg(feature = "assistant")]
pub(crate) fn passes() -> Figure {
    use superstep::nodes::assistant::context::{Anchor, ContextSettings, ContextWindow, History, prepare};
    use superstep::nodes::model::Usage;
    let (settings, window) = (ContextSettings::default(), Some(ContextWindow::new(400_000, 20_000)));
    let (mut values, mut baselines, mut cold) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut messages = turns();
        let begun = Instant::now();
        let all: u64 = messages.iter().map(|message| settings.counter.message(message)).sum();
        let once = begun.elapsed().as_secs_f64() * 1e3;
        assert!((190_000..210_000).contains(&all) && messages.len() == 2_000, "{all}");
        let begun = Instant::now();
        let first = prepare(&History { messages: &messages, ..History::default() }, window, &settings);
        cold.push(begun.elapsed().as_secs_f64() * 1e3 / once);
        let anchor = Anchor::new("reply", &Usage::of(first.tokens, 4), first.records);
        let trims = first.trims;
        messages.extend([Message::ai("reply", "It is."), Message::human("next", "And this one?")]);
        let history =
            History { messages: &messages, trims: &trims, anchor: anchor.as_ref(), ..History::default() };
        let begun = Instant::now();
        let next = prepare(&history, window, &settings);
        values.push(begun.elapsed().as_secs_f64() * 1e3);
        baselines.push(once);
        assert!(next.trims.is_empty(), "all was decided at first");
    }
    let mut extra = Map::new();
    extra.insert("cold_over_counting".to_owned(), round(median(&cold)).into());
    Figure { unit: "ms", values, baselines, extra, target: "counting once, ≤ 0.2; without an anchor ≤ 3" }
}
