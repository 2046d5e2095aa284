//! The store under test.

use std::sync::Arc;

use async_trait::async_trait;
use superstep_core::checkpoint::Checkpointer;
use superstep_core::error::BoxError;

/// A kind of store, as the suite gets at it: it asks for stores, one an item.
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

    /// Opens a store that holds nothing: a new file, a schema of its own, a server's next database.
    ///
    /// # Errors
    /// When it cannot be opened; the item that asked for it has then failed.
    async fn fresh(&self) -> Result<Self::Saver, BoxError>;

    /// Opens once more what `saver` keeps, as a program does that runs beside it, or that starts after it was killed.
    /// `saver` stays as it is and is neither flushed nor closed first, since nobody closes a saver when its program is
    /// killed.
    ///
    /// `None`, unless said otherwise: what it keeps is in the memory of one program. Items that need a second opening
    /// are then not applicable.
    ///
    /// # Errors
    /// When it cannot be opened; the item that asked for it has then failed.
    async fn reopen(&self, saver: &Self::Saver) -> Result<Option<Self::Saver>, BoxError> {
        let _ = saver;
        Ok(None)
    }

    /// Opens a store that holds nothing and that asks `clock` for the time by which leases are over. The suite moves that
    /// clock, also backwards.
    ///
    /// `None`, unless said otherwise: a database has a clock of its own. Items that move it are then not applicable; what
    /// becomes of a lease that is over is tested all the same.
    ///
    /// # Errors
    /// When it cannot be opened; the item that asked for it has then failed.
    async fn fresh_at(&self, clock: Clock) -> Result<Option<Self::Saver>, BoxError> {
        let _ = clock;
        Ok(None)
    }
}

/// Tells the time, in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// One opened store, whatever its type.
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
