//! Deletes old checkpoints, the oldest first, and merges the changes that newer ones need.
//!
//! ```text
//! before     1 ◄── 2 ◄── 3 ◄── 4 ◄── 5 ◄── 6        field a: extended at 1, 2, 5; field b: set at 1
//! after                    ┌── 4 ◄── 5 ◄── 6        4: reduced to its state
//!            1: b          2: a                     changes without checkpoints: that of a at 1 is merged into that at 2
//! ```
//!
//! A version that something refers to keeps its place, so no row of a remaining checkpoint is rewritten, and versions that a
//! running program has read stay valid. The same as in a file: see `maintenance/prune`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use superstep_core::checkpoint::StoreError;
use superstep_core::id::CheckpointId;
use superstep_core::state::{Change, FieldId, Op};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::super::call::Call;
use super::super::commit::ops as encode;
use super::super::error::Fault;
use super::super::import::Version;
use super::super::parts::{Part, kind};
use super::super::session::{Session, scalar};
use super::lock_threads;
use super::past::{self, Past, PastRow};
use crate::error::corrupt;
use crate::history::rows::ThreadRow;
use crate::maintenance::Pruned;
use crate::retention::{Policy, merge, now_ms, select};

/// The maximum number of checkpoints in one transaction.
const AT_A_TIME: usize = 1_024;

/// The parents of the checkpoints of these threads.
const PARENTS: &str = "SELECT c.seq, c.parent FROM @.checkpoint c WHERE c.thread = ANY($1)";

const TEXTS: &str = "
SELECT 2 AS k, ARRAY[h.field, h.checkpoint]::bigint[] AS i, ARRAY[uuid_send(h.id)] AS b, ARRAY[h.text] AS t
FROM unnest($1, $2) AS v(checkpoint, field) JOIN @.change h ON h.checkpoint = v.checkpoint AND h.field = v.field";

const MERGE: &str = "
UPDATE @.change h SET text = m.text, prev = m.prev, prev_field = m.prev_field
FROM unnest($1, $2, $3, $4, $5) AS m(checkpoint, field, text, prev, prev_field)
WHERE h.checkpoint = m.checkpoint AND h.field = m.field";

/// The remaining part of a pruning.
pub(super) struct Cut {
    past: Past,
    doomed: BTreeSet<i64>,
    dead: HashMap<i64, ThreadRow>,
    /// The number of references to each version: by checkpoints, and by the changes of those that are whole.
    references: HashMap<Version, u32>,
    /// The changes of deleted and of pruned checkpoints, which stay only if something refers to them.
    free: BTreeSet<Version>,
    /// Pruned checkpoints of the transaction before, which only those of this one may need.
    passing: BTreeSet<i64>,
}

/// The rows that one transaction changes.
#[derive(Default)]
struct Outcome {
    going: Vec<i64>,
    /// Checkpoints that are reduced to their state, and the ones that they continue.
    left: BTreeMap<i64, Option<i64>>,
    /// Places of work, by thread and checkpoint.
    work: (Vec<i64>, Vec<i64>),
    unneeded: Vec<Version>,
    /// Changes of deleted checkpoints that stay, with the first checkpoints of their trees.
    remaining: Vec<(Version, i64)>,
    merged: Vec<Merged>,
    /// Threads that are deleted.
    gone: Vec<i64>,
    /// Threads that are left to others: with a new name and head.
    renamed: Vec<(i64, Vec<u8>, i64)>,
}

/// A change that takes over older ones.
struct Merged {
    version: Version,
    text: String,
    before: Option<Version>,
}

impl Cut {
    pub(super) async fn plan(session: &Session, client: &Client, policy: &Policy) -> Result<Self, Fault> {
        let (mut past, standing) = Past::read(session.database(), client, session.texts()).await?;
        let (threads, named) = (std::mem::take(&mut past.threads), std::mem::take(&mut past.named));
        let selected = select(&standing, threads, named, policy, now_ms());
        let doomed = past.rows.keys().copied().filter(|seq| !selected.rows.contains(seq)).collect();
        let mut cut = Self {
            past,
            doomed,
            dead: selected.dead,
            references: HashMap::new(),
            free: BTreeSet::new(),
            passing: BTreeSet::new(),
        };
        for (seq, row) in &cut.past.rows {
            references(&cut.past, *seq, row).for_each(|to| *cut.references.entry(to).or_default() += 1);
            if row.is_pruned {
                cut.free.extend(cut.past.changes_of(*seq));
            }
        }
        cut.free.extend(cut.past.remaining.keys());
        Ok(cut)
    }

    pub(super) fn is_done(&self) -> bool {
        self.doomed.is_empty()
    }

    /// Returns the number of remaining checkpoints.
    pub(super) fn len(&self) -> u64 {
        self.past.rows.len() as u64
    }

    /// Deletes some checkpoints in a transaction; returns `None` if another program has changed the data for which the plan
    /// was made.
    pub(super) async fn carry_on(&mut self, session: &Session) -> Result<Option<Pruned>, Fault> {
        let database = session.database();
        let mut connection = database.connection().await?;
        let failed = |error: tokio_postgres::Error| Fault::of(&error);
        let transaction = connection.transaction().await.map_err(failed)?;
        let client = transaction.client();
        lock_threads(database, client).await?;
        if !self.is_current(session, client).await? {
            transaction.rollback().await.map_err(failed)?;
            return Ok(None);
        }
        let told = self.cut(session, client).await?;
        transaction.commit().await.map_err(failed)?;
        Ok(Some(told))
    }

    /// Returns `false` if another program has continued from a checkpoint to be deleted, or has deleted or imported
    /// checkpoints. Otherwise those written in the meantime refer to nothing that is deleted: everything that they can refer
    /// to is kept.
    async fn is_current(&self, session: &Session, client: &Client) -> Result<bool, Fault> {
        let database = session.database();
        if past::cuts(database, client).await? != self.past.cuts {
            return Ok(false);
        }
        if !past::named(database, client).await?.is_disjoint(&self.doomed) {
            return Ok(false);
        }
        let mut moved = Vec::new();
        for thread in past::threads(database, client).await? {
            if self.doomed.contains(&thread.head) && !self.dead.contains_key(&thread.id) {
                return Ok(false);
            }
            if !self.past.rows.contains_key(&thread.head) {
                moved.push(thread.id);
            }
        }
        let rows = database.on(client, &Call::query(PARENTS).argument(moved, Type::INT8_ARRAY)).await?;
        for row in &rows {
            let seq: i64 = row.try_get(0).map_err(|error| Fault::of(&error))?;
            let parent: Option<i64> = row.try_get(1).map_err(|error| Fault::of(&error))?;
            let is_new = !self.past.rows.contains_key(&seq);
            if is_new && parent.is_some_and(|parent| self.doomed.contains(&parent)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Deletes the oldest checkpoints in the caller's transaction.
    pub(super) async fn cut(&mut self, session: &Session, client: &Client) -> Result<Pruned, Fault> {
        let some = self.doomed.iter().copied().take(AT_A_TIME);
        let gone: BTreeSet<i64> = some.chain(std::mem::take(&mut self.passing)).collect();
        let mut told = Pruned::default();
        let is_new = |seq: &&i64| !self.past.rows[*seq].is_pruned;
        told.checkpoints = gone.iter().filter(is_new).count() as u64;
        let mut outcome = self.checkpoints(&gone);
        let chains = self.changes(&mut outcome);
        let texts = texts(session, client, &chains).await?;
        for chain in chains {
            let (merged, less) = self.merged(session, &chain, &texts)?;
            self.past.changes.insert(merged.version, merged.before);
            outcome.merged.push(merged);
            told.bytes += less;
        }
        told.threads = (outcome.gone.len() + outcome.renamed.len()) as u64;
        told.bytes += self.store(session, client, &outcome).await?;
        self.doomed.retain(|seq| !gone.contains(seq));
        self.passing = outcome.left.into_keys().collect();
        Ok(told)
    }

    /// Deletes checkpoints from memory, or reduces them to their state.
    fn checkpoints(&mut self, gone: &BTreeSet<i64>) -> Outcome {
        let rows = &self.past.rows;
        let stays = rows.iter().filter(|(seq, _)| !gone.contains(seq));
        let stood_on = stays.filter_map(|(_, row)| row.parent.filter(|parent| gone.contains(parent)));
        let stood_on: BTreeSet<i64> = stood_on.collect();
        let parent = |seq: &i64| rows.get(seq)?.parent;
        // The newest checkpoint before it that is at least partly kept.
        let stands_on = |seq: &i64| {
            let mut older = std::iter::successors(parent(seq), parent);
            older.find(|seq| !gone.contains(seq) || stood_on.contains(seq))
        };
        let mut outcome = Outcome {
            left: stood_on.iter().map(|seq| (*seq, stands_on(seq))).collect(),
            going: gone.difference(&stood_on).copied().collect(),
            ..Outcome::default()
        };
        // Work on a checkpoint that newer ones continue belongs to them.
        let mut work: BTreeSet<(i64, i64)> = BTreeSet::new();
        for (seq, row) in rows {
            let on = row.parent.into_iter().chain([*seq]);
            work.extend(
                on.filter(|on| gone.contains(on) && !stood_on.contains(on)).map(|on| (row.thread, on)),
            );
        }
        outcome.work = work.into_iter().unzip();
        for thread in self.dead.values().filter(|thread| gone.contains(&thread.head)) {
            let is_rest = |(seq, row): &(&i64, &PastRow)| {
                row.thread == thread.id && (!gone.contains(seq) || stood_on.contains(seq))
            };
            match rows.iter().rev().find(is_rest) {
                Some((head, _)) => {
                    let name = thread.name.before_deletion().remnant(head.cast_unsigned());
                    outcome.renamed.push((thread.id, name.as_str().as_bytes().to_vec(), *head));
                }
                None => outcome.gone.push(thread.id),
            }
        }
        for seq in gone {
            let row = &self.past.rows[seq];
            for to in references(&self.past, *seq, row) {
                if let Some(count) = self.references.get_mut(&to) {
                    *count -= 1;
                }
            }
            self.free.extend(self.past.changes_of(*seq));
            let root = row.root;
            match (outcome.left.get(seq), self.past.rows.get_mut(seq)) {
                (Some(parent), Some(row)) => {
                    (row.is_pruned, row.parent) = (true, *parent);
                    row.versions.iter().for_each(|to| *self.references.entry(*to).or_default() += 1);
                }
                _ => {
                    self.past.rows.remove(seq);
                    let own: Vec<Version> = self.past.changes_of(*seq).collect();
                    outcome.remaining.extend(own.into_iter().map(|version| (version, root)));
                }
            }
        }
        outcome
    }

    /// Deletes changes from memory to which nothing refers; returns those that take over some of them, each with these, from
    /// newer to older.
    fn changes(&mut self, outcome: &mut Outcome) -> Vec<Vec<Version>> {
        let is_needed = |version: &Version| self.references.get(version).is_some_and(|count| *count > 0);
        let (needed, unneeded): (Vec<Version>, Vec<Version>) = self.free.iter().copied().partition(is_needed);
        let lost: BTreeSet<Version> = unneeded.iter().copied().collect();
        let before = |version: &Version| *self.past.changes.get(version)?;
        let chains = needed.iter().map(|version| {
            let older =
                std::iter::successors(before(version), before).take_while(|older| lost.contains(older));
            [*version].into_iter().chain(older).collect::<Vec<_>>()
        });
        let chains = chains.filter(|chain| chain.len() > 1).collect();
        outcome.remaining.retain(|(version, _)| !lost.contains(version));
        self.free.retain(|version| !lost.contains(version));
        outcome.unneeded = unneeded;
        chains
    }

    /// Returns the change that takes over the others of a chain, and the decrease in bytes of its text.
    fn merged(
        &self,
        session: &Session,
        chain: &[Version],
        texts: &HashMap<Version, Text>,
    ) -> Result<(Merged, i64), StoreError> {
        let lost = || corrupt("a checkpoint's changes", "a version is missing");
        let (version, oldest) = chain.first().zip(chain.last()).ok_or_else(lost)?;
        let mut ops = Vec::new();
        for version in chain.iter().rev() {
            ops.extend(texts.get(version).ok_or_else(lost)?.ops.iter().cloned());
        }
        let mut before = self.past.changes.get(oldest).copied().flatten();
        if merge(&mut ops, before.is_some(), session.limits())? {
            before = None;
        }
        let Text { id, bytes, field, .. } = texts.get(version).ok_or_else(lost)?;
        let text = encode(session.texts(), *id, &Change { field: *field, ops: ops.into_iter().collect() })?;
        let less = i64::try_from(*bytes).unwrap_or(0) - i64::try_from(text.len()).unwrap_or(0);
        Ok((Merged { version: *version, text, before }, less))
    }

    /// Stores the outcome; returns the decrease in bytes of the texts.
    async fn store(&mut self, session: &Session, client: &Client, outcome: &Outcome) -> Result<i64, Fault> {
        let database = session.database();
        let split = |versions: &[Version]| versions.iter().copied().unzip::<i64, i32, Vec<_>, Vec<_>>();
        let (unneeded, fields) = split(&outcome.unneeded);
        let (remaining, roots): (Vec<Version>, Vec<i64>) = outcome.remaining.iter().copied().unzip();
        let (remaining, remaining_fields) = split(&remaining);
        let (left, parents): (Vec<i64>, Vec<Option<i64>>) = outcome.left.iter().unzip();
        let call =
            Call::of("prune").argument(&outcome.going, Type::INT8_ARRAY).argument(left, Type::INT8_ARRAY);
        let call = call.argument(parents, Type::INT8_ARRAY).argument(&outcome.work.0, Type::INT8_ARRAY);
        let call = call.argument(&outcome.work.1, Type::INT8_ARRAY).argument(unneeded, Type::INT8_ARRAY);
        let call = call.argument(fields, Type::INT4_ARRAY).argument(remaining, Type::INT8_ARRAY);
        let call = call.argument(remaining_fields, Type::INT4_ARRAY).argument(roots, Type::INT8_ARRAY);
        let less: i64 = scalar(&database.on(client, &call).await?)?;
        if !outcome.merged.is_empty() {
            let merged = || outcome.merged.iter();
            let (places, fields) = split(&merged().map(|merged| merged.version).collect::<Vec<_>>());
            let texts: Vec<&str> = merged().map(|merged| &*merged.text).collect();
            let before: Vec<Option<i64>> = merged().map(|merged| merged.before.map(|(seq, _)| seq)).collect();
            let numbers: Vec<Option<i32>> = merged().map(|merged| merged.before.map(|(_, of)| of)).collect();
            let call =
                Call::query(MERGE).argument(places, Type::INT8_ARRAY).argument(fields, Type::INT4_ARRAY);
            let call = call.argument(texts, Type::TEXT_ARRAY).argument(before, Type::INT8_ARRAY);
            database.on(client, &call.argument(numbers, Type::INT4_ARRAY)).await?;
        }
        if !(outcome.gone.is_empty() && outcome.renamed.is_empty()) {
            let none = || Vec::<i64>::new();
            let renamed = || outcome.renamed.iter();
            let call =
                Call::of("remove").argument(none(), Type::INT8_ARRAY).argument(none(), Type::INT8_ARRAY);
            let call = call.argument(&outcome.gone, Type::INT8_ARRAY);
            let call = call.argument(renamed().map(|left| left.0).collect::<Vec<_>>(), Type::INT8_ARRAY);
            let call = call.argument(renamed().map(|left| &*left.1).collect::<Vec<_>>(), Type::BYTEA_ARRAY);
            let call = call.argument(renamed().map(|left| left.2).collect::<Vec<_>>(), Type::INT8_ARRAY);
            database.on(client, &call).await?;
        }
        self.past.cuts = scalar(&database.on(client, &Call::of("count_cut")).await?)?;
        for version in &outcome.unneeded {
            self.past.changes.remove(version);
        }
        Ok(less)
    }
}

/// Returns the versions to which a checkpoint refers. The changes of a pruned one count only as far as they are needed.
fn references<'p>(past: &'p Past, seq: i64, row: &'p PastRow) -> impl Iterator<Item = Version> + 'p {
    let changes = past.changes_of(seq).filter(|_| !row.is_pruned);
    row.versions.iter().copied().chain(changes.filter_map(|version| past.changes[&version]))
}

/// The text of a version.
struct Text {
    id: CheckpointId,
    field: FieldId,
    /// The size of the text.
    bytes: usize,
    ops: Vec<Op>,
}

/// Reads the texts of these versions.
async fn texts(
    session: &Session,
    client: &Client,
    chains: &[Vec<Version>],
) -> Result<HashMap<Version, Text>, Fault> {
    if chains.is_empty() {
        return Ok(HashMap::new());
    }
    let all: BTreeSet<Version> = chains.iter().flatten().copied().collect();
    let (places, fields): (Vec<i64>, Vec<i32>) = all.into_iter().unzip();
    let call = Call::query(TEXTS).argument(places, Type::INT8_ARRAY).argument(fields, Type::INT4_ARRAY);
    let rows = session.database().on(client, &call).await?;
    let parts = Part::all(&rows)?.into_iter().filter(|part| part.kind == kind::CHANGE);
    let texts = parts.map(|part| {
        let change = part.change(session.texts())?;
        let place = (part.int(1)?, i32::from(change.field.0));
        let (id, bytes) = (CheckpointId(part.uuid(0)?), part.text(0)?.len());
        Ok((place, Text { id, field: change.field, bytes, ops: change.ops.into_iter().collect() }))
    });
    texts.collect()
}
