//! SIGTERM: the server starts no more runs, ends its streams, and gives unfinished runs back.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ALONE;
use crate::paused::{Paused, THREAD, answered, error, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_finishes_its_superstep_and_refuses_runs() {
    let _alone = ALONE.lock().await;
    let mut paused = Paused::new(30, Duration::from_secs(3)).await;
    paused.server.terminate();
    assert_eq!(paused.reason().await, "ServerStopped");
    let late =
        answered(&paused.server, "POST", &format!("{THREAD}/runs"), request("late", Duration::ZERO)).await;
    let (status, text) = error(late).await;
    assert_eq!((status, text.contains("starts no further run")), (503, true), "{text}");
    let join = answered(&paused.server, "GET", &format!("{}/join", paused.run), Value::Null).await;
    let (status, text) = error(join).await;
    assert_eq!((status, text.contains("join the run")), (503, true), "{text}");
    assert_eq!(paused.server.ended(), Some(0));
    assert_eq!(paused.continued().await, "1 first act 2 last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superstep_that_takes_longer_than_the_grace_is_given_back() {
    let _alone = ALONE.lock().await;
    let mut paused = Paused::new(1, Duration::from_secs(600)).await;
    let begun = Instant::now();
    paused.server.terminate();
    assert_eq!(paused.server.ended(), Some(0));
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(paused.continued().await, "1 first 2 act last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_stops_at_once_and_the_run_is_continued() {
    let _alone = ALONE.lock().await;
    let mut paused = Paused::new(600, Duration::from_secs(600)).await;
    paused.server.terminate();
    assert_eq!(paused.reason().await, "ServerStopped");
    let begun = Instant::now();
    paused.server.terminate();
    assert_eq!(paused.server.ended(), Some(1));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(paused.continued().await, "1 first 2 act last");
}
