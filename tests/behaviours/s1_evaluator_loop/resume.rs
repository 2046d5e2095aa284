//! Finished calls are not repeated; interrupted calls follow the declaration of their tool.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use superstep::nodes::graphs::{AgentState, EvaluatorConfig};
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ModelError, Purpose, Scripted, Turn};
use superstep::nodes::tool::{Tool, ToolEffect, ToolRegistry, TypedTool};
use superstep::nodes::verification::OnJudgeError;
use superstep::prelude::*;

use super::support::*;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// The number of calls of a tool.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    fn up(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn counted(name: &str, effect: ToolEffect, count: &Count) -> impl Tool {
    let count = count.clone();
    let run = move |Nothing {}| {
        let call = count.up();
        async move { Ok::<_, Infallible>(format!("call {call}")) }
    };
    TypedTool::new(name, "Counts.", run).with_effect(effect)
}

/// On its first call it cancels the run and never returns, as if the process had died.
fn stuck_once(name: &str, effect: ToolEffect, count: &Count, cancel: &CancellationToken) -> impl Tool {
    let (count, cancel) = (count.clone(), cancel.clone());
    let run = move |Nothing {}| {
        let (call, cancel) = (count.up(), cancel.clone());
        async move {
            if call == 1 {
                cancel.cancel();
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(format!("call {call}"))
        }
    };
    TypedTool::new(name, "Is stuck.", run).with_effect(effect)
}

/// Runs both tools of one message, the second of them stuck, then resumes.
async fn resumed(second: ToolEffect) -> (Result<Run<AgentState>, RunError>, Count, Count, Arc<Scripted>) {
    let (first, stuck, cancel) = (Count::default(), Count::default(), CancellationToken::new());
    let tools = ToolRegistry::new()
        .with(counted("first", ToolEffect::Changes, &first))
        .unwrap()
        .with(stuck_once("second", second, &stuck, &cancel))
        .unwrap();
    let both =
        Turn::Call(vec![ToolCall::new("c1", "first", json!({})), ToolCall::new("c2", "second", json!({}))]);
    let model = model([both, say(WHOLE)], &[2]);
    let thread = compiled(EvaluatorConfig::new(model.clone()).tools(tools)).thread("t");
    let run = thread.run(AgentState::ask("Do both.")).cancel_on(cancel);
    assert_eq!(run.await.unwrap().status, Status::Cancelled);
    assert_eq!((first.get(), stuck.get(), model.requests().len()), (1, 1, 1));
    (thread.resume().await, first, stuck, model)
}

#[tokio::test]
async fn a_resume_repeats_no_finished_call_and_repeats_a_read_that_was_cut_short() {
    let (run, first, stuck, model) = resumed(ToolEffect::ReadOnly).await;
    let state = run.unwrap().finished().unwrap();
    assert_eq!((first.get(), stuck.get()), (1, 2));
    assert_eq!(model.requests().len(), 4, "two of the agent, one of each judge");
    assert_eq!(state.messages[2].text(), "call 1");
    assert_eq!(state.messages[3].text(), "call 2");
}

#[tokio::test]
async fn a_change_that_was_cut_short_is_never_repeated_unasked() {
    let (run, first, stuck, _) = resumed(ToolEffect::Changes).await;
    let error = run.unwrap_err().to_string();
    assert!(error.contains("`tool.second[1:c2]` was started before"), "{error}");
    assert_eq!((first.get(), stuck.get()), (1, 1));
}

#[tokio::test]
async fn a_resume_after_a_failed_call_makes_only_that_call_again() {
    let refused = Turn::Fail(ModelError::Unauthorized { reason: "no key".into() });
    let scripted = Scripted::new()
        .on(Purpose::Agent, [say(WHOLE)])
        .on(Purpose::Evaluator, [say("Nice."), refused, Turn::Json(evaluation(1))])
        .on(Purpose::Ranker, [Turn::Json(ranking(&[1]))]);
    let model = Arc::new(scripted);
    let config = EvaluatorConfig::new(model.clone()).on_judge_error(OnJudgeError::Fail);
    let thread = compiled(config).thread("t");
    let failed = thread.run(AgentState::ask("?")).await.unwrap_err();
    assert!(failed.to_string().contains("refused the credentials"), "{failed}");
    assert_eq!(model.requests().len(), 3);

    let state = thread.resume().await.unwrap().finished().unwrap();
    let purposes: Vec<_> = model.requests()[3..].iter().map(|request| request.purpose).collect();
    assert_eq!(purposes, [Purpose::Evaluator, Purpose::Ranker]);
    assert_eq!((state.llm_calls.evaluator, state.llm_calls.total()), (2, 4));
    assert_eq!(state.response.as_deref(), Some(WHOLE));
}

#[tokio::test]
async fn calls_that_only_look_run_together_and_others_one_by_one() {
    let meeting = Arc::new(tokio::sync::Barrier::new(2));
    let look = |name: &str| {
        let meeting = Arc::clone(&meeting);
        let run = move |Nothing {}| {
            let meeting = Arc::clone(&meeting);
            async move {
                // Both run at the same time, or this never ends.
                meeting.wait().await;
                Ok::<_, Infallible>("seen")
            }
        };
        TypedTool::new(name, "Looks.", run).with_effect(ToolEffect::ReadOnly)
    };
    let changed = Count::default();
    let tools = ToolRegistry::new()
        .with(look("a"))
        .unwrap()
        .with(look("b"))
        .unwrap()
        .with(counted("c", ToolEffect::Changes, &changed))
        .unwrap();
    let calls = ["a", "b", "c", "c"].map(|name| ToolCall::new(name, name, json!({})));
    let model = model([Turn::Call(calls.into()), say(WHOLE)], &[2]);
    let state = compiled(EvaluatorConfig::new(model).tools(tools)).run(AgentState::ask("?"));
    let state = state.await.unwrap().finished().unwrap();
    let answers: Vec<_> = state.messages[2..6].iter().map(|message| message.text()).collect();
    assert_eq!(answers, ["seen", "seen", "call 1", "call 2"]);
}
