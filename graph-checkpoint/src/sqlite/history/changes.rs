//! The changes of a checkpoint as text, and the versions of fields.

use serde::Deserialize;
use superstep_core::checkpoint::StoreError;
use superstep_core::state::{Change, FieldId, Op};

use crate::error::corrupt;
use crate::history::decode::StoredOp;
use crate::history::encode::{Encoder, push_int};
use crate::history::manifest::Bodies;
use crate::sqlite::connection::Connection;
use crate::sqlite::history::segment::Segments;

/// The number of checkpoints of a branch between two whole maps from field to version. A whole map is also stored when
/// the schema changes.
pub const MAP_EVERY: u32 = 64;

/// The location of a field's version: the changes of a checkpoint, under the field's id in that checkpoint's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) seq: i64,
    pub(crate) field: FieldId,
}

/// The map from field to version at one checkpoint.
pub(crate) type Fields = Vec<Option<Version>>;

/// The location of a version's operations in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) segment: i64,
    /// The index of the version in the segment.
    pub(crate) version: usize,
}

/// A stored change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredChange {
    pub(crate) field: FieldId,
    #[serde(default)]
    prev: Option<StoredVersion>,
    /// `None` if they are in a segment.
    #[serde(default)]
    pub(crate) ops: Vec<StoredOp>,
    #[serde(default)]
    segment: Option<(i64, usize)>,
}

impl StoredChange {
    /// Returns the previous version, unless the operations are in a segment.
    pub(crate) fn prev(&self) -> Option<Version> {
        self.prev.map(|prev| prev.of(self.field))
    }

    /// Returns the location of the operations in a segment, if they are in one.
    pub(crate) fn part(&self) -> Option<Part> {
        self.segment.map(|(segment, version)| Part { segment, version })
    }

    /// Returns the change with its operations, from the row or from a segment.
    pub(crate) fn resolve(
        &self,
        connection: &Connection,
        segments: &mut Segments,
        bodies: &impl Bodies,
    ) -> Result<Change, StoreError> {
        let moved = self.part().map(|part| segments.ops(connection, part)).transpose()?;
        if let Some(moved) = &moved {
            bodies.count(moved.iter().map(StoredOp::bytes).sum())?;
        }
        let ops = moved.as_ref().unwrap_or(&self.ops).iter().map(|op| op.resolve(bodies));
        Ok(Change { field: self.field, ops: ops.collect::<Result<_, _>>()? })
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoredVersion {
    Same(i64),
    Other(i64, FieldId),
}

impl StoredVersion {
    pub(crate) fn of(self, field: FieldId) -> Version {
        match self {
            Self::Same(seq) => Version { seq, field },
            Self::Other(seq, field) => Version { seq, field },
        }
    }
}

pub(crate) fn parse_changes(text: &str) -> Result<Vec<StoredChange>, StoreError> {
    serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's changes", error))
}

/// Returns the versions that the changes at `seq` created.
pub(crate) fn changed_fields(text: &str, seq: i64) -> Result<Fields, StoreError> {
    #[derive(Deserialize)]
    struct Outline {
        field: FieldId,
    }
    let changes: Vec<Outline> =
        serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's changes", error))?;
    let mut fields = Fields::new();
    for Outline { field } in changes {
        fields.resize(fields.len().max(field.index() + 1), None);
        fields[field.index()] = Some(Version { seq, field });
    }
    Ok(fields)
}

pub(crate) fn parse_fields(text: &str) -> Result<Fields, StoreError> {
    let stored: Vec<Option<StoredVersion>> =
        serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's field map", error))?;
    let ids = (0..=u16::MAX).map(FieldId);
    Ok(stored.into_iter().zip(ids).map(|(stored, field)| stored.map(|stored| stored.of(field))).collect())
}

impl<B: Bodies> Encoder<'_, B> {
    /// Encodes the changes, each with its previous version; `fields` then contains the new versions.
    pub(crate) fn changes(
        &mut self,
        changes: &[Change],
        seq: i64,
        fields: &mut Fields,
    ) -> Result<(), StoreError> {
        self.out.push('[');
        for (position, change) in changes.iter().enumerate() {
            let index = change.field.index();
            if fields.len() <= index {
                fields.resize(index + 1, None);
            }
            let whole = change.ops.first().is_some_and(Op::is_whole);
            self.change(position, change, fields[index].filter(|_| !whole))?;
            fields[index] = Some(Version { seq, field: change.field });
        }
        self.out.push(']');
        Ok(())
    }

    /// Encodes a change with its previous version.
    pub(crate) fn change(
        &mut self,
        position: usize,
        change: &Change,
        prev: Option<Version>,
    ) -> Result<(), StoreError> {
        self.begin_change(position, change.field, prev);
        self.out.push_str(",\"ops\":[");
        for (position, op) in change.ops.iter().enumerate() {
            if position > 0 {
                self.out.push(',');
            }
            self.op(op)?;
        }
        self.out.push_str("]}");
        Ok(())
    }

    /// Encodes a change whose operations are already stored: in a segment, or as these texts.
    pub(crate) fn stored_change(
        &mut self,
        position: usize,
        field: FieldId,
        prev: Option<Version>,
        part: Option<Part>,
        ops: &[String],
    ) {
        self.begin_change(position, field, prev);
        match part {
            Some(part) => {
                self.out.push_str(",\"segment\":[");
                push_int(self.out, part.segment);
                self.out.push(',');
                push_int(self.out, part.version as i64);
            }
            None => {
                self.out.push_str(",\"ops\":[");
                for (position, op) in ops.iter().enumerate() {
                    if position > 0 {
                        self.out.push(',');
                    }
                    self.out.push_str(op);
                }
            }
        }
        self.out.push_str("]}");
    }

    fn begin_change(&mut self, position: usize, field: FieldId, prev: Option<Version>) {
        self.out.push_str(if position == 0 { "{\"field\":" } else { ",{\"field\":" });
        push_int(self.out, i64::from(field.0));
        if let Some(version) = prev {
            self.out.push_str(",\"prev\":");
            self.version(version, field);
        }
    }

    /// Encodes the whole map from field to version.
    pub(crate) fn fields(&mut self, fields: &Fields) {
        self.out.push('[');
        for (index, version) in fields.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            match version {
                Some(version) => {
                    let field = FieldId(u16::try_from(index).unwrap_or(u16::MAX));
                    self.version(*version, field);
                }
                None => self.out.push_str("null"),
            }
        }
        self.out.push(']');
    }

    fn version(&mut self, version: Version, field: FieldId) {
        if version.field == field {
            push_int(self.out, version.seq);
        } else {
            self.out.push('[');
            push_int(self.out, version.seq);
            self.out.push(',');
            push_int(self.out, i64::from(version.field.0));
            self.out.push(']');
        }
    }
}

impl StoredOp {
    /// Returns the length of the operand if it is stored inline, and zero otherwise.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Set(json)
            | Self::Extend(json)
            | Self::MapPut(json)
            | Self::MapRemove(json)
            | Self::SetAdd(json)
            | Self::SetRemove(json)
            | Self::Keyed(json) => json.as_str().len(),
            _ => 0,
        }
    }
}
