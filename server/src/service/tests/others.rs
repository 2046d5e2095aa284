//! Assistants, the thread protocol, schedules.

use super::*;
use crate::wire::assistant::{AssistantCreate, AssistantPatch, AssistantSearch};

#[tokio::test(start_paused = true)]
async fn each_graph_has_a_default_assistant_which_clients_find() {
    let rig = Rig::new();
    let service = rig.stopped();
    let search = AssistantSearch::read(&json!({ "graph_id": "holds" })).unwrap();
    let (found, total) = service.search_assistants(&scope(), search).await.unwrap();
    assert_eq!((total, &found[0]["metadata"]["created_by"]), (1, &json!("system")));
    let by_name = service.assistant(&scope(), "holds").await.unwrap();
    assert_eq!(by_name["assistant_id"], found[0]["assistant_id"]);
    assert_eq!(service.delete_assistant(&scope(), "holds").await.unwrap_err().status, 403);
    assert_eq!(service.assistant(&scope(), "nope").await.unwrap_err().status, 404);
}

#[tokio::test(start_paused = true)]
async fn an_assistant_has_versions_and_its_configuration_is_that_of_its_runs() {
    let rig = Rig::new();
    let service = rig.service();
    let create = json!({ "graph_id": "holds", "assistant_id": "mine", "config": { "recursion_limit": 1 } });
    let create = AssistantCreate::read(&create).unwrap();
    service.create_assistant(&scope(), create.clone()).await.unwrap();
    assert_eq!(service.create_assistant(&scope(), create).await.unwrap_err().status, 409);
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, json!({ "assistant_id": "mine", "input": {} })).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["__error__"]["error"], "GraphRecursionError");
    let patch = AssistantPatch::read(&json!({ "name": "second", "config": {} })).unwrap();
    assert_eq!(service.patch_assistant(&scope(), "mine", patch).await.unwrap()["version"], 2);
    let first = service.set_version(&scope(), "mine", 1).await.unwrap();
    assert_eq!((&first["version"], &first["name"]), (&json!(1), &json!("holds")));
    assert_eq!(service.set_version(&scope(), "mine", 9).await.unwrap_err().status, 404);
    service.delete_assistant(&scope(), "mine").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_thread_protocol_starts_a_run_and_answers_its_question() {
    let rig = Rig::new();
    let service = rig.service();
    let command = |method: &str, params: Value| json!({ "id": 1, "method": method, "params": params });
    let start = command("run.start", json!({ "assistant_id": "asks", "input": {} }));
    let (status, started) = service.command(&scope(), "mine", &start).await;
    assert_eq!((status, &started["type"]), (200, &json!("success")), "{started}");
    let run = started["result"]["run_id"].as_str().unwrap();
    let run = service.run_row(&scope(), Some("mine"), run).await.unwrap();
    let id = service.join(&scope(), &run).await.unwrap()["__interrupt__"][0]["id"].clone();
    let wrong =
        command("input.respond", json!({ "interrupt_id": "0".repeat(32), "response": "x", "namespace": [] }));
    assert_eq!(service.command(&scope(), "mine", &wrong).await.1["error"], "no_such_interrupt");
    let respond = command("input.respond", json!({ "interrupt_id": id, "response": "yes", "namespace": [] }));
    assert_eq!(service.command(&scope(), "mine", &respond).await.1["result"], json!({}));
    let runs = service.active(&"mine".into()).await.unwrap();
    for run in runs {
        service.join(&scope(), &run).await.unwrap();
    }
    assert_eq!(service.test_state("mine").await["values"], json!({ "words": ["yes"] }));
}

#[tokio::test(start_paused = true)]
async fn a_run_streams_its_values_and_updates() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let body = json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "stream_mode": ["values", "updates"] });
    let run = service.test_run(&thread, body).await.unwrap();
    let frames: Vec<Frame> =
        service.stream(&scope(), &run, None, Resume::Start).await.unwrap().collect().await;
    let events: Vec<&str> = frames.iter().map(|frame| frame.event.as_str()).collect();
    let step = ["updates", "values"];
    assert_eq!(events, [&["metadata", "values"][..], &step, &step, &step].concat());
    assert_eq!(frames.last().unwrap().data, json!({ "words": ["in", "first", "held", "last"] }));
    assert_eq!(frames[2].data, json!({ "first": { "words": ["first"] } }));
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_the_input_is_in_no_answer_and_no_stored_event() {
    let rig = Rig::new();
    let service = rig.service();
    rig.gate.add_permits(1);
    let thread = service.test_thread().await;
    let modes = ["values", "updates", "tasks", "checkpoints", "debug"];
    let input = json!({ "words": ["in"], "key": "canary" });
    let body =
        json!({ "assistant_id": "holds", "input": input, "stream_mode": modes, "stream_resumable": true });
    let run = service.test_run(&thread, body).await.unwrap();
    let frames: Vec<Frame> =
        service.stream(&scope(), &run, None, Resume::Start).await.unwrap().collect().await;
    let read = service.run_row(&scope(), None, &run.id).await.unwrap();
    let runs = crate::wire::run::RunSearch::of_query(&crate::wire::query::Query::parse("")).unwrap();
    let shown = json!([
        crate::wire::run::run(&run),
        crate::wire::run::run(&read),
        service.runs(&scope(), &thread, runs).await.unwrap(),
        service.join(&scope(), &run).await.unwrap(),
        service.thread(&scope(), &thread, false).await.unwrap(),
        service.test_state(&thread).await,
        service.test_history(&thread).await,
    ]);
    let events = service.0.records.events(&run.thread, None, None, 1_000).await.unwrap();
    let all = format!("{shown}{frames:?}{events:?}");
    assert!(all.contains("<secret>") && !all.contains("canary"), "{all}");
}

#[cfg(feature = "crons")]
#[tokio::test(start_paused = true)]
async fn a_schedule_starts_one_run_each_time_although_two_servers_look() {
    use crate::wire::cron::{CronCreate, CronPatch, CronSearch};
    use superstep_core::records::RunQuery;

    let rig = Rig::new();
    let services = [rig.service(), rig.service()];
    rig.gate.add_permits(100);
    let thread = services[0].test_thread().await;
    let body = json!({ "schedule": "* * * * *", "assistant_id": "holds", "input": { "words": ["in"] } });
    let create = CronCreate::read(&body).unwrap();
    services[0].create_cron(&scope(), Some(&thread), create).await.unwrap();
    tokio::time::sleep(Duration::from_secs(185)).await;
    let query = RunQuery { thread: Some(thread.as_str().into()), limit: 10, ..RunQuery::default() };
    assert_eq!(services[0].0.records.runs(&query).await.unwrap().total, 3);
    let search = CronSearch::read(&json!({})).unwrap();
    let (found, _) = services[1].search_crons(&scope(), search).await.unwrap();
    let id = found[0]["cron_id"].as_str().unwrap();
    let misfit = CronPatch::read(&json!({ "input": { "word": "in" } })).unwrap();
    assert_eq!(services[1].patch_cron(&scope(), id, misfit).await.unwrap_err().status, 422);
    services[1].delete_cron(&scope(), id).await.unwrap();
    assert_eq!(services[1].cron(&scope(), id).await.unwrap_err().status, 404);
    for (schedule, input) in [("nonsense", json!({})), ("* * * * *", json!({ "word": "in" }))] {
        let wrong = json!({ "schedule": schedule, "assistant_id": "holds", "input": input });
        let wrong = CronCreate::read(&wrong).unwrap();
        assert_eq!(services[0].create_cron(&scope(), None, wrong).await.unwrap_err().status, 422);
    }
}
