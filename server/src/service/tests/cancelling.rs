use superstep_core::records::CancelAction;

use super::*;

fn holds() -> Value {
    json!({ "assistant_id": "holds", "input": { "words": ["in"] } })
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_leaves_a_thread_that_can_be_continued() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.test_held(&run).await;
    service.cancel(&scope(), &run, CancelAction::Interrupt).await.unwrap();
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Interrupted));
    let shown = service.thread(&scope(), &thread, false).await.unwrap();
    assert_eq!(shown["status"], "interrupted");
    assert_eq!(service.cancel(&scope(), &run, CancelAction::Interrupt).await.unwrap_err().status, 404);
    rig.gate.add_permits(1);
    let run = service.test_run(&thread, json!({ "assistant_id": "holds", "input": null })).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["words"], json!(["in", "first", "held", "last"]));
}

#[tokio::test(start_paused = true)]
async fn a_run_of_another_process_is_cancelled_within_half_a_second() {
    let rig = Rig::new();
    let (driver, other) = (rig.service(), rig.stopped());
    let thread = driver.test_thread().await;
    for action in [CancelAction::Interrupt, CancelAction::Rollback] {
        let run = driver.test_run(&thread, holds()).await.unwrap();
        driver.test_held(&run).await;
        let asked = Instant::now();
        other.cancel(&scope(), &run, action).await.unwrap();
        other.ended(&run).await.unwrap();
        assert!(asked.elapsed() < Duration::from_millis(500), "{action:?} took {:?}", asked.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_rollback_state_and_history_equal_those_before_the_run() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    for _ in 0..2 {
        let (state, history) = (service.test_state(&thread).await, service.test_history(&thread).await);
        let run = service.test_run(&thread, holds()).await.unwrap();
        service.test_held(&run).await;
        service.cancel(&scope(), &run, CancelAction::Rollback).await.unwrap();
        assert_eq!(service.test_status(&run).await, None);
        assert_eq!(service.test_state(&thread).await, state);
        assert_eq!(service.test_history(&thread).await, history);
        assert_eq!(service.thread(&scope(), &thread, false).await.unwrap()["status"], "idle");
    }
    rig.gate.add_permits(1);
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let history = service.test_history(&thread).await;
    let ids: Vec<&Value> = history.iter().map(|state| &state["checkpoint_id"]).collect();
    for state in &history {
        assert!(state["parent_checkpoint_id"].is_null() || ids.contains(&&state["parent_checkpoint_id"]));
    }
}

/// The thread had the error of the earlier run, and the status `interrupted`, because a failed node is still to run.
#[tokio::test(start_paused = true)]
async fn after_a_rollback_a_thread_whose_run_had_failed_has_the_status_error() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let mut failing = holds();
    failing["config"] = json!({ "recursion_limit": 1 });
    let run = service.test_run(&thread, failing).await.unwrap();
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Error));
    let read = async || {
        let shown = service.thread(&scope(), &thread, false).await.unwrap();
        (shown["status"].clone(), shown["error"].clone())
    };
    let before = read().await;
    assert_eq!((&before.0, &before.1["error"]), (&json!("error"), &json!("GraphRecursionError")));
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.test_held(&run).await;
    service.cancel(&scope(), &run, CancelAction::Rollback).await.unwrap();
    assert_eq!(service.test_status(&run).await, None);
    assert_eq!(read().await, before);
}

#[tokio::test(start_paused = true)]
async fn after_the_rollback_of_its_first_run_a_thread_is_empty() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let before = service.test_state(&thread).await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.test_held(&run).await;
    service.cancel(&scope(), &run, CancelAction::Rollback).await.unwrap();
    assert_eq!(service.test_status(&run).await, None);
    assert_eq!(service.test_state(&thread).await, before);
    assert_eq!(service.test_history(&thread).await, Vec::<Value>::new());
    rig.gate.add_permits(1);
    let run = service.test_run(&thread, holds()).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["words"], json!(["in", "first", "held", "last"]));
}

#[tokio::test(start_paused = true)]
async fn a_question_from_before_a_run_is_open_after_its_rollback() {
    let rig = Rig::new();
    let service = rig.stopped();
    let thread = "asked".to_owned();
    let graph = service.graph("asks").unwrap();
    drop(graph.thread(thread.as_str()).run(json!({})).await.unwrap());
    let before = service.test_state(&thread).await;
    assert_eq!(before["interrupts"].as_array().unwrap().len(), 1);
    service.start();
    let again = json!({ "assistant_id": "asks", "input": { "words": ["lost"] }, "interrupt_before": "*" });
    let run = service.test_run(&thread, again).await.unwrap();
    service.cancel(&scope(), &run, CancelAction::Rollback).await.unwrap();
    assert_eq!(service.test_status(&run).await, None);
    let after = service.test_state(&thread).await;
    assert_eq!(after["checkpoint"], before["checkpoint"]);
    assert_eq!(after["interrupts"][0]["value"], "which word?");
    let answer = json!({ "assistant_id": "asks", "command": { "resume": "kept" } });
    let run = service.test_run(&thread, answer).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap(), json!({ "words": ["kept"] }));
}
