//! A saver around another one.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;

use async_trait::async_trait;

use super::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    LeaseRecord, LeaseReply, LeaseRequest, Load, Naming, Page, Scan, StoreError, TaskResult, Work,
};
use crate::id::{CheckpointId, NodeName, ThreadId};

/// Writes each call down once: as a method that passes it on, and as the one of [`Checkpointer`].
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        /// A saver around another one: calls that it does not handle itself go to the inner saver.
        ///
        /// It is meant for layers between a program and its store: metrics, logging, a store that fails in a test. All
        /// of its methods but [`inner`](Self::inner) have the names and the meaning of those of [`Checkpointer`], and
        /// by default pass the call on. Every type that implements it is a [`Checkpointer`].
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
            /// The saver that calls are passed on to.
            fn inner(&self) -> &dyn Checkpointer;

            $(
                #[doc = concat!("[`Checkpointer::", stringify!($name), "`].")]
                async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                    self.inner().$name($($argument),*).await
                }
            )*

            /// [`Checkpointer::fenced`]. By default, writes of a lease holder then go directly to the inner saver, past
            /// this one. A saver that must also see those writes wraps the fenced saver in itself here.
            fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
                self.inner().fenced(lease)
            }

            /// [`Checkpointer::path`].
            #[cfg(feature = "std")]
            fn path(&self) -> Option<&std::path::Path> {
                self.inner().path()
            }

            /// [`Checkpointer::as_any`]: the inner saver.
            fn as_any(&self) -> Option<&dyn Any> {
                self.inner().as_any()
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

            #[cfg(feature = "std")]
            fn path(&self) -> Option<&std::path::Path> {
                Around::path(self)
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Around::as_any(self)
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
    lease(request: LeaseRequest) -> LeaseReply;
}
