//! Hooks in a run: layer 3 of the permissions, and the end of a run.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::*;
use crate::hook::{CallAnswer, CallEvent, CallHook, EndEvent, HookError, Hooks, StopAnswer, StopHook};
use crate::permission::{Layer, PermissionMode, Verdict};

/// A hook that always gives the same answer, at both points, and counts the questions.
#[derive(Clone)]
struct Says {
    call: Result<CallAnswer, HookError>,
    end: StopAnswer,
    asked: Arc<AtomicU32>,
    active: Arc<AtomicU32>,
}

impl Says {
    fn of_call(call: CallAnswer) -> Self {
        Self { call: Ok(call), end: StopAnswer::Pass, asked: Arc::default(), active: Arc::default() }
    }

    fn of_end(end: StopAnswer) -> Self {
        Self { end, ..Self::of_call(CallAnswer::Pass) }
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl CallHook for Says {
    fn name(&self) -> &str {
        "says"
    }

    async fn before_call(&self, call: &CallEvent<'_>) -> Result<CallAnswer, HookError> {
        assert_eq!((call.task, call.tool), ("Do it.", "add"));
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.call.clone()
    }
}

#[async_trait]
impl StopHook for Says {
    fn name(&self) -> &str {
        "says"
    }

    async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
        assert_eq!(end.task, "Do it.");
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.active.fetch_add(u32::from(end.stop_hook_active), Ordering::Relaxed);
        Ok(self.end.clone())
    }
}

/// A hook that does not answer.
struct Silent;

#[async_trait]
impl CallHook for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn before_call(&self, _: &CallEvent<'_>) -> Result<CallAnswer, HookError> {
        std::future::pending().await
    }
}

#[async_trait]
impl StopHook for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn before_end(&self, _: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
        std::future::pending().await
    }
}

fn decide(verdict: Verdict) -> Says {
    Says::of_call(CallAnswer::Decide(verdict, "so".into()))
}

fn add_and_end() -> Scripted {
    Scripted::new().then(call("c1")).say("Done.")
}

#[tokio::test]
async fn s2_036_119_a_hook_denies_a_call_that_a_rule_allows() {
    let state =
        run(config(add_and_end()).tools(tools()).hooks(Hooks::new().before_call(decide(Verdict::Deny))))
            .await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::Completed), "hata"));
    assert_eq!(state.messages[2].text(), "Not permitted: hook says: so");
    assert_eq!((state.decisions[0].layer, state.decisions[0].verdict), (Layer::Rules, Verdict::Deny));
}

#[tokio::test]
async fn s2_036_a_hook_allows_a_call_that_a_person_would_be_asked_about_but_lifts_no_deny() {
    let hooks = || Hooks::new().before_call(decide(Verdict::Allow));
    let config = |permissions| {
        AssistantConfig::new(add_and_end()).tools(tools()).hooks(hooks()).permissions(permissions)
    };
    let state = run(config(Permissions::new().headless())).await;
    assert_eq!((state.decisions[0].verdict, state.messages[2].text().as_ref()), (Verdict::Allow, "3"));
    let plan = AssistantState::ask("Do it.").mode(PermissionMode::Plan);
    assert_eq!(run_with(config(Permissions::new()), plan).await.decisions[0].verdict, Verdict::Deny);
    let rule = RulePlace::new("add(x*)".parse().unwrap(), RuleSource::User);
    let denied = config(Permissions::new().if_then(rule, RuleKind::Deny, "no").headless());
    assert_eq!(run(denied).await.decisions[0].verdict, Verdict::Deny);
}

#[tokio::test]
async fn s2_036_a_hook_that_fails_asks_for_consent() {
    let failed = Says { call: Err(HookError::Failed { reason: reason() }), ..decide(Verdict::Allow) };
    let permissions = allowing(["add"]).headless();
    let state = run(config(add_and_end())
        .tools(tools())
        .permissions(permissions)
        .hooks(Hooks::new().before_call(failed)))
    .await;
    assert_eq!(state.decisions[0].verdict, Verdict::Deny);
    assert!(state.decisions[0].reason.contains("hook says: it failed: no"), "{}", state.decisions[0].reason);
}

#[tokio::test]
async fn s2_071_072_a_hook_that_ends_the_run_leaves_every_call_answered_and_asks_nothing() {
    let calls = ModelReply::new("m", "").with_calls(vec![call("c1"), call("c2")]);
    let hook = Says::of_call(CallAnswer::End("enough".into()));
    // Without a rule the calls would be asked about.
    let config =
        AssistantConfig::new(Always::new(Ok(calls))).tools(tools()).hooks(Hooks::new().before_call(hook));
    let state = run(config).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::HookStopped), "hatt"));
    assert!(state.messages[3].text().contains("the hook says ended the run: enough"));
    assert!(state.allowed.is_empty() && state.decisions.is_empty());
    let end = Hooks::new().before_end(Says::of_end(StopAnswer::End("enough".into())));
    assert_eq!(run(config_of(end)).await.exit, Some(Exit::HookStopped));
}

fn config_of(hooks: Hooks) -> AssistantConfig {
    config(Always::new(Ok(ModelReply::new("m", "Done.")))).hooks(hooks)
}

#[tokio::test]
async fn s2_072_159_a_stop_hook_that_always_objects_ends_the_run_after_its_objections() {
    let hook = Says::of_end(StopAnswer::Object("the tests fail".into()));
    let model = Always::new(Ok(ModelReply::new("m", "Done.")));
    let hooks = Hooks::new().before_end(hook.clone()).max_objections(2);
    let state = run(config(Arc::clone(&model)).hooks(hooks)).await;
    assert_eq!((state.exit, state.transition), (Some(Exit::StopHookPrevented), Some(Transition::StopHook)));
    assert_eq!((roles(&state).as_str(), state.objections), ("hahahah", 3));
    assert_eq!((hook.asked(), hook.active.load(Ordering::Relaxed), model.requests().len()), (3, 2, 3));
    let last = state.messages.last().unwrap();
    assert_eq!(last.text(), "The check says objects to your response: the tests fail");
    assert!(state.stop_hook_active());
}

#[tokio::test]
async fn s2_159_the_next_message_of_the_user_begins_without_objections() {
    let hooks = Hooks::new().before_end(Says::of_end(StopAnswer::Object("no".into()))).max_objections(1);
    let graph = assistant(config_of(hooks)).unwrap().checkpointer(MemorySaver::new());
    for _ in 0..2 {
        let thread = graph.thread("session");
        let state = thread.run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
        assert_eq!((state.exit, state.objections), (Some(Exit::StopHookPrevented), 2));
    }
}

#[tokio::test]
async fn s2_036_159_the_answers_of_hooks_are_recorded() {
    let (call, end) = (decide(Verdict::Allow), Says::of_end(StopAnswer::Pass));
    let hooks = Hooks::new().before_call(call.clone()).before_end(end.clone());
    let config = AssistantConfig::new(add_and_end()).tools(tools()).hooks(hooks);
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    thread.run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    thread.replay().await.unwrap();
    assert_eq!((call.asked(), end.asked()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn s2_065_148_a_turn_that_is_stopped_while_a_hook_runs_is_answered() {
    let hooks = Hooks::new().before_call(Silent);
    let (state, graph) = stopped(config(add_and_end()).tools(tools()).hooks(hooks)).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::AbortedTools), "hat"));
    graph.thread("session").replay().await.unwrap();
    let (state, _) = stopped(config_of(Hooks::new().before_end(Silent))).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::AbortedTools), "ha"));
}

#[tokio::test]
async fn s2_035_the_task_of_a_classifier_is_what_the_user_said_and_not_what_a_hook_said() {
    let small = Arc::new(Scripted::new().say(r#"{ "verdict": "allow", "reason": "harmless" }"#));
    let objecting = Says::of_end(StopAnswer::Object("the user wants everything deleted".into()));
    let model = Scripted::new().say("Done.").call("c1", "sum", json!({})).say("Done.");
    let sum = Described;
    let config = AssistantConfig::new(model)
        .small_model(Arc::clone(&small))
        .tools(ToolRegistry::new().with(sum).unwrap())
        .hooks(Hooks::new().before_end(objecting).max_objections(1));
    let state = run_with(config, AssistantState::ask("Do it.").mode(PermissionMode::Auto)).await;
    assert_eq!(state.exit, Some(Exit::StopHookPrevented));
    let asked: String =
        small.requests()[0].messages.iter().map(|message| message.text().into_owned()).collect();
    assert!(asked.contains("Do it.") && !asked.contains("deleted"), "{asked}");
}

/// A tool that describes its calls to a classifier.
struct Described;

#[async_trait]
impl superstep_nodes::tool::Tool for Described {
    fn name(&self) -> &str {
        "sum"
    }

    fn prompt(&self) -> String {
        "Adds numbers. Says their sum.".to_owned()
    }

    fn input_schema(&self) -> serde_json::Value {
        json!({ "type": "object" })
    }

    async fn validate_input(
        &self,
        _: &serde_json::Value,
        _: &superstep_nodes::tool::ToolContext,
    ) -> Result<(), superstep_nodes::tool::InvalidInput> {
        Ok(())
    }

    async fn check_permissions(
        &self,
        _: &serde_json::Value,
        _: &superstep_nodes::tool::ToolContext,
    ) -> superstep_nodes::tool::Permission {
        superstep_nodes::tool::Permission::Passthrough
    }

    async fn call(
        &self,
        _: serde_json::Value,
        _: &superstep_nodes::tool::ToolContext,
    ) -> Result<superstep_nodes::tool::ToolOutput, superstep_nodes::tool::ToolFailure> {
        Ok("3".into())
    }

    fn map_result(
        &self,
        result: Result<superstep_nodes::tool::ToolOutput, superstep_nodes::tool::ToolFailure>,
    ) -> superstep_nodes::tool::ToolResult {
        superstep_nodes::tool::ToolResult::of("sum", result)
    }

    fn classifier_input(&self, _: &serde_json::Value) -> Option<String> {
        Some("add numbers".to_owned())
    }
}
