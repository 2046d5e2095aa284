//! The description of a state: its fields, their reducers, and a fingerprint of both.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::Fingerprint;

/// The position of a field in its state's [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldId(pub u16);

impl FieldId {
    /// Returns the position as an index into [`Schema::fields`].
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The number of tasks that may write a field in one superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writers {
    /// At most one task. Writes of two tasks are an error that names the field and both nodes.
    One,
    /// Any number of tasks. The reducer folds their writes in task order.
    Many,
}

/// The lifetime of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Until overwritten; stored in checkpoints.
    Stored,
    /// One superstep; stored in checkpoints. At the barrier after that superstep, the field returns to its initial
    /// value.
    OneStep,
    /// Until overwritten, in memory only. The value is never stored, and is the initial value after a resume.
    Unstored,
}

/// One field of a [`Schema`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldSchema {
    /// The name under which the field is stored; for a field of an embedded state, the path joined by dots.
    pub name: String,
    /// Former names, under which older checkpoints may contain the field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The Rust type, as written in the source.
    pub rust_type: String,
    /// The reducer, as written in the source.
    pub reducer: String,
    /// The number of tasks that may write the field in one superstep.
    pub writers: Writers,
    /// The lifetime of the field's value.
    pub lifetime: Lifetime,
    /// `true` if the field's values are secret: redacted in logs, traces and exports.
    #[serde(default)]
    pub secret: bool,
}

/// The fields of a state, in [`FieldId`] order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The state's type name.
    pub name: String,
    /// The version of the state's type, from `#[state(version = ..)]`; 1 in schemas without a version.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub version: u32,
    /// The versions of embedded states other than 1, by the name under which their fields are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub embedded: BTreeMap<String, u32>,
    /// The fields.
    pub fields: Vec<FieldSchema>,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_first(version: &u32) -> bool {
    *version == first()
}

impl Default for Schema {
    fn default() -> Self {
        Self { name: String::new(), version: first(), embedded: BTreeMap::new(), fields: Vec::new() }
    }
}

impl Schema {
    /// Returns the field with id `field`.
    ///
    /// # Panics
    /// Panics if the schema has no such field. Use ids of the same schema.
    #[must_use]
    pub fn field(&self, field: FieldId) -> &FieldSchema {
        &self.fields[field.index()]
    }

    /// Returns the id of the field stored under `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<FieldId> {
        let index = self.fields.iter().position(|field| field.name == name)?;
        u16::try_from(index).ok().map(FieldId)
    }

    /// Returns the ids of all fields.
    pub fn ids(&self) -> impl Iterator<Item = FieldId> + use<> {
        (0..self.fields.len()).map_while(|index| u16::try_from(index).ok().map(FieldId))
    }

    /// Adds the fields of an embedded state under `path`.
    pub fn embed(&mut self, path: &str, inner: Self) {
        if !is_first(&inner.version) {
            self.embedded.insert(path.into(), inner.version);
        }
        let below =
            inner.embedded.into_iter().map(|(inner, version)| (alloc::format!("{path}.{inner}"), version));
        self.embedded.extend(below);
        self.fields.extend(inner.fields.into_iter().map(|field| FieldSchema {
            name: alloc::format!("{path}.{}", field.name),
            aliases: field.aliases.iter().map(|alias| alloc::format!("{path}.{alias}")).collect(),
            ..field
        }));
    }

    /// Returns, for each field of `older`, the field of this schema that now contains its values: the one with its
    /// name, or with its name as a former name.
    #[must_use]
    pub fn carried_from(&self, older: &Self) -> Vec<Option<FieldId>> {
        let named = |name: &str| {
            let former = |field: &FieldSchema| field.aliases.iter().any(|alias| alias == name);
            self.find(name).or_else(|| self.ids().find(|id| former(self.field(*id))))
        };
        older.fields.iter().map(|field| named(&field.name)).collect()
    }

    /// Returns an embedded state whose version in `older` differs: the name under which its fields are stored, the
    /// version in `older`, and the version here. Embedded states without fields in `older` do not count.
    pub(crate) fn embeds_otherwise<'s>(&'s self, older: &'s Self) -> Option<(&'s str, u32, u32)> {
        let version = |schema: &Self, path: &str| schema.embedded.get(path).copied().unwrap_or_else(first);
        let embeds = |path: &str| {
            let inside = |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
            older.fields.iter().any(|field| inside(&field.name))
        };
        let paths = self.embedded.keys().chain(older.embedded.keys());
        let versions = paths.map(|path| (path.as_str(), version(older, path), version(self, path)));
        versions.into_iter().find(|(path, stored, own)| stored != own && embeds(path))
    }

    /// Returns a hash of everything that determines how stored values are read.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }
}
