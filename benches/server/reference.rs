//! The Python reference: `langgraph dev`, with a graph of three nodes like ours.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::served::kib;

/// The variable that names the program.
const PROGRAM: &str = "LANGGRAPH";

/// The time in which it has to listen.
const PATIENCE: Duration = Duration::from_secs(60);

const GRAPH: &str = "\
from typing_extensions import TypedDict
from langgraph.graph import StateGraph, START, END

class State(TypedDict, total=False):
    count: int

async def add(state: State):
    return {'count': state.get('count', 0) + 1}

graph = StateGraph(State)
for name in ['first', 'second', 'third']:
    graph.add_node(name, add)
graph.add_edge(START, 'first')
graph.add_edge('first', 'second')
graph.add_edge('second', 'third')
graph.add_edge('third', END)
three = graph.compile()
";

const PROJECT: &str = r#"{"dependencies": ["."], "graphs": {"three": "./graph.py:three"}}"#;

/// The process of the reference. It ends with this value.
pub(crate) struct Reference {
    process: Child,
    pub(crate) address: SocketAddr,
    _folder: TempDir,
}

impl Reference {
    /// Starts it; returns `None` where it is not installed or does not listen in time.
    pub(crate) async fn start() -> Option<Self> {
        let folder = TempDir::new().ok()?;
        std::fs::write(folder.path().join("graph.py"), GRAPH).ok()?;
        std::fs::write(folder.path().join("langgraph.json"), PROJECT).ok()?;
        // The port is free once this is dropped.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?.local_addr().ok()?.port();
        let program = std::env::var_os(PROGRAM).unwrap_or_else(|| "langgraph".into());
        let port_text = port.to_string();
        let process = Command::new(program)
            .args(["dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "10", "--port", &port_text])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let started = Self { process, address, _folder: folder };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if TcpStream::connect(address).await.is_ok() {
                // Its workers start after it listens.
                tokio::time::sleep(Duration::from_secs(3)).await;
                return Some(started);
            }
        }
        None
    }

    /// Returns its resident memory, in KiB.
    pub(crate) fn kib(&self) -> f64 {
        kib(self.process.id(), "VmRSS")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
