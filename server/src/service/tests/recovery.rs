use async_trait::async_trait;
use superstep_core::checkpoint::{Around, CheckpointerExt, LeaseReply, LeaseRequest, StoreError};
use superstep_core::records::RunClaim;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use super::*;

fn holds() -> Value {
    json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "stream_resumable": true })
}

/// Ends a server as a crash would: its tasks stop where they are.
pub(super) fn kill(service: &Service) {
    for task in service.0.tasks.lock().unwrap().drain(..) {
        task.abort();
    }
}

/// Ends a server as a crash would, and waits until the claim of its run and the lease of its thread are over. The store counts
/// leases by a clock that is not paused.
async fn die(rig: &Rig, server: &Service, thread: &str) {
    kill(server);
    tokio::task::yield_now().await;
    rig.saver.break_lease(&thread.into()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
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
async fn a_run_is_given_up_after_four_lost_workers() {
    let rig = Rig::new();
    let mut server = rig.service();
    let thread = server.test_thread().await;
    let run = server.test_run(&thread, holds()).await.unwrap();
    for _ in 0..4 {
        server.test_held(&run).await;
        die(&rig, &server, &thread).await;
        server = rig.service();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(server.test_status(&run).await, Some(RunStatus::Error));
    assert_eq!(server.join(&scope(), &run).await.unwrap()["__error__"]["error"], "RunAbandoned");
}

/// Processes that die while they drive a run are no reason to give it up if it makes progress: a run of many supersteps
/// ended as an error because three deployments had met it.
#[tokio::test(start_paused = true)]
async fn a_run_that_makes_progress_between_lost_workers_is_not_given_up() {
    let rig = Rig::new();
    let mut server = rig.service();
    let thread = server.test_thread().await;
    let request = json!({ "assistant_id": "laps", "input": { "words": [] }, "stream_resumable": true });
    let run = server.test_run(&thread, request).await.unwrap();
    let lost = async |server: &Service| server.0.records.run(&run.id).await.unwrap().unwrap().lost;
    for lap in 0..LAPS - 1 {
        rig.gate.add_permits(1);
        while server.test_state(&thread).await["values"]["words"].as_array().map_or(0, Vec::len) <= lap {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(lost(&server).await <= 1, "lap {lap}");
        die(&rig, &server, &thread).await;
        server = rig.service();
    }
    rig.gate.add_permits(1);
    assert_eq!(server.test_status(&run).await, Some(RunStatus::Success));
}

/// Claims that were never begun do not count: a process that dies has claimed many runs, and dies of one at most.
#[tokio::test(start_paused = true)]
async fn a_run_that_no_worker_has_begun_is_not_given_up() {
    let rig = Rig::new();
    let server = rig.service();
    let thread = server.test_thread().await;
    let run = server.test_run(&thread, holds()).await.unwrap();
    server.test_held(&run).await;
    die(&rig, &server, &thread).await;
    for attempt in 2..12 {
        let (now, graphs) = (server.now_ms(), server.0.graphs.names());
        let claim =
            RunClaim { owner: "a process that dies".into(), graphs, left: Vec::new(), until_ms: now + 3_000 };
        let claimed = server.0.records.claim_run(&claim, now).await.unwrap().expect("the run is abandoned");
        assert_eq!((claimed.id.as_str(), claimed.attempt), (run.id.as_str(), attempt));
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    rig.gate.add_permits(1);
    let second = rig.service();
    assert_eq!(second.test_status(&run).await, Some(RunStatus::Success));
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

/// A saver whose leases wait at a gate.
struct Gated {
    inner: Arc<dyn Checkpointer>,
    is_waiting: Arc<Notify>,
    gate: Arc<Semaphore>,
}

#[async_trait]
impl Around for Gated {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.inner
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        self.is_waiting.notify_one();
        drop(self.gate.acquire().await.expect("the gate is never closed"));
        self.inner.lease(request).await
    }
}

fn paused() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// A process was suspended after it had claimed a run, and before it had the lease of the thread. Meanwhile another one
/// finished the run, and a later run of the thread. Then the lease was free: the first process took it and, because a
/// first attempt does not look at the thread, began the run again, until it read 200 ms later that the run was not its
/// own. Effects happened twice.
#[test]
fn a_process_that_was_suspended_before_it_had_the_thread_does_not_repeat_a_finished_run() {
    let rig = Rig::new();
    let (is_waiting, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let saver =
        Gated { inner: Arc::clone(&rig.saver), is_waiting: Arc::clone(&is_waiting), gate: Arc::clone(&gate) };
    let Rig { gate: nodes, begun, webhooks, .. } = &rig;
    let (nodes, begun, webhooks) = (Arc::clone(nodes), *begun, webhooks.clone());
    let gated = Rig { saver: Arc::new(saver), gate: nodes, begun, webhooks };
    // A runtime that is not polled is a suspended process.
    let (suspended, running) = (paused(), paused());
    let (first, thread, run) = suspended.block_on(async {
        let first = gated.service();
        let thread = first.test_thread().await;
        let run = first.test_run(&thread, holds()).await.unwrap();
        is_waiting.notified().await;
        (first, thread, run)
    });
    rig.gate.add_permits(3);
    let words = running.block_on(async {
        let second = rig.service();
        assert_eq!(second.test_status(&run).await, Some(RunStatus::Success));
        let later = second.test_run(&thread, holds()).await.unwrap();
        assert_eq!(second.test_status(&later).await, Some(RunStatus::Success));
        second.test_state(&thread).await["values"]["words"].clone()
    });
    gate.add_permits(1);
    let after = suspended.block_on(async {
        while first.0.worker.control(&run.id).is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        first.test_state(&thread).await["values"]["words"].clone()
    });
    let once = ["in", "first", "held", "last"];
    assert_eq!((&words, &after), (&json!([once, once].concat()), &words));
}
