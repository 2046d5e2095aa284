//! Savers that wrap another saver.

use alloc::boxed::Box;
use alloc::sync::Arc;

use async_trait::async_trait;

use super::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    LeaseRecord, LeaseReply, LeaseRequest, Load, Mark, Naming, Page, Scan, StoreError, TaskResult, Watch,
    Work,
};
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::records::Records;

/// Defines each call once, as a forwarding method here and as the method of [`Checkpointer`].
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        /// A saver that wraps another one: calls that it does not handle go to the inner saver.
        ///
        /// It is meant for layers between a program and its store, such as metrics, logging, or failures in a test.
        /// All of its methods except [`inner`](Self::inner) have the names and the meaning of those of
        /// [`Checkpointer`], and forward the call by default. Every type that implements it is a [`Checkpointer`],
        /// whose [`load_task`](Checkpointer::load_task) is a [`load`](Around::load), and whose
        /// [`record_task`](Checkpointer::record_task) begins with a [`record`](Around::record).
        ///
        /// ```
        /// use std::sync::Arc;
        /// use std::sync::atomic::{AtomicU64, Ordering};
        ///
        /// use async_trait::async_trait;
        /// use superstep_core::checkpoint::{
        ///     Around, Checkpointer, Commit, Committed, MemorySaver, StoreError,
        /// };
        ///
        /// /// Counts the commits.
        /// struct Counted {
        ///     saver: MemorySaver,
        ///     commits: AtomicU64,
        /// }
        ///
        /// #[async_trait]
        /// impl Around for Counted {
        ///     fn inner(&self) -> &dyn Checkpointer {
        ///         &self.saver
        ///     }
        ///
        ///     async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        ///         self.commits.fetch_add(1, Ordering::Relaxed);
        ///         self.saver.commit(commit).await
        ///     }
        /// }
        ///
        /// let saver = Counted { saver: MemorySaver::new(), commits: AtomicU64::new(0) };
        /// let saver: Arc<dyn Checkpointer> = Arc::new(saver);
        /// ```
        #[async_trait]
        pub trait Around: Send + Sync + 'static {
            /// Returns the saver to which calls are forwarded.
            fn inner(&self) -> &dyn Checkpointer;

            $(
                #[doc = concat!("[`Checkpointer::", stringify!($name), "`].")]
                async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                    self.inner().$name($($argument),*).await
                }
            )*

            /// See [`Checkpointer::fenced`]. By default, writes of a lease holder go directly to the inner saver,
            /// bypassing this one. To see those writes too, wrap the fenced saver in this one here.
            fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
                self.inner().fenced(lease)
            }

            /// See [`Checkpointer::records`].
            fn records(&self) -> Option<Arc<dyn Records>> {
                self.inner().records()
            }
        }

        #[async_trait]
        impl<A: Around> Checkpointer for A {
            $(
                async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                    Around::$name(self, $($argument),*).await
                }
            )*

            fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
                Around::fenced(self, lease)
            }

            fn records(&self) -> Option<Arc<dyn Records>> {
                Around::records(self)
            }
        }
    };
}

calls! {
    register(graph: &GraphDescription) -> ();
    load(thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Load;
    commit(commit: Commit) -> Committed;
    record(thread: &ThreadId, base: CheckpointId, work: Work) -> Option<TaskResult>;
    effect(thread: &ThreadId, base: CheckpointId, write: EffectWrite) -> Option<EffectRecord>;
    answer(answers: Answers) -> Answered;
    flush(thread: &ThreadId) -> ();
    scan(scan: Scan) -> Page;
    name(thread: &ThreadId, naming: Naming) -> ();
    fork(from: &ThreadId, at: CheckpointId, to: &ThreadId) -> ();
    delete(graph: &NodeName, thread: &ThreadId) -> ();
    keep_latest(threads: &[ThreadId]) -> ();
    lease(request: LeaseRequest) -> LeaseReply;
    watch(watch: Watch) -> Mark;
}
