//! The rows of checkpoints, with the columns that pruning needs.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{Source, StoreError};
use superstep_core::state::FieldId;

use crate::error::corrupt;
use crate::retention::{Planned, Standing};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::changes::{Fields, Part, StoredChange, Version, parse_changes, parse_fields};
use crate::sqlite::history::rows::{Changed, CheckpointRow};
use crate::sqlite::history::segment::{Segment, Segments};

/// A row with valid checksums.
pub(super) struct PastRow {
    /// The row; it belongs to no thread if it only holds versions.
    pub(super) row: CheckpointRow,
    /// The versions that it creates.
    pub(super) versions: Vec<PastVersion>,
    pub(super) map: Option<Fields>,
    plan: Planned,
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

    /// Takes what the selection needs of the checkpoints.
    pub(super) fn take_standings(&mut self) -> BTreeMap<i64, Standing> {
        let rows = self.rows.iter_mut().filter(|(_, row)| row.is_checkpoint());
        let standing = rows.map(|(seq, row)| {
            let CheckpointRow { id, parent, thread, .. } = row.row;
            let plan = std::mem::take(&mut row.plan);
            (*seq, Standing { id, parent, thread, is_pruned: row.is_pruned(), plan })
        });
        standing.collect()
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
        found = (parse_changes(changed.changes)?, changed.fields.map(parse_fields).transpose()?);
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
        let plan = Planned::parse(manifest, row.id, row.step)
            .map_err(|error| corrupt(format_args!("checkpoint row {seq}"), error))?;
        let (changes, map) = changes(connection, seq)?;
        let versions = changes.iter().map(|change| {
            let part = change.part();
            let before = match part {
                Some(part) => segments.lookup(connection, part)?,
                None => change.prev(),
            };
            Ok(PastVersion { field: change.field, before, part })
        });
        Ok(PastRow { row, versions: versions.collect::<Result<_, StoreError>>()?, map, plan })
    })
}
