//! Call records of the evaluator graph.

use std::collections::HashSet;
use std::sync::Arc;

use superstep::nodes::graphs::AgentState;
use superstep::nodes::model::{Purpose, Scripted, Turn};
use superstep::prelude::*;
use superstep::run::{TraceLog, TraceRecord};

use super::support::*;

async fn traced(model: Arc<Scripted>) -> (Thread<AgentState>, Run<AgentState>, Vec<TraceRecord>) {
    let log = TraceLog::new();
    let thread = graph(model).observe(log.clone()).thread("t");
    let run = thread.run(AgentState::ask("What is 2 + 3?")).await.unwrap();
    let records = log.of(run.run);
    (thread, run, records)
}

#[tokio::test]
async fn s1_041_each_node_execution_is_one_call() {
    let (thread, _, records) = traced(eventful()).await;
    let traced: Vec<_> = records[1..].iter().map(|record| record.op_name.clone()).collect();
    let ran: Vec<_> = path(&thread).await.iter().map(|node| format!("{node}_node")).collect();
    assert_eq!(traced, ran);
    assert!(records.iter().all(|record| record.ended_at.is_some() && record.output.is_some()));
}

#[tokio::test]
async fn s1_042_the_trace_id_groups_the_calls_of_a_run() {
    let (_, run, records) = traced(eventful()).await;
    let trace = run.run.to_string();
    assert!(records.iter().all(|record| record.trace_id == trace));
    let ids: HashSet<_> = records.iter().map(|record| &record.id).collect();
    assert_eq!(ids.len(), records.len());
}

#[tokio::test]
async fn s1_043_the_root_has_no_parent() {
    let (_, _, records) = traced(eventful()).await;
    let json = serde_json::to_value(&records[0]).unwrap();
    assert!(json["parent_id"].is_null() && json.get("parent_id").is_some());
    assert_eq!(records[0].op_name, "evaluator");
}

#[tokio::test]
async fn s1_044_every_other_call_has_a_parent_in_its_trace() {
    let (_, _, records) = traced(eventful()).await;
    for record in &records[1..] {
        let parent = record.parent_id.as_ref().unwrap();
        assert!(records.iter().any(|other| other.id == *parent), "{record:?}");
    }
}

#[tokio::test]
async fn s1_045_the_number_of_a_call_is_its_step() {
    let (thread, _, records) = traced(eventful()).await;
    let mut history = thread.history().unwrap().collect().await.unwrap();
    history.reverse();
    for (number, record) in (1i64..).zip(&records[1..]) {
        assert_eq!(record.step, Some(number));
        let checkpoint = history.iter().find(|checkpoint| checkpoint.step == number).unwrap();
        assert_eq!(format!("{}_node", checkpoint.ran[0]), record.op_name);
    }
}

/// START of a second turn has a step above 0 and used to be recorded as a call.
#[tokio::test]
async fn s1_041_the_start_of_a_later_turn_is_no_call() {
    let scripted = Arc::into_inner(model([say(WHOLE), say(WHOLE)], &[1])).unwrap();
    let scripted = scripted
        .on(Purpose::Evaluator, [Turn::Json(evaluation(1))])
        .on(Purpose::Ranker, [Turn::Json(ranking(&[1]))]);
    let log = TraceLog::new();
    let thread = graph(scripted).observe(log.clone()).thread("t");
    let _ = thread.run(AgentState::ask("first?")).await.unwrap();
    let run = thread.run(AgentState::ask("second?")).await.unwrap();
    let names: Vec<_> = log.of(run.run).iter().map(|record| record.op_name.clone()).collect();
    assert_eq!(names, ["evaluator", "agent_node", "evaluator_node", "ranker_node", "decider_node"]);
    let steps: Vec<_> = log.of(run.run).iter().map(|record| record.step).collect();
    assert_eq!(steps, [None, Some(7), Some(8), Some(9), Some(10)]);
}
