//! Lists of what a store holds: requests and their pages.

use alloc::vec::Vec;

use super::lease::LeaseRecord;
use super::load::At;
use super::name::NamedCheckpoint;
use super::step_record::StepRecord;
use super::{AskRecord, Summary, ThreadSummary};
use crate::id::{NodeName, ThreadId};

/// A request for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Threads, by name. Those of subgraphs are not among them.
    Threads(ThreadScan),
    /// The questions that wait for an answer on the heads of a graph's threads, by thread and in the order in which they
    /// were asked. The cost depends on their number, not on the number of threads.
    Asks {
        /// The graph.
        graph: NodeName,
    },
    /// The past of a thread: the checkpoint at `from` and those it continues, newest first. Empty when the thread has
    /// no checkpoint.
    History(PastScan),
    /// The same, each checkpoint with its superstep and the work that is left on top of it.
    Steps(PastScan),
    /// The tree that a thread is part of, newest first: all checkpoints that go back to the same first one, those of
    /// its branches and those of the threads that share its history. Checkpoints of subgraphs are not among them. Empty
    /// when the thread has no checkpoint. It may look at every checkpoint of the store.
    Lineage {
        /// The thread.
        thread: ThreadId,
    },
    /// The names that a thread has for checkpoints, by name. Empty when the thread has no checkpoint.
    Names {
        /// The thread.
        thread: ThreadId,
    },
    /// The leases that were neither given back nor lost, by thread; those that are over as well. Empty for a store
    /// without leases.
    Leases,
}

/// A request for threads. The default one asks for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadScan {
    /// Only threads of this graph.
    pub graph: Option<NodeName>,
    /// Only threads for which something is next.
    pub unfinished: bool,
    /// Only threads whose names come after this one: the last one of the page before.
    pub after: Option<ThreadId>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// A request for checkpoints of a thread's past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastScan {
    /// The thread.
    pub thread: ThreadId,
    /// The newest checkpoint of the page.
    pub from: At,
    /// At most so many.
    pub limit: usize,
}

/// The answer to a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Of [`Scan::Threads`].
    Threads(Vec<ThreadSummary>),
    /// Of [`Scan::Asks`].
    Asks(Vec<(ThreadId, AskRecord)>),
    /// Of [`Scan::History`] and [`Scan::Lineage`].
    Summaries(Vec<Summary>),
    /// Of [`Scan::Steps`].
    Steps(Vec<StepRecord>),
    /// Of [`Scan::Names`].
    Names(Vec<NamedCheckpoint>),
    /// Of [`Scan::Leases`].
    Leases(Vec<LeaseRecord>),
}
