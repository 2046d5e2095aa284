//! All checkpoints and changes of a database, without their texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;

use futures_util::TryStreamExt;
use superstep_core::checkpoint::Source;
use superstep_core::id::{CheckpointId, Fingerprint, RunId};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::super::call::Call;
use super::super::database::Database;
use super::super::error::Fault;
use super::super::export::thread_row;
use super::super::import::Version;
use super::super::parts::Part;
use super::super::stored::{Columns, Texts};
use crate::error::corrupt;
use crate::history::rows::{ThreadRow, source_code, source_of};
use crate::retention::{Planned, Standing};

const THREADS: &str = "
SELECT 11 AS k, ARRAY[t.id, t.head] AS i, ARRAY[t.name, t.graph] AS b, NULL::text[] AS t FROM @.thread t";

const NAMED: &str = "SELECT DISTINCT n.checkpoint FROM @.named n";

/// Manifests are read only if there are threads of subgraphs.
pub(super) const CHECKPOINTS: &str = "
SELECT c.seq, c.parent, c.thread, c.root, c.source, c.step, c.id, c.versions, c.version_fields,
    CASE WHEN $1 THEN c.manifest END, c.run, s.fingerprint, g.fingerprint
FROM @.checkpoint c LEFT JOIN @.described_state s ON s.id = c.state LEFT JOIN @.described_graph g ON g.id = c.graph
ORDER BY c.seq";

const CHANGES: &str = "SELECT h.checkpoint, h.field, h.prev, h.prev_field FROM @.change h";

const REMAINING: &str = "SELECT r.checkpoint, r.field, r.root FROM @.remaining_change r";

/// A checkpoint that is not deleted.
pub(super) struct PastRow {
    pub(super) parent: Option<i64>,
    pub(super) thread: i64,
    pub(super) root: i64,
    pub(super) is_pruned: bool,
    /// The versions of all fields.
    pub(super) versions: Vec<Version>,
}

#[derive(Default)]
pub(super) struct Past {
    pub(super) rows: BTreeMap<i64, PastRow>,
    /// The changes, each with the version on which it builds.
    pub(super) changes: BTreeMap<Version, Option<Version>>,
    /// Those whose checkpoints were deleted.
    pub(super) remaining: HashMap<Version, i64>,
    pub(super) threads: Vec<ThreadRow>,
    pub(super) named: BTreeSet<i64>,
    /// The number of deletions and imports so far.
    pub(super) cuts: i64,
}

pub(super) fn get<'r, T: tokio_postgres::types::FromSql<'r>>(
    row: &'r Row,
    column: usize,
) -> Result<T, Fault> {
    row.try_get(column).map_err(|error| Fault::of(&error))
}

/// Reads the columns of a checkpoint: its run, step, source, state and graph.
pub(crate) fn columns(
    row: &Row,
    id: CheckpointId,
    [run, step, source, state, graph]: [usize; 5],
) -> Result<Columns, Fault> {
    let print = |at| {
        let bytes: Option<&[u8]> = get(row, at)?;
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let missing = || corrupt(format_args!("checkpoint {id}"), "its schema or its graph is missing");
        Ok::<_, Fault>(Fingerprint::from_bytes(bytes.ok_or_else(missing)?))
    };
    let source = source_of(format_args!("checkpoint {id}"), get::<i16>(row, source)?.into())?;
    let (state, graph) = (print(state)?, print(graph)?);
    Ok(Columns { id, run: RunId(get(row, run)?), step: get(row, step)?, source, state, graph })
}

/// Reads the versions of a row of [`CHECKPOINTS`].
pub(super) fn versions(row: &Row) -> Result<Vec<Version>, Fault> {
    let numbers: Option<Vec<Option<i32>>> = get(row, 8)?;
    let number = |place: i32| {
        let at = usize::try_from(place).ok();
        numbers.as_ref().zip(at).and_then(|(numbers, at)| *numbers.get(at)?).unwrap_or(place)
    };
    let versions = get::<Vec<Option<i64>>>(row, 7)?.into_iter().zip(0..);
    Ok(versions.filter_map(|(seq, place)| Some((seq?, number(place)))).collect())
}

pub(super) async fn threads(database: &Database, client: &Client) -> Result<Vec<ThreadRow>, Fault> {
    let rows = database.on(client, &Call::query(THREADS)).await?;
    Part::all(&rows)?.iter().map(|part| Ok(thread_row(part)?)).collect()
}

pub(super) async fn named(database: &Database, client: &Client) -> Result<BTreeSet<i64>, Fault> {
    let rows = database.on(client, &Call::query(NAMED)).await?;
    rows.iter().map(|row| get(row, 0)).collect()
}

pub(super) async fn cuts(database: &Database, client: &Client) -> Result<i64, Fault> {
    let rows = database.on(client, &Call::query("SELECT f.cuts FROM @.format f")).await?;
    rows.first().map_or(Ok(0), |row| get(row, 0))
}

/// Calls `each` for every row as it arrives.
pub(super) async fn stream(
    database: &Database,
    client: &Client,
    call: Call<'_>,
    mut each: impl FnMut(&Row) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut rows = pin!(database.stream(client, &call).await?);
    while let Some(row) = rows.try_next().await.map_err(|error| Fault::of(&error))? {
        each(&row)?;
    }
    Ok(())
}

impl Past {
    /// Reads everything, and what the selection needs of the checkpoints.
    pub(super) async fn read(
        database: &Database,
        client: &Client,
        texts: &Texts,
    ) -> Result<(Self, BTreeMap<i64, Standing>), Fault> {
        let mut past = Self {
            threads: threads(database, client).await?,
            named: named(database, client).await?,
            cuts: cuts(database, client).await?,
            ..Self::default()
        };
        let mut standing = BTreeMap::new();
        let has_subgraphs = past.threads.iter().any(|thread| thread.name.is_below());
        let call = Call::query(CHECKPOINTS).argument(has_subgraphs, Type::BOOL);
        stream(database, client, call, |row| {
            let seq = get(row, 0)?;
            let (parent, thread, id) = (get(row, 1)?, get(row, 2)?, CheckpointId(get(row, 6)?));
            let is_pruned = get::<i16>(row, 4)? == source_code(Source::Pruned);
            let place = format!("checkpoint {id}");
            let plan = match get::<Option<&str>>(row, 9)? {
                Some(text) => {
                    let columns = columns(row, id, [10, 5, 4, 11, 12])?;
                    Planned::parse(&columns.open(texts, text, &place)?, id, columns.step)
                        .map_err(|error| corrupt(place, error))?
                }
                None => Planned::default(),
            };
            standing.insert(seq, Standing { id, parent, thread, is_pruned, plan });
            let versions = versions(row)?;
            past.rows.insert(seq, PastRow { parent, thread, root: get(row, 3)?, is_pruned, versions });
            Ok(())
        })
        .await?;
        stream(database, client, Call::query(CHANGES), |row| {
            let before = get::<Option<i64>>(row, 2)?.zip(get::<Option<i32>>(row, 3)?);
            past.changes.insert((get(row, 0)?, get(row, 1)?), before);
            Ok(())
        })
        .await?;
        stream(database, client, Call::query(REMAINING), |row| {
            past.remaining.insert((get(row, 0)?, get(row, 1)?), get(row, 2)?);
            Ok(())
        })
        .await?;
        Ok((past, standing))
    }

    /// Returns the changes of a checkpoint.
    pub(super) fn changes_of(&self, seq: i64) -> impl Iterator<Item = Version> + '_ {
        self.changes.range((seq, i32::MIN)..=(seq, i32::MAX)).map(|(version, _)| *version)
    }
}
