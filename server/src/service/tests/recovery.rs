use super::*;

fn holds() -> Value {
    json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "stream_resumable": true })
}

/// Ends a server as a crash would: its tasks stop where they are.
fn kill(service: &Service) {
    for task in service.0.tasks.lock().unwrap().drain(..) {
        task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_server_was_killed_is_finished_by_another() {
    let rig = Rig::new();
    let first = rig.service();
    let thread = first.test_thread().await;
    let run = first.test_run(&thread, holds()).await.unwrap();
    first.test_held(&run).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    kill(&first);
    let second = rig.service();
    rig.gate.add_permits(1);
    assert_eq!(second.test_status(&run).await, Some(RunStatus::Success));
    assert_eq!(second.join(&scope(), &run).await.unwrap()["words"], json!(["in", "first", "held", "last"]));
    let frames = all_frames(&second, &run, Resume::All).await;
    let numbers: Vec<u64> = frames.iter().map(number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let saved = |frame: &&Frame| frame.data["type"] == "checkpoint_saved";
    let steps: Vec<&Value> = frames.iter().filter(saved).map(|frame| &frame.data["step"]).collect();
    assert_eq!(steps, [-1, 0, 1, 2, 3].map(|step| json!(step)).iter().collect::<Vec<_>>(), "{frames:#?}");
    assert_eq!(frames.iter().filter(|frame| frame.data[0] == "ended").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_given_up_after_three_lost_workers() {
    let rig = Rig::new();
    let mut server = rig.service();
    let thread = server.test_thread().await;
    let run = server.test_run(&thread, holds()).await.unwrap();
    for _ in 0..3 {
        server.test_held(&run).await;
        kill(&server);
        tokio::time::sleep(Duration::from_secs(5)).await;
        server = rig.service();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(server.test_status(&run).await, Some(RunStatus::Error));
    assert_eq!(server.join(&scope(), &run).await.unwrap()["__error__"]["error"], "RunAbandoned");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_gives_its_runs_back() {
    let rig = Rig::new();
    let first = rig.service();
    let thread = first.test_thread().await;
    let run = first.test_run(&thread, holds()).await.unwrap();
    first.test_held(&run).await;
    let streamed = tokio::spawn({
        let (first, run) = (first.clone(), run.clone());
        async move { all_frames(&first, &run, Resume::Start).await }
    });
    tokio::task::yield_now().await;
    first.shutdown(Duration::from_secs(10)).await;
    let frames = streamed.await.unwrap();
    assert_eq!(frames.last().unwrap().data["error"], "ServerStopped");
    let row = first.0.records.run(&run.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.lost), (RunStatus::Pending, 0));
    rig.gate.add_permits(1);
    let second = rig.service();
    assert_eq!(second.join(&scope(), &run).await.unwrap()["words"], json!(["in", "first", "held", "last"]));
}

#[tokio::test(start_paused = true)]
async fn a_running_superstep_finishes_before_the_server_stops() {
    let rig = Rig::new();
    let first = rig.service();
    let thread = first.test_thread().await;
    let run = first.test_run(&thread, holds()).await.unwrap();
    first.test_held(&run).await;
    let gate = Arc::clone(&rig.gate);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        gate.add_permits(1);
    });
    first.shutdown(Duration::from_secs(10)).await;
    assert_eq!(first.test_state(&thread).await["values"]["words"], json!(["in", "first", "held"]));
    let second = rig.service();
    assert_eq!(second.test_status(&run).await, Some(RunStatus::Success));
}
