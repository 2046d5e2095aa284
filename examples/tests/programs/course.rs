//! The agents of a course.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use superstep::nodes::ModelName;
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ModelReply, Scripted, Turn};
use superstep::nodes::tool::{ToolRegistry, TypedTool};
use superstep_examples::callback::{CallbackConfig, CallbackExit, CallbackState, callback};
use superstep_examples::{CourseAgent, CourseSize};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

/// Returns how often the model may be asked, which the settings show and do not give.
fn limit(config: CallbackConfig) -> u32 {
    let shown = format!("{config:?}");
    let (_, limit) = shown.split_once("max_iterations: ").unwrap();
    limit.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn s4_022_to_026_each_agent_has_the_limit_of_its_work() {
    let limits = CourseAgent::ALL.map(|agent| limit(agent.config(CourseSize::Full, Scripted::new())));
    assert_eq!(limits, [15, 15, 15, 5, 10]);
}

#[test]
fn s4_044_to_048_a_small_course_is_less_work_for_a_smaller_model() {
    let said = |agent: CourseAgent, size| agent.instructions(size);
    assert!(said(CourseAgent::Topic, CourseSize::Full).contains("make 6 to 10 concepts"));
    assert!(said(CourseAgent::Topic, CourseSize::Small).contains("make 1 to 2 concepts"));
    let full = said(CourseAgent::Subconcept, CourseSize::Full);
    assert!(full.contains("Make 5 to 10 questions") && full.contains("make 8 to 12 subconcepts"), "{full}");
    let small = said(CourseAgent::Subconcept, CourseSize::Small);
    assert!(small.contains("Make 2 to 3 questions") && small.contains("make 2 to 3 subconcepts"), "{small}");
    let limits = CourseAgent::ALL.map(|agent| agent.max_iterations(CourseSize::Small));
    assert_eq!(limits, [10, 10, 10, 5, 10]);
}

/// The size chose instructions and limits only: the small model had to be chosen besides.
#[test]
fn s4_048_a_small_course_has_the_small_model_and_the_limit_of_ten() {
    let opened = |size| {
        let mut asked = None;
        let open = |name: &ModelName| {
            asked = Some(name.to_string());
            Ok::<_, std::convert::Infallible>(Scripted::new())
        };
        let config = CourseAgent::Topic.open(size, open).unwrap();
        (asked.unwrap(), limit(config))
    };
    assert_eq!(opened(CourseSize::Small), ("anthropic:claude-haiku-4-5".to_owned(), 10));
    assert_eq!(opened(CourseSize::Full), ("anthropic:claude-opus-4-5".to_owned(), 15));
    let none = CourseAgent::Topic.open(CourseSize::Small, |name| Err::<Scripted, _>(name.clone()));
    assert_eq!(none.unwrap_err(), CourseSize::Small.default_model());
}

#[test]
fn s4_033_the_default_model_has_a_name_as_on_a_command_line_and_an_old_one_still_is_one() {
    for size in [CourseSize::Full, CourseSize::Small] {
        let name = size.default_model();
        assert_eq!(name.to_string().parse(), Ok(name));
    }
    let retired = "anthropic:claude-opus-4-20250514".parse();
    assert_eq!(retired, Ok(ModelName::Anthropic("claude-opus-4-20250514".to_owned())));
}

#[tokio::test]
async fn s4_058_an_agent_observes_reasons_acts_and_verifies_in_rounds() {
    let notes = Arc::new(Mutex::new(vec!["draft".to_owned()]));
    let [read, write] = [Arc::clone(&notes), Arc::clone(&notes)];
    let observe = TypedTool::new("observe", "Reads the course.", move |Nothing {}| {
        let text = read.lock().unwrap().join(", ");
        async move { Ok::<_, String>(text) }
    });
    let act = TypedTool::new("act", "Adds to the course.", move |Topic { topic }| {
        write.lock().unwrap().push(topic.clone());
        async move { Ok::<_, String>(format!("added {topic}")) }
    });
    let asks = |text: &str, tool: &str, input| {
        let call = ToolCall::new(tool, tool, input);
        Turn::Reply(ModelReply::new(Scripted::NAME, text).with_calls(vec![call]))
    };
    let model = Scripted::new()
        .then(asks("I observe.", "observe", json!({})))
        .then(asks("A summary is missing; I act.", "act", json!({ "topic": "summary" })))
        .then(asks("I verify.", "observe", json!({})))
        .say("The summary is there.");
    let tools = ToolRegistry::new().with(observe).unwrap().with(act).unwrap();
    let graph = callback(CourseAgent::Refinement.config(CourseSize::Full, model).tools(tools)).unwrap();
    let state = graph.run(CallbackState::ask("Teach me graphs.")).await.unwrap().finished().unwrap();
    let results: Vec<_> =
        state.tool_calls().iter().map(|made| made.result.content.to_text().into_owned()).collect();
    assert_eq!(results, ["draft", "added summary", "draft, summary"]);
    assert_eq!(state.exit(), Some(CallbackExit::EndTurn));
}
