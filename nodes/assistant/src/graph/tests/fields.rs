//! The fields of the state that the loop counts in.

use superstep_nodes::model::{Prices, Purpose, Usage};

use super::*;
use crate::budget::Limits;
use crate::exit::Resource;
use crate::recovery::OneShot;

fn compacting(model: impl ChatModel) -> AssistantConfig {
    config(model)
        .small_model(Scripted::new().say("They talked.").say("They talked more."))
        .windows(small_window())
        .compaction(ContextManager::new().target(600))
}

#[tokio::test]
async fn s2_153_157_196_a_task_budget_goes_down_by_the_conversation_before_each_compaction() {
    let graph = assistant(compacting(Scripted::new().say("Done.").say("Done.")).task_budget(50_000)).unwrap();
    let graph = graph.checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    let input = AssistantState::ask("Do it.").messages(long_conversation());
    let state = thread.run(input).await.unwrap().finished().unwrap();
    let [compaction] = &state.compactions[..] else { panic!("{:?}", state.compactions) };
    assert!(compaction.tokens_before > 1_000);
    assert_eq!(state.task_remaining, Some(50_000 - compaction.tokens_before));
    assert_eq!((state.auto_compact.turn, state.auto_compact.consecutive_failures), (Some(0), 0));
    let state = thread.run(AssistantState::ask("And this.")).await.unwrap().finished().unwrap();
    assert_eq!(state.task_remaining, Some(50_000), "the next message has a budget of its own");
}

#[tokio::test]
async fn s2_157_a_task_ends_where_the_conversation_needs_what_is_left_of_its_budget() {
    let model = Arc::new(Scripted::new());
    let input = AssistantState::ask("Do it.").messages(long_conversation());
    let state = run_with(compacting(Arc::clone(&model)).task_budget(1_000), input).await;
    assert_eq!(state.exit, Some(Exit::BudgetExceeded(Resource::Tokens)));
    assert_eq!((model.requests().len(), state.compactions.len()), (0, 0));
}

#[tokio::test]
async fn s2_154_155_156_the_counters_of_recovery_are_fields() {
    let state = run(config(Always::new(Ok(cut_off())))).await;
    assert_eq!((state.recovery.resumed, state.recovery.max_output), (3, Some(64_000)));
    let state = run(config(Always::new(Err(too_long()))).small_model(Scripted::new())).await;
    assert_eq!(state.recovery.reactive, OneShot::Used);
}

#[tokio::test]
async fn s2_151_152_158_160_the_small_model_summarises_the_calls_of_the_turn_before() {
    for limits in [Limits::default(), Limits { tokens: Some(1_000_000), ..Limits::default() }] {
        let small = Arc::new(Scripted::new().say("Added two numbers.\nAnd more."));
        let model = Scripted::new().then(call("c1")).say("Three.");
        let config =
            config(model).tools(tools()).small_model(Arc::clone(&small)).budget(limits, Prices::none());
        let state = run(config.summarise_tools()).await;
        assert_eq!(state.tool_summary.as_deref(), Some("Added two numbers."));
        assert_eq!((roles(&state).as_str(), state.turn_count), ("hata", 2));
        assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::Tools)));
        let [request] = &small.requests()[..] else { panic!("one request") };
        let shown = request.messages[0].text();
        assert!(shown.contains(r#""tool":"add""#) && shown.contains(r#""result":"3""#), "{shown}");
        assert_eq!(
            state.ledger.accounts().filter(|(purpose, ..)| *purpose == Purpose::Summarizer).count(),
            1
        );
    }
}

#[tokio::test]
async fn a_summary_that_fails_or_is_not_wanted_changes_nothing() {
    let model = || Scripted::new().then(call("c1")).say("Three.");
    let failing = Always::new(Err(ModelError::InvalidRequest { reason: reason() }));
    let config = || config(model()).tools(tools()).small_model(Arc::clone(&failing));
    let state = run(config().summarise_tools()).await;
    assert_eq!((state.exit, state.tool_summary, failing.requests().len()), (Some(Exit::Completed), None, 1));
    let state = run(config()).await;
    assert_eq!((state.exit, failing.requests().len()), (Some(Exit::Completed), 1));
}

/// Retries, and requests after a compaction and after a reply that was cut off.
#[tokio::test(start_paused = true)]
async fn s2_084_every_request_of_a_run_went_through_the_passes() {
    let cut_off = || Turn::Reply(ModelReply { usage: Usage::of(1, 1), ..cut_off() });
    let model = Scripted::new().fail(overloaded()).fail(too_long()).then(cut_off()).then(cut_off());
    let model = Arc::new(model.then(call("c2")).say("Done."));
    let asked = ToolCall::new("c1", "add", json!({}));
    let earlier = [
        Message::human("m1", "word ".repeat(100)),
        Message::ai_with_calls("m2", "", vec![asked.clone()]),
        Message::tool("m3", &asked, "long ".repeat(20_000)),
        Message::ai("m4", "I see."),
    ];
    let config = config(Arc::clone(&model)).tools(tools()).small_model(Scripted::new().say("They talked."));
    let state = run_with(config, AssistantState::ask("Do it.").messages(earlier)).await;
    assert_eq!((state.exit, model.requests().len()), (Some(Exit::Completed), 6));
    for request in model.requests() {
        let longest = request.messages.iter().map(|message| message.text().chars().count()).max();
        assert!(longest <= Some(50_000), "{longest:?}");
    }
    assert!(
        model.requests()[..2].iter().all(|request| request.messages[2].text().contains("are left out here"))
    );
}
