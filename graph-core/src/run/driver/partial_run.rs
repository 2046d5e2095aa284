//! Runs a part of a graph on a fictitious thread: from any state, with any tasks, and without storing anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec::Vec;

use alloc::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use super::begin::driver;
use super::order::{Ended, Order, Verb};
use crate::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, Commit, Frontier, Loaded, MemorySaver, Source, StoreError,
};
use crate::engine::{Begin, Breakpoints, barrier};
use crate::id::{CheckpointId, RunId, ThreadId};
use crate::run::runtime::current_state::CurrentState;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::{EventKind, EventLog, Observer, RunEvent};
use crate::run::runtime::outcome::Status;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::ErasedState;

/// The runtime, the state and the tasks with which a partial run begins.
pub(crate) struct PartialRun {
    pub(crate) runtime: Runtime,
    pub(crate) state: Arc<dyn ErasedState>,
    pub(crate) frontier: Frontier,
    /// The step of the checkpoint at which it begins.
    pub(crate) step: i64,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

/// The result of a partial run.
pub(crate) struct PartialRunEnd {
    /// The status with which it ended, or the error.
    pub(crate) status: Result<Status, RunError>,
    /// The state as of the last barrier.
    pub(crate) state: Arc<dyn ErasedState>,
    /// The checkpoint at which it began, with the journal of its tasks.
    pub(crate) begun: Loaded,
    /// The latest checkpoint; the same one if no superstep was completed.
    pub(crate) head: Loaded,
}

impl PartialRun {
    /// Runs `supersteps` supersteps, or fewer if the run ends earlier.
    pub(crate) async fn run(self, supersteps: u64) -> Result<PartialRunEnd, RunError> {
        let Self { mut runtime, state, frontier, step, observers } = self;
        let saver = Arc::new(MemorySaver::new());
        runtime.saver = Some(Arc::clone(&saver) as Arc<dyn Checkpointer>);
        runtime.breakpoints = Breakpoints::default();
        // The nodes must run, whatever the cache contains.
        runtime.cache = None;
        let thread = ThreadId::from("partial run");
        let base = CheckpointId(runtime.ambient.id());
        let checkpoint = first(&runtime, &*state, frontier, base, step)?;
        let graph = runtime.program.topology.name().clone();
        saver.register(&runtime.program.description).await.map_err(ThreadError::from)?;
        let commit = Commit {
            thread: thread.clone(),
            graph,
            expected: None,
            recorded: None,
            input: None,
            checkpoint,
            carried: None,
            emitted: Vec::new(),
            is_last: false,
        };
        saver.commit(commit).await.map_err(ThreadError::from)?;

        let drain = CancellationToken::new();
        let curtain: Arc<dyn Observer> =
            Arc::new(Curtain { left: AtomicU64::new(supersteps), drain: drain.clone() });
        let run = RunId(runtime.ambient.id());
        let observers = observers.into_iter().chain([curtain]).collect();
        let log = EventLog::new(run, Arc::clone(&runtime.ambient), observers, None);
        let order = Order { limits: runtime.limits, ..Order::new(Verb::Resume, thread.clone()) };
        let step_timeout = runtime.step_timeout;
        let (mut driver, _) = driver(&Arc::new(runtime), order, run, log, None)?;
        // Its subgraphs are not asked to stop.
        driver.stops.drain = Some(drain);
        driver.stops.step_timeout = step_timeout;
        let begin = Begin::Resume(driver.restore(load(&saver, &thread, At::Head).await?)?.into());
        // This state includes the fields that are never stored.
        driver.base.state = CurrentState::new(Arc::clone(&state));
        let (status, state) = match driver.drive(begin).await {
            Ok(Ended { status, state, .. }) => (Ok(status), state),
            Err(error) => (Err(error), state),
        };
        let begun = load(&saver, &thread, At::Id(base)).await?;
        let head = load(&saver, &thread, At::Head).await?;
        Ok(PartialRunEnd { status, state, begun, head })
    }
}

/// Returns a fictitious first checkpoint, with the whole state and the next tasks.
fn first(
    runtime: &Runtime,
    state: &dyn ErasedState,
    frontier: Frontier,
    id: CheckpointId,
    step: i64,
) -> Result<Arc<Checkpoint>, RunError> {
    let program = &runtime.program;
    let changes = barrier::whole(state, &program.schema);
    let changes = changes.map_err(|reason| RunError::Encode { what: "the state".into(), reason })?;
    Ok(Arc::new(Checkpoint {
        id,
        parent: None,
        run: RunId(runtime.ambient.id()),
        step,
        source: Source::Input,
        schema: program.schema_fingerprint,
        topology: program.description.topology_fingerprint,
        changes,
        tasks: Vec::new(),
        frontier,
        metadata: BTreeMap::new(),
    }))
}

async fn load(saver: &MemorySaver, thread: &ThreadId, at: At) -> Result<Loaded, RunError> {
    let gone = || StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: "at its begin".into() };
    let loaded = saver.read(thread, at.clone()).await.map_err(ThreadError::from)?;
    Ok(loaded.ok_or_else(gone).map_err(ThreadError::from)?)
}

/// Ends the run at the last superstep's barrier.
struct Curtain {
    left: AtomicU64,
    drain: CancellationToken,
}

impl Observer for Curtain {
    fn on_event(&self, event: &RunEvent) {
        if event.path.is_empty()
            && matches!(event.kind, EventKind::CheckpointSaved { .. })
            && self.left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.drain.cancel();
        }
    }
}
