use serde_json::json;

use super::*;

fn view() -> CheckpointView {
    serde_json::from_value(json!({
        "config": { "thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c2" },
        "values": { "messages": [{ "type": "human", "id": "m", "content": "hi" }], "count": 1 },
        "next": ["approve", "worker", "worker"],
        "metadata": { "source": "loop", "step": 2, "run_id": "engine", "writes": {},
            "user.run_id": "r", "graph_id": "agent" },
        "created_at": "2026-11-20T21:57:38.235Z",
        "parent_config": { "thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c1" },
        "tasks": [
            { "id": "00000000000000000000000000000001", "name": "approve", "input": null, "finished": false,
              "interrupts": [{ "id": "a1", "value": { "question": "ok?" } }], "result": null, "error": null },
            { "id": "00000000000000000000000000000002", "name": "worker", "input": { "item": "a" }, "finished": true,
              "interrupts": [], "result": { "out": ["w1:a"] }, "error": null },
            { "id": "00000000000000000000000000000003", "name": "worker", "input": { "item": "b" }, "finished": false,
              "interrupts": [], "result": null, "error": { "kind": "failed", "message": "no", "causes": [] } }],
    }))
    .unwrap()
}

fn nested() -> BTreeMap<String, Nested> {
    let asked = Nested { state: None, interrupts: vec![json!({ "id": "b1", "value": "check b" })] };
    BTreeMap::from([
        ("00000000000000000000000000000002".into(), Nested::default()),
        ("00000000000000000000000000000003".into(), asked),
    ])
}

#[test]
fn a_state_has_the_members_of_clients() {
    let state = state(&view(), &Place::default(), &nested());
    assert_eq!(state["values"]["messages"][0]["additional_kwargs"], json!({}));
    let metadata = json!({ "source": "loop", "step": 2, "parents": {}, "run_id": "r", "thread_id": "t", "graph_id": "agent" });
    assert_eq!(state["metadata"], metadata);
    assert_eq!(state["checkpoint"], json!({ "thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c2" }));
    assert_eq!(state["parent_checkpoint"]["checkpoint_id"], "c1");
    assert_eq!(state["created_at"], "2026-11-20T21:57:38.235000+00:00");
    let questions = json!([{ "id": "a1", "value": { "question": "ok?" }, "response_schema": null }, { "id": "b1", "value": "check b" }]);
    assert_eq!(state["interrupts"], questions);
    let names: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(names, empty().as_object().unwrap().keys().collect::<Vec<_>>());
}

#[test]
fn tasks_have_their_paths_results_and_subgraphs() {
    let state = state(&view(), &Place::default(), &nested());
    let tasks = state["tasks"].as_array().unwrap();
    let paths: Vec<&Value> = tasks.iter().map(|task| &task["path"]).collect();
    let expected = [json!([PULL, "approve"]), json!([PUSH, 0, false]), json!([PUSH, 1, false])];
    assert_eq!(paths, expected.iter().collect::<Vec<_>>());
    assert_eq!(tasks[0]["checkpoint"], Value::Null);
    let namespace = "worker:00000000-0000-0000-0000-000000000002";
    assert_eq!(tasks[1]["checkpoint"], json!({ "thread_id": "t", "checkpoint_ns": namespace }));
    assert_eq!((&tasks[1]["result"], &tasks[2]["result"]), (&json!({ "out": ["w1:a"] }), &Value::Null));
    assert_eq!(tasks[2]["error"], "no");
    let by_task = interrupts_by_task(&state);
    assert_eq!(
        by_task.keys().collect::<Vec<_>>(),
        ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000003",]
    );
}

#[test]
fn a_subgraph_knows_the_checkpoints_above_it() {
    let above = view();
    let place = Place::default().below(&above, &above.tasks[1]);
    let state = state(&above, &place, &BTreeMap::new());
    assert_eq!(state["checkpoint"]["checkpoint_ns"], place.namespace);
    let map = json!({ "": "c2", place.namespace.as_str(): "c2" });
    assert_eq!(state["checkpoint"]["checkpoint_map"], map);
    let metadata = &state["metadata"];
    assert_eq!(
        (&metadata["parents"], &metadata["checkpoint_map"]),
        (&json!({ "": "c2" }), &json!({ "": "c2" }))
    );
    assert_eq!((&metadata["langgraph_node"], &metadata["langgraph_step"]), (&json!("worker"), &json!(3)));
    assert_eq!(metadata["langgraph_path"], json!([PUSH, 0, false]));
    let inner = place.below(&above, &above.tasks[2]);
    assert!(inner.namespace.starts_with("worker:") && inner.namespace.contains('|'));
    assert_eq!(inner.above.len(), 2);
}

#[test]
fn past_tasks_have_the_results_that_the_next_checkpoint_names() {
    let next = |source: &str, writes: Value| -> MetadataView {
        serde_json::from_value(json!({ "source": source, "step": 3, "run_id": "engine", "writes": writes }))
            .unwrap()
    };
    let result = |metadata: &MetadataView, task: usize| {
        let mut past = view();
        add_results(&mut past, metadata);
        state(&past, &Place::default(), &BTreeMap::new())["tasks"][task]["result"].clone()
    };
    let writes =
        json!({ "approve": { "log": ["yes"] }, "worker": [{ "out": ["w1:a"] }, { "out": ["w1:b"] }] });
    let done = next("loop", writes.clone());
    assert_eq!(
        [0, 1, 2].map(|task| result(&done, task)),
        [json!({ "log": ["yes"] }), json!({ "out": ["w1:a"] }), json!({ "out": ["w1:b"] })]
    );
    assert_eq!(result(&next("update", writes), 0), Value::Null, "an edit is no result");
    assert_eq!(
        result(&next("loop", json!({ "worker": { "out": [] } })), 2),
        Value::Null,
        "of one task of two"
    );
}
