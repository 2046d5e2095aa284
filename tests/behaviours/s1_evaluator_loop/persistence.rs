//! Checkpoints of the evaluator graph.

use std::collections::BTreeSet;

use serde_json::Value;
use superstep::checkpoint::Source;

use super::support::*;

#[tokio::test]
async fn s1_037_every_step_is_a_checkpoint_with_the_state_after_it() {
    let (thread, _) = ran(&eventful()).await;
    let mut history = thread.history().unwrap().collect().await.unwrap();
    history.reverse();
    assert_eq!(history.len(), 2 + path(&thread).await.len(), "input, start, ten nodes");
    let mut messages = Vec::new();
    for checkpoint in &history {
        let past = thread.at(checkpoint.id).await.unwrap();
        messages.push(past.state().messages.len());
    }
    // Input, start; agent, tools, agent; three judges; agent; three judges.
    assert_eq!(messages, [0, 0, 2, 3, 4, 4, 4, 4, 5, 5, 5, 5]);
}

#[tokio::test]
async fn s1_038_the_thread_id_groups_checkpoints() {
    let model = model([say(WHOLE), say(WHOLE)], &[1]);
    let model = std::sync::Arc::into_inner(model)
        .unwrap()
        .on(superstep::nodes::model::Purpose::Evaluator, [superstep::nodes::model::Turn::Json(evaluation(1))])
        .on(superstep::nodes::model::Purpose::Ranker, [superstep::nodes::model::Turn::Json(ranking(&[1]))]);
    let graph = graph(model);
    for name in ["a", "b"] {
        let thread = graph.thread(name);
        let _ = thread.run(superstep::nodes::graphs::AgentState::ask("?")).await.unwrap();
    }
    for name in ["a", "b"] {
        let history = graph.thread(name).history().unwrap().collect().await.unwrap();
        assert_eq!(history.len(), 6);
        assert!(history.iter().all(|checkpoint| checkpoint.thread.as_str() == name));
        let view = graph.thread(name).head().await.unwrap().view();
        assert_eq!(view.config.thread_id, name);
    }
}

#[tokio::test]
async fn s1_039_steps_increase_by_one_from_the_start_of_the_run() {
    let (thread, _) = ran(&eventful()).await;
    let mut history = thread.history().unwrap().collect().await.unwrap();
    history.reverse();
    let steps: Vec<i64> = history.iter().map(|checkpoint| checkpoint.step).collect();
    assert_eq!(steps, (-1..=10).collect::<Vec<_>>());
    assert_eq!(history[0].source, Source::Input);
    for checkpoint in &history {
        let view = thread.at(checkpoint.id).await.unwrap().view();
        assert_eq!(view.metadata.step, checkpoint.step);
    }
}

#[tokio::test]
async fn s1_040_the_highest_step_is_the_latest_and_what_a_resume_loads() {
    let model = eventful();
    let (thread, state) = ran(&model).await;
    let head = thread.head().await.unwrap();
    assert_eq!((head.step(), head.state()), (10, &state));
    let asked = model.requests().len();
    let resumed = thread.resume().await.unwrap();
    assert_eq!((resumed.step, resumed.checkpoint), (10, Some(head.id())));
    assert_eq!(resumed.finished().unwrap(), state);
    assert_eq!(model.requests().len(), asked);
}

#[tokio::test]
async fn s1_046_a_thread_needs_no_making() {
    let graph = graph(model([say(WHOLE)], &[1]));
    assert!(graph.threads().await.unwrap().is_empty());
    let thread = graph.thread("never seen");
    let run = thread.run(superstep::nodes::graphs::AgentState::ask("?")).await.unwrap();
    assert_eq!(thread.head().await.unwrap().id(), run.checkpoint.unwrap());
}

#[tokio::test]
async fn s1_047_the_checkpoint_document_has_these_parts() {
    let (thread, _) = ran(&eventful()).await;
    let head = thread.head().await.unwrap();
    let past = thread.before_named("tools").await.unwrap();
    let document = serde_json::to_value(past.view()).unwrap();
    let keys = |value: &Value| -> BTreeSet<String> { value.as_object().unwrap().keys().cloned().collect() };
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(
        keys(&document),
        names(&["config", "values", "next", "metadata", "created_at", "parent_config", "tasks"])
    );
    let config = names(&["thread_id", "checkpoint_ns", "checkpoint_id"]);
    assert_eq!(keys(&document["config"]), config);
    assert_eq!(keys(&document["parent_config"]), config);
    assert!(keys(&document["metadata"]).is_superset(&names(&["source", "writes", "step"])));
    assert_eq!(document["next"], serde_json::json!(["tools"]));
    assert_eq!(document["tasks"][0]["name"], "tools");
    assert!(document["metadata"]["writes"]["agent"].get("messages").is_some());
    assert_eq!(document["values"]["messages"].as_array().unwrap().len(), 2);
    assert!(head.view().next.is_empty() && head.view().tasks.is_empty());
}
