//! From versions to values: the fold of a version's operations and of all before it.

use std::collections::HashMap;

use superstep_core::checkpoint::{Fold, StoreError};
use superstep_core::state::Json;

use crate::bodies::BodyTable;
use crate::connection::Connection;
use crate::decode::{self, StoredChange, StoredOp};
use crate::fault::corrupt;
use crate::manifest::Version;
use crate::rows::Changed;
use crate::segment::{Part, Segment};

/// Changes that were read for one field and may hold versions of another, by their rows.
#[derive(Default)]
pub(crate) struct Rows(HashMap<i64, Vec<StoredChange>>);

/// What the value at a version is made of, newest first.
#[derive(Default)]
struct Chain {
    links: Vec<Link>,
}

enum Link {
    /// The operations of a change: its row, and its position there.
    Change(i64, usize),
    /// Those in a segment, up to a version.
    Segment(Segment, Part),
    /// What a segment has at its end.
    Whole(StoredOp),
}

/// The value at a version; `None` where there is none yet.
pub(crate) fn value(
    connection: &Connection,
    last: Version,
    rows: &mut Rows,
) -> Result<Option<Json>, StoreError> {
    let mut chain = Chain::default();
    let mut next = Some(last);
    while let Some(version) = next {
        next = match rows.0.get(&version.seq) {
            Some(changes) => chain.link(connection, changes, version)?,
            None => {
                let mut wanted = version;
                let mut after = None;
                Changed::descend(connection, version.seq, |seq, changed| {
                    let changes = decode::parse_changes(changed.changes)?;
                    after = chain.link(connection, &changes, wanted)?;
                    rows.0.insert(seq, changes);
                    match after {
                        Some(older) if !rows.0.contains_key(&older.seq) => {
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
    chain.fold(connection, rows)
}

impl Chain {
    /// Adds `version`, which is one of `changes`; returns the one before what was added, if it matters.
    fn link(
        &mut self,
        connection: &Connection,
        changes: &[StoredChange],
        version: Version,
    ) -> Result<Option<Version>, StoreError> {
        let place = format_args!("checkpoint row {}", version.seq);
        let position = changes.iter().position(|change| change.field == version.field);
        let position = position.ok_or_else(|| corrupt(place, "a version is missing"))?;
        let before = match changes[position].part() {
            None => {
                self.links.push(Link::Change(version.seq, position));
                changes[position].prev()
            }
            Some(part) => {
                let segment = Segment::find(connection, part.segment)?;
                match segment.whole_at(part)? {
                    Some(whole) => {
                        self.links.push(Link::Whole(whole));
                        None
                    }
                    None => {
                        let before = segment.prev;
                        self.links.push(Link::Segment(segment, part));
                        before
                    }
                }
            }
        };
        if before.is_some_and(|before| before.seq >= version.seq) {
            return Err(corrupt(place, "a version's parent is not older"));
        }
        Ok(before)
    }

    fn fold(&self, connection: &Connection, rows: &Rows) -> Result<Option<Json>, StoreError> {
        let bodies = &BodyTable(connection);
        let mut fold = Fold::new();
        for link in self.links.iter().rev() {
            match link {
                Link::Change(seq, position) => {
                    let change = rows.0.get(seq).and_then(|changes| changes.get(*position));
                    for op in change.iter().flat_map(|change| &change.ops) {
                        let op = op.resolve(bodies)?;
                        fold.apply(&op).map_err(|error| corrupt("an operation", error))?;
                    }
                }
                Link::Segment(segment, part) => segment.fold(*part, &mut fold, bodies)?,
                Link::Whole(op) => {
                    fold.apply(&op.resolve(bodies)?).map_err(|error| corrupt("an operation", error))?;
                }
            }
        }
        fold.finish().map_err(|error| corrupt("the value", error))
    }
}
