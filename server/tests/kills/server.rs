//! The server that is killed: a graph of three nodes on a file, one with an effect outside of it.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_core::checkpoint::Checkpointer;
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Effects, Emit, Snapshot};
use superstep_core::reducer::Append;
use superstep_core::run::Graph;
use superstep_core::state::State;

use crate::mutant::Mutant;
use crate::place::Place;
use crate::versions;

/// The variable with the file. The test does nothing without it.
const FILE: &str = "SUPERSTEP_KILLS_FILE";

/// The variable with the address of the database, if it has the threads.
const DATABASE: &str = "SUPERSTEP_KILLS_DATABASE";

/// The variable with the seconds that running supersteps have at the end.
const GRACE: &str = "SUPERSTEP_KILLS_GRACE";

/// The variable with the defect of the server's saver, if it has one.
const MUTANT: &str = "SUPERSTEP_KILLS_MUTANT";

/// The variable with the version of the graph, if it is one of [`versions`].
const VERSION: &str = "SUPERSTEP_KILLS_VERSION";

/// The time after which another server continues the runs of a killed one.
pub(crate) const LEASE: Duration = Duration::from_millis(600);

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Work {
    /// The name of the run's input, which is also in the metadata of the run.
    token: String,
    #[reducer(Append)]
    lines: Vec<String>,
    /// The time for which the node `act` waits after its effect has happened, in milliseconds.
    pause_ms: u64,
}

/// A server that runs in a process of its own.
pub(crate) struct Started {
    child: Child,
    pub(crate) port: Option<u16>,
}

impl Started {
    pub(crate) fn new(place: &Place) -> Self {
        Self::start(place, 0, None, None)
    }

    /// Starts a server of a version of the graph.
    pub(crate) fn of_version(place: &Place, version: &str) -> Self {
        Self::start(place, 0, None, Some(version))
    }

    /// Starts a server whose running supersteps have so many seconds at its end.
    pub(crate) fn with_grace(place: &Place, grace: u64) -> Self {
        Self::start(place, grace, None, None)
    }

    /// Starts a server whose saver may have a defect.
    pub(crate) fn with_defect(place: &Place, mutant: Option<Mutant>) -> Self {
        Self::start(place, 0, mutant, None)
    }

    fn start(place: &Place, grace: u64, mutant: Option<Mutant>, version: Option<&str>) -> Self {
        let program = std::env::current_exe().expect("the path of this program");
        let mut command = Command::new(program);
        command
            .args(["--exact", "server::the_server", "--nocapture", "--test-threads=1"])
            .env(FILE, &place.file)
            .env(GRACE, grace.to_string())
            .stdout(Stdio::piped());
        if let Some(url) = &place.database {
            command.env(DATABASE, url);
        }
        if let Some(mutant) = mutant {
            command.env(MUTANT, format!("{mutant:?}"));
        }
        if let Some(version) = version {
            command.env(VERSION, version);
        }
        let mut child = command.spawn().expect("this program can be started");
        let output = child.stdout.take().expect("its output is a pipe");
        let port = BufReader::new(output).lines().find_map(|line| {
            line.expect("it prints text")
                .split_once("http://127.0.0.1:")
                .map(|(_, port)| port.parse().expect("a port"))
        });
        Self { child, port: Some(port.expect("the server listens")) }
    }

    /// Kills the server where it is.
    pub(crate) fn kill(&mut self) {
        self.port = None;
        self.child.kill().expect("a process that was not waited for can be killed");
        self.child.wait().expect("it has ended");
    }

    /// Asks the server to stop.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Waits for the end of the server, and returns its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.port = None;
        self.child.wait().expect("it ends").code()
    }

    pub(crate) fn suspend(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status().expect("kill can be started");
        assert!(status.success(), "kill {name} {id}");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.port.is_some() {
            self.kill();
        }
    }
}

/// Appends a line of an effect. Each call writes another one.
pub(crate) fn act(place: &Place, token: &str) -> io::Result<String> {
    let line = format!("{token} {}", uuid::Uuid::now_v7());
    let mut file = OpenOptions::new().create(true).append(true).open(place.effects())?;
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(line)
}

fn graph(saver: Arc<dyn Checkpointer>, place: Place) -> Graph<Work> {
    let mut g = StateGraph::<Work>::new("work");
    let first = g.node("first", async |work: Snapshot<Work>| {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Work::update().lines([format!("{} first", work.token)])
    });
    let act = g.node("act", move |work: Snapshot<Work>, fx: Effects, emit: Emit| {
        let place = place.clone();
        async move {
            emit.emit("part", &work.token);
            let pause = AtomicU64::new(10);
            let effect = async || {
                pause.store(work.pause_ms.max(10), Ordering::Relaxed);
                act(&place, &work.token)
            };
            let line = fx.run_keyed("act", &work.token, effect).await.map_err(NodeError::terminal)?;
            tokio::time::sleep(Duration::from_millis(pause.into_inner())).await;
            Ok::<_, NodeError>(Work::update().lines([line]))
        }
    });
    let last = g.node("last", async |work: Snapshot<Work>| {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Work::update().lines([format!("{} last", work.token)])
    });
    g.edge(START, first);
    g.edge(first, act);
    g.edge(act, last);
    g.edge(last, END);
    g.compile().expect("the graph is complete").shared_checkpointer(saver)
}

/// The program: serves until it is killed or stopped.
#[test]
fn the_server() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let place = Place { file: file.into(), database: std::env::var(DATABASE).ok() };
    let grace = std::env::var(GRACE).expect("the seconds");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let code = runtime.expect("a runtime").block_on(async {
        let saver = place.open().await;
        let saver = match std::env::var(MUTANT) {
            Ok(name) => Mutant::from_name(&name).around(saver),
            Err(_) => saver,
        };
        let graph = match std::env::var(VERSION) {
            Ok(version) => versions::graph(&version, saver, &place),
            Err(_) => graph(saver, place).erased(),
        };
        let server = superstep_server::serve(&[&graph]).lease(LEASE);
        server.run(["--port", "0", "--grace", &grace]).await
    });
    std::process::exit(if code == ExitCode::SUCCESS { 0 } else { 1 });
}
