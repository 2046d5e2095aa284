//! The order for the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use superstep::prelude::Durability;

/// Holds the order, as JSON.
const ORDER: &str = "SUPERSTEP_TORTURE_ORDER";

/// The workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Workload {
    Chain,
    FanOut,
    Ask,
    Effect,
    Subgraph,
}

impl Workload {
    pub(crate) const ALL: [Self; 5] = [Self::Chain, Self::FanOut, Self::Ask, Self::Effect, Self::Subgraph];
}

/// The durability of the saver; see [`Durability`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Promise {
    Power,
    Process,
    Exit,
}

impl From<Promise> for Durability {
    fn from(promise: Promise) -> Self {
        match promise {
            Promise::Power => Self::Power,
            Promise::Process => Self::Process,
            Promise::Exit => Self::Exit,
        }
    }
}

/// The program's reaction to a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OnFailure {
    /// It ends.
    End,
    /// It resumes the thread with the same saver, up to so many times.
    Again(u32),
    /// It waits for a line on its standard input, and resumes with the same saver.
    Wait,
}

/// The OS thread that commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Committer {
    /// The faster one.
    Any,
    /// The saver's own thread, as with a slow disk.
    Writer,
}

/// The saver, or a mutant of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Guard {
    Whole,
    /// A mutant: a failed commit is reported as successful.
    SwallowsErrors,
    /// A mutant: a file of an earlier format is migrated in several transactions.
    MigratesInPieces,
}

/// The order for the program: run each of its threads to the end, or resume it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) db: PathBuf,
    pub(crate) workload: Workload,
    /// The number of threads, one after the other.
    pub(crate) threads: u32,
    /// The number of turns of each thread.
    pub(crate) turns: u32,
    pub(crate) promise: Promise,
    pub(crate) committer: Committer,
    pub(crate) on_failure: OnFailure,
    pub(crate) guard: Guard,
    /// The file may not grow beyond this.
    pub(crate) max_pages: Option<u32>,
    /// The log is moved into the file when it has this many pages.
    pub(crate) log_pages: Option<u32>,
}

impl Order {
    pub(crate) fn new(workload: Workload, db: impl AsRef<Path>) -> Self {
        Self {
            db: db.as_ref().to_owned(),
            workload,
            threads: 1,
            turns: 2,
            promise: Promise::Power,
            committer: Committer::Any,
            on_failure: OnFailure::End,
            guard: Guard::Whole,
            max_pages: None,
            log_pages: None,
        }
    }

    pub(crate) fn of_environment() -> Option<Self> {
        let text = std::env::var(ORDER).ok()?;
        Some(serde_json::from_str(&text).expect("an order is JSON"))
    }

    /// The program with this order.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("a test knows its program"));
        command.args(["--exact", "torture::the_program", "--nocapture"]);
        self.give(&mut command);
        command
    }

    /// The program with this order, started by another one: `strace`, a shell.
    pub(crate) fn command_by(&self, starter: &str, arguments: &[&str]) -> Command {
        let own = self.command();
        let mut command = Command::new(starter);
        command.args(arguments).arg(own.get_program()).args(own.get_args());
        self.give(&mut command);
        command
    }

    fn give(&self, command: &mut Command) {
        command.env(ORDER, self.to_string());
    }
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).expect("an order has a JSON form"))
    }
}
