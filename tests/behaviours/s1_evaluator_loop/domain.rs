//! The state, and when a response is complete.

use serde_json::json;
use superstep::nodes::graphs::{AgentState, EvaluatorConfig};
use superstep::nodes::message::{Message, ToolCall};
use superstep::nodes::model::Purpose;
use superstep::nodes::{Evaluation, Ranking};

use super::support::*;

#[tokio::test]
async fn s1_024_to_029_the_state_is_typed_and_has_these_fields() {
    let AgentState {
        task,
        messages,
        evaluations,
        rankings,
        unjudged,
        response,
        turn,
        iteration,
        max_iterations,
        llm_calls,
    } = AgentState::default();
    assert_eq!((task.as_str(), messages.len()), ("", 0));
    assert_eq!((evaluations.len(), rankings.len(), unjudged.len(), response), (0, 0, 0, None));
    assert_eq!((turn, iteration, max_iterations, llm_calls.total()), (0, 0, 5, 0));
}

#[tokio::test]
async fn s1_024_025_the_task_is_kept_and_begins_the_conversation() {
    let (_, state) = ran(&model([say(WHOLE)], &[1])).await;
    assert_eq!(state.task, "What is 2 + 3?");
    assert_eq!(state.messages[0], Message::human("agent.1.task", "What is 2 + 3?"));
}

#[tokio::test]
async fn s1_028_the_response_is_nothing_until_the_decider_sets_it() {
    let (thread, state) = ran(&eventful()).await;
    assert_eq!(state.response.as_deref(), Some(WHOLE));
    let mut history = thread.history().unwrap();
    while let Some(checkpoint) = history.next().await.unwrap() {
        let past = thread.at(checkpoint.id).await.unwrap();
        let ended = past.step() > 0 && past.next().is_empty();
        assert_eq!(past.state().response.is_some(), ended, "step {}", past.step());
    }
}

#[test]
fn s1_030_messages_survive_json_and_say_what_they_are() {
    let call = ToolCall::new("c1", "add", json!({ "a": 2 }));
    let messages = [
        ("human", Message::human("1", "hi")),
        ("ai", Message::ai_with_calls("2", "", vec![call.clone()])),
        ("tool", Message::tool("3", &call, "5")),
    ];
    for (kind, message) in messages {
        let json = serde_json::to_value(&message).unwrap();
        assert_eq!(json["type"], kind);
        assert_eq!(serde_json::from_value::<Message>(json).unwrap(), message);
    }
}

#[tokio::test]
async fn s1_031_evaluations_accumulate_with_their_iterations() {
    let (_, state) = ran(&eventful()).await;
    let evaluations: Vec<Evaluation> =
        state.evaluations.iter().map(|judged| judged.evaluation.clone()).collect();
    let expected =
        [2, 3].map(|iteration| serde_json::from_value::<Evaluation>(evaluation(iteration)).unwrap());
    assert_eq!(evaluations, expected);
    let judged: Vec<_> =
        state.evaluations.iter().map(|judged| (judged.turn, judged.message.as_str())).collect();
    assert_eq!(judged, [(1, "agent.3"), (1, "agent.7")]);
}

#[tokio::test]
async fn s1_032_rankings_accumulate_with_their_iterations() {
    let (_, state) = ran(&eventful()).await;
    let rankings: Vec<Ranking> = state.rankings.iter().map(|ranked| ranked.ranking.clone()).collect();
    let expected =
        [&[2][..], &[2, 3]].map(|order| serde_json::from_value::<Ranking>(ranking(order)).unwrap());
    assert_eq!(rankings, expected);
}

#[tokio::test]
async fn s1_033_a_later_ranking_compares_all_responses_with_their_evaluations() {
    let model = eventful();
    ran(&model).await;
    let requests = model.requests();
    let asked = requests.iter().rfind(|request| request.purpose == Purpose::Ranker).unwrap();
    let asked = asked.messages.last().unwrap().text().into_owned();
    for part in [SHORT, WHOLE, "Feedback 2.", "Feedback 3."] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
}

/// The number of visits after which a turn ends that begins with this reply.
async fn visits(reply: &str) -> u32 {
    let model = model([say(reply), say(WHOLE)], &[1, 2]);
    let (_, state) = ran(&model).await;
    state.iteration
}

#[tokio::test]
async fn s1_034_ten_characters_are_complete_and_nine_are_not() {
    assert_eq!(visits("123456789").await, 2);
    assert_eq!(visits("1234567890").await, 1);
}

#[tokio::test]
async fn s1_034_characters_are_unicode_scalar_values_of_the_untrimmed_text() {
    assert_eq!(visits("äöüäöüäöü").await, 2, "nine scalar values, 18 bytes");
    assert_eq!(visits("äöüäöüäöüä").await, 1);
    assert_eq!(visits("🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀").await, 1);
    assert_eq!(visits("  five    ").await, 1, "spaces at the ends count");
}

#[tokio::test]
async fn s1_034_a_reply_that_asks_for_tools_is_not_complete() {
    let both = superstep::nodes::model::ModelReply::new("m", WHOLE).with_calls(vec![ToolCall::new(
        "c1",
        "add",
        json!({ "a": 2, "b": 3 }),
    )]);
    let model = model([superstep::nodes::model::Turn::Reply(both)], &[1]);
    let graph = compiled(EvaluatorConfig::new(model).tools(tools()).max_iterations(1));
    let state = graph.run(AgentState::ask("?")).await.unwrap().state;
    assert_eq!(state.llm_calls.decider, 1);
}

#[tokio::test]
async fn s1_035_an_empty_or_blank_reply_is_not_complete() {
    assert_eq!(visits("").await, 2);
    assert_eq!(visits("            \n\t\u{a0}").await, 2);
}

#[tokio::test]
async fn s1_036_the_response_is_the_text_verbatim() {
    let text = "  # Sum\n\n2 + 3 = 5 \n";
    let (_, state) = ran(&model([say(text)], &[1])).await;
    assert_eq!(state.response.as_deref(), Some(text));
}
