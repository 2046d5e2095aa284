use serde_json::json;

use super::*;

fn read(body: Value) -> RunCreate {
    RunCreate::read(&body).unwrap()
}

fn failure(body: Value) -> Failure {
    RunCreate::read(&body).unwrap_err()
}

#[test]
fn a_request_with_an_assistant_only_has_the_defaults() {
    let run = read(json!({ "assistant_id": "agent" }));
    let kwargs = Kwargs { stream_mode: vec![StreamMode::Values], ..Kwargs::default() };
    let expected = RunCreate {
        assistant: "agent".into(),
        kwargs,
        metadata: Map::new(),
        multitask: Multitask::Enqueue,
        creates_thread: false,
        cancels_on_disconnect: false,
        keeps_thread: false,
        after_seconds: 0.0,
    };
    assert_eq!(run, expected);
    let nulls = json!({ "assistant_id": "agent", "input": null, "command": null, "config": null, "stream_mode": null,
        "interrupt_before": null, "metadata": null, "webhook": null, "on_disconnect": null, "after_seconds": null });
    assert_eq!(read(nulls), expected);
    // The hook `useStream` sends an empty list while no component reads its values.
    assert_eq!(read(json!({ "assistant_id": "agent", "stream_mode": [] })), expected);
    assert_eq!(run.kwargs.action(), Action::Continue);
}

#[test]
fn every_member_is_read() {
    let run = read(json!({
        "assistant_id": "agent", "input": { "x": 1 }, "command": { "resume": "yes" },
        "config": { "tags": ["t"], "recursion_limit": 7, "metadata": { "a": 1, "b": 1 } },
        "context": { "model": "m" }, "metadata": { "b": 2 }, "checkpoint_id": "c1",
        "stream_mode": ["updates", "messages-tuple"], "stream_subgraphs": true, "stream_resumable": true,
        "interrupt_before": "*", "interrupt_after": ["plan"], "multitask_strategy": "rollback",
        "if_not_exists": "create", "on_disconnect": "cancel", "on_completion": "keep", "after_seconds": 1.5,
        "durability": "exit", "webhook": "https://example.com", "strict_resume": true,
        "feedback_keys": ["x"], "langsmith_tracer": {}, "checkpoint_during": true,
    }));
    assert_eq!(run.metadata, *json!({ "a": 1, "b": 2 }).as_object().unwrap());
    assert_eq!((run.multitask, run.after_seconds), (Multitask::Rollback, 1.5));
    assert!(run.creates_thread && run.cancels_on_disconnect && run.keeps_thread);
    let kwargs = run.kwargs;
    assert_eq!(kwargs.stream_mode, [StreamMode::Updates, StreamMode::MessagesTuple]);
    assert_eq!(kwargs.interrupt_before, Some(Nodes::All(AllNodes::All)));
    assert_eq!(kwargs.interrupt_after, Some(Nodes::Named(vec!["plan".into()])));
    assert_eq!(kwargs.checkpoint.as_ref().map(|checkpoint| checkpoint.id.as_deref()), Some(Some("c1")));
    assert_eq!(kwargs.durability, Durability::Exit);
    assert!(matches!(kwargs.action(), Action::Command(command) if command.resume == Some(json!("yes"))));
    let stored = serde_json::to_value(&kwargs).unwrap();
    assert_eq!(stored["interrupt_before"], "*");
    assert_eq!(serde_json::from_value::<Kwargs>(stored).unwrap(), kwargs);
}

#[test]
fn an_error_names_the_member() {
    for (body, member) in [
        (json!({ "input": {} }), "assistant_id"),
        (json!({ "assistant_id": 3 }), "assistant_id"),
        (json!({ "assistant_id": "a", "stream_mode": "tools" }), "stream_mode"),
        (json!({ "assistant_id": "a", "stream_mode": ["values", "lifecycle"] }), "stream_mode"),
        (json!({ "assistant_id": "a", "stream_mode": [1] }), "stream_mode"),
        (json!({ "assistant_id": "a", "config": { "recursion_limit": "9" } }), "config.recursion_limit"),
        (json!({ "assistant_id": "a", "command": { "goto": 3 } }), "command.goto"),
        (json!({ "assistant_id": "a", "command": { "goto": ["a", 3] } }), "command.goto"),
        (json!({ "assistant_id": "a", "multitask_strategy": "wait" }), "multitask_strategy"),
        (json!({ "assistant_id": "a", "after_seconds": -1 }), "after_seconds"),
        (json!({ "assistant_id": "a", "interrupt_after": { "x": 1 } }), "interrupt_after"),
    ] {
        let error = failure(body.clone());
        assert_eq!(error.status, 422, "{body}");
        assert!(error.detail.contains(member), "{body}: {}", error.detail);
    }
    assert_eq!(RunCreate::read_batch(&json!({})).unwrap_err().status, 422);
}

#[test]
fn a_context_excludes_configurable_values() {
    let both =
        json!({ "assistant_id": "a", "context": { "m": 1 }, "config": { "configurable": { "m": 2 } } });
    assert_eq!(failure(both).status, 400);
    let thread_only = json!({ "assistant_id": "a", "context": { "m": 1 }, "config": { "configurable": { "thread_id": "t" } } });
    assert!(read(thread_only).kwargs.config.configurable.is_empty());
}

#[test]
fn a_checkpoint_is_named_in_any_of_three_places() {
    for body in [
        json!({ "assistant_id": "a", "checkpoint_id": "c" }),
        json!({ "assistant_id": "a", "checkpoint": { "checkpoint_id": "c", "checkpoint_ns": "" } }),
        json!({ "assistant_id": "a", "config": { "configurable": { "checkpoint_id": "c", "thread_id": "t" } } }),
    ] {
        assert_eq!(read(body).kwargs.checkpoint.unwrap().id.as_deref(), Some("c"));
    }
    assert_eq!(read(json!({ "assistant_id": "a", "checkpoint": {} })).kwargs.checkpoint, None);
}

#[test]
fn a_command_names_the_next_nodes_in_all_forms() {
    let goto = |goto: Value| read(json!({ "assistant_id": "a", "command": { "goto": goto } })).kwargs.command;
    let plan = Goto { node: "plan".into(), input: None };
    assert_eq!(goto(json!("plan")).unwrap().goto, std::slice::from_ref(&plan));
    let send = Goto { node: "worker".into(), input: Some(json!({ "item": 1 })) };
    let both = goto(json!(["plan", { "node": "worker", "input": { "item": 1 } }])).unwrap().goto;
    assert_eq!(both, [plan, send]);
    assert_eq!(goto(json!([])), None);
    let update = read(json!({ "assistant_id": "a", "command": { "update": [["count", 1]] } })).kwargs.command;
    assert_eq!(update.unwrap().update, Some(json!({ "count": 1 })));
}

#[test]
fn a_run_without_a_thread_answers_no_question() {
    let run = read(json!({ "assistant_id": "a", "command": { "resume": "x" } }));
    assert_eq!(run.check_stateless().unwrap_err().status, 400);
    assert_eq!(read(json!({ "assistant_id": "a", "command": { "goto": "x" } })).check_stateless(), Ok(()));
}
