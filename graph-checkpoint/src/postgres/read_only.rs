//! A database that graphs only read.

use std::sync::Arc;

use superstep_core::checkpoint::{GraphDescription, StoreError};
use superstep_core::id::Fingerprint;
use superstep_core::state::Json;

use super::call::Call;
use super::error::About;
use super::parts::Part;
use super::records::PostgresRecords;
use super::saver::PostgresSaver;
use super::store::PostgresStore;
use super::stored;
use crate::error::corrupt;

/// The descriptions of the graphs of all threads, those of the latest heads first; without those of subgraphs.
const GRAPHS: &str = "
SELECT 8 AS k, NULL::bigint[] AS i, ARRAY[s.fingerprint, g.fingerprint, g.graph] AS b, ARRAY[s.text, g.text] AS t
FROM (
    SELECT c.state, c.graph, max(c.seq) AS seq FROM @.thread t JOIN @.checkpoint c ON c.seq = t.head
    WHERE position('\\x1f'::bytea IN t.name) = 0 GROUP BY c.state, c.graph
) h JOIN @.described_state s ON s.id = h.state JOIN @.described_graph g ON g.id = h.graph
ORDER BY g.graph, h.seq DESC";

/// The parts of a database that only read.
#[derive(Clone)]
pub(crate) struct ReadDatabase {
    pub(crate) saver: PostgresSaver,
    pub(crate) store: PostgresStore,
    pub(crate) records: Arc<PostgresRecords>,
}

impl ReadDatabase {
    pub(super) fn of(saver: PostgresSaver) -> Self {
        let database = Arc::clone(saver.session().database());
        let records = Arc::new(PostgresRecords::of_reader(database, saver.session().texts()));
        Self { store: saver.store(), records, saver }
    }

    /// Returns the graphs of all threads, by name, as the latest readable checkpoints have them.
    pub(crate) async fn graphs(&self) -> Result<Vec<GraphDescription>, StoreError> {
        let session = self.saver.session();
        let rows = session.read(&Call::query(GRAPHS), &About::thread(&"".into())).await?;
        let mut graphs: Vec<GraphDescription> = Vec::new();
        for part in Part::all(&rows)? {
            let name = part.name(2)?;
            if graphs.last().is_some_and(|graph| graph.name == name) {
                continue;
            }
            match self.graph(&part, name) {
                Err(StoreError::Corrupt { .. } | StoreError::TooLarge { .. }) => {}
                graph => graphs.push(graph?),
            }
        }
        Ok(graphs)
    }

    fn graph(&self, part: &Part, name: &str) -> Result<GraphDescription, StoreError> {
        let (_, schema) = part.schema()?;
        let topology_fingerprint = Fingerprint::from_bytes(part.id(1)?);
        let cell = stored::graph(topology_fingerprint, name);
        let text = stored::checked(&cell, part.text(1)?, "a topology")?;
        let topology = Json::parse_within(text, self.saver.session().limits());
        let topology = topology.map_err(|error| corrupt("a topology", error))?;
        Ok(GraphDescription { name: name.to_owned(), schema, topology, topology_fingerprint })
    }

    /// Returns the error of a request that would write.
    pub(crate) fn refused(&self) -> StoreError {
        self.saver.session().database().refused()
    }
}
