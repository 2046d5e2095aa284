//! Requests of tools: sizes, subgraphs, graphs, and checkpoints by their ids. Each is one statement, or several on one
//! snapshot.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use superstep_core::checkpoint::{At, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, ThreadId};
use superstep_core::state::{Json, Schema};
use tokio_postgres::types::Type;

use super::call::Call;
use super::error::{About, Fault, located};
use super::parts::{Line, Part, kind};
use super::scan::{ThreadParts, clamped};
use super::session::{Session, scalar};
use super::stored;
use crate::checkpoint_reader::ThreadList;
use crate::checkpoint_reader::{Located, ThreadSize};
use crate::error::corrupt;
use crate::history::decode::{self, Outlines};
use crate::subgraphs::{Finding, Subgraph};

/// All threads, and those without a head.
const LIST: &str = "
SELECT p.* FROM @.threads(NULL, false, NULL, NULL) p
UNION ALL
SELECT 0, ARRAY[t.head, t.id, 0], ARRAY[t.graph, t.name], NULL FROM @.thread t
WHERE position('\\x1f'::bytea IN t.name) = 0 AND NOT EXISTS (SELECT 1 FROM @.checkpoint c WHERE c.seq = t.head)";

const SIZES: &str = "
WITH texts AS (SELECT h.checkpoint, sum(octet_length(h.text)) AS bytes FROM @.change h GROUP BY h.checkpoint),
continued AS (SELECT DISTINCT c.parent FROM @.checkpoint c WHERE c.parent IS NOT NULL),
own AS (
    SELECT c.thread, count(*) AS checkpoints, count(*) FILTER (WHERE n.parent IS NULL) AS branches,
        sum(octet_length(c.manifest) + coalesce(h.bytes, 0))::bigint AS bytes
    FROM @.checkpoint c LEFT JOIN continued n ON n.parent = c.seq LEFT JOIN texts h ON h.checkpoint = c.seq
    GROUP BY c.thread
)
SELECT 11 AS k, ARRAY[coalesce(o.checkpoints, 0), coalesce(o.branches, 0), coalesce(o.bytes, 0)] AS i,
    ARRAY[t.name] AS b, NULL::text[] AS t
FROM @.thread t LEFT JOIN own o ON o.thread = t.id";

const FIRST: &str = "
SELECT 11 AS k, NULL::bigint[] AS i, ARRAY[t.name, uuid_send(r.id)] AS b, NULL::text[] AS t
FROM @.thread t JOIN @.checkpoint h ON h.seq = t.head,
    LATERAL (SELECT c.id FROM @.checkpoint c WHERE c.root = h.root ORDER BY c.seq LIMIT 1) r";

const SCHEMAS: &str = "
SELECT 8 AS k, NULL::bigint[] AS i, ARRAY[s.fingerprint] AS b, ARRAY[s.text] AS t FROM @.described_state s ORDER BY s.id";

const TOPOLOGY: &str = "
SELECT 11 AS k, NULL::bigint[] AS i, ARRAY[g.fingerprint, g.graph] AS b, ARRAY[g.text] AS t
FROM @.place_at($1, $2, $3, $4, $5, $6) p JOIN @.checkpoint c ON c.seq = p.seq JOIN @.described_graph g ON g.id = c.graph";

/// The digits are those of the beginning or the end, or the first of the last eight.
const LOCATE: &str = "
SELECT 11 AS k, NULL::bigint[] AS i, ARRAY[uuid_send(c.id), t.name] AS b, NULL::text[] AS t
FROM @.checkpoint c JOIN @.thread t ON t.id = c.thread, LATERAL (SELECT encode(uuid_send(c.id), 'hex') AS hex) h
WHERE starts_with(h.hex, $1) OR right(h.hex, length($1)) = $1 OR starts_with(right(h.hex, 8), $1)
ORDER BY c.seq LIMIT $2";

/// A thread, and all threads below it, with what remains of deleted ones.
pub(crate) const ON_OR_BELOW: &str = "
SELECT 11 AS k, ARRAY[t.id, t.head] AS i, ARRAY[t.name, t.graph] AS b, NULL::text[] AS t FROM @.thread t
WHERE t.name = $1 OR substr(t.name, 1, octet_length($1) + 1) = $1 || '\\x1f'::bytea ORDER BY t.name";

/// The checkpoints on which these threads may have planned tasks, and the effects that may name the thread of a subgraph.
const PLANS: &str = "
WITH own AS (
    SELECT c.seq, c.parent FROM @.checkpoint c WHERE c.thread = ANY($1)
    UNION ALL SELECT t.head, NULL FROM @.thread t WHERE t.id = ANY($1)
), bases AS (SELECT o.seq FROM own o UNION SELECT o.parent FROM own o WHERE o.parent IS NOT NULL)
SELECT 5 AS k, ARRAY[e.attempt, e.starts] AS i, ARRAY[e.token, e.slot] AS b, ARRAY[e.text, e.outcome] AS t
FROM @.effect e WHERE e.thread = ANY($1) AND (position('\\u001f' IN e.text) > 0 OR e.text LIKE '~%')
UNION ALL
(SELECT l.* FROM bases b, LATERAL @.line(b.seq) l ORDER BY b.seq)";

impl Session {
    pub(crate) async fn list_threads(&self) -> Result<ThreadList, StoreError> {
        let rows = self.read(&Call::query(LIST), &About::thread(&"".into())).await?;
        let mut outlines = Outlines::default();
        let (mut threads, mut damaged) = (Vec::new(), Vec::new());
        for parts in ThreadParts::all(&rows)? {
            let name = parts.name().ok();
            match parts.summary(self.texts(), &mut outlines) {
                Ok(thread) => threads.push(thread),
                Err(error @ (StoreError::Corrupt { .. } | StoreError::TooLarge { .. })) => {
                    damaged.push((name, error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(ThreadList { threads, damaged })
    }

    async fn parts(&self, call: &Call<'_>) -> Result<Vec<Part>, StoreError> {
        Part::all(&self.read(call, &About::thread(&"".into())).await?)
    }

    pub(crate) async fn sizes(&self) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
        let parts = self.parts(&Call::query(SIZES)).await?.into_iter();
        let sizes = parts.map(|part| {
            let number = |at| part.int(at).map(i64::cast_unsigned);
            let size = ThreadSize { checkpoints: number(0)?, branches: number(1)?, bytes: number(2)? };
            Ok((part.name(0)?.into(), size))
        });
        sizes.collect()
    }

    pub(crate) async fn first_checkpoints(&self) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError> {
        let parts = self.parts(&Call::query(FIRST)).await?.into_iter();
        parts.map(|part| Ok((part.name(0)?.into(), CheckpointId(part.uuid(1)?)))).collect()
    }

    pub(crate) async fn all_schemas(&self) -> Result<Vec<Schema>, StoreError> {
        let parts = self.parts(&Call::query(SCHEMAS)).await?.into_iter();
        parts.map(|part| part.schema().map(|(_, schema)| schema)).collect()
    }

    pub(crate) async fn topology(&self, thread: &ThreadId, at: &At) -> Result<Option<Json>, StoreError> {
        let rows = self.read_selected(Call::query(TOPOLOGY), thread, at, |call| call).await?;
        let Some(part) = Part::all(&rows.unwrap_or_default())?.pop() else { return Ok(None) };
        let place = stored::graph(Fingerprint::from_bytes(part.id(0)?), part.name(1)?);
        let text = stored::checked(&place, part.text(0)?, "a topology")
            .map_err(|error| located(error, thread, None))?;
        let text = Json::parse_within(text, self.limits());
        text.map(Some).map_err(|error| corrupt("a topology", error))
    }

    pub(crate) async fn locate(&self, digits: &str, limit: usize) -> Result<Vec<Located>, StoreError> {
        let digits = digits.replace('-', "").to_ascii_lowercase();
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let parts = self.parts(&Call::query(LOCATE).text(digits).int(clamped(limit))).await?.into_iter();
        let located =
            parts.map(|part| Ok(Located { id: CheckpointId(part.uuid(0)?), thread: part.name(1)?.into() }));
        located.collect()
    }

    pub(crate) async fn subgraphs(&self, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
        let database = self.database();
        let read = async |client: &tokio_postgres::Client| {
            let rows = database.on(client, &Call::query(ON_OR_BELOW).name(thread.as_str())).await?;
            let (mut own, mut wanted) = (Vec::new(), BTreeSet::new());
            for part in Part::all(&rows)? {
                let name = ThreadId::from(part.name(0)?);
                if name.before_deletion() == *thread {
                    own.push(part.int(0)?);
                } else if name.above().as_ref() == Some(thread) {
                    wanted.insert(name);
                }
            }
            if wanted.is_empty() {
                return Ok((Vec::new(), wanted));
            }
            let rows = database.on(client, &Call::query(PLANS).argument(own, Type::INT8_ARRAY)).await?;
            Ok((rows, wanted))
        };
        let (rows, wanted) = database.snapshot(read).await.map_err(Fault::plain)?;
        let (mut links, mut plans) = (HashMap::new(), Vec::new());
        for part in Part::all(&rows)? {
            match part.kind {
                kind::EFFECT => {
                    let effect = part.effect(self.texts())?;
                    links.extend(effect.subgraph().map(|below| (effect.id.task, below)));
                }
                _ => plans.push(part),
            }
        }
        let mut finding = Finding::new(thread, wanted, links);
        for plan in plans {
            let line = Line::of(&plan, self.texts())?;
            finding.learn(line.id, line.step, decode::planned(&line.manifest)?);
        }
        Ok(finding.found())
    }

    /// Returns a text that differs after every transaction on the server that wrote.
    pub(crate) async fn state(&self) -> Result<String, StoreError> {
        let rows =
            self.read(&Call::query("SELECT pg_current_snapshot()::text"), &About::thread(&"".into())).await?;
        scalar(&rows)
    }
}
