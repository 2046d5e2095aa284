//! Snippets of `docs/sub-agents.md`.

use superstep::nodes::assistant::agents::AgentKind;
use superstep::nodes::assistant::budget::Limits;
use superstep::nodes::assistant::inbox::Inbox;
use superstep::nodes::assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use superstep::nodes::assistant::{AssistantConfig, AssistantState, BackgroundAgents, assistant};
use superstep::nodes::tools::{self, Workspace};
use superstep::prelude::*;

use serde_json::json;
use superstep::nodes::model::Scripted;

#[tokio::test]
async fn agents_of_two_kinds_have_fewer_tools_than_their_session() -> super::Result {
    let workspace = tempfile::tempdir()?;
    let folder = workspace.path();
    let model = Scripted::new()
        .call("c1", "agent", json!({ "kind": "explore", "task": "Find the parser." }))
        .say("It is in src/parse.rs.")
        .say("The parser is in src/parse.rs.");
    let user = |rule: &str| rule.parse().map(|rule| RulePlace::new(rule, RuleSource::User));
    let explore = AgentKind::reader("explore", "Finds the files and lines that a question is about.")
        .system("You search a project. Answer with paths and lines.")
        .tools(["read_file", "glob", "grep"])
        .limits(Limits { tokens: Some(100_000), ..Limits::default() });
    let mend = AgentKind::writer("mend", "Changes one file as described, and reads the result.")
        .never(user("edit_file(Cargo.lock)")?);
    let config = AssistantConfig::new(model)
        .tools(tools::workspace(Workspace::of_session()))
        .workspace(folder)
        .permissions(Permissions::new().rule(RuleKind::Allow, user("agent(explore)")?))
        .agents([explore, mend]);

    let state = assistant(config)?.run(AssistantState::ask("Where is the parser?")).await?.finished()?;
    assert_eq!(state.messages[2].text(), "It is in src/parse.rs.");
    assert_eq!(state.ledger.total().calls, 3, "with the call of the agent");
    Ok(())
}

#[tokio::test]
async fn an_agent_works_beside_its_session() -> super::Result {
    let model = Scripted::new()
        .call("c1", "agent", json!({ "kind": "explore", "task": "Find it.", "background": true }))
        .say("A joke.")
        .say("It is in lib.rs.")
        .say("Found.");
    let user = |rule: &str| rule.parse().map(|rule| RulePlace::new(rule, RuleSource::User));
    let config = AssistantConfig::new(model)
        .agents([AgentKind::reader("explore", "Finds places in the project.")])
        .permissions(Permissions::new().rule(RuleKind::Allow, user("agent(explore)")?))
        .inbox(Inbox::new(MemoryStore::new()));
    let saver = MemorySaver::new();
    let background = BackgroundAgents::new(&config, |graph| graph.checkpointer(saver.clone()))?;
    let session = assistant(config)?.checkpointer(saver.clone()).thread("session");

    let state = session.run(AssistantState::ask("Find it, and tell me a joke.")).await?.finished()?;
    for agent in &state.background {
        background.run(session.id(), &state, agent).await?.finished()?;
    }
    let state = session.run(AssistantState::ask("And?")).await?.finished()?;
    assert!(state.background.is_empty());
    assert_eq!(state.response(), "Found.");
    Ok(())
}
