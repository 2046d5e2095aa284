use super::*;

fn holds() -> Value {
    json!({ "assistant_id": "holds", "input": { "words": ["in"] } })
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_with_its_values() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    assert_eq!(
        service.join(&scope(), &run).await.unwrap(),
        json!({ "words": ["in", "first", "held", "last"] })
    );
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Success));
    let shown = service.thread(&scope(), &thread, false).await.unwrap();
    assert_eq!((&shown["status"], &shown["metadata"]["graph_id"]), (&json!("idle"), &json!("holds")));
    let state = service.test_state(&thread).await;
    assert_eq!(
        (&state["metadata"]["run_id"], &state["metadata"]["graph_id"]),
        (&json!(run.id), &json!("holds"))
    );
    assert_eq!((&state["metadata"]["step"], &state["next"]), (&json!(3), &json!([])));
}

#[tokio::test(start_paused = true)]
async fn queued_runs_of_a_thread_start_in_their_order() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(service.test_run(&thread, holds()).await.unwrap());
    }
    for run in &runs {
        service.test_held(run).await;
        rig.gate.add_permits(1);
        assert_eq!(service.test_status(run).await, Some(RunStatus::Success));
    }
    assert_eq!(service.test_state(&thread).await["values"]["words"].as_array().unwrap().len(), 12);
}

#[tokio::test(start_paused = true)]
async fn reject_refuses_a_run_on_a_busy_thread() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    let refused =
        service.test_run(&thread, with(holds(), "multitask_strategy", json!("reject"))).await.unwrap_err();
    assert_eq!(refused.status, 409);
    assert!(refused.detail.starts_with("Thread is already running a task."));
    rig.gate.add_permits(1);
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Success));
}

#[tokio::test(start_paused = true)]
async fn interrupt_ends_running_and_queued_runs_and_keeps_their_work() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let running = service.test_run(&thread, holds()).await.unwrap();
    let queued = service.test_run(&thread, holds()).await.unwrap();
    service.test_held(&running).await;
    let new =
        service.test_run(&thread, with(holds(), "multitask_strategy", json!("interrupt"))).await.unwrap();
    rig.gate.add_permits(1);
    assert_eq!(service.test_status(&new).await, Some(RunStatus::Success));
    assert_eq!(service.test_status(&running).await, Some(RunStatus::Interrupted));
    assert_eq!(service.test_status(&queued).await, Some(RunStatus::Interrupted));
    let words = json!(["in", "first", "in", "first", "held", "last"]);
    assert_eq!(service.test_state(&thread).await["values"]["words"], words);
}

#[tokio::test(start_paused = true)]
async fn rollback_deletes_the_run_and_its_work() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let running = service.test_run(&thread, holds()).await.unwrap();
    service.test_held(&running).await;
    let new =
        service.test_run(&thread, with(holds(), "multitask_strategy", json!("rollback"))).await.unwrap();
    rig.gate.add_permits(1);
    assert_eq!(service.test_status(&new).await, Some(RunStatus::Success));
    assert_eq!(service.run_row(&scope(), Some(&thread), &running.id).await.unwrap_err().status, 404);
    assert_eq!(service.test_state(&thread).await["values"]["words"], json!(["in", "first", "held", "last"]));
    let history = service.test_history(&thread).await;
    assert!(history.iter().all(|state| state["metadata"]["run_id"] == json!(new.id)), "{history:#?}");
    assert_eq!(history.last().unwrap()["parent_checkpoint"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_question_interrupts_the_thread_and_an_answer_continues_it() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let asks = json!({ "assistant_id": "asks", "input": {} });
    let run = service.test_run(&thread, asks).await.unwrap();
    let values = service.join(&scope(), &run).await.unwrap();
    assert_eq!(values["__interrupt__"][0]["value"], "which word?");
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Success));
    assert_eq!(service.thread(&scope(), &thread, false).await.unwrap()["status"], "interrupted");

    let resume = |answer: Value| json!({ "assistant_id": "asks", "command": { "resume": answer } });
    let wrong = service.test_run(&thread, resume(json!(3))).await.unwrap_err();
    assert_eq!(wrong.status, 422, "{wrong}");
    let id = values["__interrupt__"][0]["id"].as_str().unwrap();
    let strict = with(resume(json!({ "0".repeat(32): "no" })), "strict_resume", json!(true));
    assert_eq!(service.test_run(&thread, strict).await.unwrap_err().status, 422);
    let other = service.test_run(&thread, resume(json!({ "0".repeat(32): "no" }))).await.unwrap();
    assert_eq!(service.join(&scope(), &other).await.unwrap()["__interrupt__"][0]["id"], id);
    let run = service.test_run(&thread, resume(json!({ id: "yes" }))).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap(), json!({ "words": ["yes"] }));
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_has_the_error_of_its_node() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, json!({ "assistant_id": "fails", "input": {} })).await.unwrap();
    let values = service.join(&scope(), &run).await.unwrap();
    assert_eq!(values, json!({ "__error__": { "error": "Terminal", "message": "0 words" } }));
    let shown = service.thread(&scope(), &thread, false).await.unwrap();
    assert_eq!((&shown["status"], &shown["error"]["message"]), (&json!("error"), &json!("0 words")));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_node_panics_fails_and_the_next_one_starts() {
    let rig = Rig::new();
    let mut g = StateGraph::<Words>::new("panics");
    let node = g.node("node", |words: Snapshot<Words>| async move {
        assert!(words.words.len() > 1, "too few words");
        Words::update().words(["last"])
    });
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().unwrap().shared_checkpointer(Arc::clone(&rig.saver)).erased();
    let service = Service::new(vec![graph], ServiceOptions::default()).unwrap();
    service.start();
    let thread = service.test_thread().await;
    let run = json!({ "assistant_id": "panics", "input": { "words": ["in"] } });
    let first = service.test_run(&thread, run.clone()).await.unwrap();
    let failed = service.join(&scope(), &first).await.unwrap();
    assert_eq!(failed, json!({ "__error__": { "error": "Panicked", "message": "too few words" } }));
    assert_eq!(service.test_status(&first).await, Some(RunStatus::Error));
    let second = service.test_run(&thread, run).await.unwrap();
    assert_eq!(service.join(&scope(), &second).await.unwrap()["words"], json!(["in", "in", "last"]));
}

#[tokio::test(start_paused = true)]
async fn the_recursion_limit_is_an_error_and_the_thread_can_be_continued() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let limited = with(holds(), "config", json!({ "recursion_limit": 1 }));
    let run = service.test_run(&thread, limited).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["__error__"]["error"], "GraphRecursionError");
    rig.gate.add_permits(1);
    let run = service.test_run(&thread, json!({ "assistant_id": "holds", "input": null })).await.unwrap();
    assert_eq!(
        service.join(&scope(), &run).await.unwrap(),
        json!({ "words": ["in", "first", "held", "last"] })
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_from_a_checkpoint_begins_a_branch() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(2);
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let history = service.test_history(&thread).await;
    let before = history.iter().find(|state| state["next"] == json!(["hold"])).unwrap();
    let id = before["checkpoint_id"].as_str().unwrap();
    let fork = json!({ "assistant_id": "holds", "input": null, "checkpoint_id": id });
    let fork = service.test_run(&thread, fork).await.unwrap();
    assert_eq!(
        service.join(&scope(), &fork).await.unwrap(),
        json!({ "words": ["in", "first", "held", "last"] })
    );
    let forked = service.test_history(&thread).await;
    assert!(forked.iter().any(|state| state["metadata"]["source"] == "fork"), "{forked:#?}");
    let unknown = json!({ "assistant_id": "holds", "checkpoint_id": uuid::Uuid::nil().to_string() });
    assert_eq!(service.test_run(&thread, unknown).await.unwrap_err().status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_command_updates_the_state_and_goes_to_a_node() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds()).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let command = json!({ "update": { "words": ["more"] }, "goto": "last" });
    let run =
        service.test_run(&thread, json!({ "assistant_id": "holds", "command": command })).await.unwrap();
    let words = json!({ "words": ["in", "first", "held", "last", "more", "last"] });
    assert_eq!(service.join(&scope(), &run).await.unwrap(), words);
    let unknown = json!({ "assistant_id": "holds", "command": { "goto": "nope" } });
    assert_eq!(service.test_run(&thread, unknown).await.unwrap_err().detail, "Node nope does not exist");
}

#[tokio::test(start_paused = true)]
async fn a_breakpoint_interrupts_the_thread() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, with(holds(), "interrupt_before", json!(["hold"]))).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap(), json!({ "words": ["in", "first"] }));
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Success));
    assert_eq!(service.thread(&scope(), &thread, false).await.unwrap()["status"], "interrupted");
    let unknown =
        service.test_run(&thread, with(holds(), "interrupt_after", json!(["nope"]))).await.unwrap_err();
    assert_eq!(unknown.status, 422);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_run_waits_for_its_time() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let begun = Instant::now();
    let run = service.test_run(&thread, with(holds(), "after_seconds", json!(7))).await.unwrap();
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Success));
    assert!(begun.elapsed() >= Duration::from_secs(7) && begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_thread_has_a_temporary_one() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let run = service.create_run(&scope(), None, RunCreate::read(&holds()).unwrap()).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["words"][3], "last");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(service.thread(&scope(), run.thread.as_str(), false).await.unwrap_err().status, 404);
}

#[tokio::test(start_paused = true)]
async fn unknown_threads_and_assistants_are_404_and_other_graphs_409() {
    let rig = Rig::new();
    let service = rig.service();
    assert_eq!(service.test_run("nope", holds()).await.unwrap_err().detail, "Thread or assistant not found.");
    let thread = service.test_thread().await;
    let other = json!({ "assistant_id": "nope", "input": {} });
    assert_eq!(service.test_run(&thread, other).await.unwrap_err().status, 404);
    rig.gate.add_permits(1);
    let created = with(holds(), "if_not_exists", json!("create"));
    let run = service.test_run("mine", created).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let wrong = service.test_run("mine", json!({ "assistant_id": "asks", "input": {} })).await.unwrap_err();
    assert_eq!(wrong.status, 409);
}
