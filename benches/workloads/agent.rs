//! Benchmarks of an agent: tools that run while the model streams its reply, and searches in a knowledge base.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, BoxStream, StreamExt};
use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Map;
use superstep::nodes::message::{Message, MessageLog};
use superstep::nodes::model::{ChatModel, ModelError, ModelEvent, ModelRequest, StopReason};
use superstep::nodes::node::{Agent, AgentNext, Tools};
use superstep::nodes::rag::{Chunk, HashEmbedder, KnowledgeBase, SearchBy};
use superstep::nodes::tool::{ExecutionPolicy, ToolEffect, ToolRegistry, TypedTool};
use superstep::prelude::*;

use crate::engine::on_worker;
use crate::report::Figure;

/// The time that the model takes for one part of its reply.
const PIECE: Duration = Duration::from_millis(60);
/// The time that a tool takes.
const WORK: Duration = Duration::from_millis(300);
/// The number of tool calls in a reply.
const CALLS: u32 = 3;

const ROUNDS: usize = 3;

/// The number of chunks that are searched.
const CHUNKS: u32 = 10_000;
const SEARCHES: usize = 20;

#[derive(State, Clone, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A model that calls all tools in its first reply, and ends with the second one.
struct Slow;

impl ChatModel for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let asks = request.messages.len() == 1;
        let said = if asks { calls() } else { vec![ModelEvent::TextDelta { text: "Done.".into() }] };
        let reason = if asks { StopReason::ToolUse } else { StopReason::EndTurn };
        let pieces = said.into_iter().chain([ModelEvent::Stop { reason }]);
        let slowly = stream::iter(pieces).then(|piece| async {
            tokio::time::sleep(PIECE).await;
            Ok(piece)
        });
        slowly.boxed()
    }
}

/// Returns the calls, in four parts each.
fn calls() -> Vec<ModelEvent> {
    let call = |index: u32| {
        let input = |json: &str| ModelEvent::ToolCallInput { index, json: json.into() };
        let start = ModelEvent::ToolCallStart { index, id: format!("c{index}"), name: "look".into() };
        [start, input("{"), input("}"), ModelEvent::ToolCallEnd { index }]
    };
    (0..CALLS).flat_map(call).collect()
}

async fn turn(streams: bool) -> f64 {
    let look = TypedTool::new("look", "Looks.", |Nothing {}| async {
        tokio::time::sleep(WORK).await;
        "seen"
    });
    let tools = ToolRegistry::new().with(look.with_effect(ToolEffect::ReadOnly)).expect("a sound tool");
    let policy = if streams { ExecutionPolicy::PARALLEL_SAFE } else { ExecutionPolicy::Sequential };
    let node = Tools::new(tools.clone(), Chat::MESSAGES).policy(policy);
    let agent = Agent::new(Arc::new(Slow), Chat::MESSAGES, Chat::VISITS);
    let agent = if streams { agent.stream_tools(&node) } else { agent.tools(&tools) };
    let mut g = StateGraph::<Chat>::new("chat");
    let (agent, tools) = (g.node("agent", agent), g.node("tools", node));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    let graph = g.compile().expect("a sound graph").checkpointer(MemorySaver::new());
    let begun = Instant::now();
    let input = Chat::update().messages([Message::human("q", "Look.")]);
    let state = graph.run(input).await.expect("nothing fails").finished().expect("it ends");
    assert_eq!(state.messages.len(), 3 + CALLS as usize);
    begun.elapsed().as_secs_f64() * 1e3
}

/// Compares a turn whose tools start while the model streams with one whose tools run one by one after the reply.
pub(crate) fn streaming() -> Figure {
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        baselines.push(on_worker(turn(false)));
        values.push(on_worker(turn(true)));
    }
    let target = "one after the other, when the reply has ended; at most 0.70";
    Figure { unit: "ms/turn", values, baselines, extra: Map::new(), target }
}

/// Creates a knowledge base with [`CHUNKS`] chunks.
async fn knowledge(file: &Path) -> KnowledgeBase {
    let base = KnowledgeBase::open(file, "bench", HashEmbedder::default()).expect("a new file opens");
    let chunk = |number: u32| Chunk {
        text: format!(
            "Chunk {number} of the bench says that {} follows {}.",
            number * 7 % 1_009,
            number * 3 % 997
        ),
        heading: String::new(),
        line_start: 1,
        line_end: 1,
    };
    let chunks: Vec<Chunk> = (0..CHUNKS).map(chunk).collect();
    for (number, document) in chunks.chunks(1_000).enumerate() {
        base.add(&format!("{number}.txt"), document).await.expect("nothing fails");
    }
    base
}

/// Compares a search by meaning with reading the same embeddings with plain rusqlite.
pub(crate) fn search() -> Figure {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("knowledge.db");
    let base = on_worker({
        let file = file.clone();
        async move { knowledge(&file).await }
    });
    let raw = Connection::open(&file).expect("the file opens");
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for number in 0..SEARCHES {
        let begun = Instant::now();
        let mut select = raw.prepare_cached("select numbers from embedding").expect("a sound query");
        let mut rows = select.query([]).expect("it can be read");
        let mut bytes = 0;
        while let Some(row) = rows.next().expect("it can be read") {
            bytes += row.get_ref(0).and_then(|blob| Ok(blob.as_blob()?.len())).expect("a blob");
        }
        assert_eq!(bytes, CHUNKS as usize * 512 * 4);
        baselines.push(begun.elapsed().as_secs_f64() * 1e3);

        let (base, question) = (base.clone(), format!("what follows {number}?"));
        values.push(on_worker(async move {
            let begun = Instant::now();
            let found = base.search_by(SearchBy::Meaning, &question, 3).await.expect("nothing fails");
            assert_eq!(found.len(), 3);
            begun.elapsed().as_secs_f64() * 1e3
        }));
    }
    let target = "reading the embeddings, raw rusqlite";
    Figure { unit: "ms", values, baselines, extra: Map::new(), target }
}
