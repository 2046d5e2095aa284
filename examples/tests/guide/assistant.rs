//! Snippets of `docs/assistant.md`.

use std::sync::Arc;

use serde_json::json;
use superstep::nodes::assistant::budget::Limits;
use superstep::nodes::assistant::context::ContextProfile;
use superstep::nodes::assistant::domain::LastCallSucceeded;
use superstep::nodes::assistant::exit::Exit;
use superstep::nodes::assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use superstep::nodes::assistant::{AssistantConfig, AssistantState, Domain, Sensitivity, assistant};
use superstep::nodes::model::{ChatModel, Prices};
use superstep::nodes::tool::ToolRegistry;
use superstep::nodes::tools::{
    Bash, CommandRunner, DescribeDatabase, DrawChart, ReadCsv, SqlQuery, Ssh, Workspace,
};
use superstep::prelude::*;

use superstep::nodes::model::Scripted;

#[tokio::test]
async fn an_agent_in_ten_lines() -> super::Result {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    std::fs::write(folder.join("sum.sh"), "echo $((2 + 2))\n")?;
    let command = json!({ "command": "sh sum.sh" });
    let model = Scripted::new().call("c1", "bash", command).say("It prints 4.");
    let tests = "sh sum.sh | grep -q 4";
    {
        let allowed = RulePlace::new("bash(sh *)".parse()?, RuleSource::Program);
        let config = AssistantConfig::new(model)
            .workspace(folder)
            .permissions(Permissions::new().rule(RuleKind::Allow, allowed))
            .domain(Domain::code(Bash::new(Workspace::of_session()), tests));
        let sessions = SqliteSaver::open(folder.join("sessions.db")).await?;
        let graph = assistant(config)?.checkpointer(sessions);

        let asked = AssistantState::ask("What does sum.sh print?");
        let state = graph.thread("session").run(asked).await?.finished()?;
        assert_eq!((state.exit, state.response().as_str()), (Some(Exit::Completed), "It prints 4."));
    }
    Ok(())
}

fn profiles(model: Arc<dyn ChatModel>, prices: Prices) -> AssistantConfig {
    AssistantConfig::new(model)
        .length(ContextProfile::Medium)
        .sensitivity(Sensitivity::High)
        .budget(Limits { micro_usd: Some(500_000), ..Limits::default() }, prices)
}

fn library(catalogue: &str) -> std::result::Result<Domain, Box<dyn std::error::Error>> {
    let tools = ToolRegistry::new()
        .with(SqlQuery::new(catalogue))?
        .with(DescribeDatabase::new(catalogue))?
        .with(ReadCsv::new(Workspace::of_session()))?;
    let lists = RulePlace::new("read_csv(lists/**)".parse()?, RuleSource::Program);
    Ok(Domain::new("library", "You find books. Name the shelf of each book.", tools)?
        .rule(RuleKind::Ask, lists)
        .context(DescribeDatabase::new(catalogue), json!({ "rows": 1 }))?
        .check(LastCallSucceeded::new("a book was looked up", [SqlQuery::NAME])))
}

#[test]
fn profiles_and_a_domain_of_your_own_make_a_configuration() -> super::Result {
    let folder = tempfile::tempdir()?;
    let catalogue = folder.path().join("books.db").display().to_string();
    let config = profiles(Arc::new(Scripted::new()), Prices::none());
    let unpriced = assistant(config.domain(library(&catalogue)?)).unwrap_err();
    assert!(unpriced.to_string().contains("has no price"), "{unpriced}");
    Ok(())
}

#[test]
fn charts_and_commands_on_another_machine_are_tools() -> super::Result {
    let chart = DrawChart::new(Workspace::of_session()).database("sales.db");
    let remote = Ssh::new("me@build.example.org")?.folder("project");
    let bash = Bash::new(Workspace::of_session()).runner(CommandRunner::Ssh(remote));
    let tools = ToolRegistry::new().with(chart)?.with(bash)?;
    assert_eq!(tools.short_descriptions(), [""; 0]);
    Ok(())
}
