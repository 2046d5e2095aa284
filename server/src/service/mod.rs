//! What the server decides: runs, threads, states, assistants, items, schedules. Names no HTTP.
//!
//! Every method returns the JSON that clients get, or a [`Failure`] with the status and the text.

mod assistants;
mod below;
mod branches;
mod commands;
mod crons;
mod failure;
mod items;
#[cfg(feature = "studio")]
mod lent;
mod new_run;
mod runs;
mod schedule;
mod shown;
mod state;
mod streams;
mod supersteps;
#[cfg(test)]
mod tests;
mod threads;
mod tools;
mod unstored;
mod upkeep;
#[cfg(feature = "webhooks")]
mod webhooks;

#[cfg(feature = "studio")]
pub(crate) use new_run::BUSY;
pub(crate) use streams::{Resume, ThreadMode};

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep_core::id::ThreadId;
use superstep_core::records::{AssistantRow, Records};
use superstep_core::run::{AnyGraph, CancellationToken};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use uuid::Uuid;

pub(crate) use crate::clock::Clock;
use crate::graphs::{Graphs, GraphsError};
use crate::ingress::Ingress;
use crate::log::{Hub, Views};
pub(crate) use crate::scope::Scope;
use crate::webhook::Webhooks;
use crate::wire::Failure;
use crate::work::{WorkOptions, Worker};

/// Settings of a server.
#[derive(Clone)]
pub(crate) struct ServiceOptions {
    /// The maximum number of runs at the same time.
    pub(crate) workers: usize,
    /// The time after which a run counts as abandoned whose worker does not extend its claim.
    pub(crate) lease: Duration,
    /// The maximum number of runs that wait.
    pub(crate) most_pending: u64,
    /// The webhooks that may be called.
    pub(crate) webhooks: Webhooks,
    /// The ingress of Restate, if it drives the runs.
    pub(crate) ingress: Option<Ingress>,
    /// `true` to store nothing.
    pub(crate) is_read_only: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        let (lease, webhooks) = (Duration::from_secs(10), Webhooks::default());
        Self { workers: 64, lease, most_pending: 10_000, webhooks, ingress: None, is_read_only: false }
    }
}

/// The decisions of a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Service(Arc<Shared>);

struct Shared {
    graphs: Arc<Graphs>,
    records: Arc<dyn Records>,
    hub: Hub,
    views: Arc<Views>,
    worker: Arc<Worker>,
    clock: Clock,
    options: ServiceOptions,
    /// The default assistants, which are stored unless the server only reads.
    defaults: OnceCell<Vec<AssistantRow>>,
    /// Threads that are known to have rows, on a server that only reads.
    with_rows: Mutex<HashSet<ThreadId>>,
    /// The number of pending runs, as of the last tick and the requests since.
    pending: AtomicU64,
    /// Cancelled when the streams end.
    stop: CancellationToken,
    /// Cancelled when the runs have ended or were given back.
    stopped: CancellationToken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Service {
    /// Creates the service of these graphs. It runs nothing before [`start`](Self::start).
    ///
    /// # Errors
    /// Returns an error if the graphs cannot be served together.
    pub(crate) fn new(graphs: Vec<AnyGraph>, options: ServiceOptions) -> Result<Self, GraphsError> {
        let (runs, lease, ingress) = (options.workers, options.lease, options.ingress.clone());
        let work = WorkOptions { runs, lease, ingress, ..WorkOptions::default() };
        Self::with(graphs, options, work, Clock::default())
    }

    fn with(
        graphs: Vec<AnyGraph>,
        options: ServiceOptions,
        work: WorkOptions,
        clock: Clock,
    ) -> Result<Self, GraphsError> {
        let (graphs, records) = Graphs::new(graphs)?;
        let graphs = Arc::new(graphs);
        let hub = Hub::new(Arc::clone(&records), clock.clone());
        let worker = Worker::new(Arc::clone(&records), Arc::clone(&graphs), hub.clone(), clock.clone(), work);
        Ok(Self(Arc::new(Shared {
            graphs,
            records,
            hub,
            views: Arc::default(),
            worker: Arc::new(worker),
            clock,
            options,
            defaults: OnceCell::new(),
            with_rows: Mutex::default(),
            pending: AtomicU64::new(0),
            stop: CancellationToken::new(),
            stopped: CancellationToken::new(),
            tasks: Mutex::default(),
        })))
    }

    fn now_ms(&self) -> u64 {
        self.0.clock.now_ms()
    }

    fn graph(&self, name: &str) -> Result<&AnyGraph, Failure> {
        let unknown = || Failure::not_found(format!("graph {name:?} is not served here"));
        self.0.graphs.named(name).ok_or_else(unknown)
    }
}

/// Returns a new id, which sorts by its time.
fn new_id() -> String {
    Uuid::now_v7().to_string()
}
