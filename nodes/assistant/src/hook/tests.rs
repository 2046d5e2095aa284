//! Hooks as commands, alone. Those of a run are tested with the graph.

use std::sync::Arc;

use serde_json::json;
use superstep_tools::{Bash, Sandbox, Workspace};

use super::*;

fn shell() -> Arc<Bash> {
    Arc::new(Bash::new(Workspace::of_session()).sandbox(Sandbox::WhereThereIsOne))
}

/// Runs a command as a hook at both points.
async fn asked(command: &str) -> (Result<CallAnswer, HookError>, Result<StopAnswer, HookError>) {
    let folder = tempfile::tempdir().unwrap();
    let (hook, input) = (CommandHook::new("check", command, shell()), json!({ "command": "it's\n$(x)" }));
    let workspace = Some(folder.path());
    let mode = PermissionMode::Default;
    let call =
        CallEvent { task: "Do it.", tool: "bash", input: &input, is_read_only: false, mode, workspace };
    let end =
        EndEvent { task: "Do it.", response: "Done.", messages: &[], stop_hook_active: true, workspace };
    (hook.before_call(&call).await, hook.before_end(&end).await)
}

fn decided(verdict: Verdict, reason: &str) -> CallAnswer {
    CallAnswer::Decide(verdict, reason.to_owned())
}

#[tokio::test]
async fn s2_036_a_command_answers_by_its_exit_code() {
    let (call, end) = asked("exit 0").await;
    assert_eq!((call.unwrap(), end.unwrap()), (CallAnswer::Pass, StopAnswer::Pass));
    let (call, end) = asked("echo all is well").await;
    assert_eq!((call.unwrap(), end.unwrap()), (CallAnswer::Pass, StopAnswer::Pass));
    let (call, end) = asked("echo not on Fridays >&2; exit 2").await;
    let reason = "not on Fridays\n[exit code 2]";
    assert_eq!(
        (call.unwrap(), end.unwrap()),
        (decided(Verdict::Deny, reason), StopAnswer::Object(reason.into()))
    );
    let (call, end) = asked("no-such-program-here").await;
    assert!(matches!(call, Err(HookError::Failed { .. })), "{call:?}");
    assert!(matches!(end, Ok(StopAnswer::Object(_))), "{end:?}");
    let (call, end) = asked("kill -KILL $BASHPID").await;
    assert!(!matches!((call, end), (Ok(CallAnswer::Pass), _) | (_, Ok(StopAnswer::Pass))));
}

#[tokio::test]
async fn s2_036_a_command_answers_by_a_json_object() {
    for (decision, of_call, of_end) in [
        ("allow", decided(Verdict::Allow, "so"), StopAnswer::Pass),
        ("ask", decided(Verdict::Ask, "so"), StopAnswer::Object("so".into())),
        ("deny", decided(Verdict::Deny, "so"), StopAnswer::Object("so".into())),
        ("stop", CallAnswer::End("so".into()), StopAnswer::End("so".into())),
    ] {
        let (call, end) = asked(&format!(r#"echo '{{ "decision": "{decision}", "reason": "so" }}'"#)).await;
        assert_eq!((call.unwrap(), end.unwrap()), (of_call, of_end));
    }
    for output in [r#"echo warning; echo '{ "decision": "deny" }'"#, r#"echo '{ "decision": "maybe" }'"#] {
        let (call, end) = asked(output).await;
        assert!(call.is_err() && end.is_err(), "a decision that cannot be read is no consent");
    }
}

#[tokio::test]
async fn s2_036_a_command_gets_the_event_in_one_line_of_json_whatever_the_call_says() {
    let (call, end) = asked("read -r line; echo \"$line\" >&2; cat >&2; exit 2").await;
    let CallAnswer::Decide(_, text) = call.unwrap() else { panic!("it denies") };
    let event: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let call = json!({
        "event": "before_call", "task": "Do it.", "tool": "bash", "input": { "command": "it's\n$(x)" },
        "is_read_only": false, "mode": "default",
    });
    assert_eq!((event, text.lines().count()), (call, 2), "{text}");
    let StopAnswer::Object(text) = end.unwrap() else { panic!("it objects") };
    let event: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let end = json!({ "event": "stop", "task": "Do it.", "response": "Done.", "stop_hook_active": true });
    assert_eq!(event, end);
}

#[tokio::test]
async fn s2_036_a_call_that_is_too_long_for_a_command_is_not_decided_by_a_part_of_it() {
    let (hook, input) =
        (CommandHook::new("check", "exit 0", shell()), json!({ "content": "x".repeat(100_000) }));
    let mode = PermissionMode::Default;
    let call =
        CallEvent { task: "", tool: "write_file", input: &input, is_read_only: false, mode, workspace: None };
    assert!(matches!(hook.before_call(&call).await, Err(HookError::TooLong { .. })));
}

#[test]
fn a_hook_of_a_rule_is_asked_about_the_calls_that_the_rule_is_about_or_may_be() {
    let hook = || CommandHook::new("h", "exit 0", shell());
    let hooks = Hooks::new().before_call_of("bash(rm*)".parse().unwrap(), hook()).before_call(hook());
    let matcher = PermissionMatcher::new(|pattern| pattern == "rm*");
    let other = PermissionMatcher::new(|_| false);
    let call = |tool: &str| ToolCall::new("c", tool, json!({}));
    let asked = |tool, matcher| hooks.of_call(&call(tool), matcher).count();
    assert_eq!((asked("bash", Some(&matcher)), asked("bash", Some(&other))), (2, 1));
    assert_eq!((asked("bash", None), asked("read_file", None)), (2, 1));
}
