//! Threads that another program wrote last, with another state or with other nodes and edges.

use std::fmt;

use crate::checkpoint::Checkpoint;
use crate::graph::Program;

/// The policy for runs on a thread whose latest checkpoint was written under another state or another graph.
///
/// A checkpoint is stored with the fingerprints of the state's schema and of the graph's nodes and edges. Reading
/// the past, forking and editing are always possible. An edit is stored with the program's own fingerprints, so an
/// edited thread belongs to the program from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnChange {
    /// Allows everything, as long as the state loads and all next nodes still exist; otherwise the error names what
    /// is missing.
    #[default]
    Upgrade,
    /// Allows new inputs. Unfinished work must be finished by the program that began it: `resume` and `answer`
    /// fail.
    Pin,
    /// Allows nothing.
    Refuse,
}

/// The differences of the program that wrote a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// `true` if its state had another schema.
    pub state: bool,
    /// `true` if its graph had other nodes or edges.
    pub graph: bool,
}

impl Changed {
    /// Returns the differences; `None` if the checkpoint has the fingerprints of `program`.
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
