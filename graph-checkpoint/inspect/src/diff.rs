//! The differences between two JSON values.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use serde_json::Value;

use super::path::{Path, Segment, text_of};

/// One difference between two values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The path. A position in a list refers to the first value for a removal, and to the second value otherwise.
    pub path: Path,
    /// The difference itself.
    #[serde(flatten)]
    pub edit: Edit,
}

/// A kind of difference, with the values at its path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Edit {
    /// The second value has a new part.
    Added {
        /// Its value.
        value: Value,
        /// Its position, in a list.
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<usize>,
    },
    /// The second value lacks a part.
    Removed {
        /// The former value.
        value: Value,
    },
    /// A part has another value.
    Changed {
        /// The former value.
        from: Value,
        /// The new value.
        to: Value,
    },
    /// The items that are in both versions of this list have another order.
    Reordered {
        /// Their ids, in the new order.
        ids: Vec<Value>,
    },
}

impl Difference {
    /// Returns the same difference for a value that is nested at `place`.
    pub(super) fn below(self, place: &Path) -> Self {
        let path = place.segments().iter().chain(self.path.segments()).cloned().collect();
        Self { path, ..self }
    }
}

/// Returns the differences between two values, in an order in which they can be [applied](apply).
///
/// Items of lists are matched by their `id` if all items have a unique one, which is a text or a number; otherwise by
/// their values, with the longest common subsequence unchanged.
#[must_use]
pub fn diff(from: &Value, to: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&Path::root(), from, to, &mut found);
    found
}

fn compare(path: &Path, from: &Value, to: &Value, found: &mut Vec<Difference>) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(old), Value::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let path = path.then(Segment::Key(key.clone()));
                match (old.get(key), new.get(key)) {
                    (Some(old), Some(new)) => compare(&path, old, new, found),
                    (Some(old), None) => found.push(removed(path, old)),
                    (None, Some(new)) => found.push(added(path, new, None)),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => match (ids(old), ids(new)) {
            (Some(old_ids), Some(new_ids)) => compare_by_id(path, (old, &old_ids), (new, &new_ids), found),
            _ => compare_lists(path, old, new, found),
        },
        _ => {
            let edit = Edit::Changed { from: from.clone(), to: to.clone() };
            found.push(Difference { path: path.clone(), edit });
        }
    }
}

fn added(path: Path, value: &Value, at: Option<usize>) -> Difference {
    Difference { path, edit: Edit::Added { value: value.clone(), at } }
}

fn removed(path: Path, value: &Value) -> Difference {
    Difference { path, edit: Edit::Removed { value: value.clone() } }
}

/// Returns the ids of a list's items, in the form of paths; `None` unless each item has a unique id.
fn ids(items: &[Value]) -> Option<Vec<String>> {
    let id = |item: &Value| item.get("id").filter(|id| id.is_string() || id.is_number()).map(text_of);
    let ids: Vec<String> = items.iter().map(id).collect::<Option<_>>()?;
    let distinct: BTreeSet<&String> = ids.iter().collect();
    (distinct.len() == ids.len()).then_some(ids)
}

fn compare_by_id(
    path: &Path,
    (old, old_ids): (&[Value], &[String]),
    (new, new_ids): (&[Value], &[String]),
    found: &mut Vec<Difference>,
) {
    let item = |id: &String| path.then(Segment::Item(id.clone()));
    let old_at: HashMap<&String, usize> = old_ids.iter().zip(0..).collect();
    let in_new: BTreeSet<&String> = new_ids.iter().collect();
    for (value, id) in old.iter().zip(old_ids).filter(|(_, id)| !in_new.contains(id)) {
        found.push(removed(item(id), value));
    }
    let common: Vec<usize> = new_ids.iter().filter_map(|id| old_at.get(id).copied()).collect();
    if !common.is_sorted() {
        let ids = common.iter().map(|at| old[*at]["id"].clone()).collect();
        found.push(Difference { path: path.clone(), edit: Edit::Reordered { ids } });
    }
    for (at, (value, id)) in
        new.iter().zip(new_ids).enumerate().filter(|(_, (_, id))| !old_at.contains_key(id))
    {
        found.push(added(item(id), value, Some(at)));
    }
    for (value, id) in new.iter().zip(new_ids) {
        if let Some(at) = old_at.get(id) {
            compare(&item(id), &old[*at], value, found);
        }
    }
}

fn compare_lists(path: &Path, old: &[Value], new: &[Value], found: &mut Vec<Difference>) {
    let index = |at: usize| path.then(Segment::Index(at));
    let Alignment { gone, fresh, pairs } = Alignment::of(old, new);
    found.extend(gone.into_iter().rev().map(|at| removed(index(at), &old[at])));
    found.extend(fresh.into_iter().map(|at| added(index(at), &new[at], Some(at))));
    for (old_at, new_at) in pairs {
        compare(&index(new_at), &old[old_at], &new[new_at], found);
    }
}

/// The matching of the items of two lists, by their values.
struct Alignment {
    /// The items of the first list that are not in the second.
    gone: Vec<usize>,
    /// The items of the second list that are not in the first.
    fresh: Vec<usize>,
    /// The items in both lists, unchanged or changed.
    pairs: Vec<(usize, usize)>,
}

impl Alignment {
    fn of(old: &[Value], new: &[Value]) -> Self {
        let (mut gone, mut fresh, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut old_at, mut new_at) = (0, 0);
        let end = (old.len(), new.len());
        for (old_same, new_same) in common_subsequence(old, new).into_iter().chain([end]) {
            // Between two unchanged items, as many items as both lists have there count as changed.
            let both = (old_same - old_at).min(new_same - new_at);
            pairs.extend((0..both).map(|n| (old_at + n, new_at + n)));
            gone.extend(old_at + both..old_same);
            fresh.extend(new_at + both..new_same);
            if (old_same, new_same) != end {
                pairs.push((old_same, new_same));
            }
            (old_at, new_at) = (old_same + 1, new_same + 1);
        }
        Self { gone, fresh, pairs }
    }
}

/// The maximum number of comparisons for aligning two lists; longer lists are compared position by position.
const COMPARISONS: usize = 1 << 20;

/// Returns the positions of the items that both lists have in the same order.
fn common_subsequence(old: &[Value], new: &[Value]) -> Vec<(usize, usize)> {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let same_end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new);
    let after = same_end.count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - after], &new_rest[..new_rest.len() - after]);
    let mut common: Vec<(usize, usize)> = (0..before).map(|at| (at, at)).collect();
    if old_mid.len().saturating_mul(new_mid.len()) <= COMPARISONS {
        common.extend(longest(old_mid, new_mid).into_iter().map(|(old, new)| (old + before, new + before)));
    }
    common.extend((0..after).map(|at| (old.len() - after + at, new.len() - after + at)));
    common
}

/// Returns the longest common subsequence, by dynamic programming.
fn longest(old: &[Value], new: &[Value]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    // lengths[o * width + n]: the length for old[o..] and new[n..].
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    let same: Vec<bool> = old.iter().flat_map(|old| new.iter().map(move |new| old == new)).collect();
    for o in (0..old.len()).rev() {
        for n in (0..new.len()).rev() {
            lengths[o * width + n] = if same[o * new.len() + n] {
                lengths[(o + 1) * width + n + 1] + 1
            } else {
                lengths[(o + 1) * width + n].max(lengths[o * width + n + 1])
            };
        }
    }
    let (mut o, mut n, mut common) = (0, 0, Vec::new());
    while o < old.len() && n < new.len() {
        if same[o * new.len() + n] {
            common.push((o, n));
            (o, n) = (o + 1, n + 1);
        } else if lengths[(o + 1) * width + n] >= lengths[o * width + n + 1] {
            o += 1;
        } else {
            n += 1;
        }
    }
    common
}

/// An error for a difference that does not fit the value to which it is applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the difference at {path} does not fit the value")]
pub struct ApplyError {
    /// The path of the difference.
    pub path: Path,
}

/// Applies differences in order. The differences between two values turn the first value into the second.
///
/// # Errors
/// Returns an error if a difference does not fit. Earlier differences have then already been applied.
pub fn apply(value: &mut Value, differences: &[Difference]) -> Result<(), ApplyError> {
    for Difference { path, edit } in differences {
        apply_one(value, path, edit).ok_or_else(|| ApplyError { path: path.clone() })?;
    }
    Ok(())
}

fn apply_one(value: &mut Value, path: &Path, edit: &Edit) -> Option<()> {
    match edit {
        Edit::Changed { to, .. } => *path.get_mut(value)? = to.clone(),
        Edit::Reordered { ids } => {
            let items = path.get_mut(value)?.as_array_mut()?;
            let place = |item: &Value| ids.iter().position(|id| Some(id) == item.get("id"));
            (items.len() == ids.len()).then_some(())?;
            items.sort_by_key(place);
        }
        Edit::Added { value: new, at } => {
            let (last, around) = path.segments().split_last()?;
            match (Path::from_iter(around.iter().cloned()).get_mut(value)?, last, at) {
                (Value::Array(items), _, Some(at)) if *at <= items.len() => items.insert(*at, new.clone()),
                (Value::Object(members), Segment::Key(key), None) => {
                    members.insert(key.clone(), new.clone());
                }
                _ => return None,
            }
        }
        Edit::Removed { .. } => {
            let (last, around) = path.segments().split_last()?;
            match (Path::from_iter(around.iter().cloned()).get_mut(value)?, last) {
                (Value::Array(items), _) => {
                    let at = last.index_in(items)?;
                    items.remove(at);
                }
                (Value::Object(members), Segment::Key(key)) => {
                    members.remove(key)?;
                }
                _ => return None,
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
