//! A lock file of everything that stored threads depend on, so that changes to it are reviewed.
//!
//! A test compares the program's graphs with the file, and fails if a state's schema, or a graph's nodes or edges,
//! changed. `SUPERSTEP_LOCK=update cargo test` rewrites the file, and the difference becomes part of the review.
//!
//! ```
//! # extern crate superstep_core as superstep;
//! # use superstep::graph::{END, START, StateGraph};
//! # use superstep::state::State;
//! # #[derive(State, Clone, Default)]
//! # struct Essay { topic: String }
//! # let path = std::env::temp_dir().join(format!("superstep-lock-{}.json", std::process::id()));
//! let mut g = StateGraph::<Essay>::new("essay");
//! let write = g.node("write", async || Essay::update().topic("Rust"));
//! g.edge(START, write);
//! g.edge(write, END);
//! let essays = g.compile()?;
//!
//! # superstep::lock::write(&path, &[&essays])?;
//! superstep::lock::check(&path, &[&essays])?;
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod difference;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use alloc::string::ToString;

use serde::{Deserialize, Serialize};

use crate::run::Graph;
use crate::state::{Excess, Schema, SizeLimits, State};

/// The environment variable that makes [`check`] write the file: `SUPERSTEP_LOCK=update`.
pub const VARIABLE: &str = "SUPERSTEP_LOCK";

/// A graph of any state and any context, for use in a lock file.
pub trait Locked {
    /// Returns the entries of the graph and its subgraphs in the lock file, by name.
    fn locked(&self) -> BTreeMap<String, LockedGraph>;
}

/// The entry for a graph in a lock file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockedGraph {
    /// The schema of the state.
    pub schema: Schema,
    /// The nodes and edges, as stored in a checkpoint file.
    pub topology: serde_json::Value,
    /// The older versions of the state from which migrations exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrates_from: Vec<u32>,
}

/// A lock file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Lock {
    graphs: BTreeMap<String, LockedGraph>,
}

impl<S: State, C> Locked for Graph<S, C> {
    fn locked(&self) -> BTreeMap<String, LockedGraph> {
        let programs = self.programs();
        let locked = programs.into_iter().map(|program| {
            let topology = program.description.topology.decode().expect("a topology is a JSON object");
            let locked = LockedGraph {
                schema: Schema::clone(&program.schema),
                topology,
                migrates_from: program.initial.older_versions(),
            };
            (program.description.name.clone(), locked)
        });
        locked.collect()
    }
}

/// The error of comparing with a lock file. Its `Debug` form is its message, so that a test which unwraps it is
/// readable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file does not exist yet.
    #[error("there is no lock file {}; write it with `{VARIABLE}=update cargo test`", .0.display())]
    Missing(PathBuf),
    /// Something that stored threads depend on has changed.
    #[error(
        "{} graphs differ from {}:\n{}\nIf this is meant, rewrite the file with `{VARIABLE}=update cargo test`",
        .differences.len(), path.display(), .differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    )]
    Differs {
        /// The file.
        path: PathBuf,
        /// The differences, by graph.
        differences: Vec<GraphDifference>,
    },
    /// The file is not a lock file.
    #[error("{} is not a lock file: {reason}", path.display())]
    NotALock {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The file is, or would be, too large. Raise the limits: see [`check_within`] and [`write_within`].
    #[error(
        "the lock file {} has {}", path.display(), .excess.allowed_by("lock::check_within or lock::write_within")
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit that it exceeds.
        excess: Excess,
    },
    /// The file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The difference between a graph and the lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphDifference {
    /// The graph.
    pub graph: String,
    /// A line for each change, which says how it affects stored threads.
    pub changes: Vec<String>,
    /// `true` if stored threads load and continue, as far as that can be determined without them.
    pub loads: bool,
}

impl fmt::Display for GraphDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph {:?}:", self.graph)?;
        for change in &self.changes {
            write!(f, "\n  {change}")?;
        }
        f.write_str(match self.loads {
            true => "\n  old threads load",
            false => "\n  old threads may not load or continue: check them with `check_threads`",
        })
    }
}

/// Compares graphs with the lock file at `path`. If `SUPERSTEP_LOCK=update` is set in the environment, it writes
/// the file instead.
///
/// # Errors
/// Returns an error if the file does not exist, differs, exceeds the [size limits](SizeLimits) of a record, or
/// cannot be read or written.
pub fn check(path: impl AsRef<Path>, graphs: &[&dyn Locked]) -> Result<(), LockError> {
    check_within(path, graphs, SizeLimits::default())
}

/// Works like [`check`], with other limits on the file.
///
/// # Errors
/// Returns the errors of [`check`].
pub fn check_within(
    path: impl AsRef<Path>,
    graphs: &[&dyn Locked],
    limits: SizeLimits,
) -> Result<(), LockError> {
    let path = path.as_ref();
    if std::env::var_os(VARIABLE).is_some_and(|value| value == "update") {
        return write_within(path, graphs, limits);
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LockError::Missing(path.into())),
        Err(source) => return Err(LockError::Io { path: path.into(), source }),
    };
    let no_lock = |reason| LockError::NotALock { path: path.into(), reason };
    keeps_to(limits, path, &text)?;
    let lock: Lock = serde_json::from_str(&text).map_err(|error| no_lock(error.to_string()))?;
    let differences = difference::all(&lock.graphs, &all(graphs));
    if differences.is_empty() { Ok(()) } else { Err(LockError::Differs { path: path.into(), differences }) }
}

/// Writes the lock file: JSON with the graphs by name.
///
/// # Errors
/// Returns an error if the file would exceed the [size limits](SizeLimits) of a record, or cannot be written. An
/// existing file is then unchanged.
pub fn write(path: impl AsRef<Path>, graphs: &[&dyn Locked]) -> Result<(), LockError> {
    write_within(path, graphs, SizeLimits::default())
}

/// Works like [`write()`], with other limits on the file. Check the file with the same limits.
///
/// # Errors
/// Returns the errors of [`write()`].
pub fn write_within(
    path: impl AsRef<Path>,
    graphs: &[&dyn Locked],
    limits: SizeLimits,
) -> Result<(), LockError> {
    let path = path.as_ref();
    let lock = Lock { graphs: all(graphs) };
    let mut text = serde_json::to_string_pretty(&lock).expect("a description of plain data has a JSON form");
    text.push('\n');
    keeps_to(limits, path, &text)?;
    std::fs::write(path, text).map_err(|source| LockError::Io { path: path.into(), source })
}

fn keeps_to(limits: SizeLimits, path: &Path, text: &str) -> Result<(), LockError> {
    let kept = limits.of_record().check(text);
    kept.map_err(|excess| LockError::TooLarge { path: path.into(), excess })
}

fn all(graphs: &[&dyn Locked]) -> BTreeMap<String, LockedGraph> {
    graphs.iter().flat_map(|graph| graph.locked()).collect()
}
