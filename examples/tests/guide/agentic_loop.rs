//! Snippets of `docs/agentic-loop.md`.

use serde_json::json;
use superstep::nodes::configuration::Configuration;
use superstep::nodes::graphs::{
    self, AgenticConfig, AgenticGraph, AgenticSettings, AgenticState, Canary, Profile,
};
use superstep::nodes::tool::TypedTool;
use superstep::nodes::verification::{CitationRule, Verdict};
use superstep::prelude::*;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{Purpose, Scripted, Turn};
use superstep::nodes::tool::ToolRegistry;
use superstep::nodes::verification::VerificationCriterion;
use tokio::sync::Barrier;

fn judged(score: f64) -> Turn {
    let finding = |criterion: &VerificationCriterion| json!({ "criterion": criterion, "finding": "So.", "score": score });
    let findings: Vec<Value> = VerificationCriterion::ALL.iter().map(finding).collect();
    Turn::Json(
        json!({ "findings": findings, "critical_issues": [], "suggestions": [], "feedback": "Say how many." }),
    )
}

#[tokio::test]
async fn a_response_is_given_with_a_verdict() -> super::Result {
    let model = Scripted::new()
        .say("Few.")
        .on(Purpose::Refiner, ["None."])
        .on(Purpose::Verifier, [judged(0.3), judged(1.0)]);
    let tools = ToolRegistry::new();

    let config = AgenticConfig::new(model).tools(tools).rule(CitationRule::new().or_none());
    let agent = graphs::agentic(config)?.checkpointer(MemorySaver::new());

    let question = AgenticState::ask("How many bytes does a fork copy?");
    let state = agent.thread("talk").run(question).await?.finished()?;
    match state.verdict() {
        Verdict::Verified(checked) => println!("{}", checked.response),
        Verdict::Unverified { last, why } => println!("{} (not accepted: {why})", last.response),
        Verdict::Unchecked => println!("{}", state.response().unwrap_or_default()),
    }

    assert!(matches!(state.verdict(), Verdict::Verified(checked) if checked.response == "None."));
    Ok(())
}

#[tokio::test]
async fn a_person_is_asked_of_a_call_of_unknown_outcome() -> super::Result {
    let model = Scripted::new().say("Paid.").on(Purpose::Verifier, [judged(1.0)]);
    let config = AgenticConfig::new(model);

    let mut agent = AgenticGraph::<()>::new(&config);
    agent.graph.policy(agent.use_tools).on_unknown(OnUnknown::Ask);
    let agent = agent.graph.compile()?;

    let state = agent.run(AgenticState::ask("Pay the bill.")).await?.finished()?;
    assert_eq!(state.response().as_deref(), Some("Paid."));
    Ok(())
}

/// Settings from files in the current folder of the program.
fn configured(model: Scripted) -> Result<AgenticConfig, Box<dyn std::error::Error>> {
    let configuration =
        Configuration::<AgenticSettings>::new().file("agentic.toml")?.dotenv(".env")?.environment()?;
    let config = AgenticConfig::new(model).settings(configuration.settings()?.clone())?;
    Ok(config)
}

/// Both pages with the settings match the code.
#[test]
fn the_tables_of_settings_have_each_with_its_default() {
    let pages = [
        include_str!("../../../docs/agentic-loop.md"),
        include_str!("../../../nodes/src/graphs/agentic/settings.rs"),
    ];
    for page in pages {
        let rows = page.lines().filter_map(|line| line.trim_start_matches("/// ").strip_prefix("| `"));
        let rows: Vec<_> = rows.filter_map(|row| row.split_once("` | ")).collect();
        let rows: Vec<_> = rows
            .iter()
            .filter_map(|(name, rest)| Some((*name, rest.split_once(" | ")?.0.trim_matches('`').to_owned())))
            .filter(|(name, _)| name.chars().all(|sign| sign.is_ascii_uppercase() || sign == '_'))
            .collect();
        let values: Vec<_> =
            Configuration::<AgenticSettings>::new().values().map(|(name, value, _)| (name, value)).collect();
        assert_eq!(rows, values);
    }
}

#[test]
fn a_file_of_settings_that_is_not_there_is_named() {
    let error = configured(Scripted::new()).unwrap_err().to_string();
    assert!(error.starts_with("the settings in agentic.toml cannot be read: "), "{error}");
}

#[test]
fn who_is_in_a_canary_follows_from_the_id() {
    let settings = Profile::Canary.settings(Some("user-2"));
    assert!(settings.enable_verification && Canary::percent(10).includes("user-2"));
    assert!(!Profile::Canary.settings(Some("user-3")).enable_verification);
}

#[derive(State, Clone, Default)]
struct Report {
    #[reducer(Append)]
    findings: Vec<String>,
    text: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<String>),
}

async fn plan() -> Plan {
    Plan::Research(vec!["Who forks?".into(), "Who copies?".into()])
}

async fn write(report: Snapshot<Report>) -> Update<Report> {
    let mut findings = report.findings.clone();
    findings.sort();
    Report::update().text(findings.join(" "))
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// A tool that waits until two of its calls run at the same time.
fn together() -> ToolRegistry {
    let barrier = Arc::new(Barrier::new(2));
    let tool = TypedTool::new("look", "Looks.", move |Nothing {}| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok::<_, std::convert::Infallible>("seen")
        }
    });
    ToolRegistry::new().with(tool).expect("a good tool")
}

#[tokio::test]
async fn s0_140_to_s0_142_parts_of_the_work_are_delegated_done_at_the_same_time_and_put_together()
-> super::Result {
    let look = || Turn::Call(vec![ToolCall::new("c", "look", json!({}))]);
    let use_tools = || Turn::Json(json!({ "action": "use_tools", "confidence": 1, "reasoning": "So." }));
    let model = Scripted::new()
        .on(Purpose::Router, [use_tools(), use_tools()])
        .on(Purpose::Agent, [look(), look(), "Anna forks.".into(), "Ben copies.".into()])
        .on(Purpose::Verifier, [judged(1.0), judged(1.0)]);
    let config = AgenticConfig::new(model).tools(together());

    let mut g = StateGraph::<Report>::new("report");
    let plan = g.node("plan", plan);
    let write = g.node("write", write);
    let lens = Lens::new().item(|task: &String| AgenticState::ask(task)).take_with(|agent: &AgenticState| {
        Report::update().findings([agent.response().unwrap_or_default().into_owned()])
    });
    let research = g.subgraph("research", graphs::agentic(config)?, lens);
    g.edge(START, plan);
    g.route(plan, move |Plan::Research(tasks)| each(research, tasks));
    g.edge(research, write);
    g.edge(write, END);

    let report = g.compile()?.checkpointer(MemorySaver::new()).run(Report::update());
    let report = tokio::time::timeout(std::time::Duration::from_secs(300), report).await??.finished()?;
    assert_eq!(report.text, "Anna forks. Ben copies.");
    Ok(())
}
