//! Reads a database that programs use.

use std::collections::BTreeMap;
use std::fmt;

use superstep_core::checkpoint::{At, Loaded, Page, Scan, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};
use tokio_postgres::Config;

use super::blocking::Blocking;
use super::options::PostgresOptions;
use super::session::Session;
use crate::checkpoint_reader::CheckpointReader;
use crate::checkpoint_reader::ThreadList;
use crate::checkpoint_reader::{Located, ThreadSize};
use crate::portable::{self, Export};
use crate::subgraphs::Subgraph;

/// Reads the checkpoints of a Postgres database and never writes: it creates no schema, and takes no lock for which a
/// program waits.
///
/// Calls block, also inside a runtime; each reads the latest committed state. It has a connection and a runtime of its own.
///
/// ```no_run
/// # fn open() -> Result<(), Box<dyn std::error::Error>> {
/// use superstep_checkpoint::{CheckpointReader, PostgresReader};
///
/// let reader = PostgresReader::open("postgres://essays@localhost/essays?schema=essays")?;
/// for thread in reader.threads()? {
///     println!("{}", thread.thread);
/// }
/// # Ok(())
/// # }
/// ```
pub struct PostgresReader {
    session: Session,
    blocking: Blocking,
}

impl PostgresReader {
    /// The newest format of tables that can be read. Savers write this format.
    pub const FORMAT: u32 = super::migrate::FORMAT.cast_unsigned();

    /// Opens the database at `url` for reading. [`PostgresOptions::open_reader`] has options.
    ///
    /// # Errors
    /// Returns the errors of [`PostgresOptions::open_reader`].
    pub fn open(url: impl AsRef<str>) -> Result<Self, StoreError> {
        PostgresOptions::new().open_reader(url)
    }

    pub(crate) fn open_with(config: Config, options: PostgresOptions) -> Result<Self, StoreError> {
        let blocking = Blocking::new()?;
        let session = blocking.wait(|| Session::open(config, options))?;
        Ok(Self { session, blocking })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn wait<T: Send, F: Future<Output = T>>(&self, work: impl FnOnce() -> F + Send) -> T {
        self.blocking.wait(work)
    }

    /// Returns a text that differs after every change of the database, in one short statement that reads no table. It may
    /// also differ after changes elsewhere on the server.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`].
    pub fn state(&self) -> Result<String, StoreError> {
        self.blocking.wait(|| self.session.state())
    }
}

impl CheckpointReader for PostgresReader {
    fn load(&self, thread: &ThreadId, at: &At) -> Result<Option<Loaded>, StoreError> {
        Ok(self.blocking.wait(|| self.session.load(thread, at, None, None))?.loaded())
    }

    fn scan(&self, scan: &Scan) -> Result<Page, StoreError> {
        self.blocking.wait(|| self.session.page(scan.clone()))
    }

    fn list_threads(&self) -> Result<ThreadList, StoreError> {
        self.blocking.wait(|| self.session.list_threads())
    }

    fn sizes(&self) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
        self.blocking.wait(|| self.session.sizes())
    }

    fn subgraphs(&self, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
        self.blocking.wait(|| self.session.subgraphs(thread))
    }

    fn first_checkpoints(&self) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError> {
        self.blocking.wait(|| self.session.first_checkpoints())
    }

    fn topology(&self, thread: &ThreadId, at: &At) -> Result<Option<Json>, StoreError> {
        self.blocking.wait(|| self.session.topology(thread, at))
    }

    fn schemas(&self) -> Result<Vec<Schema>, StoreError> {
        self.blocking.wait(|| self.session.all_schemas())
    }

    fn export(&self, thread: &ThreadId) -> Result<Option<Export>, StoreError> {
        let document = self.blocking.wait(|| self.session.document(thread))?;
        portable::within(self.session.limits(), thread, document)
    }

    fn locate(&self, digits: &str, limit: usize) -> Result<Vec<Located>, StoreError> {
        self.blocking.wait(|| self.session.locate(digits, limit))
    }
}

impl fmt::Debug for PostgresReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresReader")
            .field("database", &self.session.database().place())
            .field("schema", &self.session.database().schema)
            .finish_non_exhaustive()
    }
}
