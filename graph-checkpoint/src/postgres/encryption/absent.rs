//! Replaces the encryption of a schema in a program that was built without it.

use std::fmt::Display;

use superstep_core::checkpoint::{KeyProblem, StoreError};
use tokio_postgres::Client;

use super::call::Call;
use super::database::Database;
use super::error::Fault;
use crate::encryption::{Cell, SharedKeys};
use crate::error::keys;

/// The encryption of a schema, of which there is none.
pub(crate) enum Encryption {}

impl Encryption {
    /// Returns an error if the schema is encrypted.
    pub(crate) async fn find(
        database: &Database,
        client: &Client,
        _keys: Option<&SharedKeys>,
    ) -> Result<Option<Self>, Fault> {
        match database.on(client, &Call::query("SELECT 1 FROM @.encryption")).await?.is_empty() {
            true => Ok(None),
            false => Err(keys(&database.name(), KeyProblem::NotBuiltIn).into()),
        }
    }

    /// Never called, because there are no keys.
    pub(crate) fn new(_: &Database, keys: &SharedKeys) -> Result<Self, StoreError> {
        match *keys {}
    }

    pub(crate) async fn add_current(&self, _: &Database, _: &Client) -> Result<(), Fault> {
        match *self {}
    }

    pub(crate) fn encrypt(&self, _: &Cell, _: &str) -> Result<String, StoreError> {
        match *self {}
    }

    pub(crate) fn decrypt(&self, _: &Cell, _: &str, _: impl Display) -> Result<String, StoreError> {
        match *self {}
    }

    pub(crate) fn digest(&self, _: &str) -> blake3::Hash {
        match *self {}
    }

    pub(crate) fn number(&self) -> Result<u128, StoreError> {
        match *self {}
    }
}
