//! Machines whose packets are lost, on the way to everything or to the database only: every run ends once, with the history of an
//! undisturbed one, through Restate and with servers alone.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::balancer::{Balancer, local};
use crate::checked::Checked;
use crate::client::{get, post};
use crate::cluster::{Cluster, Settings};
use crate::dice::{Dice, number};
use crate::graphs::POSTGRES;
use crate::kills::{PAYMENTS, check, pay};
use crate::network::{Cut, Network};
use crate::server::{Server, free_ports};
use crate::worker::Worker;

/// The number of partitions, unless `SUPERSTEP_PARTITIONS` says otherwise.
const PARTITIONS: u64 = 8;

/// The number of clients, each of which runs one thread after the other.
const CLIENTS: usize = 16;

/// The machines that are cut off. A further process is never cut off.
const MACHINES: u8 = 2;

/// The port of the processes on their machines.
const PORT: u16 = 9080;

/// A database that the machines of a network reach.
struct World {
    network: Network,
    _cluster: Arc<Cluster>,
}

impl World {
    /// Starts it; `None` where that is not possible.
    async fn start(folder: &Path) -> Option<Self> {
        let network = Network::new(MACHINES)?;
        let port = free_ports(1)[0];
        let cluster = Cluster::with(Settings { port: Some(port), ..Settings::default() })?;
        let database = Balancer::start((network.database(), port).into(), vec![local(port)]).await.address;
        let url = format!("postgres://superstep@{database}/postgres?sslmode=disable");
        std::fs::write(folder.join(POSTGRES), url).expect("a file");
        Some(Self { network, _cluster: cluster })
    }

    /// Starts a process on each machine.
    fn spawn(&self, folder: &Path, command: &str) -> Vec<Worker> {
        let spawn = |machine| {
            let address = self.network.address(machine);
            let arguments = format!("{command} --host {address} --port {PORT} --insecure");
            Worker::start_in(&self.network.namespace(machine), folder, &arguments)
        };
        (0..MACHINES).map(spawn).collect()
    }

    /// Cuts machines off under the load of clients, one after the other, for longer and longer, and checks all runs.
    async fn disturb<C: Future<Output = Checked<Vec<String>>> + Send + 'static>(
        &self,
        folder: &Path,
        client: impl Fn(usize, Arc<AtomicBool>) -> C,
    ) {
        let (ends, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for number in 0..CLIENTS {
            clients.spawn(client(number, Arc::clone(&ends)));
        }
        let mut dice = Dice::new();
        let partitions = number("SUPERSTEP_PARTITIONS").unwrap_or(PARTITIONS);
        for partition in 0..partitions {
            sleep(Duration::from_millis(100 + dice.below(500))).await;
            let machine = dice.below(MACHINES.into()) as u8;
            let cut = if partition % 2 == 0 { Cut::All } else { Cut::Database };
            self.network.cut(machine, cut);
            sleep(Duration::from_millis(200 + dice.below(1000 * partition + 1))).await;
            self.network.mend(machine, cut);
        }
        ends.store(true, Ordering::Relaxed);
        check(folder, clients, partitions as usize).await.unwrap_or_else(|violation| panic!("{violation}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_on_restate_end_once_although_machines_are_cut_off() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let Some(world) = World::start(folder).await else { return };
    let ports = free_ports(2);
    let mut all = vec![local(ports[1])];
    all.extend((0..MACHINES).map(|machine| SocketAddr::new(world.network.address(machine), PORT)));
    let balancer = Balancer::start(local(ports[0]), all).await.address;
    let registering =
        format!("work --port {} --register {} --uri http://{balancer}", ports[1], server.admin());
    let _near = Worker::start(folder, &registering);
    let _workers = world.spawn(folder, "work");

    world.disturb(folder, |client, ends| pay(client, vec![server.ingress()], ends)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_servers_end_once_although_machines_are_cut_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let Some(world) = World::start(folder).await else { return };
    let near = Worker::start(folder, "serve-pays --port 0");
    let far = world.spawn(folder, "serve-pays");
    let addresses = far.iter().chain([&near]).map(|worker| worker.address.clone()).collect::<Vec<_>>();

    let client = |client: usize, ends| {
        let begins_at = addresses[client % addresses.len()].clone();
        pay_at(begins_at, near.address.clone(), ends)
    };
    world.disturb(folder, client).await;
}

/// Begins runs at one server until the end, waits for them at another one, and returns the names of their threads.
async fn pay_at(begins_at: String, near: String, ends: Arc<AtomicBool>) -> Checked<Vec<String>> {
    let text = |error| format!("{error}");
    let mut threads = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let (_, thread) = post(&format!("http://{near}/threads"), &json!({})).await.map_err(text)?;
        let thread = thread["thread_id"].as_str().expect("an id").to_owned();
        let path = format!("threads/{thread}/runs");
        let input = json!({ "name": thread, "to": PAYMENTS });
        let request = json!({ "assistant_id": "pays", "input": input });
        // A lost packet is sent again.
        let (_, run) = post(&format!("http://{begins_at}/{path}"), &request).await.map_err(text)?;
        let run = run["run_id"].as_str().ok_or_else(|| format!("{thread}: {run}"))?;
        loop {
            let (_, run) = get(&format!("http://{near}/{path}/{run}")).await.map_err(text)?;
            match run["status"].as_str() {
                Some("success") => break,
                Some("pending" | "running") => sleep(Duration::from_millis(20)).await,
                _ => return Err(format!("{thread}: {run}")),
            }
        }
        threads.push(thread);
    }
    Ok(threads)
}
