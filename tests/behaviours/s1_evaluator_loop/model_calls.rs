//! The number and the purposes of model calls for a request.

use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::model::{ModelError, Purpose, Scripted, StreamFault, Turn};
use superstep::nodes::node::LlmCalls;
use superstep::nodes::verification::OnJudgeError;

use super::support::*;

fn calls(agent: u32, evaluator: u32, ranker: u32, decider: u32) -> LlmCalls {
    LlmCalls { agent, evaluator, ranker, decider }
}

#[tokio::test]
async fn s1_018_simple_run_makes_three_calls() {
    let model = model([say(WHOLE)], &[1]);
    let (_, state) = ran(&model).await;
    assert_eq!(state.llm_calls, calls(1, 1, 1, 0));
    assert_eq!((state.llm_calls.total(), model.requests().len()), (3, 3));
}

#[tokio::test]
async fn s1_019_each_visit_that_asks_for_tools_adds_one_call() {
    let model_once = model([add(["c1"]), say(WHOLE)], &[2]);
    let (_, state) = ran(&model_once).await;
    assert_eq!(state.llm_calls, calls(2, 1, 1, 0));
    assert_eq!((state.llm_calls.total(), model_once.requests().len()), (4, 4));

    let (_, state) = ran(&model([add(["c1", "c2"]), add(["c3"]), say(WHOLE)], &[3])).await;
    assert_eq!(state.llm_calls, calls(3, 1, 1, 0));
}

#[tokio::test]
async fn s1_020_five_incomplete_replies_make_sixteen_calls() {
    let replies = [(); 5].map(|()| say(SHORT));
    let model = model(replies, &[1, 2, 3, 4, 5]);
    let (_, state) = ran(&model).await;
    assert_eq!(state.llm_calls, calls(5, 5, 5, 1));
    assert_eq!((state.llm_calls.total(), model.requests().len()), (16, 16));
    assert_eq!(state.response.as_deref(), Some("Five, as far as I can say."));
    assert_eq!(state.messages.last().unwrap().text(), "Five, as far as I can say.");
}

#[tokio::test]
async fn s1_021_the_limit_is_five_unless_the_graph_or_the_turn_says_otherwise() {
    assert_eq!(AgentState::default().max_iterations, 5);
    let (_, state) = ran(&model([say(WHOLE)], &[1])).await;
    assert_eq!(state.max_iterations, 5);

    let two = || model([say(SHORT), say(SHORT)], &[1, 2]);
    let by_graph = compiled(EvaluatorConfig::new(two()).max_iterations(2));
    let state = by_graph.run(AgentState::ask("?")).await.unwrap().state;
    assert_eq!((state.iteration, state.max_iterations), (2, 2));
    let state = graph(two()).run(AgentState::ask("?").max_iterations(2));
    assert_eq!(state.await.unwrap().state.iteration, 2);
}

#[tokio::test]
async fn s1_022_the_decider_calls_a_model_only_at_the_limit_without_a_complete_response() {
    let at_limit = |reply: &str| {
        let model = model([say(SHORT), say(reply)], &[1, 2]);
        compiled(EvaluatorConfig::new(model).max_iterations(2))
    };
    let complete = at_limit(WHOLE).run(AgentState::ask("?")).await.unwrap().state;
    assert_eq!((complete.iteration, complete.llm_calls.decider), (2, 0));
    assert_eq!(complete.response.as_deref(), Some(WHOLE));
    let incomplete = at_limit(SHORT).run(AgentState::ask("?")).await.unwrap().state;
    assert_eq!((incomplete.iteration, incomplete.llm_calls.decider), (2, 1));
}

#[tokio::test]
async fn s1_022_the_final_request_asks_for_the_final_response_to_the_task() {
    let model = model([say(SHORT)], &[1]);
    let graph = compiled(EvaluatorConfig::new(model.clone()).max_iterations(1));
    let state = graph.run(AgentState::ask("What is 2 + 3?")).await.unwrap().state;
    let request = model.requests().pop().unwrap();
    assert_eq!(request.purpose, Purpose::Decider);
    let asked = request.messages.last().unwrap().text();
    assert!(asked.starts_with("Please provide your final response to the task."), "{asked}");
    assert!(asked.contains("What is 2 + 3?") && asked.contains("\"best\": 1"), "{asked}");
    assert_eq!(kinds(&state.messages), ["human", "ai", "ai"]);
}

#[tokio::test]
async fn s1_023_the_calls_of_each_purpose_are_in_the_state() {
    let (thread, _) = ran(&eventful()).await;
    let view = thread.head().await.unwrap().view();
    let counted = serde_json::json!({ "agent": 3, "evaluator": 2, "ranker": 2, "decider": 0 });
    assert_eq!(view.values["llm_calls"], counted);
}

#[tokio::test]
async fn a_call_that_failed_is_not_counted_and_not_made_twice_when_it_succeeds() {
    let broken = Turn::Fail(ModelError::Stream { fault: StreamFault::EndedEarly });
    let model = model([broken, say(WHOLE)], &[1]);
    let (_, state) = ran(&model).await;
    assert_eq!(state.llm_calls, calls(1, 1, 1, 0));
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_reply_that_is_no_judgement_is_asked_for_again_once_and_counted() {
    let judges = || {
        let model = model([say(WHOLE)], &[]);
        std::sync::Arc::into_inner(model).unwrap()
    };
    let model = judges()
        .on(Purpose::Evaluator, [say("Good!"), Turn::Json(evaluation(1))])
        .on(Purpose::Ranker, [Turn::Json(ranking(&[1]))]);
    let model = std::sync::Arc::new(model);
    let (_, state) = ran(&model).await;
    assert_eq!(state.llm_calls, calls(1, 2, 1, 0));
    let again = &model.requests()[2];
    assert!(again.messages.last().unwrap().text().starts_with("That cannot be used: "));

    let never = judges().on(Purpose::Evaluator, [say("Good!"), say("Very good!"), say("Excellent!")]);
    let never = std::sync::Arc::new(never);
    let config = EvaluatorConfig::new(never.clone()).on_judge_error(OnJudgeError::Fail);
    let failed = compiled(config).run(AgentState::ask("?")).await.unwrap_err();
    assert!(failed.to_string().contains("does not have the form"), "{failed}");
    assert_eq!(never.requests().len(), 3, "the node is not tried again");
}

/// An invalid judgement, or a failed provider of the judge, used to fail a turn that had a response.
#[tokio::test]
async fn a_judge_that_fails_does_not_lose_the_response_and_is_recorded() {
    let down = || Turn::Fail(ModelError::Overloaded { reason: "busy".into(), retry_after: None });
    let babble = || say("Good!");
    let evaluated = || Turn::Json(evaluation(1));
    let without_evaluation = [vec![babble(), babble()], vec![down(), down()]];
    for turns in without_evaluation {
        let model = std::sync::Arc::new(
            Scripted::new().on(Purpose::Agent, [say(WHOLE)]).on(Purpose::Evaluator, turns),
        );
        let (thread, state) = ran(&model).await;
        assert_eq!(state.response.as_deref(), Some(WHOLE));
        assert_eq!(path(&thread).await, ["agent", "evaluator", "ranker", "decider"]);
        let [unjudged] = &state.unjudged[..] else { panic!("{:?}", state.unjudged) };
        assert_eq!((unjudged.turn, unjudged.iteration, unjudged.judge), (1, 1, Purpose::Evaluator));
        assert!(!unjudged.reason.is_empty() && state.evaluations.is_empty() && state.rankings.is_empty());
        assert_eq!(model.requests().len(), 3, "there is nothing to rank, so no model is asked");
    }
    let model = Scripted::new().on(Purpose::Agent, [say(WHOLE)]).on(Purpose::Evaluator, [evaluated()]);
    let model = std::sync::Arc::new(model.on(Purpose::Ranker, [babble(), babble()]));
    let (_, state) = ran(&model).await;
    assert_eq!((state.response.as_deref(), state.evaluations.len()), (Some(WHOLE), 1));
    assert_eq!(state.unjudged[0].judge, Purpose::Ranker);

    let passes =
        Scripted::new().on(Purpose::Agent, [say(WHOLE)]).on(Purpose::Evaluator, [down(), evaluated()]);
    let passes = std::sync::Arc::new(passes.on(Purpose::Ranker, [Turn::Json(ranking(&[1]))]));
    let (_, state) = ran(&passes).await;
    assert_eq!(
        (state.unjudged.len(), state.evaluations.len()),
        (0, 1),
        "an error that may pass is retried first"
    );
}

#[tokio::test]
async fn another_model_can_judge() {
    let (worker, judge) = (model([say(WHOLE)], &[]), model([], &[1]));
    let config = EvaluatorConfig::new(worker.clone()).judge(judge.clone());
    let state = graphs::evaluator(config).unwrap().run(AgentState::ask("?")).await;
    assert_eq!(state.unwrap().state.llm_calls, calls(1, 1, 1, 0));
    assert_eq!((worker.requests().len(), judge.requests().len()), (1, 2));
}
