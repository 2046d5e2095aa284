//! Benchmarks of compaction: its cost to an agent, except for the call of the model.

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
