//! Runs that hold their thread: the lease is taken before the run begins, renewed while it runs, and given back.

use std::boxed::Box;
use std::string::String;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::begin::begin;
use super::ending::Ended;
use super::error::{RunError, ThreadError};
use super::graph::Runtime;
use super::outcome::Status;
use super::request::Order;
use crate::checkpoint::{Acquired, Checkpointer, Claim, LeaseRecord, StoreError};
use crate::id::ThreadId;

/// The claim of a run to its thread: while it holds the lease, no other run that asks for one begins.
///
/// The lease is renewed in the background, each third of its [`ttl`](Self::ttl), and given back when the run ends. Of a
/// process that crashed it is over by itself, and another run takes the thread over. Should the process only have been
/// stopped, it finds out when it wakes: the store refuses whatever it writes, no effect of it starts, and its run fails with
/// [`RunError::LeaseLost`](super::RunError::LeaseLost).
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
    ttl: Duration,
    holder: Option<String>,
    patience: Duration,
}

/// How often a thread that is held is asked for.
const ASK_EVERY: Duration = Duration::from_millis(50);

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

    /// How long the thread stays with a process that is gone. The lease is renewed each third of it, so it must be longer
    /// than a run may be silent: a node that blocks a runtime of one thread keeps it from being renewed.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// What others are told of who has the thread; `process` and its number by default.
    pub fn holder(mut self, holder: impl Into<String>) -> Self {
        self.holder = Some(holder.into());
        self
    }

    /// Lets a run wait so long for a thread that another one holds. Without it the run is refused at once.
    pub fn wait(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Carries out an order while it holds the thread.
    pub(super) async fn hold(self, runtime: Arc<Runtime>, mut order: Order) -> Result<Ended, RunError> {
        let saver = runtime.saver.clone().ok_or(ThreadError::NoCheckpointer)?;
        let lease = self.acquire(&*saver, &order.thread).await?;
        let fenced = saver.fenced(&lease).ok_or(StoreError::NoLeases)?;
        let mut runtime = (*runtime).clone();
        runtime.saver = Some(fenced);
        let stop = match &order.stops.cancel {
            Some(cancel) => cancel.child_token(),
            None => CancellationToken::new(),
        };
        order.stops.cancel = Some(stop.clone());
        let keeper = Keeper::start(saver, lease, stop);
        // A run is large, and most hold no lease.
        let ended = Box::pin(begin(Arc::new(runtime), order)).await;
        match (ended, keeper.end().await) {
            // What it was told is that it was stopped, or that somebody was faster: this is why.
            (
                Ok(Ended { status: Status::Cancelled, .. }) | Err(RunError::Superseded { .. }),
                Err(lost @ StoreError::LeaseLost { .. }),
            ) => Err(lost.into()),
            // What is stored is stored, and a lease that could not be given back is over soon.
            (ended, _) => ended,
        }
    }

    async fn acquire(&self, saver: &dyn Checkpointer, thread: &ThreadId) -> Result<LeaseRecord, RunError> {
        let since = Instant::now();
        let holder = self.holder.clone();
        let holder = holder.unwrap_or_else(|| std::format!("process {}", std::process::id()));
        let claim = Claim { thread: thread.clone(), holder, ttl: self.ttl };
        loop {
            let held = match saver.acquire(claim.clone()).await? {
                Acquired::Now(lease) => return Ok(lease),
                Acquired::Held(held) => held,
            };
            let left = self.patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                let until_ms = held.until_ms();
                return Err(RunError::Leased { thread: held.thread, holder: held.holder, until_ms });
            }
            sleep(left.min(ASK_EVERY)).await;
        }
    }
}

/// Renews a lease until it is dropped, and gives it back then.
struct Keeper {
    task: JoinHandle<Result<(), StoreError>>,
    run: DropGuard,
}

impl Keeper {
    /// `stop` is cancelled when the lease is lost.
    fn start(saver: Arc<dyn Checkpointer>, lease: LeaseRecord, stop: CancellationToken) -> Self {
        let run = CancellationToken::new();
        let ended = run.clone();
        // A task of its own: a run that is busy with a node does not look after its lease.
        let task = tokio::spawn(async move {
            let mut lease = lease;
            let third = Duration::from_millis((lease.ttl_ms / 3).max(1));
            loop {
                tokio::select! {
                    biased;
                    () = ended.cancelled() => return saver.release(&lease).await,
                    () = sleep(third) => {}
                }
                match saver.renew(&lease).await {
                    Ok(renewed) => lease = renewed,
                    Err(lost @ StoreError::LeaseLost { .. }) => {
                        stop.cancel();
                        return Err(lost);
                    }
                    // A store that is busy may not be in a moment, and whether the lease is over then it says itself.
                    Err(_) => {}
                }
            }
        });
        Self { task, run: run.drop_guard() }
    }

    /// Gives the lease back; an error if it was lost.
    async fn end(self) -> Result<(), StoreError> {
        drop(self.run);
        // It is not aborted, and does not panic.
        self.task.await.unwrap_or(Ok(()))
    }
}
