//! Computes values: folds the operations of a version and of all versions before it.

use std::collections::HashMap;

use superstep_core::checkpoint::{Fold, StoreError};
use superstep_core::state::{Json, SizeLimits};

use crate::error::corrupt;
use crate::history::decode::StoredOp;
use crate::limited::undecoded;
use crate::sqlite::connection::Connection;
use crate::sqlite::history::changes::{Part, StoredChange, Version, parse_changes};
use crate::sqlite::history::long_texts::BodyTable;
use crate::sqlite::history::rows::Changed;
use crate::sqlite::history::segment::{ListSegment, Segment};

/// Changes that were read for one field and may contain versions of another, by row.
#[derive(Default)]
pub(crate) struct Rows(HashMap<i64, Vec<StoredChange>>);

/// The parts of the value at a version, newest first.
struct Chain {
    links: Vec<Link>,
    limits: SizeLimits,
}

enum Link {
    /// The operations of a change: its row, and its index there.
    Change(i64, usize),
    /// The operations in a segment, up to a version.
    Segment(Segment, Part),
    /// All operations in a segment, which extend a list.
    List(ListSegment),
    /// The whole value at the end of a segment.
    Whole(StoredOp),
}

/// Returns the value at a version; `None` if there is none yet. Its size is limited to that of a state.
pub(crate) fn value(
    connection: &Connection,
    last: Version,
    rows: &mut Rows,
) -> Result<Option<Json>, StoreError> {
    let mut chain = Chain { links: Vec::new(), limits: connection.limits() };
    let mut next = Some(last);
    while let Some(version) = next {
        next = match rows.0.get(&version.seq) {
            Some(changes) => chain.link(connection, changes, version)?,
            None => {
                let mut wanted = version;
                let mut after = None;
                Changed::descend(connection, version.seq, |seq, changed| {
                    let changes = parse_changes(changed.changes)?;
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
    /// Adds `version`, which is one of `changes`; returns the next version to add, if the value depends on it.
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
            Some(part) => match ListSegment::find(connection, part)? {
                Some(list) => {
                    let before = list.prev;
                    self.links.push(Link::List(list));
                    before
                }
                None => {
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
            },
        };
        if before.is_some_and(|before| before.seq >= version.seq) {
            return Err(corrupt(place, "a version's parent is not older"));
        }
        Ok(before)
    }

    fn fold(&self, connection: &Connection, rows: &Rows) -> Result<Option<Json>, StoreError> {
        let bodies = &BodyTable(connection);
        let texts = self.links.iter().map(|link| match link {
            Link::Segment(segment, _) => segment.text.len(),
            Link::List(list) => list.bytes,
            Link::Change(..) | Link::Whole(_) => 0,
        });
        let mut fold = Fold::within(self.limits).with_room(texts.sum());
        for link in self.links.iter().rev() {
            match link {
                Link::Change(seq, position) => {
                    let change = rows.0.get(seq).and_then(|changes| changes.get(*position));
                    for op in change.iter().flat_map(|change| &change.ops) {
                        let op = op.resolve(bodies)?;
                        fold.apply(&op).map_err(|error| undecoded("the value", error))?;
                    }
                }
                Link::Segment(segment, part) => segment.fold(*part, &mut fold, bodies)?,
                Link::List(list) => list.fold(connection, &mut fold)?,
                Link::Whole(op) => {
                    fold.apply(&op.resolve(bodies)?).map_err(|error| undecoded("the value", error))?;
                }
            }
        }
        fold.finish().map_err(|error| undecoded("the value", error))
    }
}
