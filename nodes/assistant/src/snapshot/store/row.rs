//! Lines of manifests as rows.

use crate::snapshot::id::Digest;
use crate::snapshot::manifest::{Entry, Line};
use crate::snapshot::{NotCoveredReason, SnapshotError};

/// A line in the columns of its table.
pub(super) struct LineRow {
    pub(super) kind: i64,
    pub(super) named: bool,
    pub(super) digest: Option<Digest>,
    pub(super) target: Option<String>,
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) modified: i64,
}

const REMOVED: i64 = 0;
const ABSENT: i64 = 1;
const FOLDER: i64 = 2;
const FILE: i64 = 3;
const LINK: i64 = 4;

/// What is not covered, by its reason. A number, once given, stays.
const NOT_COVERED: [(i64, NotCoveredReason); 9] = [
    (16, NotCoveredReason::Ignored),
    (17, NotCoveredReason::TooLarge),
    (18, NotCoveredReason::TooManyFiles),
    (19, NotCoveredReason::TooDeep),
    (20, NotCoveredReason::Unreadable),
    (21, NotCoveredReason::Changing),
    (22, NotCoveredReason::Special),
    (23, NotCoveredReason::NotText),
    (24, NotCoveredReason::OutOfReach),
];

pub(super) fn to_row(line: Option<&Line>) -> LineRow {
    let named = line.is_some_and(|line| line.named);
    let mut row = LineRow { kind: REMOVED, named, digest: None, target: None, mode: 0, size: 0, modified: 0 };
    let Some(line) = line else { return row };
    match &line.entry {
        Entry::Absent => row.kind = ABSENT,
        Entry::Folder => row.kind = FOLDER,
        Entry::File { content, size, mode } => {
            (row.kind, row.digest, row.mode, row.size) = (FILE, Some(*content), *mode, *size);
        }
        Entry::Link { target } => (row.kind, row.target) = (LINK, Some(target.clone())),
        Entry::NotCovered { reason, size, modified } => {
            let kind = NOT_COVERED.iter().find(|(_, known)| known == reason);
            row.kind = kind.expect("each reason has a number").0;
            (row.size, row.modified) = (*size, *modified);
        }
    }
    row
}

impl LineRow {
    /// Reads the columns kind, named, digest, target, mode, size and modified, which begin at the second.
    pub(super) fn read(row: &rusqlite::Row<'_>) -> Result<Self, SnapshotError> {
        let digest: Option<[u8; 32]> = row.get(3)?;
        Ok(Self {
            kind: row.get(1)?,
            named: row.get(2)?,
            digest: digest.map(Digest::from_bytes),
            target: row.get(4)?,
            mode: row.get(5)?,
            size: row.get::<_, i64>(6)?.cast_unsigned(),
            modified: row.get(7)?,
        })
    }

    pub(super) fn line(self) -> Result<Option<Line>, SnapshotError> {
        let not_covered = NOT_COVERED.iter().find(|(kind, _)| *kind == self.kind);
        let entry = match (self.kind, self.digest, self.target, not_covered) {
            (REMOVED, ..) => return Ok(None),
            (ABSENT, ..) => Entry::Absent,
            (FOLDER, ..) => Entry::Folder,
            (FILE, Some(content), ..) => Entry::File { content, size: self.size, mode: self.mode },
            (LINK, _, Some(target), _) => Entry::Link { target },
            (.., Some((_, reason))) => {
                Entry::NotCovered { reason: *reason, size: self.size, modified: self.modified }
            }
            _ => return Err(rusqlite::Error::IntegralValueOutOfRange(1, self.kind).into()),
        };
        Ok(Some(Line { entry, named: self.named }))
    }
}
