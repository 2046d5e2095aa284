//! Other keys, or none.
//!
//! Texts are encrypted anew row by row, in short transactions, and what is encrypted already is left: so it is done
//! again after an interruption, and goes on from there.
//!
//! A change of keys is made while programs use the file, which go on with both. Nobody else may have a file open that
//! is encrypted or decrypted as a whole: a program that knows nothing of it would write texts that nobody expects. The
//! table of keys says that such a change has begun before the first text is changed, and that it is complete after the
//! last.

mod tables;

use std::time::Duration;

use rusqlite::OptionalExtension;
use serde::Serialize;
use superstep_core::checkpoint::{KeyProblem, StoreError};

use super::error::MaintenanceError;
use super::vacuum::vacuum_in;
use super::verify::verify;
use super::writing::{Keyless, open, waited, write};
use crate::connection::{Connection, FileEncryption};
use crate::encryption::{Encryption, KeyId, Phase};
use crate::error::{corrupt, keys, sqlite};
use crate::file::File;
use crate::file::checkpoint_file::CheckpointFile;
use crate::options::SqliteOptions;
use tables::{Done, TABLES, beginning};

/// The form that the texts of a file are to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Encrypted with the current key of the file's keys.
    Encrypted,
    /// Plain.
    Plain,
}

/// The result of a change of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rekeyed {
    /// The number of rows that were rewritten.
    pub rows: u64,
    /// The bytes that their texts take now.
    pub bytes: u64,
    /// The keys that the file does not need any more.
    pub retired: Vec<String>,
    /// The older keys that it still needs: programs write with them. Do it again when these have the new key.
    pub in_use: Vec<String>,
    /// `true` if the file was rewritten afterwards, so that no older text is left in it. While a program reads an older
    /// state of the file, it is not; [`vacuum`](super::vacuum()) does it later.
    pub purged: bool,
}

/// The bytes of texts that are written in one transaction, and the largest number of rows.
const BYTES_AT_A_TIME: u64 = 1 << 20;
const ROWS_AT_A_TIME: u64 = 256;

/// Gives all texts of a file the form that is said: encrypts a plain file, encrypts the texts of an encrypted one with
/// the current key, or decrypts it. The file is written anew afterwards, so that nothing of what was is left in it,
/// and takes as much space again while that is done. Free space of the disk is another matter.
///
/// To change keys, let programs have both keys first, the new one as the current one; then do this; then the old key
/// may go. To encrypt or decrypt, stop all programs that have the file open. When it is interrupted, do it again: it
/// goes on from there, and until then nobody else can use a file that is encrypted in part.
///
/// # Errors
/// [`MaintenanceError::Busy`] when somebody wrote for as long as `patience` says, or has the file open where nobody
/// may; [`MaintenanceError::OlderFormat`]; [`MaintenanceError::Store`] with [`StoreError::Keys`] when there are no
/// keys, or not the right ones, when a [store](crate::SqliteStore) is in the file, and when the file is to be plain
/// and is; and when a row is damaged.
pub fn rekey(
    file: impl Into<CheckpointFile>,
    form: Form,
    patience: Duration,
) -> Result<Rekeyed, MaintenanceError> {
    let file = file.into();
    // What has a form other than plain or whole can be had alone only.
    let cache = match open(file.clone(), Keyless::Refused, patience) {
        Ok(connection) if form == Form::Encrypted && connection.is_encrypted() => Some(connection),
        Ok(_) => {
            refuse_damaged(file.clone())?;
            None
        }
        Err(MaintenanceError::Store(StoreError::Keys { problem: KeyProblem::NotEncrypted, .. })) => {
            refuse_damaged(CheckpointFile { keys: None, ..file.clone() })?;
            None
        }
        Err(MaintenanceError::Store(StoreError::Keys { problem: KeyProblem::Interrupted, .. })) => None,
        Err(other) => return Err(other),
    };
    let mut told = Rekeyed::default();
    let connection = match cache {
        Some(connection) => {
            exchange(&connection, patience, &mut told)?;
            connection
        }
        None => convert(file, form, patience, &mut told)?,
    };
    told.purged = match vacuum_in(&connection, patience) {
        Ok(vacuumed) => vacuumed.shortened,
        Err(MaintenanceError::Busy(_)) => false,
        Err(other) => return Err(other),
    };
    Ok(told)
}

/// Begins nothing that would stop at what is damaged, and leave a file that nobody can use.
fn refuse_damaged(file: CheckpointFile) -> Result<(), StoreError> {
    let Some(finding) = verify(file)?.findings.into_iter().next() else { return Ok(()) };
    let place = match finding.row {
        Some(row) => format!("{} row {row}", finding.table),
        None => finding.table.to_owned(),
    };
    Err(corrupt(place, finding.problem))
}

/// Encrypts with the current key what is encrypted with others.
fn exchange(connection: &Connection, patience: Duration, told: &mut Rekeyed) -> Result<(), MaintenanceError> {
    connection.pragma_update(None, "secure_delete", true).map_err(sqlite)?;
    let sealed = || connection.encryption().ok_or_else(|| StoreError::Io("the file is not encrypted".into()));
    let prefix = write(connection, patience, |connection| sealed()?.current_prefix(connection))?;
    rewrite(connection, patience, Form::Encrypted, &prefix, told)?;
    // Others may have encrypted texts with an older key meanwhile. Once more, and then they are told of.
    rewrite(connection, patience, Form::Encrypted, &prefix, told)?;
    let (retired, in_use) = write(connection, patience, |connection| {
        let (mut retired, mut in_use) = (Vec::new(), Vec::new());
        for (key, prefix) in sealed()?.older(connection)? {
            if is_used(connection, &prefix)? {
                in_use.push(key.to_string());
            } else {
                sealed()?.retire(connection, &key)?;
                retired.push(key.to_string());
            }
        }
        Ok((retired, in_use))
    })?;
    (told.retired, told.in_use) = (retired, in_use);
    Ok(())
}

/// Returns `true` if a text is encrypted with the key of this prefix.
fn is_used(connection: &Connection, prefix: &str) -> Result<bool, StoreError> {
    for table in &TABLES {
        let any: Vec<String> =
            table.columns.iter().map(|column| format!("{} = ?1", beginning(column, prefix.len()))).collect();
        let sql = format!("SELECT 1 FROM {} WHERE {} LIMIT 1", table.name, any.join(" OR "));
        let found = connection.query_row(&sql, [prefix], |_| Ok(())).optional().map_err(sqlite)?;
        if found.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Encrypts or decrypts a file that nobody else has open.
fn convert(
    file: CheckpointFile,
    form: Form,
    patience: Duration,
    told: &mut Rekeyed,
) -> Result<Connection, MaintenanceError> {
    let CheckpointFile { path, keys: given, limits } = file;
    let name = path.display().to_string();
    let options = SqliteOptions {
        keys: given.clone(),
        limits,
        alone: true,
        ..SqliteOptions::new().busy_limit(patience)
    };
    let file = File::new(Some(path), options);
    let mut connection = file.open_writer().map_err(|error| waited(error, patience))?;
    connection.pragma_update(None, "secure_delete", true).map_err(sqlite)?;
    let begun = write(&connection, patience, |connection| match (connection.encryption(), form, &given) {
        (None, Form::Plain, _) => Err(keys(&name, KeyProblem::NotEncrypted)),
        (None, Form::Encrypted, None) => {
            Err(StoreError::Io("to encrypt a file takes a key: give it with its keys".into()))
        }
        (None, Form::Encrypted, Some(_)) if has_store(connection)? => Err(keys(&name, KeyProblem::Store)),
        (None, Form::Encrypted, Some(given)) => {
            Encryption::begin(connection, given, &name, Phase::Encrypting)
        }
        (Some(encryption), Form::Encrypted, _) => encryption.enter(connection, Phase::Encrypting),
        (Some(encryption), Form::Plain, _) => encryption.enter(connection, Phase::Decrypting),
    });
    begun?;
    let Some(given) = given else { return Ok(connection) };
    if connection.encryption().is_none() {
        let seal = Encryption::attach(&connection, Some(&given), &name, true)?;
        let seal = seal.ok_or_else(|| keys(&name, KeyProblem::Interrupted))?;
        connection.encrypt_with(FileEncryption::Encrypted(Box::new(seal)));
    }
    let sealed = |connection: &Connection| {
        connection.encryption().map(|encryption| encryption.current_prefix(connection))
    };
    let prefix =
        write(&connection, patience, |connection| sealed(connection).transpose())?.unwrap_or_default();
    rewrite(&connection, patience, form, &prefix, told)?;
    let retired = write(&connection, patience, |connection| {
        let Some(encryption) = connection.encryption() else { return Ok(Vec::new()) };
        let mut retired: Vec<KeyId> = encryption.older(connection)?.into_iter().map(|(key, _)| key).collect();
        match form {
            Form::Encrypted => {
                retired.iter().try_for_each(|key| encryption.retire(connection, key))?;
                encryption.enter(connection, Phase::Whole)?;
            }
            Form::Plain => {
                retired.push(given.current());
                connection.execute("DELETE FROM seal", []).map_err(sqlite)?;
            }
        }
        Ok(retired)
    })?;
    told.retired = retired.iter().map(ToString::to_string).collect();
    if form == Form::Plain {
        connection.encrypt_with(FileEncryption::Plain);
    }
    Ok(connection)
}

fn has_store(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS(SELECT 1 FROM sqlite_schema WHERE name = 'item')";
    connection.query_row(sql, [], |row| row.get(0)).map_err(sqlite)
}

/// Gives the texts of all tables their form, but those that have it.
fn rewrite(
    connection: &Connection,
    patience: Duration,
    form: Form,
    prefix: &str,
    told: &mut Rekeyed,
) -> Result<(), MaintenanceError> {
    for table in &TABLES {
        let mut after = i64::MIN;
        loop {
            let some = write(connection, patience, |connection| {
                let mut some = Done { last: after, ..Done::default() };
                while some.rows < ROWS_AT_A_TIME && some.bytes < BYTES_AT_A_TIME {
                    match table.next(connection, some.last, form, prefix)? {
                        Some(row) => (table.rewrite)(connection, row, form, &mut some)?,
                        None => {
                            some.is_all = true;
                            break;
                        }
                    }
                }
                Ok(some)
            })?;
            told.rows += some.rows;
            told.bytes += some.bytes;
            after = some.last;
            if some.is_all {
                break;
            }
        }
    }
    Ok(())
}
