//! The tiers of an agent, each with its parts in one session.

use async_trait::async_trait;
use serde_json::Value;
use superstep_checkpoint::SqliteSaver;
use superstep_nodes::tool::{
    InvalidInput, Permission, Tool, ToolContext, ToolFailure, ToolOutput, ToolResult,
};
use superstep_tools::{Bash, EditFile, ReadFile, Workspace, WriteFile};

use super::*;
use crate::context::ContextProfile;
use crate::exit::LoopCondition;
use crate::permission::{Layer, Verdict};

fn three_tools() -> ToolRegistry {
    let here = Workspace::of_session;
    let tools = ToolRegistry::new().with(ReadFile::new(here())).unwrap();
    tools.with(WriteFile::new(here())).unwrap().with(Bash::new(here())).unwrap()
}

fn soon() -> ModelError {
    ModelError::Overloaded { reason: "busy".into(), retry_after: Some(Duration::ZERO) }
}

#[tokio::test(start_paused = true)]
async fn s2_163_the_first_tier_has_six_exits() {
    let calls = |tool: &str, input: Value| {
        Always::new(Ok(ModelReply::new("m", "").with_calls(vec![ToolCall::new("c", tool, input)])))
    };
    let set = |model: Arc<dyn ChatModel>| {
        AssistantConfig::new(model)
            .tools(three_tools())
            .permissions(allowing(["read_file", "bash"]))
            .length(ContextProfile::Short)
            .max_turns(NonZeroU32::new(2).unwrap())
    };
    let full = set(Arc::new(Scripted::new())).windows(small_window());
    let full = full
        .context(ContextSettings { blocking_headroom: 100, ..ContextSettings::of(ContextProfile::Short) });
    let state = run_with(full, AssistantState::ask("Do it.").messages(long_conversation())).await;
    let mut exits = vec![state.exit];
    let refused = Always::new(Err(ModelError::InvalidRequest { reason: reason() }));
    exits.push(run(set(refused)).await.exit);
    exits.push(stopped(set(Arc::new(Stuck))).await.0.exit);
    exits.push(run(set(Arc::new(Scripted::new().say("Done.")))).await.exit);
    let interrupts = Interrupts::new();
    let behind = set(Arc::new(StoppedBehind(interrupts.clone()))).interrupts(interrupts);
    exits.push(run(behind.tools(tools()).permissions(allowing(["add"]))).await.exit);
    exits.push(run(set(calls("read_file", json!({ "path": "a" })))).await.exit);
    let conditions = exits.into_iter().map(|exit| exit.and_then(Exit::condition).map(LoopCondition::number));
    assert_eq!(conditions.collect::<Vec<_>>(), [1, 3, 4, 6, 8, 10].map(Some));
}

#[tokio::test]
async fn s2_163_the_first_tier_retries_uses_its_tools_and_continues_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let set = |model: Arc<Scripted>| {
        AssistantConfig::new(model)
            .workspace(folder.path())
            .tools(three_tools())
            .permissions(allowing(["write_file", "bash"]))
            .length(ContextProfile::Medium)
    };
    let session = async |model: Arc<Scripted>, request: &str| {
        let saver = SqliteSaver::open(folder.path().join("s.db")).await.unwrap();
        let graph = assistant(set(model)).unwrap().checkpointer(saver);
        graph.thread("session").run(AssistantState::ask(request)).await.unwrap().finished().unwrap()
    };
    let first = Scripted::new()
        .fail(soon())
        .call("c1", "write_file", json!({ "path": "a.sh", "content": "echo it runs" }))
        .call("c2", "bash", json!({ "command": "sh a.sh" }))
        .say("It runs.");
    let state = session(Arc::new(first), "first").await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::Completed), "hatata"));
    assert!(state.messages[4].text().contains("it runs"), "{:?}", state.messages);
    let second = Arc::new(Scripted::new().call("c3", "read_file", json!({ "path": "a.sh" })).say("Done."));
    let state = session(Arc::clone(&second), "second").await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::Completed), "hatatahata"));
    assert_eq!(second.requests()[0].messages.len(), 7);
}

/// A tool of the seven methods that are required, which denies one input.
struct Seven;

#[async_trait]
impl Tool for Seven {
    fn name(&self) -> &str {
        "seven"
    }

    fn prompt(&self) -> String {
        "Repeats its input, unless that is 13, which it refuses.".to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "properties": { "n": { "type": "integer" } } })
    }

    async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        if input["n"].is_i64() { Ok(()) } else { Err(InvalidInput::new("there is no number")) }
    }

    async fn check_permissions(&self, input: &Value, _: &ToolContext) -> Permission {
        if input["n"] == 13 { Permission::Deny("it is unlucky".to_owned()) } else { Permission::Passthrough }
    }

    async fn call(&self, input: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        Ok(input["n"].to_string().into())
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(self.name(), result)
    }
}

#[tokio::test]
async fn s2_164_the_second_tier_has_all_of_its_parts_in_one_session() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    let here = Workspace::of_session;
    let tools = ToolRegistry::new().with(Seven).unwrap().with(ReadFile::new(here())).unwrap();
    let tools = tools.with(EditFile::new(here())).unwrap().with(Bash::new(here())).unwrap();
    let rule = |text: &str| RulePlace::new(text.parse().unwrap(), RuleSource::User);
    let permissions = allowing(["seven", "edit_file"])
        .rule(RuleKind::Deny, rule("bash"))
        .rule(RuleKind::Deny, rule("edit_file(*.lock)"));
    let busy = Arc::new((0..9).fold(Scripted::new(), |script, _| script.fail(soon())));
    let edit = |path: &str| json!({ "path": path, "old": "one", "new": "two" });
    let other = Arc::new(
        Scripted::new()
            .call("c1", "seven", json!({ "n": 7 }))
            .call("c2", "seven", json!({ "n": 13 }))
            .call("c3", "read_file", json!({ "path": "a.txt" }))
            .call("c0", "read_file", json!({ "path": "b.lock" }))
            .call("c4", "edit_file", edit("a.txt"))
            .call("c5", "edit_file", edit("b.lock"))
            .call("c6", "bash", json!({ "command": "ls" }))
            .say("Done."),
    );
    std::fs::write(folder.path().join("b.lock"), "one\n").unwrap();
    let config = AssistantConfig::new(Arc::clone(&busy))
        .fallback(Arc::clone(&other))
        .small_model(Scripted::new().say("They talked."))
        .workspace(folder.path())
        .tools(tools)
        .permissions(permissions)
        .windows(ContextWindows::none().with(Scripted::NAME, ContextWindow::new(6_000, 500)))
        .compaction(ContextManager::new().target(1_000));
    let earlier: Vec<_> = (0..45).map(|n| Message::human(format!("m{n}"), "word ".repeat(100))).collect();
    let state = run_with(config, AssistantState::ask("Do it.").messages(earlier)).await;
    assert_eq!((state.exit, state.compactions.len()), (Some(Exit::Completed), 1));
    assert!(state.recovery.switched_model, "the overloaded model was left");
    let decided: Vec<_> = state.decisions.iter().map(|it| (it.layer, it.verdict)).collect();
    use Verdict::{Allow, Deny};
    let [rules, looks] = [(Layer::Rules, Allow), (Layer::Mode, Allow)];
    let expected = [rules, (Layer::Tool, Deny), looks, looks, rules, (Layer::Static, Deny)];
    assert_eq!(decided, expected, "bash is an unknown tool, so no layer decides");
    let offered: Vec<_> = other.requests()[0].tools.iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(offered, ["edit_file", "read_file", "seven"], "a bare deny takes a tool out of the request");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "two\n");
}
