//! The processes: this program, started once more.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use superstep::checkpoint::PostgresSaver;

use crate::graphs::{AT_ONCE, count, fan, sleeper};

/// The first argument of such a process.
pub(crate) const WORD: &str = "--process";

/// A running process. It is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts a server with this many workers, whose effects are in a folder.
    pub(crate) fn server(url: &str, folder: &Path, workers: usize) -> Self {
        let folder = folder.to_str().expect("a path of letters");
        Self::start(&["serve", url, folder, &workers.to_string()])
    }

    /// Starts a process that Restate calls. It runs at most [`AT_ONCE`] spread tasks at the same time.
    pub(crate) fn worker(url: &str, folder: &Path, port: u16, admin: &str, uri: &str) -> Self {
        let folder = folder.to_str().expect("a path of letters");
        Self::start(&["work", url, folder, &port.to_string(), admin, uri])
    }

    fn start(arguments: &[&str]) -> Self {
        let program = std::env::current_exe().expect("a program has a path");
        let mut command = Command::new(program);
        let command = command.arg(WORD).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the process starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        output.read_line(&mut line).expect("it says that it is ready");
        assert!(!line.is_empty(), "the process has ended: {arguments:?}");
        Self { child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(status.expect("kill can be started").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it is a child");
    }
}

/// Runs a process.
pub(crate) fn run(arguments: &[String]) {
    let arguments = arguments.to_vec();
    block_on(async move {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            ["serve", url, folder, workers] => {
                let saver = PostgresSaver::open(url).await.expect("it opens");
                let count = count(folder.as_ref()).checkpointer(saver.clone());
                let sleeper = sleeper().checkpointer(saver);
                let server =
                    superstep::serve(&[&count, &sleeper]).workers(workers.parse().expect("a number"));
                let parent = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
                tokio::select! {
                    _ = server.run(["--port", "0"]) => {}
                    _ = parent => {}
                }
            }
            ["work", url, folder, port, admin, uri] => {
                let saver =
                    PostgresSaver::options().connections(AT_ONCE / 2).open(url).await.expect("it opens");
                let fan = fan(folder.as_ref()).checkpointer(saver.clone());
                let count = count(folder.as_ref()).checkpointer(saver);
                let arguments = ["--port", port, "--register", admin, "--uri", uri];
                superstep::restate(&[&count, &fan]).max_concurrent_tasks(AT_ONCE).run(arguments).await;
            }
            _ => panic!("no such process: {words:?}"),
        }
    });
}

/// Runs a future on a runtime with two threads.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    // The balancer and the connections of a saver outlive the workload.
    let runtime = Box::leak(Box::new(runtime.expect("a runtime starts")));
    runtime.block_on(work)
}

/// Returns a time in milliseconds.
pub(crate) fn ms_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
