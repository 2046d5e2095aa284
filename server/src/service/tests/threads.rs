use superstep_core::checkpoint::CheckpointerExt;
use superstep_core::records::{Expiry, ExpiryStrategy, ThreadRow};

use super::*;
use crate::wire::thread::{ThreadPatch, ThreadSearch};

async fn ran(rig: &Rig, service: &Service) -> String {
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let run = json!({ "assistant_id": "holds", "input": { "words": ["in"] } });
    let run = service.test_run(&thread, run).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    thread
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_a_program_began_gets_a_row_when_it_is_asked_for() {
    let rig = Rig::new();
    let service = rig.stopped();
    drop(service.graph("asks").unwrap().thread("mine").run(json!({})).await.unwrap());
    let shown = service.thread(&scope(), "mine", false).await.unwrap();
    assert_eq!((&shown["status"], &shown["metadata"]["graph_id"]), (&json!("interrupted"), &json!("asks")));
    assert_eq!(service.test_history("mine").await.len(), 2);
    let tenant = Scope { filter: json!({ "owner": "ada" }).as_object().unwrap().clone(), ..Scope::default() };
    assert_eq!(service.thread(&tenant, "mine", false).await.unwrap_err().status, 404);
}

#[tokio::test(start_paused = true)]
async fn all_threads_get_rows_at_the_start() {
    let rig = Rig::new();
    let service = rig.stopped();
    for thread in ["a", "b", "c"] {
        drop(service.graph("asks").unwrap().thread(thread).run(json!({})).await.unwrap());
    }
    service.adopt_all().await.unwrap();
    let found = service.search_threads(&scope(), ThreadSearch::read(&json!({})).unwrap()).await.unwrap();
    assert_eq!(found.1, 3);
}

#[tokio::test(start_paused = true)]
async fn updates_change_the_state_as_a_node_and_end_the_work() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let stop = json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "interrupt_before": ["hold"] });
    let run = service.test_run(&thread, stop).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let update = |body: Value| StateUpdate::read(&body).unwrap();
    let as_hold = update(json!({ "values": { "words": ["given"] }, "as_node": "hold" }));
    service.update_state(&scope(), &thread, as_hold).await.unwrap();
    let state = service.test_state(&thread).await;
    assert_eq!((&state["next"], &state["values"]["words"][2]), (&json!(["last"]), &json!("given")));
    assert_eq!(state["metadata"]["source"], "update");
    let unknown = update(json!({ "values": {}, "as_node": "nope" }));
    let unknown = service.update_state(&scope(), &thread, unknown).await.unwrap_err();
    assert_eq!((unknown.status, unknown.detail.as_str()), (400, "Node nope does not exist"));
    let misfit = update(json!({ "values": { "wrods": [] } }));
    assert_eq!(service.update_state(&scope(), &thread, misfit).await.unwrap_err().status, 422);
    let end = update(json!({ "values": null, "as_node": "__end__" }));
    service.update_state(&scope(), &thread, end).await.unwrap();
    assert_eq!(service.test_state(&thread).await["next"], json!([]));
    assert_eq!(service.thread(&scope(), &thread, false).await.unwrap()["status"], "idle");
}

#[tokio::test(start_paused = true)]
async fn a_busy_thread_cannot_be_changed() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, json!({ "assistant_id": "holds", "input": {} })).await.unwrap();
    service.test_held(&run).await;
    let update = StateUpdate::read(&json!({ "values": { "words": ["x"] } })).unwrap();
    assert_eq!(service.update_state(&scope(), &thread, update).await.unwrap_err().status, 409);
    rig.gate.add_permits(1);
    service.join(&scope(), &run).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn threads_are_found_by_metadata_and_values() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = ran(&rig, &service).await;
    service.test_thread().await;
    let patch = ThreadPatch::read(&json!({ "metadata": { "colour": "red" } })).unwrap();
    service.patch_thread(&scope(), &thread, patch).await.unwrap();
    for body in [
        json!({ "metadata": { "colour": "red", "graph_id": "holds" } }),
        json!({ "values": { "words": ["held"] } }),
        json!({ "ids": [thread] }),
    ] {
        let search = ThreadSearch::read(&body).unwrap();
        let (found, total) = service.search_threads(&scope(), search.clone()).await.unwrap();
        assert_eq!((found.len(), total, &found[0]["thread_id"]), (1, 1, &json!(thread)), "{body}");
        assert_eq!(service.count_threads(&scope(), search).await.unwrap(), 1);
    }
    let extract = json!({ "metadata": { "colour": "red" }, "select": ["thread_id"], "extract": { "end": "values.words[-1]" } });
    let (found, _) = service.search_threads(&scope(), ThreadSearch::read(&extract).unwrap()).await.unwrap();
    assert_eq!(found[0], json!({ "thread_id": thread, "extracted": { "end": "last" } }));
}

#[tokio::test(start_paused = true)]
async fn a_copy_has_the_past_and_a_deleted_thread_nothing() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = ran(&rig, &service).await;
    let copy = service.copy_thread(&scope(), &thread).await.unwrap();
    let copy = copy["thread_id"].as_str().unwrap();
    assert_eq!(service.test_state(copy).await["values"], service.test_state(&thread).await["values"]);
    service.delete_thread(&scope(), &thread).await.unwrap();
    assert_eq!(service.thread(&scope(), &thread, false).await.unwrap_err().status, 404);
    assert_eq!(service.test_history(copy).await.len(), 5);
    assert_eq!(rig.saver.threads().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_thread_with_a_running_run_is_deleted_after_it() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, json!({ "assistant_id": "holds", "input": {} })).await.unwrap();
    service.test_held(&run).await;
    service.delete_thread(&scope(), &thread).await.unwrap();
    assert_eq!(service.0.records.run(&run.id).await.unwrap(), None);
    assert!(rig.saver.threads().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_thread_begins_with_given_supersteps() {
    let rig = Rig::new();
    let service = rig.service();
    let body = json!({
        "metadata": { "graph_id": "holds" },
        "supersteps": [
            { "updates": [{ "values": { "words": ["in"] }, "as_node": "__input__" }] },
            { "updates": [{ "values": { "words": ["one"] }, "as_node": "first" }] },
        ],
    });
    let thread = service.create_thread(&scope(), ThreadCreate::read(&body).unwrap()).await.unwrap();
    let state = service.test_state(thread["thread_id"].as_str().unwrap()).await;
    assert_eq!((&state["values"]["words"], &state["next"]), (&json!(["in", "one"]), &json!(["hold"])));
}

#[tokio::test(start_paused = true)]
async fn a_thread_whose_supersteps_do_not_fit_is_not_kept() {
    let rig = Rig::new();
    let service = rig.service();
    let body = |word: Value| {
        let updates = json!([{ "values": { "words": word }, "as_node": "__input__" }]);
        let metadata = json!({ "graph_id": "holds" });
        let body = json!({ "thread_id": "t", "metadata": metadata, "supersteps": [{ "updates": updates }] });
        ThreadCreate::read(&body).unwrap()
    };
    assert_eq!(service.create_thread(&scope(), body(json!(3))).await.unwrap_err().status, 422);
    assert_eq!(service.thread(&scope(), "t", false).await.unwrap_err().status, 404);
    service.create_thread(&scope(), body(json!(["in"]))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_edit_of_a_thread_may_end_its_work() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = json!({ "thread_id": "t", "metadata": { "graph_id": "holds" } });
    service.create_thread(&scope(), ThreadCreate::read(&thread).unwrap()).await.unwrap();
    let update = json!({ "values": { "words": ["moved"] }, "as_node": "__end__" });
    service.update_state(&scope(), "t", StateUpdate::read(&update).unwrap()).await.unwrap();
    let state = service.test_state("t").await;
    assert_eq!((&state["values"]["words"], &state["next"]), (&json!(["moved"]), &json!([])));
    assert_eq!(service.thread(&scope(), "t", false).await.unwrap()["status"], "idle");
}

#[tokio::test(start_paused = true)]
async fn an_expired_thread_of_a_graph_that_is_not_served_does_not_keep_others() {
    let rig = Rig::new();
    let service = rig.stopped();
    for (id, graph) in [("gone", "gone"), ("mine", "holds")] {
        let row = service.new_row(&scope(), id, serde_json::Map::new(), None);
        let expiry = Some(Expiry::new(0.0, ExpiryStrategy::Delete, service.now_ms()));
        service
            .0
            .records
            .insert_thread(ThreadRow { graph: Some(graph.into()), expiry, ..row })
            .await
            .unwrap();
    }
    service.start();
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(service.0.records.thread(&"mine".into()).await.unwrap(), None);
    assert!(service.0.records.thread(&"gone".into()).await.unwrap().is_some());
}
