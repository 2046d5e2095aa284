//! Reads a file through any of its connections.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{At, Loaded, Page, PastScan, Scan, StoreError, Summary};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};

use crate::checkpoint_reader::{CheckpointReader, Located, ThreadList, ThreadSize};
use crate::portable::{self, Export};
use crate::sqlite::connection::Connection;
use crate::sqlite::portable::read::of_file;
use crate::sqlite::read::{lineage, named, overview, reader, steps, subgraphs, threads};
use crate::sqlite::write::lease;
use crate::subgraphs::Subgraph;

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
        self.read(|connection| portable::within(connection.limits(), thread, of_file(connection, thread)?))
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
