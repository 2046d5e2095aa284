//! The settings that subgraphs take from the surrounding run.

use std::collections::BTreeMap;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use spin::Mutex;
use tokio_util::sync::CancellationToken;

use crate::id::InterruptId;
use crate::node::RunCell;
use crate::run::driver::order::Mode;
use crate::run::runtime::ambient::Ambient;
use crate::run::runtime::change::OnChange;
use crate::run::runtime::event::EventLog;
use crate::run::runtime::outcome::Status;
use crate::state::Json;

/// The settings that subgraphs take from the surrounding run.
pub(in crate::run) struct Surroundings {
    pub(in crate::run) ambient: Arc<dyn Ambient>,
    pub(in crate::run) log: Option<Arc<EventLog>>,
    pub(in crate::run) drain: Option<CancellationToken>,
    pub(in crate::run) metadata: BTreeMap<String, Json>,
    /// The questions that the run was started to answer.
    pub(in crate::run) answered: Vec<InterruptId>,
    /// The maximum number of bytes of emitted events kept for a superstep.
    pub(in crate::run) kept_bytes: Option<usize>,
    /// The policy for threads that another program wrote last.
    pub(in crate::run) on_change: OnChange,
    pub(in crate::run) mode: Mode,
    /// The status of subgraphs that stopped and only wait for a resume.
    pub(in crate::run) stopped: Stopped,
}

/// The status with which subgraphs of a superstep stopped.
#[derive(Default)]
pub(in crate::run) struct Stopped(Mutex<Option<Status>>);

impl Stopped {
    /// Records the status with which a subgraph stopped. Several subgraphs may stop at breakpoints in one
    /// superstep.
    pub(super) fn note(&self, status: Status) {
        let mut stopped = self.0.lock();
        match (stopped.as_mut(), status) {
            (
                Some(Status::Breakpoint { before, after }),
                Status::Breakpoint { before: more, after: others },
            ) => {
                for (nodes, more) in [(before, more), (after, others)] {
                    nodes.extend(more);
                    nodes.sort();
                    nodes.dedup();
                }
            }
            (_, status) => *stopped = Some(status),
        }
    }

    /// Takes the status with which subgraphs stopped.
    pub(in crate::run) fn take(&self) -> Option<Status> {
        self.0.lock().take()
    }
}

impl Surroundings {
    /// Returns the surroundings of the run with this cell.
    pub(in crate::run) fn of(run: &RunCell) -> &Self {
        (*run.surroundings).downcast_ref().expect("the driver left what it hands on")
    }
}
