//! What the loop may not do: calls without permission, and calls above the budget.

use superstep_nodes::model::{Prices, Usage};

use super::*;
use crate::budget::Limits;
use crate::exit::Resource;
use crate::permission::{PermissionAnswer, PermissionMode, Verdict};

#[tokio::test]
async fn s2_016_037_120_a_call_waits_for_an_answer_which_outlives_the_graph_and_is_not_asked_again() {
    let saver = MemorySaver::new();
    let begun = Scripted::new().call("c1", "add", json!({ "a": 1, "b": 2 }));
    let graph = assistant(AssistantConfig::new(begun).tools(tools())).unwrap().checkpointer(saver.clone());
    let run = graph.thread("session").run(AssistantState::ask("Do it.")).await.unwrap();
    let asked = run.interrupted().unwrap();
    assert_eq!(asked.len(), 1);
    drop(graph);

    let rest = Scripted::new().call("c2", "add", json!({ "a": 3, "b": 4 })).say("Done.");
    let graph = assistant(AssistantConfig::new(rest).tools(tools())).unwrap().checkpointer(saver);
    let thread = graph.thread("session");
    let state = thread.answer(&PermissionAnswer::Session).await.unwrap().finished().unwrap();
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::Completed), "hatata"));
    assert_eq!(state.messages[2].text(), "3");
    assert_eq!((state.decisions.len(), state.grants.len()), (2, 1), "the second call is granted");
}

#[tokio::test]
async fn s2_061_124_a_denied_call_is_answered_with_the_reason_and_the_work_continues() {
    let model = Scripted::new().then(call("c1")).say("I cannot.");
    let input = AssistantState::ask("Do it.").mode(PermissionMode::Plan);
    let state = run_with(config(model).tools(tools()), input).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::Completed), "hata"));
    assert!(state.messages[2].text().starts_with("Not permitted: "), "{}", state.messages[2].text());
    assert_eq!(state.decisions[0].verdict, Verdict::Deny);
}

#[tokio::test]
async fn s2_125_in_mode_auto_a_classifier_decides_and_asks_a_person_if_it_is_unsure() {
    let small = Scripted::new().say(r#"{ "verdict": "allow", "reason": "harmless" }"#);
    let add =
        TypedTool::new("add", "Adds two whole numbers. Says their sum.", |_: serde_json::Value| async {
            Ok::<_, std::convert::Infallible>("3".to_owned())
        });
    let model = Scripted::new().then(call("c1")).say("Done.");
    let config = AssistantConfig::new(model).small_model(small).tools(ToolRegistry::new().with(add).unwrap());
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    let input = AssistantState::ask("Do it.").mode(PermissionMode::Auto);
    // The tool does not describe the call, so the classifier cannot decide.
    let asked = graph.thread("session").run(input).await.unwrap().interrupted().unwrap();
    assert!(asked[0].question.to_string().contains("classifier"), "{}", asked[0].question);
    assert!(asked[0].question_schema.is_some() && asked[0].answer_schema.is_some());
}

#[tokio::test]
async fn s2_121_184_the_calls_of_the_classifier_are_counted_and_kept_within_the_budget() {
    let small = || {
        let reply = ModelReply::new("small", r#"{ "verdict": "allow", "reason": "harmless" }"#);
        Arc::new(Scripted::new().then(Turn::Reply(reply.with_usage(Usage::of(500, 20)))))
    };
    let auto = || AssistantState::ask("Do it.").mode(PermissionMode::Auto);
    let folder = tempfile::tempdir().unwrap();
    let tools = || superstep_tools::workspace(superstep_tools::Workspace::of_session());
    let write = || ToolCall::new("c1", "write_file", json!({ "path": "a.txt", "content": "a" }));
    let model = Scripted::new().then(write()).say("Done.");
    let state = run_with(
        AssistantConfig::new(model).small_model(small()).tools(tools()).workspace(folder.path()),
        auto(),
    )
    .await;
    assert_eq!(state.exit, Some(Exit::Completed));
    assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "a");
    let counted = state.ledger.purpose(Purpose::Classifier);
    assert_eq!((counted.calls, counted.usage.total()), (1, 520));

    // The first reply leaves less than a decision costs, so a person is asked.
    let small = small();
    let reply = ModelReply::new("m", "").with_calls(vec![write()]).with_usage(Usage::of(9_000, 800));
    let config = AssistantConfig::new(Scripted::new().then(Turn::Reply(reply)))
        .small_model(Arc::clone(&small))
        .tools(tools())
        .workspace(folder.path())
        .budget(Limits { tokens: Some(10_000), ..Limits::default() }, Prices::none());
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    let asked = graph.thread("session").run(auto()).await.unwrap().interrupted().unwrap();
    assert!(asked[0].question.to_string().contains("budget"), "{}", asked[0].question);
    assert!(small.requests().is_empty());
}

#[tokio::test]
async fn s2_117_a_tool_that_a_rule_denies_is_in_no_request() {
    let model = Arc::new(Scripted::new().say("Done."));
    let deny = RulePlace::new("add".parse().unwrap(), RuleSource::User);
    run(config(Arc::clone(&model)).tools(tools()).permissions(Permissions::new().rule(RuleKind::Deny, deny)))
        .await;
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn s2_010_a_call_that_could_exceed_the_budget_is_not_sent() {
    let usage = Usage::of(1_000, 500);
    let calls = || Turn::Reply(ModelReply::new("m", "").with_calls(vec![call("c")]).with_usage(usage));
    let model = Arc::new((0..9).fold(Scripted::new(), |script, _| script.then(calls())));
    let limits = Limits { tokens: Some(4_000), ..Limits::default() };
    let state = run(config(Arc::clone(&model)).tools(tools()).budget(limits, Prices::none())).await;
    assert_eq!(state.exit, Some(Exit::BudgetExceeded(Resource::Tokens)));
    assert!(state.ledger.total().usage.total() <= 4_000 && model.requests().len() == 2, "{:?}", state.ledger);
    let output = |request: &ModelRequest| request.settings.max_output_tokens.unwrap();
    assert!(
        model.requests().iter().map(output).is_sorted_by(|one, next| one > next),
        "each reply may be shorter"
    );
    assert_eq!(roles(&state), "hatat", "the calls are answered");
}

#[tokio::test]
async fn s2_010_a_limit_of_time_ends_the_run() {
    let limits = Limits::default().time(Duration::ZERO);
    let state = run(config(Scripted::new()).budget(limits, Prices::none())).await;
    assert_eq!(state.exit, Some(Exit::BudgetExceeded(Resource::Time)));
}

#[test]
fn a_limit_on_money_for_a_model_without_a_price_is_an_error_at_the_start() {
    let limits = Limits { micro_usd: Some(1_000_000), ..Limits::default() };
    let error = assistant(config(Scripted::new()).budget(limits, Prices::none())).unwrap_err();
    assert!(error.to_string().contains("`scripted` has no price"), "{error}");
}
