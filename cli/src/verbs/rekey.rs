//! `rekey`: encrypts a file, changes its keys, or decrypts it.

use std::time::Duration;

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Form, Rekeyed};

use crate::arguments::count;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, ID, NOTE, Page, plain, span};
use crate::screen::Answer;

/// Encrypt a file or a database, change its keys, or decrypt it
///
/// The contents of states are encrypted with the first key of the key file; the other keys in it decrypt older data.
/// Programs may use the file while its keys are changed, but not while a plain file is encrypted or an encrypted one
/// decrypted. If the command is interrupted, run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep rekey essays.db --key-file keys.txt")]
pub(crate) struct Rekey {
    #[command(flatten)]
    file: FileArgument,
    /// Decrypt the file
    #[arg(long)]
    plain: bool,
    /// The longest time to wait for other programs that use the file, in seconds
    #[arg(long, default_value_t = 30, value_parser = count::<u64>, allow_hyphen_values = true)]
    patience: u64,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Changed(Rekeyed);

impl Rekey {
    pub(crate) fn answer(&self) -> Result<Changed, Failure> {
        if self.file.is_own() && (self.plain || !self.file.is_encrypted()) {
            return Err(Failure::unusable(
                "this program has the file open, and no other program may use it while it is encrypted or decrypted: \
                 run `superstep rekey` when the program has ended",
            ));
        }
        let no_keys = || {
            Failure::unusable(
                "keys are needed: name the key file with --key-file, or with the variable SUPERSTEP_KEY_FILE",
            )
        };
        let (form, patience) =
            (if self.plain { Form::Plain } else { Form::Encrypted }, Duration::from_secs(self.patience));
        if let Some(database) = self.file.database_to_encrypt()? {
            return match database.has_keys() {
                true => Ok(Changed(database.rekey(form, patience)?)),
                false => Err(no_keys()),
            };
        }
        let file = self.file.keyed_to_encrypt()?;
        match file.has_keys() {
            true => Ok(Changed(maintenance::rekey(file, form, patience)?)),
            false => Err(no_keys()),
        }
    }
}

impl Answer for Changed {
    fn show(&self, page: &mut Page) {
        let Rekeyed { rows, bytes, retired, in_use, purged } = &self.0;
        page.line([plain(format!("{rows} rows rewritten")), span(DIM, format!(", {bytes} bytes of texts"))]);
        if !retired.is_empty() {
            page.line([plain("no longer needed: "), span(ID, retired.join(", "))]);
        }
        if !in_use.is_empty() {
            page.line([
                plain("still needed: "),
                span(ID, in_use.join(", ")),
                span(NOTE, ", a program writes with it: run `rekey` again when the program has the new key"),
            ]);
        }
        if !purged {
            page.line([span(
                NOTE,
                "another program reads an older state: run `superstep vacuum` later to remove the old texts",
            )]);
        }
    }
}
