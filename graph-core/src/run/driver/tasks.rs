//! The running attempts, inline or in spawned tasks.

use std::boxed::Box;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec::Vec;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::attempt::{Attempt, End};
use super::spans::Span;
use crate::engine::TaskNumber;
use crate::graph::Program;
use crate::node::TaskCell;
use crate::run::runtime::current_state::CurrentState;

/// The maximum number of tasks that a superstep spawns. A wider superstep bundles its attempts, because spawning
/// costs more than an attempt that ends at once, and this many bundles keep all cores busy.
const BUNDLES: usize = 64;

/// The number of nested levels of subgraphs that run inline; the next level is spawned. Each inline level takes up
/// to 100 KB of stack without optimization, and a worker thread has 2 MB.
const LEVELS_INLINE: usize = 8;

/// The running attempts of a superstep.
///
/// A single attempt runs inline, without a spawn. Several attempts are spawned, and aborted when this is dropped,
/// so no detached task outlives its run. Subgraphs are not aborted but awaited, because they collect the results of
/// their own tasks.
pub(crate) struct Tasks {
    program: Arc<Program>,
    /// The inline attempt, while it is the only one.
    inline: Option<Running>,
    /// Attempts that were started but not launched yet.
    ready: Vec<Running>,
    /// Made for the first superstep of several tasks: its channel alone takes several kilobytes.
    spawned: Option<Box<Spawned>>,
}

/// The attempts in tasks of their own.
struct Spawned {
    /// The number of attempts that have not ended.
    open: usize,
    bundles: JoinSet<()>,
    subgraphs: JoinSet<()>,
    sender: mpsc::UnboundedSender<Attempted>,
    ended: mpsc::UnboundedReceiver<Attempted>,
}

impl Default for Spawned {
    fn default() -> Self {
        let (sender, ended) = mpsc::unbounded_channel();
        Self { open: 0, bundles: JoinSet::new(), subgraphs: JoinSet::new(), sender, ended }
    }
}

/// An attempt that is about to start or is running.
pub(crate) struct Running {
    pub(crate) task: TaskNumber,
    pub(crate) attempt: u32,
    /// The task's cell; `None` once the attempt has ended.
    pub(crate) cell: Option<Arc<TaskCell>>,
    pub(crate) run: Attempt,
    pub(crate) span: Span,
}

impl Running {
    /// Returns `true` if the attempt is a subgraph whose level no longer fits on the stack.
    fn is_deep(&self, program: &Program) -> bool {
        let levels = || self.cell.as_ref().map_or(0, |cell| cell.outwards().count());
        self.run.is_subgraph(program) && levels().is_multiple_of(LEVELS_INLINE)
    }

    /// Polls the attempt. `current` is the driver's state, which only an inline attempt may use.
    fn poll(
        &mut self,
        program: &Program,
        context: &mut Context<'_>,
        current: Option<&mut CurrentState>,
    ) -> Poll<Attempted> {
        let Self { task, attempt, cell, run, span } = self;
        let shared = cell.as_deref().expect("an attempt that ended is not polled");
        let end = ready!(span.within(|| run.poll(program, shared, context, current)));
        match &end {
            End::Finished { targets: Ok(_), .. } => span.outcome(&"finished"),
            // The text may quote a secret, and the secrets are not known here.
            End::Finished { targets: Err(_), .. } | End::Failed(_)
                if program.schema.fields.iter().any(|field| field.secret) =>
            {
                span.outcome(&"failed");
            }
            End::Finished { targets: Err(error), .. } => span.outcome(error),
            End::Failed(error) => span.outcome(error),
            End::Paused(_) => span.outcome(&"paused"),
        }
        let cell = cell.take().expect("it was there");
        Poll::Ready(Attempted { task: *task, attempt: *attempt, cell, end })
    }
}

/// The end of an attempt.
pub(crate) struct Attempted {
    pub(crate) task: TaskNumber,
    pub(crate) attempt: u32,
    pub(crate) cell: Arc<TaskCell>,
    pub(crate) end: End,
}

impl Tasks {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self { program, inline: None, ready: Vec::new(), spawned: None }
    }

    pub(crate) fn start(&mut self, started: Running) {
        if self.is_idle() && !started.is_deep(&self.program) {
            self.inline = Some(started);
        } else {
            self.ready.extend(self.inline.take());
            self.ready.push(started);
        }
    }

    fn is_idle(&self) -> bool {
        let is_open = self.spawned.as_ref().is_some_and(|spawned| spawned.open > 0);
        self.inline.is_none() && self.ready.is_empty() && !is_open
    }

    /// Waits until an attempt ends. This is cancel safe: running attempts continue at the next call.
    pub(crate) async fn next(&mut self, current: &mut CurrentState) -> Attempted {
        self.launch(current);
        if let Some(running) = &mut self.inline {
            let ended = poll_fn(|context| running.poll(&self.program, context, Some(current))).await;
            self.inline = None;
            return ended;
        }
        let Some(spawned) = &mut self.spawned else { return pending().await };
        loop {
            tokio::select! {
                biased;
                Some(ended) = spawned.ended.recv() => {
                    spawned.open -= 1;
                    return ended;
                }
                Some(joined) = spawned.bundles.join_next() => pass_on_panic(joined),
                Some(joined) = spawned.subgraphs.join_next() => pass_on_panic(joined),
            }
        }
    }

    /// Cancels the running attempts, and waits until they have stopped. Returns those that had ended before.
    ///
    /// The run must have been revoked.
    pub(crate) async fn abort(&mut self, current: &CurrentState) -> Vec<Attempted> {
        self.ready.extend(self.inline.take());
        self.ready.retain(|running| running.run.stops_by_itself(&self.program));
        self.launch(current);
        let Some(spawned) = &mut self.spawned else { return Vec::new() };
        spawned.bundles.shutdown().await;
        while let Some(joined) = spawned.subgraphs.join_next().await {
            pass_on_panic(joined);
        }
        spawned.open = 0;
        std::iter::from_fn(|| spawned.ended.try_recv().ok()).collect()
    }

    /// Spawns the started attempts that do not run inline.
    fn launch(&mut self, current: &CurrentState) {
        if self.ready.is_empty() {
            return;
        }
        let spawned = self.spawned.get_or_insert_default();
        spawned.open += self.ready.len();
        self.ready.iter_mut().for_each(|running| running.run.leave_driver(current));
        for subgraph in self.ready.extract_if(.., |running| running.run.is_subgraph(&self.program)) {
            let run = run_subgraph(Arc::clone(&self.program), subgraph, spawned.sender.clone());
            spawned.subgraphs.spawn(run);
        }
        let size = self.ready.len().div_ceil(BUNDLES).max(1);
        let mut ready = self.ready.drain(..);
        loop {
            let bundle: Vec<Running> = ready.by_ref().take(size).collect();
            if bundle.is_empty() {
                break;
            }
            spawned.bundles.spawn(run_all(Arc::clone(&self.program), bundle, spawned.sender.clone()));
        }
    }
}

/// Runs the attempts of a bundle, and reports the end of each.
async fn run_all(program: Arc<Program>, bundle: Vec<Running>, sender: mpsc::UnboundedSender<Attempted>) {
    let program = &*program;
    let runs =
        bundle.into_iter().map(|mut running| poll_fn(move |context| running.poll(program, context, None)));
    let mut runs: FuturesUnordered<_> = runs.collect();
    while let Some(ended) = runs.next().await {
        // If the driver is gone, the result is not needed.
        if sender.send(ended).is_err() {
            return;
        }
    }
}

/// Runs a subgraph, and reports its end. If its run is revoked, the end contains the results so far.
async fn run_subgraph(program: Arc<Program>, mut running: Running, sender: mpsc::UnboundedSender<Attempted>) {
    let cell = Arc::clone(running.cell.as_ref().expect("it has not ended"));
    let revoked = &cell.run.revoked;
    let ended = tokio::select! {
        biased;
        ended = poll_fn(|context| running.poll(&program, context, None)) => Some(ended),
        () = revoked.until(|| revoked.is_set()) => None,
    };
    let ended = match ended {
        None if running.run.stops_by_itself(&program) => {
            Some(poll_fn(|context| running.poll(&program, context, None)).await)
        }
        ended => ended,
    };
    // If the driver is gone, the result is not needed.
    ended.map(|ended| sender.send(ended).ok());
}

/// Attempts catch the panics of nodes, so a panic here is a bug of the framework.
fn pass_on_panic(joined: Result<(), JoinError>) {
    if let Err(error) = joined
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
