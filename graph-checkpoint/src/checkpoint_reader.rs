//! The trait for reading checkpoints, independent of where they are stored.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{
    At, LeaseRecord, Loaded, NamedCheckpoint, Page, PastScan, Scan, StepRecord, StoreError, Summary,
    ThreadScan, ThreadSummary,
};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};
use superstep_core::testing::Journal;

use crate::error::ReaderError;
use crate::portable::Export;
use crate::subgraphs::Subgraph;

/// Returns the entries of a page of the requested kind.
macro_rules! page {
    ($page:expr, $kind:ident) => {
        match $page? {
            Page::$kind(rows) => Ok(rows),
            _ => Err(ReaderError::OtherPage(stringify!($kind)).into()),
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

    /// Reads a thread as a document; `None` if there is no such thread. See [`portable::export`](crate::portable::export).
    ///
    /// # Errors
    /// Returns the errors of [`portable::export`](crate::portable::export).
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

/// The threads of a file, with the damaged ones listed separately.
#[derive(Debug)]
#[non_exhaustive]
pub struct ThreadList {
    /// The threads whose latest checkpoints can be read, by name.
    pub threads: Vec<ThreadSummary>,
    /// The names of the damaged threads and their errors; `None` if the name is damaged, too. The thread of a subgraph
    /// is included only if its own row is damaged.
    pub damaged: Vec<(Option<ThreadId>, StoreError)>,
}

impl ThreadList {
    /// Creates a list, for readers of one's own.
    #[must_use]
    pub fn new(threads: Vec<ThreadSummary>, damaged: Vec<(Option<ThreadId>, StoreError)>) -> Self {
        Self { threads, damaged }
    }
}

/// A checkpoint that was found by a part of its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The checkpoint.
    pub id: CheckpointId,
    /// The thread on which it was written.
    pub thread: ThreadId,
}

/// The size of a thread's own data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSize {
    /// The number of checkpoints that were written on the thread.
    pub checkpoints: u64,
    /// The number of these checkpoints that no other one continues: the ends of its branches.
    pub branches: u64,
    /// The size in bytes of their stored texts, without long texts, which several checkpoints may share.
    pub bytes: u64,
}
