//! The trait for reading checkpoints, independent of where they are stored.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{
    At, LeaseRecord, Loaded, NamedCheckpoint, Page, PastScan, Scan, StepRecord, StoreError, Summary,
    ThreadScan, ThreadSummary,
};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};
use superstep_core::testing::Journal;

use crate::connection::Connection;
use crate::error::FileError;
use crate::portable::{self, Export};
use crate::read::overview::{self, Located, ThreadSize};
use crate::read::subgraphs::{self, Subgraph};
use crate::read::threads::{self, ThreadList};
use crate::read::{lineage, named, reader, steps};
use crate::write::lease;

/// Returns the entries of a page of the requested kind.
macro_rules! page {
    ($page:expr, $kind:ident) => {
        match $page? {
            Page::$kind(rows) => Ok(rows),
            _ => Err(FileError::OtherPage(stringify!($kind)).into()),
        }
    };
}

/// Reads checkpoints without writing. The command line and other tools use it.
///
/// [`load`](Self::load) and [`scan`](Self::scan) are those of a
/// [`Checkpointer`](superstep_core::checkpoint::Checkpointer); only tools need the other required methods. Calls block;
/// each reads one consistent state. A [`SqliteReader`](crate::SqliteReader) reads a file that other programs may use,
/// and [`SqliteSaver::reader`](crate::SqliteSaver::reader) returns a reader of the file that a program has open.
pub trait CheckpointReader {
    /// Reads a checkpoint with its values and the work on top of it; `None` if the thread has none.
    ///
    /// # Errors
    /// Returns [`StoreError::NoCheckpoint`], and like all reads [`StoreError::Corrupt`] if a row that was read is
    /// damaged, and [`StoreError::Io`].
    fn load(&self, thread: &ThreadId, at: &At) -> Result<Option<Loaded>, StoreError>;

    /// Returns the page that a [`Scan`] asks for.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    fn scan(&self, scan: &Scan) -> Result<Page, StoreError>;

    /// Lists all threads, and separately the damaged ones.
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads), except for damage of single threads.
    fn list_threads(&self) -> Result<ThreadList, StoreError>;

    /// Returns the size of each thread's own data, by thread, including the threads of subgraphs. Threads whose rows
    /// are damaged are left out.
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn sizes(&self) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError>;

    /// Lists the subgraphs that the tasks of a thread have run, including finished ones, by their nodes and in the
    /// order in which they were planned. Each has a thread of its own, which can be read like any other; call this
    /// method with its id to list the subgraphs below it.
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn subgraphs(&self, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError>;

    /// Returns the first checkpoint of the past of each thread. Unless older checkpoints were pruned, that is the
    /// thread's first input, and for a fork the first input of the thread that it was forked from. Damaged threads are
    /// left out.
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn first_checkpoints(&self) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError>;

    /// Returns the graph under which a checkpoint was planned, as it is stored.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    fn topology(&self, thread: &ThreadId, at: &At) -> Result<Option<Json>, StoreError>;

    /// Returns the schemas of all states, including those of deleted threads.
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn schemas(&self) -> Result<Vec<Schema>, StoreError>;

    /// Returns the checkpoints whose ids begin or end with these hexadecimal digits, or whose ids' last eight digits
    /// begin with them: the oldest first, and at most `limit` of them. Dashes may be left out.
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn locate(&self, digits: &str, limit: usize) -> Result<Vec<Located>, StoreError>;

    /// Reads a thread as a document; `None` if there is no such thread. See [`portable::export`].
    ///
    /// # Errors
    /// Returns the errors of [`portable::export`].
    fn export(&self, thread: &ThreadId) -> Result<Option<Export>, StoreError>;

    /// Lists all threads, by name. See [`Scan::Threads`].
    ///
    /// # Errors
    /// Returns the errors of [`scan`](Self::scan).
    fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        page!(self.scan(&Scan::Threads(ThreadScan::default())), Threads)
    }

    /// Lists a thread's past. See [`Scan::History`].
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    fn history(&self, thread: &ThreadId, from: &At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        page!(self.scan(&Scan::History(past(thread, from, limit))), Summaries)
    }

    /// Lists a thread's past with its supersteps. See [`Scan::Steps`].
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    fn steps(&self, thread: &ThreadId, from: &At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        page!(self.scan(&Scan::Steps(past(thread, from, limit))), Steps)
    }

    /// Lists the checkpoint tree that contains a thread. See [`Scan::Lineage`].
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        page!(self.scan(&Scan::Lineage { thread: thread.clone() }), Summaries)
    }

    /// Lists the same as [`lineage`](Self::lineage), given the result of an earlier call. A reader need not read those
    /// checkpoints again; the default reads all.
    ///
    /// # Errors
    /// Returns the errors of [`lineage`](Self::lineage).
    fn lineage_after(&self, thread: &ThreadId, earlier: &[Summary]) -> Result<Vec<Summary>, StoreError> {
        let _all_are_read = earlier;
        self.lineage(thread)
    }

    /// Lists a thread's names for checkpoints. See [`Scan::Names`].
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        page!(self.scan(&Scan::Names { thread: thread.clone() }), Names)
    }

    /// Lists the leases of threads. See [`Scan::Leases`].
    ///
    /// # Errors
    /// Returns the errors of [`threads`](Self::threads).
    fn leases(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        page!(self.scan(&Scan::Leases), Leases)
    }

    /// Reads the journal that leads to a checkpoint, for tests. A thread that does not exist has an empty journal.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    fn journal(&self, thread: ThreadId, to: At) -> Result<Journal, StoreError> {
        let mut journal = Journal::new(thread, to);
        while let Some((thread, at)) = journal.wanted() {
            journal.add(self.steps(&thread, &at, usize::MAX)?);
        }
        Ok(journal)
    }
}

fn past(thread: &ThreadId, from: &At, limit: usize) -> PastScan {
    PastScan { thread: thread.clone(), from: from.clone(), limit }
}

/// A source of connections for reading.
pub(crate) trait Snapshots {
    /// Runs `read` on one snapshot.
    fn read<T>(&self, read: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError>;
}

impl<S: Snapshots> CheckpointReader for S {
    fn load(&self, thread: &ThreadId, at: &At) -> Result<Option<Loaded>, StoreError> {
        self.read(|connection| Ok(reader::load(connection, thread, at, None)?.loaded()))
    }

    fn scan(&self, wanted: &Scan) -> Result<Page, StoreError> {
        self.read(|connection| scan(connection, wanted))
    }

    fn list_threads(&self) -> Result<ThreadList, StoreError> {
        self.read(threads::list)
    }

    fn sizes(&self) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
        self.read(overview::sizes)
    }

    fn subgraphs(&self, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
        self.read(|connection| subgraphs::subgraphs(connection, thread))
    }

    fn first_checkpoints(&self) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError> {
        self.read(lineage::first_checkpoints)
    }

    fn topology(&self, thread: &ThreadId, at: &At) -> Result<Option<Json>, StoreError> {
        self.read(|connection| overview::topology(connection, thread, at))
    }

    fn schemas(&self) -> Result<Vec<Schema>, StoreError> {
        self.read(overview::schemas)
    }

    fn locate(&self, digits: &str, limit: usize) -> Result<Vec<Located>, StoreError> {
        self.read(|connection| overview::locate(connection, digits, limit))
    }

    fn export(&self, thread: &ThreadId) -> Result<Option<Export>, StoreError> {
        self.read(|connection| {
            portable::within(connection.limits(), thread, portable::read::of_file(connection, thread)?)
        })
    }

    fn lineage_after(&self, thread: &ThreadId, earlier: &[Summary]) -> Result<Vec<Summary>, StoreError> {
        self.read(|connection| lineage::lineage(connection, thread, earlier))
    }
}

/// Returns the page that a scan asks for.
pub(crate) fn scan(connection: &Connection, scan: &Scan) -> Result<Page, StoreError> {
    Ok(match scan {
        Scan::Threads(scan) => Page::Threads(threads::threads(connection, scan)?),
        Scan::Asks { graph } => Page::Asks(threads::open_asks(connection, graph)?),
        Scan::History(PastScan { thread, from, limit }) => {
            Page::Summaries(reader::history(connection, thread, from, *limit)?)
        }
        Scan::Steps(PastScan { thread, from, limit }) => {
            Page::Steps(steps::steps(connection, thread, from, *limit)?)
        }
        Scan::Lineage { thread } => Page::Summaries(lineage::lineage(connection, thread, &[])?),
        Scan::Names { thread } => Page::Names(named::names(connection, thread)?),
        Scan::Leases => Page::Leases(lease::all(connection)?),
    })
}
