//! Measures the space that each part of a database takes.

use std::collections::{BTreeMap, HashMap};

use superstep_core::checkpoint::StoreError;
use superstep_core::state::Schema;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::super::call::Call;
use super::super::error::Fault;
use super::super::parts::Part;
use super::super::reader::PostgresReader;
use super::super::records::SERVER_TABLES;
use super::super::session::Session;
use super::past::threads;
use crate::error::corrupt;
use crate::maintenance::{FieldUsage, TableUsage, ThreadUsage, Usage};

/// The bytes of the changes of each field, by thread and schema.
const FIELDS: &str = "
SELECT 11 AS k, ARRAY[c.thread, c.state, h.field, sum(octet_length(h.text))]::bigint[] AS i, NULL::bytea[] AS b, NULL::text[] AS t
FROM @.change h JOIN @.checkpoint c ON c.seq = h.checkpoint GROUP BY c.thread, c.state, h.field";

const STATES: &str = "
SELECT 8 AS k, ARRAY[s.id]::bigint[] AS i, ARRAY[s.fingerprint] AS b, ARRAY[s.text] AS t FROM @.described_state s";

/// The number of checkpoints of each thread, and the bytes of its other texts.
const TEXTS: &str = "
SELECT 11 AS k, ARRAY[t.thread, sum(t.checkpoints), sum(t.manifests), sum(t.journal), sum(t.pending), sum(t.emitted)]::bigint[] AS i,
    NULL::bytea[] AS b, NULL::text[] AS t
FROM (
    SELECT c.thread, 1 AS checkpoints, octet_length(c.manifest) + 8 * cardinality(c.versions)
        + 4 * coalesce(cardinality(c.version_fields), 0) AS manifests, 0 AS journal, 0 AS pending, 0 AS emitted
    FROM @.checkpoint c
    UNION ALL
    SELECT a.thread, 0, 0, octet_length(a.text) + coalesce(octet_length(a.fallback), 0) + coalesce(octet_length(a.answer), 0), 0, 0
    FROM @.ask a
    UNION ALL
    SELECT e.thread, 0, 0, octet_length(e.text) + coalesce(octet_length(e.outcome), 0), 0, 0 FROM @.effect e
    UNION ALL
    SELECT p.thread, 0, 0, 0, octet_length(p.text), 0 FROM @.pending p
    UNION ALL
    SELECT c.thread, 0, 0, 0, 0, octet_length(e.text) FROM @.emitted e JOIN @.checkpoint c ON c.seq = e.checkpoint
) t GROUP BY t.thread";

/// The bytes of the changes that remain of pruned checkpoints, of the descriptions, and of the store's entries.
const OTHERS: &str = "
SELECT 11 AS k, ARRAY[
    (SELECT sum(octet_length(h.text)) FROM @.remaining_change r JOIN @.change h ON h.checkpoint = r.checkpoint AND h.field = r.field),
    (SELECT sum(octet_length(s.text)) FROM @.described_state s),
    (SELECT sum(octet_length(g.text)) FROM @.described_graph g),
    (SELECT sum(octet_length(i.namespace) + octet_length(i.key) + octet_length(i.value) + pg_column_size(i.words)) FROM @.item i),
    (SELECT sum(octet_length(t.digest)) FROM @.server_tag t)
]::bigint[] AS i, NULL::bytea[] AS b, NULL::text[] AS t";

/// The tables of the schema, without and with their indexes.
const TABLES: &str = "
SELECT 11 AS k, ARRAY[pg_table_size(c.oid), pg_total_relation_size(c.oid)] AS i, NULL::bytea[] AS b, ARRAY[c.relname::text] AS t
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname";

impl PostgresReader {
    /// Measures the contents of the schema: each thread and its fields, and its tables. Reads one snapshot.
    ///
    /// Texts have the sizes that they have uncompressed, so their sum may exceed the [`size`](Usage::size) of the tables,
    /// which the server compresses.
    ///
    /// # Errors
    /// Returns [`StoreError::Corrupt`] if the schema of a state cannot be read, and [`StoreError::Io`].
    pub fn usage(&self) -> Result<Usage, StoreError> {
        let session = self.session();
        let measure = async |client: &Client| measure(session, client).await;
        self.wait(|| session.database().snapshot(measure)).map_err(Fault::plain)
    }
}

async fn measure(session: &Session, client: &Client) -> Result<Usage, Fault> {
    let database = session.database();
    let parts = async |call: Call<'_>| -> Result<Vec<Part>, Fault> {
        Ok(Part::all(&database.on(client, &call).await?)?)
    };
    let mut usages: BTreeMap<i64, ThreadUsage> = BTreeMap::new();
    for thread in threads(database, client).await? {
        usages.insert(thread.id, ThreadUsage::of(thread.name.before_deletion()));
    }
    let mut schemas: HashMap<i64, Schema> = HashMap::new();
    for part in parts(Call::query(STATES)).await? {
        schemas.insert(part.int(0)?, part.schema()?.1);
    }
    let bytes = |part: &Part, at| part.optional_int(at).unwrap_or(0).unsigned_abs();
    let mut fields: BTreeMap<(i64, String), u64> = BTreeMap::new();
    for part in parts(Call::query(FIELDS)).await? {
        let missing = || corrupt("a schema", "it is missing");
        let schema = schemas.get(&part.int(1)?).ok_or_else(missing)?;
        let field = usize::try_from(part.int(2)?).ok().and_then(|field| schema.fields.get(field));
        let name =
            field.map_or_else(|| part.int(2).unwrap_or_default().to_string(), |field| field.name.clone());
        *fields.entry((part.int(0)?, name)).or_default() += bytes(&part, 3);
    }
    for ((thread, field), changes) in fields {
        let usage = usages.entry(thread).or_insert_with(|| ThreadUsage::of("".into()));
        usage.fields.push(FieldUsage { field, changes, bodies: 0 });
        usage.bytes += changes;
    }
    for part in parts(Call::query(TEXTS)).await? {
        let usage = usages.entry(part.int(0)?).or_insert_with(|| ThreadUsage::of("".into()));
        usage.checkpoints = bytes(&part, 1);
        let sizes = [&mut usage.manifests, &mut usage.journal, &mut usage.pending, &mut usage.emitted];
        for (size, at) in sizes.into_iter().zip(2..) {
            *size = bytes(&part, at);
            usage.bytes += *size;
        }
    }
    let (mut shared, mut described, mut items, mut server) = (0, 0, 0, 0);
    for part in parts(Call::query(OTHERS)).await? {
        (shared, described) = (bytes(&part, 0), bytes(&part, 1) + bytes(&part, 2));
        (items, server) = (bytes(&part, 3), bytes(&part, 4));
    }
    for table in SERVER_TABLES.map(|table| table.name) {
        let sql = "SELECT 11 AS k, ARRAY[sum(octet_length(r.text))]::bigint[] AS i, NULL::bytea[] AS b, NULL::text[] AS t";
        let rows = parts(Call::query(format!("{sql} FROM @.{table} r"))).await?;
        server += rows.first().map_or(0, |part| bytes(part, 0));
    }
    let mut tables = Vec::new();
    let schema = database.schema.trim_matches('"');
    for part in parts(Call::query(TABLES).argument(schema, Type::NAME)).await? {
        let (own, all) = (bytes(&part, 0), bytes(&part, 1));
        tables.push(TableUsage { table: part.text(0)?.to_owned(), bytes: own, indexes: all - own });
    }
    let size: u64 = tables.iter().map(|table| table.bytes + table.indexes).sum();
    let mut threads: Vec<ThreadUsage> = usages.into_values().collect();
    threads.sort_by(|one, other| one.thread.cmp(&other.thread));
    let texts = threads.iter().map(|thread| thread.bytes).sum::<u64>() + shared + described + items + server;
    let overhead = size.saturating_sub(texts);
    Ok(Usage {
        size,
        free: 0,
        threads,
        shared,
        unused: 0,
        described,
        items,
        server,
        overhead,
        log: 0,
        tables,
    })
}
