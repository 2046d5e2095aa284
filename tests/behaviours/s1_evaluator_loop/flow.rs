//! The order of nodes.

use superstep::nodes::graphs::EvaluatorConfig;
use superstep::nodes::message::{Message, ToolStatus, unanswered_tool_calls};
use superstep::nodes::model::{Purpose, Scripted};

use super::support::*;

#[tokio::test]
async fn s1_001_a_run_starts_at_the_agent() {
    let (thread, _) = ran(&model([say(WHOLE)], &[1])).await;
    assert_eq!(path(&thread).await[0], "agent");
}

#[tokio::test]
async fn s1_002_a_visit_of_the_agent_calls_the_model_and_appends_one_ai_message() {
    let model = model([say(WHOLE)], &[1]);
    let (thread, _) = ran(&model).await;
    let before = thread.before_named("agent").await.unwrap().into_state();
    let after = thread.before_named("evaluator").await.unwrap().into_state();
    assert_eq!((before.messages.len(), after.llm_calls.agent), (0, 1));
    assert_eq!(kinds(&after.messages), ["human", "ai"]);
    assert_eq!(after.messages[1].text(), WHOLE);
    assert_eq!(model.requests()[0].purpose, Purpose::Agent);
}

#[tokio::test]
async fn s1_003_006_tool_calls_lead_to_the_tools_and_those_back_to_the_agent() {
    let (thread, _) = ran(&model([add(["c1"]), say(WHOLE)], &[2])).await;
    assert_eq!(path(&thread).await[..4], ["agent", "tools", "agent", "evaluator"]);
}

#[tokio::test]
async fn s1_004_a_reply_without_tool_calls_leads_to_the_evaluator() {
    let (thread, _) = ran(&model([say(WHOLE)], &[1])).await;
    assert_eq!(path(&thread).await[..2], ["agent", "evaluator"]);
}

#[tokio::test]
async fn s1_005_the_tools_append_one_tool_message_per_call_in_order() {
    let (thread, _) = ran(&model([add(["c1", "c2", "c3"]), say(WHOLE)], &[2])).await;
    let asked = thread.before_named("tools").await.unwrap().into_state().messages.len();
    let state = thread.before_named("evaluator").await.unwrap().into_state();
    assert_eq!(kinds(&state.messages[asked..]), ["tool", "tool", "tool", "ai"]);
    let answers = state.messages.iter().filter_map(|message| match message {
        Message::Tool(answer) => Some((answer.tool_call_id.as_str(), answer.content.to_text())),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers, [("c1", "5".into()), ("c2", "5".into()), ("c3", "5".into())]);
}

#[tokio::test]
async fn s1_007_to_014_a_response_is_evaluated_ranked_and_decided_on_until_it_is_complete() {
    let (thread, state) = ran(&eventful()).await;
    let path = path(&thread).await;
    assert_eq!(
        path,
        [
            "agent",
            "tools",
            "agent",
            "evaluator",
            "ranker",
            "decider", // five: too short, so iterate
            "agent",
            "evaluator",
            "ranker",
            "decider", // complete, so end
        ]
    );
    assert_eq!((state.evaluations.len(), state.rankings.len()), (2, 2));
    assert_eq!(state.response.as_deref(), Some(WHOLE));
}

#[tokio::test]
async fn s1_013_the_decider_ends_the_run_at_the_limit_though_nothing_is_complete() {
    let replies = [(); 5].map(|()| say(SHORT));
    let (thread, state) = ran(&model(replies, &[1, 2, 3, 4, 5])).await;
    assert_eq!(state.iteration, 5);
    assert_eq!(path(&thread).await.len(), 5 * 4);
    assert!(thread.head().await.unwrap().next().is_empty());
}

#[tokio::test]
async fn s1_015_the_nodes_are_these_five_and_wired_like_this() {
    let graph = graph(Scripted::new());
    let nodes: Vec<_> = graph.nodes().map(ToString::to_string).collect();
    let nodes: Vec<_> = nodes.iter().filter(|node| !node.starts_with("__")).collect();
    assert_eq!(nodes, ["agent", "tools", "evaluator", "ranker", "decider"]);
    assert_eq!(
        graph.mermaid(),
        r#"flowchart TD
    n0((START))
    n1((END))
    n2["agent"]
    n3["tools"]
    n4["evaluator"]
    n5["ranker"]
    n6["decider"]
    n0 --> n2
    n2 -->|RunTools| n3
    n2 -->|Respond| n4
    n3 --> n2
    n4 --> n5
    n5 --> n6
    n6 -->|Finish| n1
    n6 -->|Iterate| n2
"#
    );
}

#[tokio::test]
async fn s1_016_at_the_limit_tool_calls_are_answered_but_not_run() {
    let model = model([add(["c1"]), add(["c2", "c3"])], &[2]);
    let graph = compiled(EvaluatorConfig::new(model.clone()).tools(tools()).max_iterations(2));
    let thread = graph.thread("t");
    let run = thread.run(superstep::nodes::graphs::AgentState::ask("What is 2 + 3?"));
    let state = run.await.unwrap().finished().unwrap();
    assert_eq!(path(&thread).await, ["agent", "tools", "agent", "evaluator", "ranker", "decider"]);
    let skipped: Vec<_> = state
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool(answer) if answer.status == ToolStatus::Error => {
                Some((answer.tool_call_id.as_str(), answer.content.to_text()))
            }
            _ => None,
        })
        .collect();
    let reason = "Not run: the limit of 2 iterations is reached.";
    assert_eq!(skipped, [("c2", reason.into()), ("c3", reason.into())]);
    let last = model.requests().pop().unwrap();
    assert_eq!(last.purpose, Purpose::Decider);
    assert!(unanswered_tool_calls(&last.messages).is_empty(), "{:?}", last.messages);
}

#[tokio::test]
async fn s1_017_an_iteration_is_a_visit_of_the_agent_also_one_that_asks_for_tools() {
    let (thread, state) = ran(&eventful()).await;
    let visits = path(&thread).await.iter().filter(|node| *node == "agent").count();
    assert_eq!((state.iteration, visits), (3, 3));
}
