//! How a file is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::durability::Durability;
#[cfg(feature = "encryption")]
use crate::seal::Keys;
use crate::seal::SharedKeys;

/// How a [`SqliteSaver`](crate::SqliteSaver) is opened. Made by [`options`](crate::SqliteSaver::options).
#[derive(Clone)]
pub struct SqliteOptions {
    pub(crate) durability: Durability,
    pub(crate) busy_limit: Duration,
    pub(crate) observer: Option<CommitObserver>,
    pub(crate) max_pages: Option<u32>,
    pub(crate) log_pages: Option<u32>,
    pub(crate) lease_clock: Option<LeaseClock>,
    pub(crate) keys: Option<SharedKeys>,
    /// Whether an encrypted file may be used without its keys, as far as that goes.
    pub(crate) unopened: bool,
    /// Whether nobody else may use the file. Then it may also be one of which some texts are sealed and others are not.
    pub(crate) alone: bool,
}

/// Tells leases the time, in milliseconds since 1970.
pub(crate) type LeaseClock = Arc<dyn Fn() -> u64 + Send + Sync>;

pub(crate) type CommitObserver = Arc<dyn Fn(Stage) + Send + Sync>;

/// When an observer of storage commits is called.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Everything is written, nothing is committed.
    Before,
    /// The commit is done, nobody was told.
    After,
}

impl SqliteOptions {
    pub(crate) fn new() -> Self {
        Self {
            durability: Durability::default(),
            busy_limit: Duration::from_secs(30),
            observer: None,
            max_pages: None,
            log_pages: None,
            lease_clock: None,
            keys: None,
            unopened: false,
            alone: false,
        }
    }

    /// What is promised of a step when its commit returns. [`Durability::Power`] unless said otherwise.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How long to wait while other programs write to the file, before a call fails. 30 seconds unless said
    /// otherwise. Programs that share a file take turns, so this is far more than it takes in ordinary use.
    #[must_use]
    pub fn busy_limit(mut self, limit: Duration) -> Self {
        self.busy_limit = limit;
        self
    }

    /// Encrypts the file with these keys: a new file from its beginning, one that is encrypted already as before. A file
    /// with plain texts is refused; [`care::rekey`](crate::care::rekey()) encrypts it first.
    ///
    /// What is encrypted, and what stays readable, is on the page
    /// [Secrets](https://docs.rs/superstep/latest/superstep/guide/secrets/index.html).
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

    /// Calls `observer` before and after every storage commit, on the thread that commits. For tests that end
    /// the process there.
    #[doc(hidden)]
    #[must_use]
    pub fn observe_commits(mut self, observer: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Lets the file grow to so many pages. For tests of a disk that is full.
    #[doc(hidden)]
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// Moves the log into the file when it has so many pages, instead of 1000. For tests that watch it happen.
    #[doc(hidden)]
    #[must_use]
    pub fn log_pages(mut self, pages: u32) -> Self {
        self.log_pages = Some(pages);
        self
    }

    /// Lets `clock` tell leases the time, in milliseconds since 1970, in the place of the database. For tests of clocks
    /// that jump.
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
