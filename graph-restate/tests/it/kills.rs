//! Four processes, three nodes of Restate and a Postgres server, killed and suspended at random moments under load: every
//! run ends once, with the history of an undisturbed one, and every payment has one idempotency key.
//!
//! `SUPERSTEP_KILLS=1000` sets the number of processes that are killed, `SUPERSTEP_KILLS_SEED` another seed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::post_once;
use crate::cluster::Cluster;
use crate::dice::{Dice, number};
use crate::failures::balance;
use crate::graphs::{POSTGRES, history, lines, pays};
use crate::server::{Server, free_ports};
use crate::worker::Worker;

/// The number of processes that are killed, unless `SUPERSTEP_KILLS` says otherwise.
const KILLS: u64 = 50;

/// The number of processes that are killed for each crash of Postgres, and for each of a node of Restate.
const PER_POSTGRES: u64 = 10;
const PER_NODE: u64 = 17;

/// The number of clients, each of which runs one thread after the other.
const CLIENTS: usize = 64;

/// The number of payments of a run.
const PAYMENTS: usize = 12;

/// The time in which the last runs must end.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread")]
async fn every_run_ends_once_although_everything_is_killed() {
    let Some(nodes) = Server::cluster().await else { return };
    let Some(cluster) = Cluster::own() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join(POSTGRES), cluster.url("superstep")).expect("a file");
    let ports = free_ports(5);
    let balancer = balance(ports[0], ports[1..].to_vec()).await;
    let own = |worker: usize| format!("--port {}", ports[worker + 1]);
    let registering = format!("{} --register {} --uri http://{balancer}", own(0), nodes[0].admin());
    let mut workers: Vec<Worker> = (1..4).map(|worker| Worker::start(folder, &own(worker))).collect();
    workers.insert(0, Worker::start(folder, &registering));

    let ends = Arc::new(AtomicBool::new(false));
    let ingresses = nodes.each_ref().map(Server::ingress);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(pay(client, ingresses.clone(), Arc::clone(&ends)));
    }
    let (mut dice, mut suspended, mut crashes) = (Dice::new(), 0, 0);
    for kill in 1..=number("SUPERSTEP_KILLS").unwrap_or(KILLS) {
        sleep(Duration::from_millis(50 + dice.below(300))).await;
        let victim = dice.below(4) as usize;
        if dice.below(5) == 0 {
            // A suspended process continues with work that has become another one's.
            workers[victim].suspend(true);
            suspended += 1;
            nodes[dice.below(3) as usize].crash().await;
            crashes += 1;
            workers[victim].suspend(false);
            sleep(Duration::from_millis(dice.below(200))).await;
        }
        workers.remove(victim).kill();
        if kill % PER_POSTGRES == 0 {
            cluster.crash();
        }
        if kill % PER_NODE == 0 {
            nodes[dice.below(3) as usize].crash().await;
            crashes += 1;
        }
        workers.insert(victim, Worker::start(folder, &own(victim)));
    }
    ends.store(true, Ordering::Relaxed);
    let all = timeout(PATIENCE, clients.join_all()).await.expect("the runs end");
    let threads: Vec<String> = all.into_iter().flatten().collect();
    let late = check(folder, &threads, suspended + crashes).await;
    println!(
        "{} runs, {suspended} suspended processes, {crashes} crashes of nodes, {late} late payments",
        threads.len()
    );
}

/// Runs threads until the end, and returns their names.
async fn pay(client: usize, ingresses: [String; 3], ends: Arc<AtomicBool>) -> Vec<String> {
    let mut threads = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let name = format!("{client}-{}", threads.len());
        let input = json!({ "name": name, "to": PAYMENTS });
        for ingress in ingresses.iter().cycle() {
            let url = format!("{ingress}/pays/{name}/run");
            match post_once(&url, &input, &name).await {
                Ok((200, ended)) => {
                    let told = (&ended["status"], &ended["values"]["paid"]);
                    assert_eq!(told, (&json!("finished"), &json!(PAYMENTS)), "{name}: {ended}");
                    break;
                }
                // A node or the connection to it has ended, or the node has just begun and knows no services. Another one is
                // asked for the same run.
                Ok((status, answer)) => {
                    let is_new = status == 404 && answer["source"] == "ingress";
                    assert!(is_new || status >= 500, "{name}: {status} {answer}");
                }
                Err(_) => {}
            }
            sleep(Duration::from_millis(50)).await;
        }
        threads.push(name);
    }
    threads
}

/// Checks the histories and the payments. After each disturbance, a payment of each client may be repeated by a process
/// that does not know that it was superseded. Returns the number of these.
async fn check(folder: &Path, threads: &[String], disturbances: usize) -> usize {
    let graph = pays(folder).await;
    let plain = graph.erased().thread("plain");
    let ended = plain.run(json!({ "name": "plain", "to": PAYMENTS })).await.expect("it runs");
    assert_eq!(ended.status.name(), "finished");
    let undisturbed = history(&graph, "plain").await;
    let mut late = 0;
    for thread in threads {
        assert_eq!(history(&graph, thread).await, undisturbed, "{thread}");
        let mut keys = HashMap::new();
        for line in lines(folder, thread) {
            let (payment, key) = line.split_once(' ').expect("a payment and its key");
            let payment: usize = payment.parse().expect("a number");
            late += usize::from(payment < keys.len());
            let first = keys.entry(payment).or_insert_with(|| key.to_owned());
            assert_eq!(first, key, "{thread}: payment {payment} has two keys");
        }
        assert_eq!(keys.len(), PAYMENTS, "{thread}: {keys:?}");
    }
    assert!(late <= disturbances * CLIENTS, "{late} recorded payments were repeated");
    late
}
