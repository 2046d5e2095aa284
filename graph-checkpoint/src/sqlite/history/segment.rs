//! Segments: the operations of many versions of one field, in one row.
//!
//! ```text
//! before   v1 ◄──prev── v2 ◄──prev── … v64 ◄──prev── v65      each with its operations
//!
//! after    v1 ─┐        v2 ─┐        v64 ─┐
//!              ▼            ▼             ▼
//! … ◄─prev─ [ operations of v1 | of v2 | … | of v64 ] ◄── v64 ◄──prev── v65
//! ```
//!
//! The rows of the versions then contain the positions of their operations in the segment. A reader of v65 reads the
//! segment as a whole and skips 64 rows; a reader of v2 reads the part of the segment up to v2. The operations are
//! moved, not copied, in the transaction of a commit, so a list is stored once, and the value at every version is
//! unchanged.
//!
//! Operations that overwrite one another may be larger than their folded value. Then the segment also contains the
//! whole value at its end, and a reader of newer versions needs nothing older.

use std::borrow::Cow;
use std::collections::VecDeque;

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::{Fold, StoreError};
use superstep_core::state::{CodecError, FieldId};

use crate::checksum::Checksum;
use crate::encryption::Cell;
use crate::error::{corrupt, mismatch};
use crate::history::decode::StoredOp;
use crate::history::manifest::Bodies;
use crate::limited::{too_large, undecoded};
use crate::sqlite::column::{optional_text, text};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::changes::{Part, Version};

/// The placeholder that is stored if there is no previous version.
const NO_VERSION: Version = Version { seq: 0, field: FieldId(0) };

/// A row of `segment`.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) id: i64,
    /// The thread whose commit made it.
    pub(crate) thread: i64,
    /// The version before the first one.
    pub(crate) prev: Option<Version>,
    /// The number of versions whose operations are in it.
    pub(crate) versions: i64,
    /// The end of each operation in the text, as a list; negative if another operation of the same version follows.
    pub(crate) ends: String,
    /// `true` if all operations add items to a list.
    pub(crate) is_list: bool,
    /// The size in bytes of the operations since the last whole value, including this segment.
    pub(crate) weight: i64,
    /// The weight from which the size of the whole value is computed and compared with it.
    pub(crate) due: i64,
    /// The operation that sets the whole value at the last version.
    pub(crate) whole: Option<String>,
    /// The operations, separated by commas; for operations that extend a list, only the items.
    pub(crate) text: String,
}

/// A segment that extends a list, up to its end. Its text is read when it is folded, directly into the list.
#[derive(Debug)]
pub(crate) struct ListSegment {
    id: i64,
    /// The version before the first one.
    pub(crate) prev: Option<Version>,
    /// The length of its stored text.
    pub(crate) bytes: usize,
}

impl ListSegment {
    /// Returns the segment of `part` if all of its operations extend a list and `part` is its last version. Its
    /// checksum is checked when it is folded.
    pub(crate) fn find(connection: &Connection, part: Part) -> Result<Option<Self>, StoreError> {
        let sql = "SELECT prev, prev_field, octet_length(text) FROM segment \
                   WHERE id = ? AND versions = ? AND is_list AND whole IS NULL";
        let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
        let versions = i64::try_from(part.version).unwrap_or(i64::MAX).saturating_add(1);
        let found = find.query_row([part.segment, versions], |row| {
            let (prev, field, bytes): (Option<i64>, u16, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Self {
                id: part.segment,
                prev: prev.map(|seq| Version { seq, field: FieldId(field) }),
                bytes: usize::try_from(bytes).unwrap_or_default(),
            })
        });
        found.optional().map_err(sqlite)
    }

    /// Adds the items of the segment to the list.
    pub(crate) fn fold(&self, connection: &Connection, fold: &mut Fold) -> Result<(), StoreError> {
        Segment::read(connection, self.id, |found, _, text| {
            let text = connection.decrypt_part(text, || found.cell("text"))?;
            fold.extend(&text).map_err(|error| undecoded("the value", error))
        })
    }
}

/// The texts of a segment, as they are stored.
#[cfg(feature = "encryption")]
pub(crate) struct StoredTexts {
    pub(crate) whole: Option<String>,
    pub(crate) text: String,
}

/// The position of an operation in the text of a segment, and its version.
#[derive(Clone, Copy)]
struct OpPlace {
    version: usize,
    from: usize,
    to: usize,
}

/// The columns of a row, except its checksum.
pub(crate) const SEGMENT: &str =
    "id, thread, prev, prev_field, versions, ends, is_list, weight, due, whole, text";

impl Segment {
    pub(crate) fn find(connection: &Connection, id: i64) -> Result<Self, StoreError> {
        Self::read(connection, id, |found, whole, text| {
            let text = connection.decrypt(text, || found.cell("text"))?.into_owned();
            let whole = connection.decrypt_optional(whole, || found.cell("whole"))?.map(Cow::into_owned);
            Ok(Self { whole, text, ..found })
        })
    }

    /// Reads the row without its texts, and its stored texts, and checks its checksum.
    #[cfg(feature = "encryption")]
    pub(crate) fn stored(connection: &Connection, id: i64) -> Result<(Self, StoredTexts), StoreError> {
        Self::read(connection, id, |found, whole, text| {
            Ok((found, StoredTexts { whole: whole.map(Into::into), text: text.into() }))
        })
    }

    /// Reads the row, and passes the stored texts and all other columns to `take`.
    fn read<T>(
        connection: &Connection,
        id: i64,
        take: impl FnOnce(Self, Option<&str>, &str) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let sql = "SELECT id, thread, prev, prev_field, versions, ends, is_list, weight, due, whole, text, sum \
                   FROM segment WHERE id = ?";
        let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
        let mut rows = find.query([id]).map_err(sqlite)?;
        let missing = || corrupt(format_args!("segment row {id}"), "the row is missing");
        let row = rows.next().map_err(sqlite)?.ok_or_else(missing)?;
        let found = Self::header(row)?;
        let (whole, text) = (optional_text(row, 9)?, text(row, 10)?);
        if row.get::<_, i64>(11).map_err(sqlite)? != found.sum(whole, text) {
            return Err(mismatch(format_args!("segment row {id}")));
        }
        let limits = connection.limits().of_record();
        limits.check(&found.ends).map_err(|excess| too_large(found.cell("ends").place(), excess))?;
        take(found, whole, text)
    }

    /// Returns the texts of a row of [`SEGMENT`] without checking them, so that references are found even in damaged
    /// texts.
    pub(crate) fn unchecked<'r>(
        connection: &Connection,
        row: &'r Row<'_>,
    ) -> Result<[Cow<'r, str>; 2], StoreError> {
        let (found, whole, text) = (Self::header(row)?, optional_text(row, 9)?, text(row, 10)?);
        let whole = connection.decrypt_optional(whole, || found.cell("whole"))?;
        Ok([connection.decrypt(text, || found.cell("text"))?, whole.unwrap_or_default()])
    }

    /// Reads the columns before the texts.
    fn header(row: &Row<'_>) -> Result<Self, StoreError> {
        let prev: Option<i64> = row.get(2).map_err(sqlite)?;
        let field: u16 = row.get(3).map_err(sqlite)?;
        Ok(Self {
            id: row.get(0).map_err(sqlite)?,
            thread: row.get(1).map_err(sqlite)?,
            prev: prev.map(|seq| Version { seq, field: FieldId(field) }),
            versions: row.get(4).map_err(sqlite)?,
            ends: text(row, 5)?.into(),
            is_list: row.get(6).map_err(sqlite)?,
            weight: row.get(7).map_err(sqlite)?,
            due: row.get(8).map_err(sqlite)?,
            whole: None,
            text: String::new(),
        })
    }

    /// Returns the cell of one of its texts, which includes all other columns of the row.
    pub(crate) fn cell(&self, column: &'static str) -> Cell {
        let cell = Cell::of("segment", column).named(self.id).int(self.id).int(self.thread);
        let cell = cell.optional_int(self.prev.map(|prev| prev.seq));
        let cell = cell.int(i64::from(self.prev.unwrap_or(NO_VERSION).field.0));
        let cell = cell.int(self.versions).text(&self.ends).int(self.is_list.into());
        cell.int(self.weight).int(self.due)
    }

    /// Returns the checksum of the row with these texts.
    pub(crate) fn sum(&self, whole: Option<&str>, text: &str) -> i64 {
        let prev = self.prev.unwrap_or(NO_VERSION);
        let sum = Checksum::of("segment").int(self.id).int(self.thread);
        let sum = sum.optional_int(self.prev.map(|prev| prev.seq)).int(i64::from(prev.field.0));
        let sum = sum.int(self.versions).int(self.is_list.into()).int(self.weight).int(self.due);
        sum.text(&self.ends).optional_text(whole).text(text).finish()
    }

    pub(crate) fn insert(&self, connection: &Connection) -> Result<(), StoreError> {
        let text = connection.encrypt(&self.text, || self.cell("text"))?;
        let whole = connection.encrypt_optional(self.whole.as_deref(), || self.cell("whole"))?;
        let mut insert = connection
            .prepare_cached(
                "INSERT INTO segment(id, thread, prev, prev_field, versions, ends, is_list, weight, due, whole, \
                 sum, text) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .map_err(sqlite)?;
        let values = params![
            self.id,
            self.thread,
            self.prev.map(|prev| prev.seq),
            self.prev.unwrap_or(NO_VERSION).field.0,
            self.versions,
            self.ends,
            self.is_list,
            self.weight,
            self.due,
            whole,
            self.sum(whole.as_deref(), &text),
            text,
        ];
        insert.execute(values).map(drop).map_err(sqlite)
    }

    /// Returns the id of the next segment.
    pub(crate) fn next_id(connection: &Connection) -> Result<i64, StoreError> {
        let mut last = connection
            .prepare_cached("SELECT max(seq) FROM sqlite_sequence WHERE name = 'segment'")
            .map_err(sqlite)?;
        let last: Option<i64> = last.query_row([], |row| row.get(0)).map_err(sqlite)?;
        Ok(last.unwrap_or(0) + 1)
    }

    /// Returns `true` if `part` is the last version of the segment.
    pub(crate) fn ends_with(&self, part: Part) -> bool {
        i64::try_from(part.version).is_ok_and(|version| version + 1 == self.versions)
    }

    /// Returns the operation that sets the whole value, if there is one for the version at `part`.
    pub(crate) fn whole_at(&self, part: Part) -> Result<Option<StoredOp>, StoreError> {
        let whole = self.whole.as_ref().filter(|_| self.ends_with(part));
        whole.map(|whole| serde_json::from_str(whole).map_err(|error| self.damaged(error))).transpose()
    }

    /// Applies the operations of the versions up to the one at `part`.
    pub(crate) fn fold(&self, part: Part, fold: &mut Fold, bodies: &impl Bodies) -> Result<(), StoreError> {
        if self.is_list && self.ends_with(part) {
            return fold.extend(&self.text).map_err(|error| self.unfit(error));
        }
        let mut last = None;
        for place in self.places()?.take_while(|place| place.version <= part.version) {
            if !self.is_list {
                fold.apply(&self.op(&place)?.resolve(bodies)?).map_err(|error| self.unfit(error))?;
            }
            last = Some(place);
        }
        let last = last.filter(|place| place.version == part.version).ok_or_else(|| self.lacks(part))?;
        match self.is_list {
            true => fold.extend(self.text(0, last.to)?).map_err(|error| self.unfit(error)),
            false => Ok(()),
        }
    }

    /// Returns the operations of the version at `part`.
    pub(crate) fn of(&self, part: Part) -> Result<Vec<StoredOp>, StoreError> {
        let places = self.places()?.filter(|place| place.version == part.version);
        let ops: Vec<StoredOp> = places.map(|place| self.op(&place)).collect::<Result<_, _>>()?;
        if ops.is_empty() { Err(self.lacks(part)) } else { Ok(ops) }
    }

    /// Returns operations that are equivalent to all versions up to the one at `part`.
    pub(crate) fn up_to(&self, part: Part) -> Result<Vec<StoredOp>, StoreError> {
        let whole = self.whole_at(part)?;
        if whole.is_some() {
            return Ok(whole.into_iter().collect());
        }
        let places = self.places()?.take_while(|place| place.version <= part.version);
        places.map(|place| self.op(&place)).collect()
    }

    /// Checks that the segment has the stated number of versions, that their operations can be decoded, and that they
    /// fill the text.
    pub(crate) fn check(&self, bodies: &impl Bodies) -> Result<(), StoreError> {
        let mut last = None;
        for place in self.places()? {
            self.op(&place)?.resolve(bodies)?;
            last = Some(place);
        }
        let last = last.ok_or_else(|| self.damaged("it has no operations"))?;
        let versions = i64::try_from(last.version).unwrap_or(i64::MAX).saturating_add(1);
        if last.to != self.text.len() || versions != self.versions {
            return Err(self.damaged("its text is not that of its versions"));
        }
        let last = Part { segment: self.id, version: last.version };
        self.whole_at(last)?.map_or(Ok(()), |whole| whole.resolve(bodies).map(drop))
    }

    /// Returns the positions of the operations in the text.
    fn places(&self) -> Result<impl Iterator<Item = OpPlace>, StoreError> {
        let ends: Vec<i64> = serde_json::from_str(&self.ends).map_err(|error| self.damaged(error))?;
        let mut next = OpPlace { version: 0, from: 0, to: 0 };
        Ok(ends.into_iter().map(move |end| {
            let to = usize::try_from(end.unsigned_abs()).unwrap_or(usize::MAX);
            let place = OpPlace { to, ..next };
            next = OpPlace { version: place.version + usize::from(end >= 0), from: to.saturating_add(1), to };
            place
        }))
    }

    fn op(&self, place: &OpPlace) -> Result<StoredOp, StoreError> {
        let text = self.text(place.from, place.to)?;
        let op = match self.is_list {
            true => serde_json::from_str(&format!("{{\"extend\":[{text}]}}")),
            false => serde_json::from_str(text),
        };
        op.map_err(|error| self.damaged(error))
    }

    fn text(&self, from: usize, to: usize) -> Result<&str, StoreError> {
        self.text.get(from..to).ok_or_else(|| self.damaged("an operation is out of place"))
    }

    fn lacks(&self, part: Part) -> StoreError {
        self.damaged(format_args!("it has no version {}", part.version))
    }

    fn unfit(&self, error: CodecError) -> StoreError {
        undecoded(format_args!("segment row {}", self.id), error)
    }

    fn damaged(&self, reason: impl core::fmt::Display) -> StoreError {
        corrupt(format_args!("segment row {}", self.id), reason)
    }
}

/// Segments that were read, so that a walk over many checkpoints reads each only once.
#[derive(Default)]
pub(crate) struct Segments(VecDeque<Segment>);

/// The maximum number of segments in memory: enough for the fields of a state that grow at the same time.
const HELD: usize = 16;

impl Segments {
    /// Returns the operations of the version at `part`.
    pub(crate) fn ops(&mut self, connection: &Connection, part: Part) -> Result<Vec<StoredOp>, StoreError> {
        self.get(connection, part.segment)?.of(part)
    }

    /// Returns the version before the segment that contains `part`.
    pub(crate) fn lookup(
        &mut self,
        connection: &Connection,
        part: Part,
    ) -> Result<Option<Version>, StoreError> {
        let segment = self.get(connection, part.segment)?;
        segment.of(part).map(|_| segment.prev)
    }

    fn get(&mut self, connection: &Connection, id: i64) -> Result<&Segment, StoreError> {
        let held = match self.0.iter().position(|segment| segment.id == id) {
            Some(held) => held,
            None => {
                let segment = Segment::find(connection, id)?;
                if self.0.len() == HELD {
                    self.0.pop_front();
                }
                self.0.push_back(segment);
                self.0.len() - 1
            }
        };
        Ok(&self.0[held])
    }
}
