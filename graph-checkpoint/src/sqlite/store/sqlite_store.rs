//! The SQLite store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Transaction, TransactionBehavior};
use superstep_core::checkpoint::{KeyProblem, StoreError};
use superstep_core::store::{AccessError, Entry, Namespace, Put, Search, StoreBackend};

use super::table;
use crate::durability::Durability;
use crate::error::access_error;
use crate::error::keys;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::File;
use crate::sqlite::file::wait_queue::WaitQueue;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::saver::SqliteSaver;

/// Stores entries in an SQLite file, with an index of their words.
///
/// The file may be one in which a [`SqliteSaver`] stores checkpoints; it then gets two more tables. A write returns
/// once it survives a crash and a loss of power, or has the durability of the options; with [`Durability::Exit`] it
/// survives a crash of the program. Cheap to clone: clones share the connection. Several programs may use one file at
/// once.
#[derive(Clone)]
pub struct SqliteStore {
    open: Arc<Open>,
}

struct Open {
    file: File,
    /// The connection; `None` after a failure, until it is opened again.
    connection: Mutex<Option<Connected>>,
}

struct Connected {
    connection: Connection,
    wait_queue: WaitQueue,
}

impl SqliteStore {
    /// Opens the file at `path`, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteOptions::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(Some(path.as_ref().to_owned()), SqliteOptions::new()).await
    }

    /// Creates a store without a file, for tests.
    ///
    /// # Errors
    /// Returns an error if the database cannot be created, for example because memory is exhausted.
    pub async fn in_memory() -> Result<Self, StoreError> {
        Self::open_with(None, SqliteOptions::new()).await
    }

    async fn open_with(path: Option<PathBuf>, mut options: SqliteOptions) -> Result<Self, StoreError> {
        if options.durability == Durability::Exit {
            options.durability = Durability::Process;
        }
        let file = File::new(path, options);
        let open = move || {
            let connection = connect(&file)?;
            Ok(Self { open: Arc::new(Open { file, connection: Mutex::new(Some(connection)) }) })
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn_blocking(open).await.map_err(|error| StoreError::Io(Box::new(error)))?
            }
            Err(_) => open(),
        }
    }

    /// Runs work on the connection, on a blocking thread.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        self.connected(|connected| work(&connected.connection)).await
    }

    async fn connected<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connected) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        let open = Arc::clone(&self.open);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let working = runtime.spawn_blocking(move || open.work(work));
                working.await.map_err(|error| AccessError::Failed(Box::new(error)))?
            }
            Err(_) => open.work(work),
        }
    }

    /// Runs work in a transaction that writes.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        let limit = self.open.file.options.busy_limit;
        let open = Arc::clone(&self.open);
        self.connected(move |connected| {
            let Connected { connection, wait_queue } = connected;
            let transaction = begin(connection, wait_queue, limit).map_err(access_error)?;
            let done = work(connection)?;
            transaction.commit().map_err(failed)?;
            open.file.check_place().map_err(access_error)?;
            Ok(done)
        })
        .await
    }
}

impl SqliteSaver {
    /// Returns a store in the saver's file; for a saver in memory, a separate store in memory.
    ///
    /// A saver with [`Durability::Exit`] holds the file's write lock between its saves, and the store waits for it: use
    /// two files in that case.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteOptions::open`].
    pub async fn store(&self) -> Result<SqliteStore, StoreError> {
        let file = self.file();
        SqliteStore::open_with(file.path.clone(), file.options.clone()).await
    }
}

impl Open {
    fn work<T>(&self, work: impl FnOnce(&mut Connected) -> Result<T, AccessError>) -> Result<T, AccessError> {
        let mut held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            *held = Some(connect(&self.file).map_err(access_error)?);
        }
        let done = work(held.as_mut().expect("opened above"));
        // A database in memory would be lost with the connection.
        if matches!(done, Err(AccessError::Failed(_))) && self.file.path.is_some() {
            *held = None;
        }
        done
    }
}

/// Begins a transaction, after waiting for a turn.
fn begin<'c>(
    connection: &'c Connection,
    wait_queue: &mut WaitQueue,
    limit: Duration,
) -> Result<Transaction<'c>, StoreError> {
    wait_queue.in_turn(connection, limit, || {
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(sqlite)
    })
}

fn connect(file: &File) -> Result<Connected, StoreError> {
    let mut connected =
        Connected { connection: file.open_writer()?, wait_queue: WaitQueue::at(file.path.as_deref()) };
    if connected.connection.is_encrypted() {
        return Err(keys(&file.name(), KeyProblem::Store));
    }
    let Connected { connection, wait_queue } = &mut connected;
    let transaction = begin(connection, wait_queue, file.options.busy_limit)?;
    transaction.execute_batch(table::TABLES).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)?;
    Ok(connected)
}

#[async_trait]
impl StoreBackend for SqliteStore {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        let (path, key) = (namespace.path(), key.to_owned());
        self.work(move |connection| table::get(connection, &path, &key, now)).await
    }

    async fn put(&self, put: Put, now: u64) -> Result<(), AccessError> {
        self.write(move |connection| table::put(connection, &put, now)).await
    }

    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError> {
        let (path, key) = (namespace.path(), key.to_owned());
        self.write(move |connection| table::delete(connection, &path, &key, now)).await
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        let search = search.clone();
        self.work(move |connection| table::search(connection, &search, now)).await
    }

    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        let path = under.path();
        self.work(move |connection| table::namespaces(connection, &path, now)).await
    }

    async fn sweep(&self, now: u64) -> Result<u64, AccessError> {
        self.write(move |connection| table::sweep(connection, now)).await
    }
}

pub(super) fn failed(error: rusqlite::Error) -> AccessError {
    access_error(sqlite(error))
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.open.file.path).finish_non_exhaustive()
    }
}
