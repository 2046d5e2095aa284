//! Worker processes of a test: its own program, started again, which does one job and prints its result.
//!
//! A test function is its own worker: it first calls [`role`], and does the job if there is one.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Set for a worker: its job, as JSON.
const ROLE: &str = "SUPERSTEP_TEST_ROLE";
/// Set for a worker: the file that all share.
const DB: &str = "SUPERSTEP_TEST_DB";
/// Set to make tests so many times as long as in the gate.
const TORTURE: &str = "SUPERSTEP_TORTURE";

const READY: &str = "the worker is ready";
const REPORT: &str = "the worker reports ";

/// Returns the job of this process, and its file; `None` for the test itself.
pub(crate) fn role<R: DeserializeOwned>() -> Option<(R, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    let db = std::env::var_os(DB).expect("a worker has a file");
    Some((serde_json::from_str(&role).expect("the test says what to do"), db.into()))
}

/// Returns the factor by which tests are longer than in the gate.
pub(crate) fn torture() -> u32 {
    match std::env::var(TORTURE) {
        Ok(times) => times.parse().unwrap_or_else(|_| panic!("{TORTURE} is a number, not {times:?}")),
        Err(_) => 1,
    }
}

/// Reports that this worker is ready, and waits for all others.
pub(crate) fn meet() {
    println!("\n{READY}");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the test is there");
}

/// Prints the result of this worker.
pub(crate) fn report<R: Serialize>(report: &R) {
    println!("\n{REPORT}{}", serde_json::to_string(report).expect("a report has a JSON form"));
}

/// A worker, for the test.
pub(crate) struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this program again, as a worker of the test of this name, and waits until it is ready.
    pub(crate) fn start<R: Serialize>(test: &str, role: &R, db: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("a test knows its program"))
            .args(["--exact", test, "--nocapture"])
            .env(ROLE, serde_json::to_string(role).expect("a role has a JSON form"))
            .env(DB, db)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut worker = Self { child, output };
        worker.wait_for(READY);
        worker
    }

    /// The process' number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin.
    pub(crate) fn begin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits until it has printed a line with this prefix; returns the rest of the line.
    pub(crate) fn wait_for(&mut self, beginning: &str) -> String {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("a worker speaks");
            if read == 0 {
                let mut errors = String::new();
                let stderr = self.child.stderr.as_mut().expect("its errors are piped");
                stderr.read_to_string(&mut errors).expect("a worker speaks");
                panic!("a worker ended before it said {beginning:?}: {said}{errors}");
            }
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim_end().to_owned();
            }
            said.push_str(&line);
        }
    }

    /// Returns its result, when it has finished.
    pub(crate) fn finish<R: DeserializeOwned>(mut self) -> R {
        let report = self.wait_for(REPORT);
        let ended = self.child.wait().expect("a worker ends");
        assert!(ended.success(), "a worker ended with {ended}");
        serde_json::from_str(&report).expect("a worker reports in JSON")
    }
}

/// Starts a worker for each role; all begin at once.
pub(crate) fn start_all<R: Serialize>(test: &str, roles: &[R], db: &Path) -> Vec<Worker> {
    let mut workers: Vec<_> = roles.iter().map(|role| Worker::start(test, role, db)).collect();
    workers.iter_mut().for_each(Worker::begin);
    workers
}
