//! Prunes older checkpoints in the background, on a thread and a connection of its own.
//!
//! A pass reads the whole file, so the interval to the next pass grows with the number of checkpoints that a pass
//! leaves: the cost per checkpoint does not depend on the size of the file. A pass writes in short transactions, for
//! which it queues like another program.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;

use crate::durability::Durability;
use crate::maintenance::{Collected, MaintenanceError, Pruned, Retained, Retention};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::FileError;
use crate::sqlite::file::File;
use crate::sqlite::maintenance::retention_pass;
use crate::sqlite::saver::SqliteSaver;

impl SqliteSaver {
    /// Prunes and collects now, by the [retention](crate::SqliteOptions::retention) of the options, instead of at the
    /// next scheduled pass. Waits for a pass that is in progress.
    ///
    /// # Errors
    /// Returns the errors of [`maintenance::prune`](crate::maintenance::prune()).
    pub async fn retain(&self) -> Result<(Pruned, Collected), MaintenanceError> {
        let Some(pruner) = self.pruner() else { return Ok(Default::default()) };
        let pass = pruner.pass();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let passed = runtime.spawn_blocking(pass);
                passed.await.map_err(|error| StoreError::Io(Box::new(error)))?
            }
            Err(_) => pass(),
        }
    }

    /// Prunes these threads to their latest checkpoints now, and collects.
    pub(crate) async fn prune_to_latest(&self, threads: &[ThreadId]) -> Result<(), StoreError> {
        let mut file = self.file().clone();
        if !is_shared(&file) {
            return Err(StoreError::NoPruning);
        }
        // A retention of no thread in particular would be one of all.
        if threads.is_empty() {
            return Ok(());
        }
        let latest = Retention::new().keep_last(1);
        file.options.retention = threads.iter().cloned().fold(latest, Retention::only).into();
        let pass = move || retention_pass::pass(&file, &mut None, || false);
        let passed = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn_blocking(pass).await.map_err(|error| StoreError::Io(Box::new(error)))?
            }
            Err(_) => pass(),
        };
        match passed {
            Ok(_) => Ok(()),
            Err(MaintenanceError::Store(error)) => Err(error),
            Err(MaintenanceError::Busy(_)) => Err(StoreError::Busy),
            Err(error) => Err(StoreError::Io(Box::new(error))),
        }
    }

    /// Returns the work of the background pruning so far; `None` if the saver prunes nothing.
    #[must_use]
    pub fn retained(&self) -> Option<Retained> {
        self.pruner().map(BackgroundPruner::done)
    }
}

/// Returns `true` if another connection may write to the file.
fn is_shared(file: &File) -> bool {
    file.path.is_some() && file.options.durability != Durability::Exit
}

/// The background pruning of older checkpoints of a file.
pub(crate) struct BackgroundPruner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    file: File,
    /// The number of checkpoints to be committed until the next pass.
    left: AtomicI64,
    closing: AtomicBool,
    waiting: Mutex<Waiting>,
    wake: Condvar,
    /// Locked during a pass; opened by the first pass.
    connection: Mutex<Option<Connection>>,
}

#[derive(Default)]
struct Waiting {
    is_due: bool,
    done: Retained,
}

impl BackgroundPruner {
    /// Starts the pruning of a file whose options set a retention; `None` if they set none, or if no other connection
    /// may write to the file.
    pub(crate) fn start(file: &File) -> Result<Option<Self>, StoreError> {
        let options = &file.options;
        if options.retention.keeps_all() || !is_shared(file) {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            file: file.clone(),
            left: AtomicI64::new(options.retain_every.into()),
            closing: AtomicBool::new(false),
            waiting: Mutex::default(),
            wake: Condvar::new(),
            connection: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("superstep-retention".into())
            .spawn(move || serving.serve())
            .map_err(FileError::Spawn)?;
        Ok(Some(Self { shared, thread: Some(thread) }))
    }

    /// Counts a committed checkpoint.
    pub(crate) fn committed(&self) {
        if self.shared.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.shared.waiting().is_due = true;
            self.shared.wake.notify_one();
        }
    }

    /// Returns the work done so far.
    pub(crate) fn done(&self) -> Retained {
        self.shared.waiting().done.clone()
    }

    /// Makes a pass on the calling thread.
    pub(crate) fn pass(
        &self,
    ) -> impl FnOnce() -> Result<(Pruned, Collected), MaintenanceError> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.pass()
    }
}

impl Drop for BackgroundPruner {
    /// Stops a pass after its current transaction.
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        // A thread that is about to wait has seen the flag, or is woken.
        drop(self.shared.waiting());
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    fn serve(&self) {
        loop {
            let waiting = self.waiting();
            let is_idle = |waiting: &mut Waiting| !waiting.is_due && !self.is_closing();
            let mut waiting = self.wake.wait_while(waiting, is_idle).unwrap_or_else(PoisonError::into_inner);
            waiting.is_due = false;
            drop(waiting);
            if self.is_closing() {
                return;
            }
            // `done` reports an error.
            let _told = self.pass();
        }
    }

    fn pass(&self) -> Result<(Pruned, Collected), MaintenanceError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let every = i64::from(self.file.options.retain_every);
        let passed = retention_pass::pass(&self.file, &mut connection, || self.is_closing());
        let mut waiting = self.waiting();
        let done = &mut waiting.done;
        match passed {
            Ok(passed) => {
                done.passes += 1;
                done.checkpoints += passed.pruned.checkpoints;
                done.failed = None;
                self.left.store(every.max(passed.left.cast_signed() / 2), Ordering::Relaxed);
                Ok((passed.pruned, passed.collected))
            }
            Err(error) => {
                *connection = None;
                done.failed = Some(error.to_string());
                self.left.store(every, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}
