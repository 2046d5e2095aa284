//! Runs whose claim or lease another program takes while their worker lives.

use superstep_core::checkpoint::{Acquired, CheckpointerExt, Claim};

use super::*;

const TAKEN: [&str; 4] = ["in", "first", "held", "last"];

fn holds(resumable: bool) -> Value {
    json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "stream_resumable": resumable })
}

/// Returns the legacy stream of a run, as its client gets it.
async fn followed(service: &Service, run: &RunRow) -> Vec<Frame> {
    service.stream(&scope(), run, None, Resume::Start).await.unwrap().collect().await
}

/// Checks that a run has ended well for everyone who asks a server.
async fn check_end(service: &Service, run: &RunRow) {
    assert_eq!(service.test_status(run).await, Some(RunStatus::Success));
    assert_eq!(service.join(&scope(), run).await.unwrap()["words"], json!(TAKEN));
    let thread = service.thread(&scope(), run.thread.as_str(), false).await.unwrap();
    assert_eq!((&thread["status"], &thread["values"]["words"]), (&json!("idle"), &json!(TAKEN)));
}

/// The worker of a run was suspended for longer than its claim: another server continues the run. The clients of the
/// first server get the rest of the events, or the state if the events are not stored.
#[tokio::test(start_paused = true)]
async fn clients_of_a_server_that_lost_a_run_get_its_end() {
    for resumable in [true, false] {
        let rig = Rig::new();
        let (first, second) = (rig.service(), rig.ahead(Duration::from_secs(60)));
        let thread = first.test_thread().await;
        let run = first.test_run(&thread, holds(resumable)).await.unwrap();
        let stream = tokio::spawn({
            let (first, run) = (first.clone(), run.clone());
            async move { followed(&first, &run).await }
        });
        let waiting = tokio::spawn({
            let (first, run) = (first.clone(), run.clone());
            async move { first.join(&scope(), &run).await.unwrap() }
        });
        first.test_held(&run).await;
        second.start();
        while first.0.worker.control(&run.id).is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        second.test_held(&run).await;
        rig.gate.add_permits(1);
        check_end(&first, &run).await;
        check_end(&second, &run).await;
        assert_eq!(waiting.await.unwrap()["words"], json!(TAKEN));
        let frames = stream.await.unwrap();
        let last = frames.last().unwrap();
        assert_eq!((last.event.as_str(), &last.data["words"]), ("values", &json!(TAKEN)), "{frames:#?}");
        if resumable {
            assert!(frames.iter().map(number).is_sorted_by(|one, next| one < next), "{frames:#?}");
            let all = second.stream(&scope(), &run, None, Resume::All).await.unwrap();
            assert_eq!(frames, all.collect::<Vec<_>>().await, "the stored events are those of the stream");
        }
    }
}

/// The lease of a thread is broken by hand, and another program holds it for a while.
#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_was_taken_continues_when_the_thread_is_free() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds(true)).await.unwrap();
    let stream = tokio::spawn({
        let (service, run) = (service.clone(), run.clone());
        async move { followed(&service, &run).await }
    });
    service.test_held(&run).await;
    rig.saver.break_lease(&thread.as_str().into()).await.unwrap();
    let ttl = Duration::from_secs(600);
    let claim = Claim { thread: thread.as_str().into(), holder: "the debugger".into(), ttl };
    let Acquired::Now(lease) = rig.saver.acquire(claim).await.unwrap() else { panic!("the lease is free") };
    loop {
        let row = service.0.records.run(&run.id).await.unwrap().unwrap();
        assert!(!row.status.is_terminal(), "{row:?}");
        if row.attempt > 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(service.thread(&scope(), &thread, false).await.unwrap()["status"], "busy");
    rig.saver.release(&lease).await.unwrap();
    rig.gate.add_permits(1);
    check_end(&service, &run).await;
    let frames = stream.await.unwrap();
    assert!(frames.iter().map(number).is_sorted_by(|one, next| one < next), "{frames:#?}");
    let last = frames.last().unwrap();
    assert_eq!((last.event.as_str(), &last.data["words"]), ("values", &json!(TAKEN)), "{frames:#?}");
    assert!(frames.iter().all(|frame| frame.event != "error"), "{frames:#?}");
}
