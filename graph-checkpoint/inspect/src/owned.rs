//! Values with the author of each part.

use std::collections::BTreeMap;

use serde_json::Value;

use super::diff::{Difference, Edit};
use super::path::{Path, Segment, text_of};

/// A value with the author of each of its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    /// The author of the value; for a list or an object, the author that last added or removed items.
    pub(super) by: usize,
    node: Node,
    /// The value that it replaced, with its author.
    replaced: Option<Box<(Value, usize)>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Leaf(Value),
    List(Vec<Owned>),
    Object(BTreeMap<String, Owned>),
}

impl Owned {
    /// Wraps a new value.
    pub(super) fn new(value: &Value, by: usize) -> Self {
        let node = match value {
            Value::Array(items) => Node::List(items.iter().map(|item| Self::new(item, by)).collect()),
            Value::Object(members) => {
                Node::Object(members.iter().map(|(key, value)| (key.clone(), Self::new(value, by))).collect())
            }
            leaf => Node::Leaf(leaf.clone()),
        };
        Self { by, node, replaced: None }
    }

    /// Returns the value that it replaced, with its author.
    pub(super) fn replaced(&self) -> Option<(&Value, usize)> {
        self.replaced.as_deref().map(|(value, by)| (value, *by))
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

    /// Applies a difference that `by` made; `None` if it does not fit.
    pub(super) fn apply(&mut self, Difference { path, edit }: &Difference, by: usize) -> Option<()> {
        if let Edit::Changed { to, .. } = edit {
            let held = self.at(path.segments())?;
            let replaced = Some(Box::new((held.value(), held.by)));
            *held = Self { replaced, ..Self::new(to, by) };
            return Some(());
        }
        let (around, last) = match edit {
            Edit::Reordered { .. } => (path.segments(), None),
            _ => path.segments().split_last().map(|(last, around)| (around, Some(last)))?,
        };
        let around = self.at(around)?;
        around.by = by;
        match (&mut around.node, edit, last) {
            (Node::List(items), Edit::Reordered { ids }, _) => {
                let ids: Vec<String> = ids.iter().map(text_of).collect();
                items.sort_by_key(|item| ids.iter().position(|id| item.id().as_ref() == Some(id)));
            }
            (Node::List(items), Edit::Added { value, at: Some(at) }, _) if *at <= items.len() => {
                items.insert(*at, Self::new(value, by));
            }
            (Node::List(items), Edit::Removed { .. }, Some(last)) => {
                let at = last.position(items, Self::id)?;
                items.remove(at);
            }
            (Node::Object(members), Edit::Added { value, .. }, Some(Segment::Key(key))) => {
                members.insert(key.clone(), Self::new(value, by));
            }
            (Node::Object(members), Edit::Removed { .. }, Some(Segment::Key(key))) => {
                members.remove(key)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn at(&mut self, path: &[Segment]) -> Option<&mut Self> {
        path.iter().try_fold(self, |owned, segment| match (&mut owned.node, segment) {
            (Node::List(items), _) => {
                let at = segment.position(items, Self::id)?;
                items.get_mut(at)
            }
            (Node::Object(members), Segment::Key(key)) => members.get_mut(key),
            _ => None,
        })
    }

    /// Returns the part at `path`.
    pub(super) fn find(&self, path: &Path) -> Option<&Self> {
        path.segments().iter().try_fold(self, |owned, segment| match (&owned.node, segment) {
            (Node::List(items), _) => items.get(segment.position(items, Self::id)?),
            (Node::Object(members), Segment::Key(key)) => members.get(key),
            _ => None,
        })
    }

    /// Returns the id of an item, in the form of paths.
    fn id(&self) -> Option<String> {
        match &self.node {
            Node::Object(members) => members.get("id").map(|id| text_of(&id.value())),
            _ => None,
        }
    }

    /// Collects the parts that have an author of their own: this one, and the parts within it by other authors.
    pub(super) fn parts<'o>(&'o self, here: Path, parts: &mut Vec<(Path, &'o Self)>) {
        parts.push((here.clone(), self));
        self.inner_parts(&here, parts);
    }

    /// Collects the parts of a state. Every field is a part, regardless of its writer, because the state as a whole has
    /// no author.
    pub(super) fn members<'o>(&'o self, parts: &mut Vec<(Path, &'o Self)>) {
        if let Node::Object(members) = &self.node {
            for (key, member) in members {
                member.parts(Path::from_iter([Segment::Key(key.clone())]), parts);
            }
        }
    }

    /// Collects only the parts within this one.
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
