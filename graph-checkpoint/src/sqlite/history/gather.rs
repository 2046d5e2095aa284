//! Moves the operations of a field's versions into a [segment](crate::sqlite::history::segment), once there are many.
//!
//! This happens with every whole map from field to version, in the transaction of that commit: it writes the rows of
//! the versions, the segments, and the checksums of both together. The values of the versions do not change, so cached
//! versions stay valid.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rusqlite::OptionalExtension;
use serde::Deserialize;
use serde_json::value::RawValue;
use superstep_core::checkpoint::StoreError;
use superstep_core::state::{Change, FieldId, Op};

use crate::error::corrupt;
use crate::history::encode::Encoder;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::changes::{Fields, Part, StoredVersion, Version};
use crate::sqlite::history::long_texts::BodyTable;
use crate::sqlite::history::rows::Changed;
use crate::sqlite::history::segment::Segment;
use crate::sqlite::history::taken_out::TakenOut;
use crate::sqlite::history::versions;

/// The number of versions from which a segment is created.
const MANY: u16 = 16;

/// The maximum number of versions in a segment, and the maximum length of its text if it has several versions.
const VERSIONS: usize = 128;
const TEXT: usize = 1 << 20;

/// The maximum number of versions whose operations are moved at once. Only fields that were written before there were
/// segments have more.
const AT_ONCE: usize = 1024;

/// For each field, the number of versions since the last segment or whole value, whose operations are in their own
/// rows.
#[derive(Debug, Default)]
pub(crate) struct Tails(Vec<u16>);

/// A number that is not known yet; it is determined when it is needed.
const UNKNOWN: u16 = u16::MAX;

impl Tails {
    /// Counts the changes that a checkpoint makes to `fields`.
    pub(crate) fn follow(&mut self, changes: &[Change], fields: &Fields) {
        for change in changes {
            let index = change.field.index();
            if self.0.len() <= index {
                self.0.resize(index + 1, UNKNOWN);
            }
            let tail = &mut self.0[index];
            *tail = match fields.get(index).copied().flatten() {
                _ if change.ops.first().is_some_and(Op::is_whole) => 0,
                None => 1,
                Some(_) if *tail == UNKNOWN => UNKNOWN,
                Some(_) => (*tail + 1).min(UNKNOWN - 1),
            };
        }
    }

    /// Returns `true` if the field may have enough versions in their own rows that their operations should be moved.
    fn may_be_long(&self, index: usize) -> bool {
        self.0.get(index).is_none_or(|tail| *tail >= MANY)
    }

    fn set(&mut self, index: usize, tail: usize) {
        if self.0.len() <= index {
            self.0.resize(index + 1, UNKNOWN);
        }
        self.0[index] = u16::try_from(tail).unwrap_or(UNKNOWN);
    }
}

/// Moves the operations of those `fields` that have many versions outside of segments. `thread` is the thread of the
/// commit.
pub(crate) fn gather(
    connection: &Connection,
    thread: i64,
    fields: &Fields,
    tails: &mut Tails,
) -> Result<(), StoreError> {
    let mut rows = Rows::default();
    let mut segments = Vec::new();
    for (index, version) in fields.iter().enumerate() {
        let Some(version) = version.filter(|_| tails.may_be_long(index)) else { continue };
        let run = match rows.back(connection, version) {
            Ok(run) => run,
            // Readers of the damaged row receive an error. The writer continues, and tries again after as many
            // versions.
            Err(StoreError::Corrupt { .. }) => {
                tails.set(index, 0);
                continue;
            }
            Err(error) => return Err(error),
        };
        if run.versions.len() < usize::from(MANY) {
            tails.set(index, run.versions.len());
            continue;
        }
        tails.set(index, 0);
        rows.gather(connection, thread, version, run, &mut segments)?;
    }
    rows.replace(connection, &segments)
}

/// The rows whose changes were read.
#[derive(Default)]
struct Rows(BTreeMap<i64, Row>);

/// The part of a row that describes versions.
struct Row {
    parent: Option<i64>,
    fields: Option<String>,
    changes: Vec<Held>,
    is_changed: bool,
}

/// A change in such a row.
struct Held {
    field: FieldId,
    prev: Option<Version>,
    /// The operations as JSON; empty if they are in a segment.
    ops: Vec<String>,
    part: Option<Part>,
}

/// Consecutive versions of a field.
#[derive(Default)]
struct Run {
    /// The versions from newer to older.
    versions: Vec<Version>,
    /// The version before the oldest.
    base: Option<Version>,
}

impl Rows {
    /// Returns the versions from `last` back to the first one that follows a segment, a whole value, or nothing.
    fn back(&mut self, connection: &Connection, last: Version) -> Result<Run, StoreError> {
        let mut run = Run { versions: Vec::new(), base: Some(last) };
        let mut next = Some(last);
        while let Some(version) = next {
            next = match self.0.get(&version.seq) {
                Some(row) => run.take(row, version)?,
                None => {
                    let mut wanted = version;
                    let mut after = None;
                    Changed::descend(connection, version.seq, |seq, changed| {
                        let row = Row::parse(&changed)?;
                        after = run.take(&row, wanted)?;
                        self.0.insert(seq, row);
                        match after {
                            Some(older) if !self.0.contains_key(&older.seq) => {
                                wanted = older;
                                Ok(Some(older.seq))
                            }
                            _ => Ok(None),
                        }
                    })?;
                    after
                }
            };
        }
        Ok(run)
    }

    /// Moves the operations of the run of versions that ends with `last`.
    fn gather(
        &mut self,
        connection: &Connection,
        thread: i64,
        last: Version,
        run: Run,
        segments: &mut Vec<Segment>,
    ) -> Result<(), StoreError> {
        let mut before = Before::of(connection, self, run.base)?;
        let is_list =
            run.versions.iter().all(|version| self.held(*version).ops.iter().all(|op| items(op).is_some()));
        let mut rest = run.versions.into_iter().rev().peekable();
        while rest.peek().is_some() {
            let mut segment = Segment {
                id: segments.last().map_or_else(|| Segment::next_id(connection), |last| Ok(last.id + 1))?,
                thread,
                prev: before.version,
                versions: 0,
                ends: String::from("["),
                is_list,
                weight: before.weight,
                due: before.due,
                whole: None,
                text: String::new(),
            };
            let mut newest = None;
            let mut count = 0;
            while let Some(version) = rest.next_if(|_| count < VERSIONS && segment.text.len() < TEXT) {
                self.take_in(connection, &mut segment, version, count)?;
                count += 1;
                newest = Some(version);
            }
            segment.ends.push(']');
            segment.versions = count as i64;
            if !is_list && newest == Some(last) && segment.weight >= segment.due {
                segment.weigh(connection, last)?;
            }
            before = Before {
                version: newest,
                weight: if segment.whole.is_some() { 0 } else { segment.weight },
                due: segment.due,
            };
            segments.push(segment);
        }
        Ok(())
    }

    /// Moves the operations of a version into a segment, at the index `position`.
    fn take_in(
        &mut self,
        connection: &Connection,
        segment: &mut Segment,
        version: Version,
        position: usize,
    ) -> Result<(), StoreError> {
        let row = self.0.get_mut(&version.seq).expect("the row was read for the run");
        row.is_changed = true;
        let held = row.changes.iter_mut().find(|held| held.field == version.field);
        let held = held.expect("the version was found in the row");
        held.part = Some(Part { segment: segment.id, version: position });
        held.prev = None;
        let ops = std::mem::take(&mut held.ops);
        for (at, op) in ops.iter().enumerate() {
            if !segment.text.is_empty() {
                segment.text.push(',');
                segment.ends.push(',');
            }
            segment.text.push_str(items(op).filter(|_| segment.is_list).unwrap_or(op));
            if at + 1 < ops.len() {
                segment.ends.push('-');
            }
            segment.ends.push_str(&segment.text.len().to_string());
            segment.weight += op.len() as i64;
            if let Some(body) = body(op) {
                segment.weight += body_bytes(connection, body)?;
            }
        }
        Ok(())
    }

    fn held(&self, version: Version) -> &Held {
        let held = self.0.get(&version.seq).and_then(|row| row.change(version.field));
        held.expect("the version was found in the row")
    }

    /// Stores the segments and the rows whose operations were moved there. The rows are removed first, so that the
    /// segments use the pages that they free.
    fn replace(&self, connection: &Connection, segments: &[Segment]) -> Result<(), StoreError> {
        let changed = self.0.iter().filter(|(_, row)| row.is_changed).map(|(seq, _)| *seq);
        let taken_out = neighbours(changed).into_iter();
        let taken_out = taken_out.map(|rows| Changed::take_out(connection, rows));
        let taken_out: Vec<Vec<TakenOut>> = taken_out.collect::<Result<_, _>>()?;
        segments.iter().try_for_each(|segment| segment.insert(connection))?;
        let bodies = &BodyTable(connection);
        let mut text = String::new();
        for taken_out in taken_out.into_iter().flatten() {
            let missing = || corrupt(format_args!("checkpoint row {}", taken_out.seq), "it was not read");
            let row = self.0.get(&taken_out.seq).ok_or_else(missing)?;
            text.clear();
            text.push('[');
            let mut encoder = Encoder { bodies, out: &mut text };
            for (position, held) in row.changes.iter().enumerate() {
                encoder.stored_change(position, held.field, held.prev, held.part, &held.ops);
            }
            text.push(']');
            let changed = Changed { parent: row.parent, changes: &text, fields: row.fields.as_deref() };
            changed.put_back(connection, taken_out)?;
        }
        Ok(())
    }
}

/// Returns the ranges that ascending numbers form.
fn neighbours(numbers: impl Iterator<Item = i64>) -> Vec<RangeInclusive<i64>> {
    let mut ranges: Vec<RangeInclusive<i64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if *range.end() + 1 == number => *range = *range.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

impl Row {
    fn parse(changed: &Changed<'_>) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Stored<'t> {
            field: FieldId,
            #[serde(default)]
            prev: Option<StoredVersion>,
            #[serde(default, borrow)]
            ops: Vec<&'t RawValue>,
            #[serde(default)]
            segment: Option<(i64, usize)>,
        }
        let stored: Vec<Stored<'_>> = serde_json::from_str(changed.changes)
            .map_err(|error| corrupt("a checkpoint's changes", error))?;
        let held = |stored: Stored<'_>| Held {
            field: stored.field,
            prev: stored.prev.map(|prev| prev.of(stored.field)),
            ops: stored.ops.iter().map(|op| op.get().to_owned()).collect(),
            part: stored.segment.map(|(segment, version)| Part { segment, version }),
        };
        Ok(Self {
            parent: changed.parent,
            fields: changed.fields.map(Into::into),
            changes: stored.into_iter().map(held).collect(),
            is_changed: false,
        })
    }

    fn change(&self, field: FieldId) -> Option<&Held> {
        self.changes.iter().find(|held| held.field == field)
    }
}

impl Run {
    /// Adds a version; returns the one before it, unless the run begins here.
    fn take(&mut self, row: &Row, version: Version) -> Result<Option<Version>, StoreError> {
        let damaged = |reason| corrupt(format_args!("checkpoint row {}", version.seq), reason);
        let held = row.change(version.field).ok_or_else(|| damaged("a version is missing"))?;
        if held.prev.is_some_and(|prev| prev.seq >= version.seq) {
            return Err(damaged("a version's parent is not older"));
        }
        if held.is_beginning() || self.versions.len() == AT_ONCE {
            self.base = Some(version);
            return Ok(None);
        }
        self.versions.push(version);
        self.base = held.prev;
        Ok(held.prev)
    }
}

impl Held {
    /// Returns `true` if its operations are not moved: they are in a segment already, or set the whole value.
    fn is_beginning(&self) -> bool {
        let first = self.ops.first().and_then(|op| operand(op));
        self.part.is_some() || first.is_none_or(|(name, _)| matches!(name, "set" | "set_body"))
    }
}

/// The version before a segment, with the weight from which the segment continues.
struct Before {
    version: Option<Version>,
    weight: i64,
    due: i64,
}

impl Before {
    fn of(connection: &Connection, rows: &Rows, version: Option<Version>) -> Result<Self, StoreError> {
        let none = Self { version, weight: 0, due: 0 };
        let part = version.and_then(|version| rows.0.get(&version.seq)?.change(version.field)?.part);
        let Some(part) = part else { return Ok(none) };
        Ok(match Segment::find(connection, part.segment) {
            Ok(segment) if segment.whole_at(part)?.is_some() => Self { due: segment.due, ..none },
            Ok(segment) => Self { weight: segment.weight, due: segment.due, ..none },
            Err(StoreError::Corrupt { .. }) => none,
            Err(error) => return Err(error),
        })
    }
}

impl Segment {
    /// Stores the whole value at `last`, the newest version of the segment, if it is smaller than the operations that
    /// are folded to it.
    fn weigh(&mut self, connection: &Connection, last: Version) -> Result<(), StoreError> {
        let value = match versions::value(connection, last, &mut versions::Rows::default()) {
            Ok(Some(value)) => value,
            Ok(None) | Err(StoreError::Corrupt { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.due = 2 * value.as_str().len() as i64;
        if self.weight >= self.due {
            let mut text = String::new();
            Encoder { bodies: &BodyTable(connection), out: &mut text }.op(&Op::Set(value))?;
            self.whole = Some(text);
        }
        Ok(())
    }
}

/// Returns the name and the operand of a stored operation.
fn operand(op: &str) -> Option<(&str, &str)> {
    let (name, operand) = op.strip_prefix("{\"")?.split_once("\":")?;
    Some((name, operand.strip_suffix('}')?))
}

/// Returns the items that a stored operation adds to a list.
fn items(op: &str) -> Option<&str> {
    let items = operand(op).filter(|(name, _)| *name == "extend")?.1.strip_prefix('[')?.strip_suffix(']')?;
    Some(items.trim()).filter(|items| !items.is_empty())
}

/// Returns the id of the long text to which a stored operation refers.
fn body(op: &str) -> Option<i64> {
    operand(op).filter(|(name, _)| name.ends_with("_body"))?.1.parse().ok()
}

fn body_bytes(connection: &Connection, body: i64) -> Result<i64, StoreError> {
    let mut find = connection
        .prepare_cached(
            "SELECT octet_length(text) + coalesce(octet_length(sealed), 0) FROM body WHERE id = ?",
        )
        .map_err(sqlite)?;
    let found = find.query_row([body], |row| row.get(0)).optional().map_err(sqlite)?;
    Ok(found.unwrap_or(0))
}
