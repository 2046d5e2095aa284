//! Four processes, three nodes of Restate and a Postgres server, killed, suspended and cut off at random moments under load: every
//! run ends once, with the history of an undisturbed one, and every payment has one idempotency key. Databases that break a
//! promise are noticed.
//!
//! `SUPERSTEP_KILLS=1000` sets the number of processes that are killed, `SUPERSTEP_KILLS_SEED` another seed.

#![expect(clippy::print_stdout, reason = "a long run of the tests says what it has done")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::balancer::Balancer;
use crate::checked::{Checked, holds};
use crate::client::post_once;
use crate::cluster::Cluster;
use crate::dice::{Dice, number};
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
pub(crate) const PAYMENTS: usize = 12;

/// The time in which the last runs must end.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread")]
async fn every_run_ends_once_although_everything_is_killed() {
    let kills = number("SUPERSTEP_KILLS").unwrap_or(KILLS);
    let Some(checked) = disturbed(kills, |_| {}).await else { return };
    checked.unwrap_or_else(|violation| panic!("{violation}"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes a minute; `just kills-restate`"]
async fn a_database_that_takes_the_work_of_superseded_processes_is_noticed() {
    notices(|cluster| {
        cluster.replace_in("superstep", ("place", "IF seq <> _head THEN", "IF false THEN"));
        let compares = "IF _head_id IS DISTINCT FROM _expected THEN";
        cluster.replace_in("superstep", ("commit", compares, "IF false THEN"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes a minute; `just kills-restate`"]
async fn a_database_that_acknowledges_before_it_has_committed_is_noticed() {
    notices(|cluster| {
        cluster.execute("ALTER SYSTEM SET synchronous_commit = off");
        cluster.execute("ALTER SYSTEM SET wal_writer_delay = '10s'");
        cluster.crash();
    })
    .await;
}

/// Checks that a defect of the database is noticed.
async fn notices(breaks: impl FnOnce(&Cluster)) {
    let Some(checked) = disturbed(2 * KILLS, breaks).await else { return };
    let violation = checked.expect_err("the checks notice nothing");
    println!("{}", violation.chars().take(300).collect::<String>());
}

/// Kills so many processes under load, and checks all runs; `None` without the servers.
async fn disturbed(kills: u64, breaks: impl FnOnce(&Cluster)) -> Option<Checked<()>> {
    let nodes = Server::cluster().await?;
    let cluster = Cluster::own()?;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join(POSTGRES), cluster.url("superstep")).expect("a file");
    let ports = free_ports(5);
    let balancer = Balancer::of_ports(ports[0], &ports[1..]).await;
    let own = |worker: usize| format!("work --port {}", ports[worker + 1]);
    let registering = format!("{} --register {} --uri http://{}", own(0), nodes[0].admin(), balancer.address);
    let mut workers: Vec<Worker> = (1..4).map(|worker| Worker::start(folder, &own(worker))).collect();
    workers.insert(0, Worker::start(folder, &registering));
    breaks(&cluster);

    let ends = Arc::new(AtomicBool::new(false));
    let ingresses: Vec<String> = nodes.iter().map(Server::ingress).collect();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(pay(client, ingresses.clone(), Arc::clone(&ends)));
    }
    let (mut dice, mut suspended, mut lost, mut crashes) = (Dice::new(), 0, 0, 0);
    for kill in 1..=kills {
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
        if dice.below(2) == 0 {
            // Restate repeats what the processes still do.
            balancer.lose();
            lost += 1;
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
    println!("{suspended} suspended processes, {lost} losses of connections, {crashes} crashes of nodes");
    Some(check(folder, clients, suspended + lost + crashes).await)
}

/// Runs threads until the end, and returns their names.
pub(crate) async fn pay(
    client: usize,
    ingresses: Vec<String>,
    ends: Arc<AtomicBool>,
) -> Checked<Vec<String>> {
    let mut threads = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let name = format!("{client}-{}", threads.len());
        let input = json!({ "name": name, "to": PAYMENTS });
        for ingress in ingresses.iter().cycle() {
            let url = format!("{ingress}/pays/{name}/run");
            match post_once(&url, &input, &name).await {
                Ok((200, ended)) => {
                    let told = (&ended["status"], &ended["values"]["paid"]);
                    holds!(told == (&json!("finished"), &json!(PAYMENTS)), "{name}: {ended}");
                    break;
                }
                // A node or the connection to it has ended, or the node has just begun and knows no services. Another one is
                // asked for the same run.
                Ok((status, answer)) => {
                    let is_new = status == 404 && answer["source"] == "ingress";
                    holds!(is_new || status >= 500, "{name}: {status} {answer}");
                }
                Err(_) => {}
            }
            sleep(Duration::from_millis(50)).await;
        }
        threads.push(name);
    }
    Ok(threads)
}

/// Checks the histories and the payments. After each disturbance, a payment of each client may be repeated by a process
/// that does not know that it was superseded.
pub(crate) async fn check(
    folder: &Path,
    clients: JoinSet<Checked<Vec<String>>>,
    disturbances: usize,
) -> Checked<()> {
    let most = disturbances * clients.len();
    let Ok(all) = timeout(PATIENCE, clients.join_all()).await else { return Err("runs do not end".into()) };
    let threads = all.into_iter().collect::<Checked<Vec<_>>>()?.concat();
    let graph = pays(folder).await;
    let plain = graph.erased().thread("plain");
    let ended = plain.run(json!({ "name": "plain", "to": PAYMENTS })).await.expect("it runs");
    assert_eq!(ended.status.name(), "finished");
    let undisturbed = history(&graph, "plain").await;
    let mut late = 0;
    for thread in &threads {
        let history = history(&graph, thread).await;
        holds!(history == undisturbed, "{thread} has another history than an undisturbed run: {history:?}");
        let mut keys = HashMap::new();
        for line in lines(folder, thread) {
            let (payment, key) = line.split_once(' ').expect("a payment and its key");
            let payment: usize = payment.parse().expect("a number");
            late += usize::from(payment < keys.len());
            let first = keys.entry(payment).or_insert_with(|| key.to_owned());
            holds!(first == key, "{thread}: payment {payment} has two keys");
        }
        holds!(keys.len() == PAYMENTS, "{thread}: {keys:?}");
    }
    holds!(late <= most, "{late} recorded payments were repeated");
    println!("{} runs, {late} late payments", threads.len());
    Ok(())
}
