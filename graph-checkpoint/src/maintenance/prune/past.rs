//! The rows of checkpoints, with the columns that pruning needs.

use std::collections::BTreeMap;

use serde::Deserialize;
use superstep_core::checkpoint::{Cause, Kept, Source, StoreError};
use superstep_core::id::{NodeName, TaskId};
use superstep_core::state::FieldId;

use crate::connection::Connection;
use crate::error::{corrupt, sqlite};
use crate::history::decode::{self, StoredChange};
use crate::history::manifest::{Fields, Version};
use crate::history::rows::{Changed, CheckpointRow};
use crate::history::segment::{Part, Segment, Segments};

/// A row with valid checksums.
pub(super) struct PastRow {
    /// The row; it belongs to no thread if it only holds versions.
    pub(super) row: CheckpointRow,
    /// The versions that it creates.
    pub(super) versions: Vec<PastVersion>,
    pub(super) map: Option<Fields>,
    /// The tasks that are planned next.
    pub(super) tasks: Vec<TaskId>,
    pub(super) kept: Vec<Kept>,
}

/// A version of a field.
#[derive(Clone, Copy)]
pub(super) struct PastVersion {
    pub(super) field: FieldId,
    /// The previous version; for a version in a segment, the version before the segment.
    pub(super) before: Option<Version>,
    /// The location of its operations, if they are in a segment.
    pub(super) part: Option<Part>,
}

impl PastRow {
    pub(super) fn is_checkpoint(&self) -> bool {
        self.row.thread != 0
    }

    pub(super) fn is_pruned(&self) -> bool {
        self.row.source == Source::Pruned
    }

    /// Returns the older versions to which it refers.
    pub(super) fn refers(&self) -> impl Iterator<Item = Version> {
        let maps = self.map.iter().flatten().flatten().copied();
        self.versions.iter().filter_map(|version| version.before).chain(maps)
    }

    /// Returns the segments to which it refers.
    pub(super) fn segments(&self) -> impl Iterator<Item = i64> {
        self.versions.iter().filter_map(|version| Some(version.part?.segment))
    }
}

/// All rows except the empty rows of deletions.
pub(super) struct Past {
    pub(super) rows: BTreeMap<i64, PastRow>,
    /// The positions in the store's order of the empty rows of deletions and prunings.
    pub(super) places: Vec<i64>,
    /// The number of the last segment.
    pub(super) last_segment: i64,
    /// The latest position in the store's order.
    pub(super) last: i64,
}

#[derive(Deserialize)]
struct Ahead {
    #[serde(default)]
    next: Vec<Next>,
    #[serde(default)]
    kept: Vec<Kept>,
}

#[derive(Deserialize)]
struct Next {
    node: NodeName,
    cause: Cause,
}

impl Past {
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let last_segment = Segment::next_id(connection)? - 1;
        let mut past = Self { rows: BTreeMap::new(), places: Vec::new(), last_segment, last: 0 };
        let mut segments = Segments::default();
        let mut all = connection
            .prepare("SELECT seq, thread = 0 AND changes = '[]' FROM checkpoint ORDER BY seq")
            .map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let seq = row.get(0).map_err(sqlite)?;
            past.last = seq;
            if row.get::<_, bool>(1).map_err(sqlite)? {
                past.places.push(seq);
            } else {
                past.rows.insert(seq, read(connection, seq, &mut segments)?);
            }
        }
        Ok(past)
    }

    /// Returns the map from field to version at `seq`.
    pub(super) fn map_at(&self, seq: i64) -> Fields {
        let mut fields = Fields::new();
        let mut next = Some(seq);
        while let Some((seq, row)) = next.and_then(|seq| Some((seq, self.rows.get(&seq)?))) {
            let own =
                row.versions.iter().map(|PastVersion { field, .. }| (*field, Version { seq, field: *field }));
            let known = match &row.map {
                Some(map) => (0..=u16::MAX)
                    .map(FieldId)
                    .zip(map)
                    .filter_map(|(at, held)| Some((at, (*held)?)))
                    .collect(),
                None => own.collect::<Vec<_>>(),
            };
            for (field, version) in known {
                fields.resize(fields.len().max(field.index() + 1), None);
                let held = &mut fields[field.index()];
                *held = held.or(Some(version));
            }
            next = row.row.parent.filter(|_| row.map.is_none());
        }
        fields
    }

    pub(super) fn version(&self, version: Version) -> Option<PastVersion> {
        let row = self.rows.get(&version.seq)?;
        row.versions.iter().find(|held| held.field == version.field).copied()
    }
}

pub(super) fn changes(
    connection: &Connection,
    seq: i64,
) -> Result<(Vec<StoredChange>, Option<Fields>), StoreError> {
    let mut found = (Vec::new(), None);
    Changed::descend(connection, seq, |_, changed| {
        found =
            (decode::parse_changes(changed.changes)?, changed.fields.map(decode::parse_fields).transpose()?);
        Ok(None)
    })?;
    Ok(found)
}

/// Reads one row.
pub(super) fn read(
    connection: &Connection,
    seq: i64,
    segments: &mut Segments,
) -> Result<PastRow, StoreError> {
    CheckpointRow::visit(connection, seq, |row, manifest| {
        let ahead: Ahead = serde_json::from_str(manifest)
            .map_err(|error| corrupt(format_args!("checkpoint row {seq}"), error))?;
        let task = |next: &Next| TaskId::derive(row.id, "", row.step + 1, &next.node, next.cause.each());
        let (changes, map) = changes(connection, seq)?;
        let versions = changes.iter().map(|change| {
            let part = change.part();
            let before = match part {
                Some(part) => segments.lookup(connection, part)?,
                None => change.prev(),
            };
            Ok(PastVersion { field: change.field, before, part })
        });
        Ok(PastRow {
            row,
            versions: versions.collect::<Result<_, StoreError>>()?,
            map,
            tasks: ahead.next.iter().map(task).collect(),
            kept: ahead.kept,
        })
    })
}
