//! Threads that another program wrote last: one with another state, or with other nodes and wires.

use std::fmt;

use crate::checkpoint::Checkpoint;
use crate::graph::Program;

/// The policy for runs on a thread whose latest checkpoint was written under another state or another graph.
///
/// A checkpoint is written under the fingerprints of the state's schema and of the graph's nodes and wires. Reads of
/// the past, forks and edits are always possible. An edit is written under the program's own fingerprints, so an edited
/// thread is the program's own from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnChange {
    /// Everything, as long as the state loads and all nodes that are next still exist; otherwise the error says what
    /// is missing.
    #[default]
    Upgrade,
    /// New inputs. Unfinished work is finished by the program that began it, and `resume` and `answer` fail.
    Pin,
    /// Nothing.
    Refuse,
}

/// In what the program that wrote a checkpoint was another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// `true` if its state had another schema.
    pub state: bool,
    /// `true` if its graph had other nodes or wires.
    pub graph: bool,
}

impl Changed {
    /// `None` where it was written under the fingerprints of `program`.
    pub(crate) fn since(checkpoint: &Checkpoint, program: &Program) -> Option<Self> {
        let state = checkpoint.schema != program.schema_fingerprint;
        let graph = checkpoint.topology != program.description.topology_fingerprint;
        (state || graph).then_some(Self { state, graph })
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.state, self.graph) {
            (true, true) => "state and another graph",
            (true, false) => "state",
            (false, _) => "graph",
        })
    }
}
