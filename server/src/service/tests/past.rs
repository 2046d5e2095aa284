use super::*;
use crate::legacy::recorded;

/// Returns a server of a graph with subgraphs, one of which has asked.
async fn fanned_out() -> (Service, String) {
    let service = started(recorded::fanout(recorded::saver(), recorded::store()).unwrap());
    let thread = service.test_thread().await;
    let run = json!({ "assistant_id": "fanout", "input": { "items": ["a", "b"] } });
    let run = service.test_run(&thread, run).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    (service, thread)
}

/// A graph with two tasks in parallel: one writes a secret, too, and the other one asks.
fn splits() -> AnyGraph {
    let mut g = StateGraph::<Words>::new("splits");
    let tells = g.node("tells", || async { Words::update().words(["told"]).key("canary") });
    let asks = g.node("asks", |ask: Ask<String, String>| async move {
        Words::update().words([ask.ask("which word?".to_owned()).await])
    });
    g.edge(START, tells);
    g.edge(START, asks);
    g.edge(tells, END);
    g.edge(asks, END);
    g.compile().unwrap().shared_checkpointer(recorded::saver()).erased()
}

fn started(graph: AnyGraph) -> Service {
    let (options, work) = (ServiceOptions::default(), WorkOptions::default());
    let service = Service::with(vec![graph], options, work, Clock::default()).unwrap();
    service.start();
    service
}

async fn below(service: &Service, thread: &str, namespace: &Value) -> Vec<Value> {
    let body = json!({ "limit": 10, "checkpoint": { "checkpoint_ns": namespace } });
    service.history(&scope(), thread, HistoryRequest::read(&body).unwrap()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn past_tasks_have_their_results_and_each_state_is_the_one_of_the_history() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    for _ in 0..2 {
        rig.gate.add_permits(1);
        let run = json!({ "assistant_id": "holds", "input": { "words": ["in"] } });
        let run = service.test_run(&thread, run).await.unwrap();
        service.join(&scope(), &run).await.unwrap();
    }
    let history = service.test_history(&thread).await;
    let results: Vec<&Value> = history.iter().map(|state| &state["tasks"][0]["result"]["words"]).collect();
    let run = [&json!(null), &json!(["last"]), &json!(["held"]), &json!(["first"]), &json!(["in"])];
    assert_eq!(results, [run, run].concat());
    for state in history {
        let mut at = StateAt::default();
        at.checkpoint.id = state["checkpoint_id"].as_str().map(str::to_owned);
        assert_eq!(service.state(&scope(), &thread, at).await.unwrap(), state);
    }
}

#[tokio::test]
async fn a_state_has_the_results_of_finished_siblings_and_its_checkpoint_has_not() {
    let (service, thread) = fanned_out().await;
    let state = service.test_state(&thread).await;
    assert_eq!(state["values"]["out"], json!(["start", "w1:a", "w2:a"]));
    assert_eq!(state["next"], json!(["worker"]));
    let past = &service.test_history(&thread).await[0];
    assert_eq!((&past["values"]["out"], &past["tasks"]), (&json!(["start"]), &state["tasks"]));
}

#[tokio::test]
async fn results_of_finished_siblings_hide_secrets() {
    let service = started(splits());
    let thread = service.test_thread().await;
    let run = json!({ "assistant_id": "splits", "input": { "words": ["in"] } });
    let run = service.test_run(&thread, run).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let state = service.test_state(&thread).await;
    assert_eq!(state["values"], json!({ "words": ["in", "told"], "key": "<secret>" }));
    let all = format!("{state}{:?}", service.test_history(&thread).await);
    assert!(!all.contains("canary"), "{all}");
}

#[tokio::test]
async fn states_of_subgraphs_name_the_task_and_the_checkpoint_above() {
    let (service, thread) = fanned_out().await;
    let above =
        service.state(&scope(), &thread, StateAt { subgraphs: true, ..StateAt::default() }).await.unwrap();
    for (task, path) in above["tasks"].as_array().unwrap().iter().zip([0, 1]) {
        let namespace = &task["state"]["checkpoint"]["checkpoint_ns"];
        let history = below(&service, &thread, namespace).await;
        let metadata = &history[0]["metadata"];
        let map = json!({ "": above["checkpoint_id"] });
        assert_eq!((&metadata["parents"], &metadata["checkpoint_map"]), (&map, &map));
        assert_eq!(metadata["langgraph_path"], json!(["__pregel_push", path, false]));
        assert_eq!(history[0], task["state"], "the latest state is the one that the thread shows");
        let first = history.iter().find(|state| state["next"] == json!(["w1"])).unwrap();
        assert!(first["tasks"][0]["result"]["out"][0].as_str().unwrap().starts_with("w1:"));
    }
    let unknown = json!("worker:00000000-0000-0000-0000-000000000001");
    assert_eq!(below(&service, &thread, &unknown).await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_update_as_a_node_replaces_the_next_tasks() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let stop = json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "interrupt_before": ["hold"] });
    let run = service.test_run(&thread, stop).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let as_last = StateUpdate::read(&json!({ "values": null, "as_node": "last" })).unwrap();
    service.update_state(&scope(), &thread, as_last).await.unwrap();
    let state = service.test_state(&thread).await;
    assert_eq!((&state["next"], &state["values"]["words"]), (&json!([]), &json!(["in", "first"])));
    let history = service.test_history(&thread).await;
    assert!(history.iter().any(|state| state["next"] == json!(["hold"])), "the history has the dropped task");
    let tree = json!({ "id": 3, "method": "agent.getTree", "params": {} });
    let (status, body) = service.command(&scope(), &thread, &tree).await;
    assert_eq!(
        (status, &body["error"], &body["id"]),
        (200, &json!("no_such_run"), &json!(3)),
        "no run is active"
    );
}

#[tokio::test]
async fn a_history_has_as_many_states_as_were_asked_for() {
    let saver = recorded::saver();
    let mut g = StateGraph::<Words>::new("long");
    let node = g.node("adds", || async { Words::update().words(["more"]) });
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().unwrap().shared_checkpointer(saver);
    for _ in 0..70 {
        let run = graph.thread("long").run(Words::update().words(["in"])).await.unwrap();
        run.finished().unwrap();
    }
    let service = started(graph.erased());
    assert_eq!(service.test_history("long").await.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn the_schemas_of_a_subgraph_are_found_by_its_node() {
    let (service, _) = fanned_out().await;
    let all = service.subgraph_schemas(&scope(), "fanout", None, false).await.unwrap();
    let (node, schemas) = all.as_object().unwrap().iter().next().expect("the graph has a subgraph");
    assert_eq!((&schemas["graph_id"], schemas.get("state_schema").is_some()), (&json!(node), true));
    assert_eq!(service.subgraph_schemas(&scope(), "fanout", None, true).await.unwrap()[node], *schemas);
    let one = service.subgraph_schemas(&scope(), "fanout", Some(node), false).await.unwrap();
    assert_eq!(one, json!({ node: schemas }));
    let unknown = service.subgraph_schemas(&scope(), "fanout", Some("nope"), true).await.unwrap();
    assert_eq!(unknown, json!({}));
}
