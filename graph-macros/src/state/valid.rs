//! Checks of a struct that derives `State`.

use std::collections::BTreeMap;

use syn::GenericParam;

use super::ast::{Field, Kind, State};
use crate::errors::Errors;
use crate::source::find;

/// Adds an error for everything that cannot be expanded.
pub(crate) fn check(state: &State, errors: &mut Errors) {
    version(state, errors);
    for param in &state.generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            errors.at(lifetime, "a state owns its values: it cannot have a lifetime parameter");
        }
    }
    for field in &state.fields {
        attributes(field, errors);
        names(field, errors);
        if let Some(span) = find(&field.ty, "Self") {
            let message = format!("write `{}` instead of `Self` in the type of a field", state.ident);
            errors.push(syn::Error::new(span, message));
        }
    }
    stored_names(state, errors);
    generated_names(state, errors);
}

/// Rejects invalid versions, and migrations that would never run.
fn version(state: &State, errors: &mut Errors) {
    let number = match &state.version {
        None => {
            if let Some(migrate) = &state.migrate {
                errors.at(
                    migrate,
                    "say which version this state is now: `#[state(version = 2, migrate = ..)]`; without it, it has \
                     version 1 as the older one has",
                );
            }
            return;
        }
        Some(version) => version.base10_parse::<u32>(),
    };
    match (number, &state.migrate) {
        (Err(error), _) => errors.push(error),
        (Ok(0), _) => {
            errors.at(&state.version, "versions count from 1, the version of a state that gives none")
        }
        (Ok(1), Some(migrate)) => {
            errors.at(migrate, "no state is older than version 1; give the struct a higher `version`");
        }
        _ => {}
    }
}

/// Rejects attributes that contradict each other.
fn attributes(field: &Field, errors: &mut Errors) {
    let attrs = &field.attrs;
    if let (Some(flatten), Some(transient)) = (&attrs.flatten, &attrs.transient) {
        errors.at(
            transient,
            "an embedded state is stored field by field; mark fields of it as transient instead",
        );
        errors.at(flatten, "the field is embedded because of this");
    }
    if let (Some(flatten), Some(reducer)) = (&attrs.flatten, &attrs.reducer) {
        errors.at(reducer, "an embedded state brings the reducers of its own fields; remove this one");
        errors.at(flatten, "the field is embedded because of this");
    }
    if let (None, Some(transient), Some(reducer)) = (&attrs.flatten, &attrs.transient, &attrs.reducer) {
        errors.at(reducer, "a transient field has the reducer `Transient`; remove this one");
        errors.at(transient, "the field is transient because of this");
    }
    if let (Some(_), Some(secret)) = (&attrs.flatten, &attrs.secret) {
        errors.at(secret, "an embedded state marks its own secret fields; mark them there");
    }
    if let (Kind::Stored, Some(skip)) = (&field.kind, &attrs.serde_skip) {
        errors.at(
            skip,
            "this field would be stored nevertheless; to keep it out of checkpoints, add `#[state(transient)]`",
        );
    }
    if let (Kind::Embedded, Some(skip)) = (&field.kind, &attrs.serde_skip) {
        errors.at(skip, "an embedded state is stored field by field, so this would have no effect");
    }
}

/// Rejects stored names that are empty or could be confused with paths.
fn names(field: &Field, errors: &mut Errors) {
    for name in field.attrs.rename.iter().chain(&field.attrs.aliases) {
        let value = name.value();
        if value.is_empty() {
            errors.at(name, "a stored name has at least one character");
        } else if value.contains('.') {
            errors.at(name, "a stored name has no dot: dots separate the fields of embedded states");
        }
    }
}

/// Rejects two fields with the same stored name.
fn stored_names(state: &State, errors: &mut Errors) {
    let mut taken: BTreeMap<String, &Field> = BTreeMap::new();
    for field in &state.fields {
        let aliases = field.attrs.aliases.iter().map(|alias| (alias.value(), alias.span()));
        let stored = field.attrs.rename.as_ref().map_or_else(|| field.ident.span(), syn::LitStr::span);
        for (name, span) in core::iter::once((field.stored.clone(), stored)).chain(aliases) {
            let Some(other) = taken.insert(name.clone(), field) else {
                continue;
            };
            if other.ident == field.ident {
                errors.push(syn::Error::new(span, format!("the name `{name}` is given to this field twice")));
                continue;
            }
            let message = format!("`{}` and `{}` are both stored as `{name}`", other.ident, field.ident);
            errors.push(syn::Error::new(span, message));
            errors.at(&other.ident, format!("this field is stored as `{name}` too"));
        }
    }
}

/// Rejects two fields that need the same setter or the same constant.
fn generated_names(state: &State, errors: &mut Errors) {
    let mut methods: BTreeMap<String, Option<&Field>> = BTreeMap::from([("and".to_owned(), None)]);
    let mut handles: BTreeMap<String, &Field> = BTreeMap::new();
    let update = state.update();
    for field in &state.fields {
        let setters = [Some(field.ident.clone()), Some(field.setter()), field.clearer()];
        for setter in setters.into_iter().flatten().map(|ident| syn::ext::IdentExt::unraw(&ident)) {
            match methods.insert(setter.to_string(), Some(field)) {
                None => {}
                Some(None) => {
                    let message = format!("`{update}::{setter}` combines two updates; rename this field");
                    errors.at(&field.ident, message);
                }
                Some(Some(other)) => {
                    let message = format!(
                        "`{}` and `{}` both need the setter `{update}::{setter}`; rename one of them",
                        other.ident, field.ident
                    );
                    errors.at(&field.ident, message);
                    errors.at(&other.ident, format!("this field has the setter `{setter}` too"));
                }
            }
        }
        let handle = field.handle();
        if let Some(other) = handles.insert(handle.to_string(), field) {
            let message = format!(
                "`{}` and `{}` both need the constant `{}::{handle}`; rename one of them",
                other.ident, field.ident, state.ident
            );
            errors.at(&field.ident, message);
            errors.at(&other.ident, format!("this field has the constant `{handle}` too"));
        }
    }
}
