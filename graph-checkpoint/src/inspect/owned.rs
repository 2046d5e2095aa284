//! Values whose parts know who wrote them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use superstep_core::state::{CodecError, Op};

use super::diff::aligned;
use super::path::{Path, Segment, text_of};

/// A value, and for each part of it who made it what it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    /// Who wrote it, or for a list or an object who changed last which items it has.
    pub(super) by: usize,
    node: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Leaf(Value),
    List(Vec<Owned>),
    Object(BTreeMap<String, Owned>),
}

impl Owned {
    /// A value that is new.
    fn new(value: Value, by: usize) -> Self {
        let node = match value {
            Value::Array(items) => Node::List(items.into_iter().map(|item| Self::new(item, by)).collect()),
            Value::Object(members) => {
                Node::Object(members.into_iter().map(|(key, value)| (key, Self::new(value, by))).collect())
            }
            leaf => Node::Leaf(leaf),
        };
        Self { by, node }
    }

    pub(super) fn value(&self) -> Value {
        match &self.node {
            Node::Leaf(value) => value.clone(),
            Node::List(items) => items.iter().map(Self::value).collect(),
            Node::Object(members) => {
                members.iter().map(|(key, member)| (key.clone(), member.value())).collect()
            }
        }
    }

    /// The value after a logged operation.
    pub(super) fn apply(value: Option<Self>, op: &Op, by: usize) -> Result<Option<Self>, CodecError> {
        let list = || Self { by, node: Node::List(Vec::new()) };
        let object = || Self { by, node: Node::Object(BTreeMap::new()) };
        Ok(Some(match op {
            Op::Set(new) => {
                let new: Value = new.decode()?;
                match value {
                    Some(old) => old.rewritten(new, by),
                    None => Self::new(new, by),
                }
            }
            Op::Extend(items) => value.unwrap_or_else(list).with_items(by, |held| {
                held.extend(items.decode::<Vec<Value>>()?.into_iter().map(|item| Self::new(item, by)));
                Ok(())
            })?,
            Op::SetAdd(items) => value.unwrap_or_else(list).with_items(by, |held| {
                for item in items.decode::<Vec<Value>>()? {
                    if held.iter().all(|held| held.value() != item) {
                        held.push(Self::new(item, by));
                    }
                }
                Ok(())
            })?,
            Op::SetRemove(items) => value.unwrap_or_else(list).with_items(by, |held| {
                let gone: Vec<Value> = items.decode()?;
                held.retain(|held| !gone.contains(&held.value()));
                Ok(())
            })?,
            Op::Keyed(rows) => value.unwrap_or_else(list).with_items(by, |held| {
                for row in rows.decode::<Vec<Row>>()? {
                    row.put(held, by);
                }
                Ok(())
            })?,
            Op::MapPut(entries) => value.unwrap_or_else(object).with_members(by, |held| {
                for (key, new) in entries.decode::<BTreeMap<String, Value>>()? {
                    let new = match held.remove(&key) {
                        Some(old) => old.rewritten(new, by),
                        None => Self::new(new, by),
                    };
                    held.insert(key, new);
                }
                Ok(())
            })?,
            Op::MapRemove(keys) => value.unwrap_or_else(object).with_members(by, |held| {
                let gone: BTreeMap<String, Value> = keys.decode()?;
                held.retain(|key, _| !gone.contains_key(key));
                Ok(())
            })?,
            _ => return Err(CodecError::new(format!("an operation {:?} of a newer version", op.name()))),
        }))
    }

    fn with_items(
        mut self,
        by: usize,
        change: impl FnOnce(&mut Vec<Self>) -> Result<(), CodecError>,
    ) -> Result<Self, CodecError> {
        let Node::List(items) = &mut self.node else {
            return Err(CodecError::new("an operation on a list was applied to something else"));
        };
        let before = items.len();
        change(items)?;
        if items.len() != before {
            self.by = by;
        }
        Ok(self)
    }

    fn with_members(
        mut self,
        by: usize,
        change: impl FnOnce(&mut BTreeMap<String, Self>) -> Result<(), CodecError>,
    ) -> Result<Self, CodecError> {
        let Node::Object(members) = &mut self.node else {
            return Err(CodecError::new("an operation on a map was applied to something else"));
        };
        let before = members.len();
        change(members)?;
        if members.len() != before {
            self.by = by;
        }
        Ok(self)
    }

    /// The value after an overwrite: parts that are what they were keep their authors.
    fn rewritten(self, new: Value, by: usize) -> Self {
        match (self.node, new) {
            (Node::Leaf(old), new) if old == new => Self { by: self.by, node: Node::Leaf(old) },
            (Node::Object(mut old), Value::Object(new)) => {
                let same_keys = old.len() == new.len() && new.keys().all(|key| old.contains_key(key));
                let rewrite = |(key, new): (String, Value)| {
                    let member = match old.remove(&key) {
                        Some(old) => old.rewritten(new, by),
                        None => Self::new(new, by),
                    };
                    (key, member)
                };
                let members = new.into_iter().map(rewrite).collect();
                Self { by: if same_keys { self.by } else { by }, node: Node::Object(members) }
            }
            (Node::List(old), Value::Array(new)) => {
                let values: Vec<Value> = old.iter().map(Self::value).collect();
                let pairs = aligned(&values, &new);
                let same_items =
                    pairs.len() == old.len() && old.len() == new.len() && pairs.iter().all(|(a, b)| a == b);
                let mut old: Vec<Option<Self>> = old.into_iter().map(Some).collect();
                let mut came_from = vec![None; new.len()];
                pairs.into_iter().for_each(|(from, to)| came_from[to] = Some(from));
                let items = new.into_iter().zip(came_from).map(|(new, from)| {
                    match from.and_then(|from: usize| old[from].take()) {
                        Some(old) => old.rewritten(new, by),
                        None => Self::new(new, by),
                    }
                });
                let items = items.collect();
                Self { by: if same_items { self.by } else { by }, node: Node::List(items) }
            }
            (_, new) => Self::new(new, by),
        }
    }

    /// The part at `path`, and where that is, counted from `here`.
    pub(super) fn find(&self, path: &Path, here: Path) -> Option<(&Self, Path)> {
        path.segments().iter().try_fold((self, here), |(owned, here), segment| {
            let inner = match (&owned.node, segment) {
                (Node::List(items), Segment::Index(at)) => items.get(*at)?,
                (Node::List(items), Segment::Key(key)) => items.get(key.parse::<usize>().ok()?)?,
                (Node::List(items), Segment::Item(id)) => {
                    items.iter().find(|item| item.id().as_ref() == Some(id))?
                }
                (Node::Object(members), Segment::Key(key)) => members.get(key)?,
                _ => return None,
            };
            Some((inner, here.then(segment.clone())))
        })
    }

    /// The id of an item, as paths have it.
    fn id(&self) -> Option<String> {
        match &self.node {
            Node::Object(members) => members.get("id").map(|id| text_of(&id.value())),
            _ => None,
        }
    }

    /// The parts that have an author of their own: this one, and within it those that somebody else wrote.
    pub(super) fn parts<'o>(&'o self, here: Path, parts: &mut Vec<(Path, &'o Self)>) {
        parts.push((here.clone(), self));
        self.inner_parts(&here, parts);
    }

    fn inner_parts<'o>(&'o self, here: &Path, parts: &mut Vec<(Path, &'o Self)>) {
        let mut part = |inner: &'o Self, at: Path| {
            if inner.by == self.by {
                inner.inner_parts(&at, parts);
            } else {
                inner.parts(at, parts);
            }
        };
        match &self.node {
            Node::Leaf(_) => {}
            Node::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    part(item, here.then(Segment::Index(at)));
                }
            }
            Node::Object(members) => {
                for (key, member) in members {
                    part(member, here.then(Segment::Key(key.clone())));
                }
            }
        }
    }
}

/// A put or a removal in a list whose items have ids.
#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    item: Option<Value>,
}

impl Row {
    fn put(self, held: &mut Vec<Owned>, by: usize) {
        let id = text_of(&Value::from(self.id));
        let place = held.iter().position(|item| item.id().as_deref() == Some(id.as_str()));
        match (place, self.item) {
            (Some(place), Some(item)) => {
                let old = held[place].clone();
                held[place] = old.rewritten(item, by);
            }
            (None, Some(item)) => held.push(Owned::new(item, by)),
            (Some(place), None) => {
                held.remove(place);
            }
            (None, None) => {}
        }
    }
}
