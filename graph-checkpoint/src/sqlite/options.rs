//! Options for opening a file.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::id::ThreadId;
use superstep_core::state::SizeLimits;

use crate::durability::Durability;
#[cfg(feature = "encryption")]
use crate::encryption::Keys;
use crate::encryption::SharedKeys;
use crate::retention::{Policy, Retention};

/// Options for opening a [`SqliteSaver`](crate::SqliteSaver), made by [`options`](crate::SqliteSaver::options).
#[derive(Clone)]
pub struct SqliteOptions {
    pub(crate) durability: Durability,
    pub(crate) busy_limit: Duration,
    pub(crate) limits: SizeLimits,
    pub(crate) observer: Option<CommitObserver>,
    pub(crate) max_pages: Option<u32>,
    pub(crate) retention: Policy,
    /// The least number of commits between two retention passes.
    pub(crate) retain_every: u32,
    pub(crate) log_pages: Option<u32>,
    pub(crate) lease_clock: Option<LeaseClock>,
    pub(crate) keys: Option<SharedKeys>,
    /// `true` if an encrypted file may be used without its keys, as far as that is possible.
    pub(crate) unopened: bool,
    /// `true` if no other program may use the file. Then some of its texts may be encrypted and others not.
    pub(crate) alone: bool,
}

/// Returns the time for leases, in milliseconds since the Unix epoch.
pub(crate) type LeaseClock = Arc<dyn Fn() -> u64 + Send + Sync>;

pub(crate) type CommitObserver = Arc<dyn Fn(Stage) + Send + Sync>;

/// The moment at which an observer of storage commits is called.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Everything is written, and nothing is committed.
    Before,
    /// The commit is done, and no caller has its reply yet.
    After,
}

impl SqliteOptions {
    pub(crate) fn new() -> Self {
        Self {
            durability: Durability::default(),
            busy_limit: Duration::from_secs(30),
            limits: SizeLimits::default(),
            observer: None,
            max_pages: None,
            retention: Policy::default(),
            retain_every: 1000,
            log_pages: None,
            lease_clock: None,
            keys: None,
            unopened: false,
            alone: false,
        }
    }

    /// Sets the guarantee for a step when its commit returns. The default is [`Durability::Power`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the time that a call waits while other programs write to the file before it fails. The default is 30
    /// seconds. Programs that share a file take turns, so this is far more than ordinary use needs.
    #[must_use]
    pub fn busy_limit(mut self, limit: Duration) -> Self {
        self.busy_limit = limit;
        self
    }

    /// Limits the size of a state and of the other records: larger ones are rejected when they are written or read. All
    /// programs that use a file need limits at least as high as those with which it was written.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use superstep_checkpoint::SqliteSaver;
    /// use superstep_core::state::SizeLimits;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("embeddings.db");
    /// let limits = SizeLimits::default().values(16 << 20).bytes(256 << 20);
    /// let saver = SqliteSaver::options().size_limits(limits).open(&path).await?;
    /// # drop(saver);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn size_limits(mut self, limits: SizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Encrypts the file with these keys. A new file is encrypted from its beginning, and an encrypted file stays so. A
    /// file with plain texts is rejected; encrypt it with [`maintenance::rekey`](crate::maintenance::rekey()) first.
    ///
    /// The page [Secrets](https://docs.rs/superstep/latest/superstep/guide/secrets/index.html) lists the data that is
    /// encrypted and the data that stays readable.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use superstep_checkpoint::{Key, KeyRing, SqliteSaver};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("essays.db");
    /// let keys = KeyRing::new("2026-11", Key::generate()?);
    /// let saver = SqliteSaver::options().encrypt(keys).open(&path).await?;
    /// # drop(saver);
    /// assert!(SqliteSaver::open(&path).await.is_err()); // it needs its keys now
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn encrypt(mut self, keys: impl Keys + 'static) -> Self {
        self.keys = Some(std::sync::Arc::new(keys));
        self
    }

    /// Sets which checkpoints are kept. The saver deletes older ones itself while threads run, as
    /// [`maintenance::prune`](crate::maintenance::prune()) does, on a background thread and in short transactions, each
    /// time that [as many](Self::retain_every) checkpoints were committed. By default, everything is kept.
    ///
    /// With [`Durability::Exit`], and in memory, nothing is deleted, because only the writer can write there.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use superstep_checkpoint::SqliteSaver;
    /// use superstep_checkpoint::maintenance::Retention;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("essays.db");
    /// let saver = SqliteSaver::options()
    ///     .retention(Retention::new().keep_last(100))
    ///     .retention_of("audit", Retention::new()) // keeps everything
    ///     .open(&path)
    ///     .await?;
    /// # drop(saver);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention.set_all(retention);
        self
    }

    /// Sets which checkpoints of one thread and its subgraphs are kept, instead of [`retention`](Self::retention). A
    /// checkpoint that several threads share is kept if one of them keeps it.
    #[must_use]
    pub fn retention_of(mut self, thread: impl Into<ThreadId>, retention: Retention) -> Self {
        self.retention.set(thread.into(), retention);
        self
    }

    /// Sets the number of checkpoints committed between two retention passes: at least this many, and half as many as
    /// there are, because a pass looks at all of them. The default is 1,000.
    #[must_use]
    pub fn retain_every(mut self, checkpoints: u32) -> Self {
        self.retain_every = checkpoints.max(1);
        self
    }

    /// Calls `observer` before and after every storage commit, on the thread that commits. For tests that end
    /// the process there.
    #[doc(hidden)]
    #[must_use]
    pub fn observe_commits(mut self, observer: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Limits the size of the file to this number of pages. For tests of a full disk.
    #[doc(hidden)]
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// Moves the log into the file when it has this many pages, instead of 1000. For tests of that move.
    #[doc(hidden)]
    #[must_use]
    pub fn log_pages(mut self, pages: u32) -> Self {
        self.log_pages = Some(pages);
        self
    }

    /// Sets the clock for leases, in milliseconds since the Unix epoch, instead of the database's clock. For tests with
    /// clock jumps.
    #[doc(hidden)]
    #[must_use]
    pub fn lease_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.lease_clock = Some(Arc::new(clock));
        self
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("durability", &self.durability)
            .field("busy_limit", &self.busy_limit)
            .finish_non_exhaustive()
    }
}
