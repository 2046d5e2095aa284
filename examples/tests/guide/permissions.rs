//! Snippets of `docs/permissions.md`.

use superstep::nodes::assistant::permission::{
    PermissionAnswer, PermissionMode, PermissionQuestion, Permissions, RuleKind, RulePlace, RuleSource,
    Verdict,
};
use superstep::nodes::assistant::{AssistantConfig, AssistantState, assistant};
use superstep::nodes::tools::{self, Workspace};
use superstep::prelude::*;

use serde_json::json;
use superstep::nodes::model::Scripted;

fn permissions() -> Result<Permissions, Box<dyn std::error::Error>> {
    let user = |rule: &str| rule.parse().map(|rule| RulePlace::new(rule, RuleSource::User));
    let permissions = Permissions::new()
        .rule(RuleKind::Allow, user("bash(cargo test*)")?)
        .rule(RuleKind::Allow, user("edit_file(src/**)")?)
        .rule(RuleKind::Ask, user("bash(git push*)")?)
        .rule(RuleKind::Deny, user("bash(rm*)")?)
        .if_then(user("bash(npm *)")?, RuleKind::Deny, "this project uses pnpm");
    Ok(permissions)
}

fn model() -> Scripted {
    let input = json!({ "path": "notes.md", "content": "Done." });
    Scripted::new().call("c1", "write_file", input).say("The notes are written.")
}

#[tokio::test]
async fn a_call_waits_for_an_answer() -> super::Result {
    let (model, permissions) = (model(), permissions()?);
    let workspace = tempfile::tempdir()?;
    let folder = workspace.path();
    let config = AssistantConfig::new(model)
        .tools(tools::workspace(Workspace::of_session()))
        .workspace(folder)
        .permissions(permissions);
    let graph = assistant(config)?.checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    let asked = thread.run(AssistantState::ask("Write the notes.")).await?.interrupted()?;
    let question: PermissionQuestion = asked[0].question()?;
    println!("{} ({})", question.call.name, question.reason);
    let state = thread.answer(&PermissionAnswer::Session).await?.finished()?;

    assert_eq!(std::fs::read_to_string(folder.join("notes.md"))?, "Done.");
    let decision = &state.decisions[0];
    assert_eq!((decision.tool.as_str(), decision.verdict), ("write_file", Verdict::Allow));
    assert_eq!(decision.reason, "a person allowed calls like this, for this session");
    Ok(())
}

#[tokio::test]
async fn a_plan_changes_nothing_and_a_session_without_a_person_denies() -> super::Result {
    let folder = tempfile::tempdir()?;
    let input = AssistantState::ask("Plan the work.").mode(PermissionMode::Plan);
    let permissions = Permissions::new().headless();
    for (permissions, input) in [(Permissions::new(), input), (permissions, AssistantState::ask("Do it."))] {
        let config = AssistantConfig::new(model())
            .tools(tools::workspace(Workspace::of_session()))
            .workspace(folder.path())
            .permissions(permissions);
        let state = assistant(config)?.run(input).await?.finished()?;
        assert_eq!(state.decisions[0].verdict, Verdict::Deny);
    }
    assert!(!folder.path().join("notes.md").exists());
    Ok(())
}
