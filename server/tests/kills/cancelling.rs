//! Runs that are cancelled by another process than the one that drives them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ALONE;
use crate::cluster::Cluster;
use crate::paused::{Paused, THREAD, answered, recorded, request};
use crate::server::Started;

/// The time in which a run of another process ends.
const LIMIT: Duration = Duration::from_millis(500);

const PAUSE: Duration = Duration::from_secs(600);

/// Cancels a run, and returns the time until it has ended.
async fn cancelled(server: &Started, run: &str, action: &str) -> Duration {
    let begun = Instant::now();
    let path = format!("{run}/cancel?action={action}&wait=true");
    let response = answered(server, "POST", &path, json!({})).await;
    assert_eq!(response.status, 200, "{path}");
    response.json().await.expect("a document");
    begun.elapsed()
}

async fn read(server: &Started, method: &str, path: &str) -> Value {
    let body = if method == "GET" { Value::Null } else { json!({ "limit": 100 }) };
    answered(server, method, &format!("{THREAD}{path}"), body).await.json().await.expect("a document")
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_cancels_a_run_in_half_a_second() {
    let _alone = ALONE.lock().await;
    cancels(Paused::new(0, PAUSE).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_a_process_on_another_connection_to_postgres() {
    let Some(cluster) = Cluster::shared() else { return };
    let _alone = ALONE.lock().await;
    cancels(Paused::on_postgres(&cluster, 0, PAUSE).await).await;
}

async fn cancels(paused: Paused) {
    let other = Started::new(&paused.place);
    let interrupted = cancelled(&other, &paused.run, "interrupt").await;
    assert_eq!(read(&other, "GET", "").await["status"], "interrupted");
    let resume = json!({ "assistant_id": "work", "input": null });
    let values = answered(&other, "POST", &format!("{THREAD}/runs/wait"), resume).await;
    let values = values.json().await.expect("values");
    let effect = std::fs::read_to_string(paused.place.effects()).expect("the effect has happened");
    assert_eq!(values["lines"], json!(["paused first", effect.trim_end(), "paused last"]));

    let before = (read(&other, "GET", "/state").await, read(&other, "POST", "/history").await);
    let run = answered(&paused.server, "POST", &format!("{THREAD}/runs"), request("second", PAUSE)).await;
    let run = format!("{THREAD}/runs/{}", run.run.expect("a run"));
    recorded(&paused.place, 2).await;
    assert_ne!(read(&other, "GET", "/state").await, before.0);
    let rolled_back = cancelled(&other, &run, "rollback").await;
    assert_eq!(answered(&other, "GET", &run, Value::Null).await.status, 404);
    assert_eq!((read(&other, "GET", "/state").await, read(&other, "POST", "/history").await), before);
    assert_eq!(read(&other, "GET", "").await["status"], "idle");
    assert!(interrupted < LIMIT && rolled_back < LIMIT, "{interrupted:?}, {rolled_back:?}");
}
