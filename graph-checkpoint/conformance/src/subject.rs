//! The store under test.

use std::sync::Arc;

use async_trait::async_trait;
use superstep_core::checkpoint::Checkpointer;
use superstep_core::error::BoxError;

/// A kind of store under test. The suite opens a new store for each item.
///
/// ```
/// use superstep_conformance::{self as conformance, Subject};
/// use superstep_core::checkpoint::MemorySaver;
/// use superstep_core::error::BoxError;
///
/// struct Memory;
///
/// #[async_trait::async_trait]
/// impl Subject for Memory {
///     type Saver = MemorySaver;
///
///     async fn fresh(&self) -> Result<MemorySaver, BoxError> {
///         Ok(MemorySaver::new())
///     }
/// }
///
/// # tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(async {
/// conformance::run_only(&Memory, "commit.").await.assert();
/// # });
/// ```
#[async_trait]
pub trait Subject: Send + Sync {
    /// The saver that is tested.
    type Saver: Checkpointer;

    /// Opens an empty store: a new file, a new schema, or a new database of a server.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened; the item that needs it then fails.
    async fn fresh(&self) -> Result<Self::Saver, BoxError>;

    /// Opens the store of `saver` once more, as a second program does, or one that starts after a crash. `saver` is
    /// neither flushed nor closed first, because a killed program does neither.
    ///
    /// The default is `None`, for a store in the memory of one program. Items that need a second opening are then not
    /// applicable.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened; the item that needs it then fails.
    async fn reopen(&self, saver: &Self::Saver) -> Result<Option<Self::Saver>, BoxError> {
        let _ = saver;
        Ok(None)
    }

    /// Opens an empty store that uses `clock` to decide when leases end. The suite moves that clock, also backwards.
    ///
    /// The default is `None`, for a database with its own clock. Items that move the clock are then not applicable; the
    /// end of leases is still tested.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened; the item that needs it then fails.
    async fn fresh_at(&self, clock: Clock) -> Result<Option<Self::Saver>, BoxError> {
        let _ = clock;
        Ok(None)
    }
}

/// A function that returns the time, in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// An opened store of any type.
#[async_trait]
pub(super) trait Opened: Send + Sync {
    async fn reopen(&self) -> Result<Option<Arc<dyn Checkpointer>>, BoxError>;

    async fn fresh_at(&self, clock: Clock) -> Result<Option<Arc<dyn Checkpointer>>, BoxError>;
}

pub(super) struct OpenedBy<'s, S: Subject> {
    pub(super) subject: &'s S,
    pub(super) saver: Arc<S::Saver>,
}

#[async_trait]
impl<S: Subject> Opened for OpenedBy<'_, S> {
    async fn reopen(&self) -> Result<Option<Arc<dyn Checkpointer>>, BoxError> {
        let again = self.subject.reopen(&self.saver).await?;
        Ok(again.map(|saver| Arc::new(saver) as Arc<dyn Checkpointer>))
    }

    async fn fresh_at(&self, clock: Clock) -> Result<Option<Arc<dyn Checkpointer>>, BoxError> {
        let timed = self.subject.fresh_at(clock).await?;
        Ok(timed.map(|saver| Arc::new(saver) as Arc<dyn Checkpointer>))
    }
}
