//! Encrypts, decrypts, or changes the keys of a file.
//!
//! Texts are rewritten row by row, in short transactions, and texts that already have the new form are skipped: after
//! an interruption, a repeated call continues where it stopped.
//!
//! Keys can be changed while programs use the file with both keys. To encrypt or decrypt a whole file, no other program
//! may have it open: a program that does not know of the change would write texts in the wrong form. The table of keys
//! records the change before the first text is rewritten, and its end after the last one.

mod tables;

use std::time::Duration;

use rusqlite::OptionalExtension;
use superstep_core::checkpoint::{KeyProblem, StoreError};

use super::vacuum::vacuum_in;
use super::verify::verify;
use super::writing::{Keyless, open, waited, write};
use crate::encryption::KeyId;
use crate::error::{corrupt, keys};
use crate::maintenance::{Form, MaintenanceError, Rekeyed};
use crate::sqlite::connection::{Connection, FileEncryption};
use crate::sqlite::encryption::{Encryption, Phase};
use crate::sqlite::error::sqlite;
use crate::sqlite::file::File;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::options::SqliteOptions;
use tables::{Done, TABLES, beginning};

/// The maximum bytes of texts, and the maximum number of rows, that are written in one transaction.
const BYTES_AT_A_TIME: u64 = 1 << 20;
const ROWS_AT_A_TIME: u64 = 256;

/// Gives all texts of a file this form: encrypts a plain file, encrypts the texts of an encrypted one with the current
/// key, or decrypts it. Afterwards the file is rewritten, so that it contains no older text; this temporarily needs as
/// much space again. Free blocks of the disk may still contain older texts.
///
/// To change keys, first give both keys to all programs, with the new one as the current key; then call this; then
/// remove the old key. To encrypt or decrypt, stop all programs that have the file open. After an interruption, call
/// this again: it continues where it stopped. Until then, no other program can use a partly encrypted file.
///
/// # Errors
/// Returns [`MaintenanceError::Busy`] if other programs wrote for longer than `patience`, or have the file open when
/// none may; [`MaintenanceError::OlderFormat`]; [`MaintenanceError::Store`] with [`StoreError::Keys`] if there are no
/// keys or wrong ones, if a [store](crate::SqliteStore) is in the file, or if a plain file is to be decrypted; and
/// [`MaintenanceError::Store`] if a row is damaged.
pub fn rekey(
    file: impl Into<CheckpointFile>,
    form: Form,
    patience: Duration,
) -> Result<Rekeyed, MaintenanceError> {
    let file = file.into();
    // A partly encrypted file can only be opened alone.
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

/// Verifies the file first, because the change would stop at damage and leave a file that no program can use.
fn refuse_damaged(file: CheckpointFile) -> Result<(), StoreError> {
    let Some(finding) = verify(file)?.findings.into_iter().next() else { return Ok(()) };
    let place = match finding.row {
        Some(row) => format!("{} row {row}", finding.table),
        None => finding.table.to_owned(),
    };
    Err(corrupt(place, finding.problem))
}

/// Encrypts texts of other keys with the current key.
fn exchange(connection: &Connection, patience: Duration, told: &mut Rekeyed) -> Result<(), MaintenanceError> {
    connection.pragma_update(None, "secure_delete", true).map_err(sqlite)?;
    let sealed = || connection.encryption().ok_or_else(|| StoreError::Io("the file is not encrypted".into()));
    let prefix = write(connection, patience, |connection| sealed()?.current_prefix(connection))?;
    rewrite(connection, patience, Form::Encrypted, &prefix, told)?;
    // Programs may have written texts with an older key in the meantime. Try once more; keys that are still used are
    // then reported.
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

/// Encrypts or decrypts a file that no other program has open.
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

/// Rewrites the texts of all tables in the new form, except those that already have it.
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
