//! The lease that a run holds of its thread.

use std::string::String;
use std::time::Duration;

/// The claim of a run to its thread: while the run holds the lease, no other run with a lease can begin on the
/// thread.
///
/// The lease is renewed in the background, after each third of its [`ttl`](Self::ttl), and released when the run
/// ends. If the process crashes, the lease expires, and another run can take over the thread. If the process was
/// only suspended, it notices this when it continues: the store rejects its writes, it starts no effects, and its
/// run fails with [`RunError::LeaseLost`](crate::run::RunError::LeaseLost).
///
/// The lease includes the threads of subgraphs. Runs without a lease, and edits, are not kept out; as without
/// leases, one of them and the run is faster at the barrier.
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
    /// Creates a lease of 30 seconds that does not wait.
    pub fn new() -> Self {
        Self { ttl: Duration::from_secs(30), holder: None, patience: Duration::ZERO }
    }

    /// Sets the time for which the thread stays leased if the process crashes. The lease is renewed after each
    /// third of this time, so it must be longer than the time for which renewals can be blocked: a node that blocks
    /// a single-threaded runtime also blocks them.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the name of the holder that other runs see. The default is `process` and the process's number.
    pub fn holder(mut self, holder: impl Into<String>) -> Self {
        self.holder = Some(holder.into());
        self
    }

    /// Sets the time for which a run waits if another one holds the thread. Without it the run fails at once.
    pub fn wait(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}
