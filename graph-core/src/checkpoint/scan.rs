//! Lists of a store's contents: requests and their pages.

use alloc::vec::Vec;

use super::checkpointer::At;
use super::lease::LeaseRecord;
use super::model::StepRecord;
use super::name::NamedCheckpoint;
use super::{AskRecord, Summary, ThreadSummary};
use crate::id::{NodeName, ThreadId};

/// A request for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Threads, ordered by name, without those of subgraphs.
    Threads(ThreadScan),
    /// The questions that wait for an answer on the heads of a graph's threads, ordered by thread and by the time
    /// at which they were asked. The cost depends on their number, not on the number of threads.
    Asks {
        /// The graph.
        graph: NodeName,
    },
    /// The past of a thread: the checkpoint at `from` and those that it continues, newest first. Empty if the
    /// thread has no checkpoint.
    History(PastScan),
    /// The past of a thread, each checkpoint with its superstep and its remaining work.
    Steps(PastScan),
    /// The tree that contains a thread, newest first: all checkpoints that go back to the same first one, including
    /// those of its branches and of threads that share its history, without those of subgraphs. Empty if the thread
    /// has no checkpoint. The scan may read every checkpoint of the store.
    Lineage {
        /// The thread.
        thread: ThreadId,
    },
    /// A thread's names for checkpoints, ordered by name. Empty if the thread has no checkpoint.
    Names {
        /// The thread.
        thread: ThreadId,
    },
    /// The leases that were neither released nor lost, ordered by thread, including expired ones. Empty for a store
    /// without leases.
    Leases,
}

/// A request for threads. The default requests all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadScan {
    /// Only threads of this graph.
    pub graph: Option<NodeName>,
    /// Only threads with next tasks.
    pub unfinished: bool,
    /// Only threads whose names come after this one, which is the last one of the previous page.
    pub after: Option<ThreadId>,
    /// The maximum number of threads.
    pub limit: Option<usize>,
}

/// A request for checkpoints of a thread's past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastScan {
    /// The thread.
    pub thread: ThreadId,
    /// The newest checkpoint of the page.
    pub from: At,
    /// The maximum number of checkpoints.
    pub limit: usize,
}

/// The answer to a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// The page of [`Scan::Threads`].
    Threads(Vec<ThreadSummary>),
    /// The page of [`Scan::Asks`].
    Asks(Vec<(ThreadId, AskRecord)>),
    /// The page of [`Scan::History`] and [`Scan::Lineage`].
    Summaries(Vec<Summary>),
    /// The page of [`Scan::Steps`].
    Steps(Vec<StepRecord>),
    /// The page of [`Scan::Names`].
    Names(Vec<NamedCheckpoint>),
    /// The page of [`Scan::Leases`].
    Leases(Vec<LeaseRecord>),
}
