//! Several turns on one thread, and the messages that the model gets.

use std::sync::{Arc, Mutex};

use serde_json::json;
use superstep::nodes::graphs::{AgentState, EvaluatorConfig};
use superstep::nodes::message::{Message, ToolCall, ToolStatus, unanswered_tool_calls};
use superstep::nodes::model::{
    ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, Scripted, StopReason, Turn,
};
use superstep::nodes::node::ModelChunk;
use superstep::nodes::verification::OnJudgeError;
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent};

use super::support::*;

/// A model that is asked two questions; the first takes two iterations.
fn two_turns() -> Arc<Scripted> {
    let judges = [evaluation(1), evaluation(2), evaluation(1)].map(Turn::Json);
    let rankings = [ranking(&[1]), ranking(&[1, 2]), ranking(&[1])].map(Turn::Json);
    let scripted = Scripted::new()
        .on(Purpose::Agent, [say(SHORT), say(WHOLE), say("Two and two is four.")])
        .on(Purpose::Evaluator, judges)
        .on(Purpose::Ranker, rankings);
    Arc::new(scripted)
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id().as_str()).collect()
}

fn last(model: &Scripted, purpose: Purpose) -> ModelRequest {
    let mut requests = model.requests();
    requests.retain(|request| request.purpose == purpose);
    requests.pop().unwrap()
}

#[tokio::test]
async fn a_second_turn_continues_the_conversation_and_resets_the_counts() {
    let model = two_turns();
    let thread = graph(model.clone()).thread("t");
    let first = thread.run(AgentState::ask("What is 2 + 3?")).await.unwrap().state;
    assert_eq!((first.turn, first.iteration, first.llm_calls.total()), (1, 2, 6));

    let second = thread.run(AgentState::ask("And 2 + 2?")).await.unwrap().state;
    assert_eq!((second.turn, second.iteration, second.llm_calls.total()), (2, 1, 3));
    assert_eq!(second.response.as_deref(), Some("Two and two is four."));
    assert_eq!(second.messages[..3], *first.messages);
    assert_eq!(kinds(&second.messages), ["human", "ai", "ai", "human", "ai"]);
    let judged: Vec<_> =
        second.evaluations.iter().map(|judged| (judged.turn, judged.evaluation.iteration)).collect();
    assert_eq!(judged, [(1, 1), (1, 2), (2, 1)]);
    // Responses to another task are not compared.
    assert_eq!(second.rankings[2].ranking.order, [1]);
    assert!(!last(&model, Purpose::Ranker).messages[0].text().contains(WHOLE));
    // The model sees the whole conversation.
    let shown = last(&model, Purpose::Agent).messages;
    assert_eq!(shown.last().unwrap().text(), "And 2 + 2?");
    assert!(shown.iter().any(|message| message.text() == WHOLE));
}

#[tokio::test]
async fn another_iteration_is_shown_what_the_evaluator_said_and_the_conversation_does_not_keep_it() {
    let model = eventful();
    let (_, state) = ran(&model).await;
    let request = last(&model, Purpose::Agent);
    assert_eq!(kinds(&request.messages), ["human", "ai", "tool", "ai", "system"]);
    assert!(request.messages[4].text().contains("Feedback 2."));
    assert_eq!(kinds(&state.messages), ["human", "ai", "tool", "ai", "ai"]);
}

#[tokio::test]
async fn message_ids_are_made_of_node_step_and_position() {
    let (_, first) = ran(&eventful()).await;
    assert_eq!(ids(&first.messages), ["agent.1.task", "agent.1", "tools.2.0", "agent.3", "agent.7"]);
    let (_, again) = ran(&eventful()).await;
    assert_eq!(first, again, "the same run makes the same state");
}

#[tokio::test]
async fn a_new_question_after_a_run_that_was_given_up_makes_a_valid_request() {
    let scripted = Scripted::new()
        .on(Purpose::Agent, [add(["c1"]), say(WHOLE)])
        .on(Purpose::Evaluator, [Turn::Json(evaluation(1))])
        .on(Purpose::Ranker, [Turn::Json(ranking(&[1]))]);
    let model = Arc::new(scripted);
    let thread = graph(model.clone()).thread("t");
    let stopped = thread.run(AgentState::ask("What is 2 + 3?")).recursion_limit(1);
    assert!(matches!(stopped.await.unwrap().status, Status::LimitReached { .. }));

    let state = thread.run(AgentState::ask("Never mind. Hello?")).await.unwrap();
    assert_eq!(state.finished().unwrap().response.as_deref(), Some(WHOLE));
    let shown = last(&model, Purpose::Agent).messages;
    assert!(unanswered_tool_calls(&shown).is_empty(), "{shown:?}");
    assert!(matches!(&shown[2], Message::Tool(answer) if answer.status == ToolStatus::Error));
}

#[tokio::test]
async fn a_question_may_come_as_a_message_of_the_callers_own() {
    let model = model([say(WHOLE)], &[1]);
    let input = AgentState::ask("What is 2 + 3?").messages([Message::human("mine", "What is **2 + 3**?")]);
    let state = graph(model).run(input).await.unwrap().state;
    assert_eq!(ids(&state.messages), ["mine", "agent.3"].map(|id| id.replace("agent.3", "agent.1")));
}

#[tokio::test]
async fn what_a_model_says_is_emitted_piece_by_piece_while_the_run_is_observed() {
    let chunks = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&chunks);
    let observer = move |event: &RunEvent| {
        if let EventKind::MessageChunk { node, chunk, .. } = &event.kind {
            let chunk: ModelChunk = chunk.decode().unwrap();
            assert_eq!(node.as_str(), chunk.purpose.as_str());
            sink.lock().unwrap().push(chunk);
        }
    };
    let graph = graph(model([say(WHOLE)], &[1])).observe(observer);
    let state = graph.run(AgentState::ask("?")).await.unwrap().state;
    let chunks = chunks.lock().unwrap();
    let said = chunks.iter().filter(|chunk| chunk.purpose == Purpose::Agent);
    let message = state.messages.iter().last().unwrap().id();
    assert!(
        said.clone().all(|chunk| chunk.message == *message),
        "a piece names the message that the state gets"
    );
    let others = chunks.iter().filter(|chunk| chunk.purpose != Purpose::Agent);
    assert!(others.clone().count() > 0 && others.clone().all(|chunk| chunk.message != *message));
    let texts: Vec<_> = said
        .filter_map(|chunk| match &chunk.event {
            ModelEvent::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(texts.len() > 3, "{texts:?}");
    assert_eq!(texts.concat(), WHOLE);
}

#[tokio::test]
async fn calls_of_a_reply_that_was_cut_off_are_answered_and_not_run() {
    let mut cut = ModelReply::new("m", "First I").with_calls(vec![ToolCall::new(
        "c1",
        "add",
        json!({ "a": 2, "b": 3 }),
    )]);
    cut.stop = StopReason::MaxTokens;
    let model = model([Turn::Reply(cut), say(WHOLE)], &[2]);
    let state = graph(model).run(AgentState::ask("What is 2 + 3?")).await.unwrap().state;
    assert_eq!(kinds(&state.messages), ["human", "ai", "tool", "ai"]);
    let Message::Tool(answer) = &state.messages[2] else { panic!("{:?}", state.messages[2]) };
    assert_eq!(answer.status, ToolStatus::Error);
    assert!(answer.content.to_text().starts_with("Not run: the reply was cut off"), "{answer:?}");
}

#[tokio::test]
async fn a_reply_from_the_record_is_said_again_to_those_who_watch() {
    let heard = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&heard);
    let observer = move |event: &RunEvent| {
        if let EventKind::MessageChunk { chunk, .. } = &event.kind
            && let ModelEvent::TextDelta { text } = chunk.decode::<ModelChunk>().unwrap().event
        {
            sink.lock().unwrap().push_str(&text);
        }
    };
    let refused = ModelError::InvalidRequest { reason: "no".into() };
    let judge = [say("That is no evaluation."), Turn::Fail(refused), Turn::Json(evaluation(1))];
    let model = Scripted::new()
        .on(Purpose::Agent, [say(WHOLE)])
        .on(Purpose::Evaluator, judge)
        .on(Purpose::Ranker, [Turn::Json(ranking(&[1]))]);
    let config = EvaluatorConfig::new(model).on_judge_error(OnJudgeError::Fail);
    let thread = compiled(config).observe(observer).thread("t");
    thread.run(AgentState::ask("?")).await.unwrap_err();
    let before = std::mem::take(&mut *heard.lock().unwrap());
    assert_eq!(before, format!("{WHOLE}That is no evaluation."));
    let state = thread.resume().await.unwrap().state;
    assert!(heard.lock().unwrap().starts_with("That is no evaluation.{"), "{heard:?}");
    assert_eq!(state.llm_calls.evaluator, 2, "both replies count, each once");
}
