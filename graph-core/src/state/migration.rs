//! Loading of stored values into a state: field by field for the program's own version, through migrations for an
//! older one.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use super::State;
use super::json::CodecError;
use super::op::FieldValue;
use super::schema::Schema;

/// The error that a migration returns.
type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// The error of loading a state from stored values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A value does not fit its field.
    #[error("field {field:?} of {state} does not decode{}", reason.told())]
    Field {
        /// The state's type; the older type if the values belong to an older version.
        state: String,
        /// The field.
        field: String,
        /// The reason.
        reason: CodecError,
    },
    /// The values were written by a newer program. Read them with that program, or update this one.
    #[error("it holds version {stored} of {state}, and this program knows it up to version {own}")]
    Newer {
        /// The state's type.
        state: String,
        /// The version of the values.
        stored: u32,
        /// The program's version.
        own: u32,
    },
    /// No migration leads from the version of the values to the program's.
    #[error(
        "it holds version {stored} of {state}, and no migration leads from there to version {own}: add one with \
         `#[state(version = {own}, migrate = ..)]`"
    )]
    NoMigration {
        /// The state's type.
        state: String,
        /// The version of the values.
        stored: u32,
        /// The version to which a migration must lead.
        own: u32,
    },
    /// A migration failed, or panicked.
    #[error("the migration of {state} from version {from} to version {to} failed: {reason}")]
    Migration {
        /// The state's type.
        state: String,
        /// The version of the migration's input.
        from: u32,
        /// The version of the migration's output.
        to: u32,
        /// The error of the migration.
        reason: BoxError,
    },
    /// The version of an embedded state differs from the stored one, but the version of the surrounding state does
    /// not. Raise that version and add a migration.
    #[error(
        "its fields under {path:?} are of version {stored} of the embedded state, and {state} embeds version {own}: \
         give {state} a new version, with a migration that converts them too"
    )]
    Embedded {
        /// The type of the surrounding state.
        state: String,
        /// The name under which the embedded fields are stored.
        path: String,
        /// The version of the values.
        stored: u32,
        /// The version that is now embedded.
        own: u32,
    },
}

/// The return type of a migration: the state, or a `Result` of it.
#[diagnostic::on_unimplemented(
    message = "a migration to `{S}` returns `{S}` or a `Result` of it, not `{Self}`",
    note = "`#[state(migrate = from_v1)]` names a `fn(OldState) -> {S}`"
)]
pub trait Migrated<S> {
    /// Converts the value into a result.
    ///
    /// # Errors
    /// Returns the migration's own error.
    fn migrated(self) -> Result<S, BoxError>;
}

impl<S: State> Migrated<S> for S {
    fn migrated(self) -> Result<S, BoxError> {
        Ok(self)
    }
}

impl<S: State, E: Into<BoxError>> Migrated<S> for Result<S, E> {
    fn migrated(self) -> Result<S, BoxError> {
        self.map_err(Into::into)
    }
}

/// Converts stored values of an older version into a state.
type Run<S> = Box<dyn Fn(&Schema, &[FieldValue]) -> Result<S, LoadError>>;

/// A migration from the state of an older version, which is a state type of its own, to the state `S`.
///
/// `#[state(version = 2, migrate = from_v1)]` generates it.
pub struct Migration<S> {
    versions: Vec<u32>,
    run: Run<S>,
}

impl<S: State> Migration<S> {
    /// Creates a migration with the function `migrate`.
    #[must_use]
    pub fn new<Old: State, Out: Migrated<S> + 'static>(migrate: fn(Old) -> Out) -> Self {
        const {
            assert!(
                Old::VERSION < S::VERSION,
                "a migration leads from an older version: `#[state(version = ..)]` of its argument must be the smaller one"
            );
        }
        let mut versions = versions::<Old>();
        versions.push(Old::VERSION);
        let run = move |stored: &Schema, values: &[FieldValue]| {
            let old = load(Old::initial(), &Old::schema(), stored, values)?;
            migrate(old).migrated().map_err(|reason| LoadError::Migration {
                state: S::schema().name,
                from: Old::VERSION,
                to: S::VERSION,
                reason,
            })
        };
        Self { versions, run: Box::new(run) }
    }

    /// Returns the versions that can be migrated, oldest first.
    #[must_use]
    pub fn versions(&self) -> &[u32] {
        &self.versions
    }
}

impl<S> fmt::Debug for Migration<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migration").field("versions", &self.versions).finish_non_exhaustive()
    }
}

/// Returns the older versions that can be migrated to `S`, oldest first.
pub(super) fn versions<S: State>() -> Vec<u32> {
    S::migration().map(|migration| migration.versions).unwrap_or_default()
}

/// Loads a state from stored values. `initial` provides the fields without a stored value, and `own` is its schema.
pub(super) fn load<S: State>(
    initial: S,
    own: &Schema,
    stored: &Schema,
    values: &[FieldValue],
) -> Result<S, LoadError> {
    let (state, version) = (|| own.name.clone(), stored.version);
    if version > own.version {
        return Err(LoadError::Newer { state: state(), stored: version, own: own.version });
    }
    if version < own.version {
        let migration = S::migration().filter(|migration| migration.versions.contains(&version));
        let unknown = || LoadError::NoMigration { state: state(), stored: version, own: own.version };
        return (migration.ok_or_else(unknown)?.run)(stored, values);
    }
    if stored == own {
        return decode(initial, own, values.iter().map(|held| (Some(held.field), held)));
    }
    if let Some((path, stored, own)) = own.embeds_otherwise(stored) {
        return Err(LoadError::Embedded { state: state(), path: path.to_owned(), stored, own });
    }
    let carried = own.carried_from(stored);
    let field = |held: &FieldValue| carried.get(held.field.index()).copied().flatten();
    decode(initial, own, values.iter().map(|held| (field(held), held)))
}

fn decode<'v, S: State>(
    mut state: S,
    own: &Schema,
    values: impl Iterator<Item = (Option<super::FieldId>, &'v FieldValue)>,
) -> Result<S, LoadError> {
    for (field, held) in values {
        let Some(field) = field else { continue };
        state.decode_field(field, &held.value).map_err(|reason| {
            let described = own.field(field);
            let reason = if described.secret { reason.redacted() } else { reason };
            LoadError::Field { state: own.name.clone(), field: described.name.clone(), reason }
        })?;
    }
    Ok(state)
}
