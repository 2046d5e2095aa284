//! The lease that a run holds of its thread.

use std::string::String;
use std::time::Duration;

/// The claim of a run to its thread: while it holds the lease, no other run that asks for one begins.
///
/// The lease is renewed in the background, each third of its [`ttl`](Self::ttl), and given back when the run ends. Of a
/// process that crashed it is over by itself, and another run takes the thread over. Should the process only have been
/// stopped, it finds out when it wakes: the store refuses whatever it writes, no effect of it starts, and its run fails with
/// [`RunError::LeaseLost`](crate::run::RunError::LeaseLost).
///
/// Threads of subgraphs belong to the run's thread. Runs without a lease are not kept out, nor are edits: of those and of
/// the run one is faster at the barrier, as always.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use std::time::Duration;
/// # use superstep::checkpoint::MemorySaver;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::run::{Lease, RunError};
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default)]
/// # struct Essay { draft: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut g = StateGraph::<Essay>::new("essay");
/// # let write = g.node("write", || async { Essay::update().draft("…") });
/// # g.edge(START, write);
/// # g.edge(write, END);
/// let essays = g.compile()?
///     .checkpointer(MemorySaver::new())
///     .lease(Lease::new().ttl(Duration::from_secs(60)).holder("worker 3"));
/// match essays.thread("rust").run(Essay::update()).await {
///     Err(RunError::Leased { holder, .. }) => println!("{holder} is at it"),
///     run => println!("{}", run?.finished()?.draft),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a lease is held by the runs of the graph that it is given to"]
pub struct Lease {
    pub(crate) ttl: Duration,
    pub(crate) holder: Option<String>,
    pub(crate) patience: Duration,
}

impl Default for Lease {
    fn default() -> Self {
        Self::new()
    }
}

impl Lease {
    /// A lease of 30 seconds, which does not wait.
    pub fn new() -> Self {
        Self { ttl: Duration::from_secs(30), holder: None, patience: Duration::ZERO }
    }

    /// Sets how long the thread stays leased to a process that is gone. The lease is renewed after each third of this
    /// time, so it must be longer than a run may be silent: a node that blocks a single-threaded runtime keeps the
    /// lease from being renewed.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the name of the holder that other runs see; `process` and the process's number by default.
    pub fn holder(mut self, holder: impl Into<String>) -> Self {
        self.holder = Some(holder.into());
        self
    }

    /// Lets a run wait so long for a thread that another one holds. Without it the run is refused at once.
    pub fn wait(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}
