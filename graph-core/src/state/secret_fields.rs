//! The secret fields of a state, across all of its schemas.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::{FieldSchema, Schema};

/// The fields that are secret in any of several schemas, under all of their names in these schemas.
///
/// A field that was once secret remains so in the past, because its earlier values may occur anywhere there.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::state::{Schema, SecretFields};
///
/// let fields = SecretFields::of([&Schema::default()]);
/// assert!(fields.is_empty() && !fields.has_name("token"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretFields(BTreeSet<String>);

impl SecretFields {
    /// Collects the secret fields of these schemas.
    #[must_use]
    pub fn of<'s>(schemas: impl IntoIterator<Item = &'s Schema>) -> Self {
        let fields: Vec<&FieldSchema> = schemas.into_iter().flat_map(|schema| &schema.fields).collect();
        let mut secret = Self::default();
        // A name may be secret only through a chain of former names, so this repeats until nothing is added.
        loop {
            let known = secret.0.len();
            for field in &fields {
                if field.secret || secret.has(field) {
                    secret.0.extend(field.aliases.iter().chain([&field.name]).cloned());
                }
            }
            if secret.0.len() == known {
                return secret;
            }
        }
    }

    /// Returns `true` if there are no secret fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if the field is secret.
    #[must_use]
    pub fn has(&self, field: &FieldSchema) -> bool {
        field.secret || self.has_name(&field.name) || field.aliases.iter().any(|alias| self.has_name(alias))
    }

    /// Returns `true` if a secret field has, or had, this name.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::state::{Lifetime, Writers};

    fn schema(name: &str, aliases: &[&str], secret: bool) -> Schema {
        let field = FieldSchema {
            name: name.into(),
            aliases: aliases.iter().map(ToString::to_string).collect(),
            rust_type: "String".into(),
            reducer: "Overwrite".into(),
            writers: Writers::One,
            lifetime: Lifetime::Stored,
            secret,
        };
        Schema { fields: alloc::vec![field], ..Schema::default() }
    }

    #[test]
    fn a_field_is_secret_under_all_its_names_once_one_schema_says_so() {
        let (oldest, middle) = (schema("pin", &[], false), schema("token", &["pin"], true));
        let (later, latest) = (schema("key", &["token"], false), schema("open", &[], false));
        let secret = SecretFields::of([&latest, &oldest, &later, &middle]);
        for hidden in [&oldest, &middle, &later] {
            assert!(secret.has(&hidden.fields[0]) && secret.has_name(&hidden.fields[0].name));
        }
        assert!(!secret.has(&latest.fields[0]) && !secret.has_name("open"));
        assert!(SecretFields::of([&oldest, &later, &latest]).is_empty());
    }
}
