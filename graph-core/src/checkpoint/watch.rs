//! Waiting for changes of a store.

use alloc::format;

use super::checkpointer::{At, Checkpointer};
use super::scan::{PastScan, Scan, ThreadScan};
use super::store_error::StoreError;
use crate::id::ThreadId;

/// A request to wait for a change of stored data: a checkpoint, a result, a question or its answer, an effect, a
/// name, a fork, a deletion.
///
/// Take a mark first, then read, then wait for a change since that mark. In this order no change is missed. The
/// call may return although nothing changed; read again, and wait again. To stop waiting, drop the call.
///
/// ```
/// # use superstep_core::checkpoint::{Checkpointer, StoreError, Watch};
/// # use superstep_core::id::ThreadId;
/// # async fn follow(saver: &dyn Checkpointer, thread: ThreadId) -> Result<(), StoreError> {
/// let mut watch = Watch::thread(thread);
/// loop {
///     watch.since = Some(saver.watch(watch.clone()).await?); // the first one returns at once
///     // read what is new
/// #   return Ok(());
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The watched thread; `None` for all threads. A store need not distinguish threads, so it may report a change
    /// of another one.
    ///
    /// When all threads are watched, a store without change detection only sees new heads, deletions and questions.
    pub thread: Option<ThreadId>,
    /// The caller's mark. The call returns once the store has another one; with `None` it returns at once.
    pub since: Option<Mark>,
}

impl Watch {
    /// Creates a request for the mark of a thread.
    #[must_use]
    pub fn thread(thread: impl Into<ThreadId>) -> Self {
        Self { thread: Some(thread.into()), since: None }
    }
}

/// The state of a store, for [`Watch`]. Marks can only be compared within one watch of one saver: after a restart
/// of the program, its saver has other marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark([u8; 16]);

impl Mark {
    /// Creates the mark with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

/// Reads until the mark has changed. Without the feature `tokio` there is no clock, so it reads once.
pub(super) async fn poll<C: Checkpointer + ?Sized>(saver: &C, watch: Watch) -> Result<Mark, StoreError> {
    loop {
        let now = mark(saver, watch.thread.as_ref()).await?;
        if watch.since != Some(now) || cfg!(not(feature = "tokio")) {
            return Ok(now);
        }
        #[cfg(feature = "tokio")]
        tokio::time::sleep(core::time::Duration::from_millis(100)).await;
    }
}

/// Returns a hash of the watched data.
async fn mark<C: Checkpointer + ?Sized>(saver: &C, thread: Option<&ThreadId>) -> Result<Mark, StoreError> {
    let seen = match thread {
        None => format!("{:?}", saver.scan(Scan::Threads(ThreadScan::default())).await?),
        Some(thread) => {
            let head = PastScan { thread: thread.clone(), from: At::Head, limit: 1 };
            let head = saver.scan(Scan::Steps(head)).await?;
            let names = saver.scan(Scan::Names { thread: thread.clone() }).await?;
            format!("{head:?}{names:?}")
        }
    };
    let mut mark = [0; 16];
    mark.copy_from_slice(&blake3::hash(seen.as_bytes()).as_bytes()[..16]);
    Ok(Mark(mark))
}
