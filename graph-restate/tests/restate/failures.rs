//! Processes and servers that end in the middle of runs, and runs over several processes.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use superstep_restate::restate;

use crate::balancer::Balancer;
use crate::cluster::Cluster;
use crate::graphs::{POSTGRES, count, fan, history, lines, open, paid_once_each, until};
use crate::here::Here;
use crate::server::{Server, free_ports};
use crate::worker::Worker;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_repeats_no_effect() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    killed(&server, folder.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_with_a_database_that_is_killed_repeats_no_effect() {
    let Some(server) = Server::start().await else { return };
    let Some(cluster) = Cluster::own() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(POSTGRES), cluster.url("superstep")).expect("a file");
    killed(&server, folder.path()).await;
}

async fn killed(server: &Server, folder: &Path) {
    let arguments = |port: u16| format!("work --port {port} --register {}", server.admin());
    let mut worker = Worker::start(folder, &arguments(0));
    let address: SocketAddr = worker.address.parse().expect("an address");

    let waits = [3, 70, 200];
    let run = server.send("count/a/run", &json!({ "to": 300, "pays": true, "waits_at": waits })).await;
    for waits_at in waits {
        until(|| lines(folder, "waiting").iter().any(|count| *count == waits_at.to_string())).await;
        worker.kill();
        open(folder, waits_at);
        worker = Worker::start(folder, &arguments(address.port()));
    }
    let (_, finished) = server.response(&run).await;
    assert_eq!((&finished["status"], &finished["values"]["count"]), (&json!("finished"), &json!(300)));
    paid_once_each(folder, 300);

    let counts = count(folder).await;
    let plain = counts.erased().thread("plain");
    let input = json!({ "to": 300, "pays": true, "waits_at": waits });
    assert_eq!(plain.run(input).await.expect("it runs").status.name(), "finished");
    assert_eq!(history(&counts, "a").await, history(&counts, "plain").await);
}

/// The answer was stored, and the journal does not have the slice: when it is repeated, the next question is another
/// one.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_once() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let arguments = |port: u16| format!("work --port {port} --register {}", server.admin());
    let worker = Worker::start(folder, &arguments(0));
    let address: SocketAddr = worker.address.parse().expect("an address");

    server.call("review/a/run", &json!({ "title": "Patience" })).await;
    let answer = server.send("review/a/answer", &json!("Revise")).await;
    until(|| lines(folder, "waiting") == ["2"]).await;
    worker.kill();
    open(folder, 2);
    let _worker = Worker::start(folder, &arguments(address.port()));
    let (_, asked) = server.response(&answer).await;
    assert_eq!(asked["interrupts"][0]["question"], "Patience: draft 2", "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_continues_its_runs() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let counts = count(folder.path()).await;
    let _here = Here::start(&server, restate(&[&counts])).await;

    let waits = [2, 150];
    let run = server.send("count/a/run", &json!({ "to": 200, "pays": true, "waits_at": waits })).await;
    for waits_at in waits {
        until(|| lines(folder.path(), "waiting").iter().any(|count| *count == waits_at.to_string())).await;
        server.crash().await;
        open(folder.path(), waits_at);
    }
    let (_, finished) = server.response(&run).await;
    assert_eq!(finished["values"]["count"], 200, "{finished}");
    paid_once_each(folder.path(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_endpoint_hands_its_runs_over() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let counts = count(folder.path()).await;
    let here = Here::start(&server, restate(&[&counts])).await;

    let run = server.send("count/a/run", &json!({ "to": 300, "pays": true, "waits_at": [2] })).await;
    until(|| lines(folder.path(), "waiting") == ["2"]).await;
    let address = here.address;
    // The superstep that runs is finished, and the run stops after it.
    let stopped = tokio::spawn(here.stop());
    open(folder.path(), 2);
    stopped.await.expect("it ends");
    assert!(lines(folder.path(), "paid").len() < 300, "the run has ended before the endpoint");
    let _here = Here::start_at(&server, restate(&[&counts]), address).await;
    let (_, finished) = server.response(&run).await;
    assert_eq!(finished["values"]["count"], 300, "{finished}");
    paid_once_each(folder.path(), 300);
}

/// The tasks wait for each other, so they run at the same time; and a connection takes 4 calls, so both processes run
/// some.
#[tokio::test(flavor = "multi_thread")]
async fn a_wide_superstep_is_spread_over_processes() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let ports = free_ports(3);
    let balancer = Balancer::of_ports(ports[0], &ports[1..]).await.address;
    let arguments =
        |port| format!("work --port {port} --register {} --uri http://{balancer}", server.admin());
    let _workers = [ports[1], ports[2]].map(|port| Worker::start(folder.path(), &arguments(port)));

    let (_, finished) = server.call("fan/a/run", &json!({ "items": 40, "together": 40 })).await;
    assert_eq!(finished["status"], "finished", "{finished}");
    let processes = finished["values"]["processes"].as_array().expect("a list").clone();
    assert_eq!(processes.len(), 40);
    assert!(processes.iter().any(|process| *process != processes[0]), "one process did everything");
    assert_eq!(lines(folder.path(), "worked").len(), 40, "a task has run twice");

    let fans = fan(folder.path()).await;
    let plain = fans.erased().thread("plain");
    assert_eq!(
        plain.run(json!({ "items": 40, "together": 40 })).await.expect("it runs").status.name(),
        "finished"
    );
    assert_eq!(history(&fans, "a").await, history(&fans, "plain").await);
}

/// Each task waits for a fourth one, which has no place. A task that waits for a place is cancelled like one that runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_runs_no_more_tasks_than_it_may() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let fans = fan(folder.path()).await;
    let here = Here::start(&server, restate(&[&fans]).max_concurrent_tasks(3)).await;

    let run = server.send("fan/a/run", &json!({ "items": 12, "together": 4 })).await;
    until(|| lines(folder.path(), "worked").len() == 3).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(lines(folder.path(), "worked").len(), 3);
    assert_eq!(server.call("fan/a/cancel", &Value::Null).await, (200, json!(true)));
    assert_eq!(server.response(&run).await.0, 409);
    assert_eq!(lines(folder.path(), "worked").len(), 3);

    let address = here.address;
    here.stop().await;
    let _here = Here::start_at(&server, restate(&[&fans]), address).await;
    let (_, finished) = server.call("fan/a/resume", &Value::Null).await;
    assert_eq!(finished["values"]["processes"].as_array().map(Vec::len), Some(12), "{finished}");
    assert_eq!(lines(folder.path(), "worked").len(), 12, "a task has run twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superstep_of_many_tasks_is_spread_in_calls_of_several() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let fans = fan(folder.path()).await;
    let _here = Here::start(&server, restate(&[&fans])).await;

    let (_, finished) = server.call("fan/a/run", &json!({ "items": 1000, "together": 0 })).await;
    assert_eq!(finished["values"]["processes"].as_array().map(Vec::len), Some(1000), "{finished}");
    assert_eq!(lines(folder.path(), "worked").len(), 1000, "a task has run twice");
}
