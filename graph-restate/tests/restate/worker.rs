//! A process with an endpoint, or with a server that hands its runs over: this test program, started again.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use superstep::run::ToAnyGraph;
use superstep_restate::restate;
use superstep_server::serve;

use crate::graphs::{count, fan, pays, review};

/// The time after which another server continues the runs of a killed one.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Set for a process of this kind: the folder of its graphs.
const FOLDER: &str = "SUPERSTEP_RESTATE_WORKER";
/// Set for a process of this kind: `work`, with the arguments of an endpoint of all graphs, or `serve-` and a graph, with those
/// of a server of this graph.
const ARGUMENTS: &str = "SUPERSTEP_RESTATE_ARGUMENTS";

/// The program; does nothing in the test itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_worker() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let arguments = std::env::var(ARGUMENTS).expect("it has arguments");
    let (count, fan, review) = (count(&folder).await, fan(&folder).await, review(&folder).await);
    let pays = pays(&folder).await;
    let (command, options) = arguments.split_once(' ').expect("a word and options");
    let options = options.split(' ').map(str::to_owned);
    let graph: &dyn ToAnyGraph = match command {
        "work" => {
            let graphs: [&dyn ToAnyGraph; 4] = [&count, &fan, &pays, &review];
            restate(&graphs).run(options).await;
            return;
        }
        "serve-count" => &count,
        "serve-pays" => &pays,
        _ => panic!("no such command: {command}"),
    };
    serve(&[graph]).lease(LEASE).run(options).await;
}

fn program() -> PathBuf {
    std::env::current_exe().expect("a test knows its program")
}

/// A running process. It is killed when it is dropped.
pub(crate) struct Worker {
    child: Child,
    /// The address at which it listens.
    pub(crate) address: String,
}

impl Worker {
    /// Starts a process, and waits until it has registered its endpoint, or listens.
    pub(crate) fn start(folder: &Path, arguments: &str) -> Self {
        Self::spawn(Command::new(program()), folder, arguments)
    }

    /// Starts a process in a network namespace.
    pub(crate) fn start_in(namespace: &str, folder: &Path, arguments: &str) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(program());
        Self::spawn(command, folder, arguments)
    }

    fn spawn(mut command: Command, folder: &Path, arguments: &str) -> Self {
        let mut child = command
            .args(["--exact", "worker::the_worker", "--nocapture"])
            .env(FOLDER, folder)
            .env(ARGUMENTS, arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let said = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut said = said.map_while(Result::ok);
        let line = said.find(|line| line.contains(" at http://")).expect("it says its address");
        let (_, address) = line.split_once("http://").expect("an address");
        let address = address.to_owned();
        std::thread::spawn(move || said.for_each(drop));
        Self { child, address }
    }

    /// Suspends it, or lets it go on.
    pub(crate) fn suspend(&self, suspended: bool) {
        let (signal, id) = (if suspended { "-STOP" } else { "-CONT" }, self.child.id().to_string());
        let status = Command::new("kill").args([signal, &id]).status().expect("kill can be started");
        assert!(status.success(), "kill {signal} {id}");
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it is a child");
    }
}
