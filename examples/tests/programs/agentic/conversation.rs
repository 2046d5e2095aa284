//! A conversation of 500 turns, with a strict mock server instead of the provider.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use superstep::nodes::graphs::{self, AgenticConfig, AgenticSettings, AgenticState};
use superstep::nodes::provider::Anthropic;
use superstep::nodes::testkit::{MockServer, Received, Reply};
use superstep::nodes::tool::{ToolRegistry, TypedTool};
use superstep::nodes::verification::{PredicateRule, Submission};
use superstep::prelude::*;

const TURNS: usize = 500;
const THREAD: &str = "talk";

/// The turns in which the user says a fact that must never be forgotten.
const FACTS: [usize; 3] = [3, 40, 250];

/// More bytes than any request that fits the window.
const MOST_BYTES: usize = 64_000;

#[derive(Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

fn weather() -> ToolRegistry {
    let tool = TypedTool::new("weather", "Tells the weather in a city.", |City { city }| async move {
        Ok::<_, std::convert::Infallible>(format!("Rain in {city}. {}", "It rains and rains. ".repeat(30)))
    });
    ToolRegistry::new().with(tool).expect("a good tool")
}

/// The provider's answer, which depends on the instructions.
fn answer(asked: &Received) -> Reply {
    let body = asked.json();
    let system = body["system"].to_string();
    let last = body["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string);
    let last = last.unwrap_or_default();
    if system.contains("You summarise") {
        return Reply::text(format!(
            "They have talked about rain and words. {}",
            "A fact of it. ".repeat(30)
        ));
    }
    if system.contains("You decide") {
        let action = if last.contains("Weather") { "use_tools" } else { "respond" };
        return Reply::text(json!({ "action": action, "confidence": 0.9, "reasoning": "So." }).to_string());
    }
    if last.contains("tool_result") || !last.contains("Weather") {
        return Reply::text(format!("I see. {}", "Words and words. ".repeat(20)));
    }
    Reply::new().tool_call("toolu_1", "weather", json!({ "city": "Paris" }))
}

/// Checks that every request to the agent has all earlier facts.
#[derive(Clone, Default)]
struct Facts {
    said: Arc<Mutex<Vec<String>>>,
    missing: Arc<Mutex<Vec<String>>>,
}

impl Facts {
    fn check(&self, asked: &Received) {
        let text = String::from_utf8_lossy(asked.bytes()).into_owned();
        let system = asked.json()["system"].to_string();
        let is_agent = system.contains("You work on requests");
        let said = self.said.lock().expect("no panic").clone();
        for fact in said.iter().filter(|fact| is_agent && !text.contains(fact.as_str())) {
            self.missing.lock().expect("no panic").push(fact.clone());
        }
    }
}

async fn open(file: &Path, provider: &MockServer) -> Graph<AgenticState> {
    let model = Anthropic::new("claude-test-1", "sk-ant-of-this-test").expect("a client");
    let model = model.base_url(provider.url()).expect("an address");
    let short = PredicateRule::new("short", |it: &Submission| match it.response.len() {
        0..=2_000 => Ok(()),
        _ => Err("Be brief.".to_owned()),
    });
    let settings = AgenticSettings {
        compaction_threshold: 6_000,
        target_after_compaction: 3_000,
        ..AgenticSettings::default()
    };
    let config = AgenticConfig::new(model)
        .tools(weather())
        .pin(|message| message.text().contains("FACT"))
        .rule(short)
        .without_judge()
        .settings(settings)
        .expect("good settings");
    // Durability is not tested here, and 3,000 syncs would take most of the time.
    let saver = SqliteSaver::options().durability(Durability::Process).open(file).await.expect("a file");
    graphs::agentic(config).expect("a graph").checkpointer(saver)
}

fn question(turn: usize) -> String {
    match turn {
        _ if FACTS.contains(&turn) => format!("Remember FACT {turn}: the number is {}.", turn * 7),
        _ if turn.is_multiple_of(9) => format!("Weather of day {turn} in Paris?"),
        _ => format!("Turn {turn}. {}", "Tell me more of it. ".repeat(15)),
    }
}

#[tokio::test]
async fn s0_098_a_conversation_of_500_turns_stays_valid_and_knows_its_facts_and_its_file_grows_in_proportion()
{
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("talk.db");
    let provider = MockServer::builder().key("sk-ant-of-this-test").start_in_thread().expect("loopback");
    let facts = Facts::default();
    let checks = facts.clone();
    provider.answer_with(move |asked| {
        checks.check(asked);
        answer(asked)
    });

    let mut sizes = Vec::new();
    let mut compactions = 0;
    // Each hundred turns are a day, with a new opening of the file.
    for day in 0..TURNS / 100 {
        let graph = open(&file, &provider).await;
        for turn in day * 100..(day + 1) * 100 {
            let question = question(turn);
            if FACTS.contains(&turn) {
                facts.said.lock().expect("no panic").push(format!("FACT {turn}: the number is {}", turn * 7));
            }
            let run = graph.thread(THREAD).run(AgenticState::ask(question)).await.expect("it runs");
            let state = run.finished().expect("it ends");
            assert!(state.response().is_some() && state.verdict().is_verified(), "turn {turn}");
            compactions = state.compactions.len();
        }
        drop(graph);
        sizes.push(std::fs::metadata(&file).expect("a file").len());
    }

    let errors = provider.errors();
    assert!(errors.is_empty(), "{errors:?}");
    let missing = facts.missing.lock().expect("no panic").clone();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(compactions > 10, "{compactions}");
    let largest = provider.received().iter().map(|asked| asked.bytes().len()).max().expect("requests");
    assert!(largest < MOST_BYTES, "{largest}");
    // A day adds only its own messages to the file.
    let [first, .., last] = sizes.windows(2).map(|two| two[1].saturating_sub(two[0])).collect::<Vec<_>>()[..]
    else {
        panic!("{sizes:?}")
    };
    assert!(last < first + first / 2, "{sizes:?}");
}
