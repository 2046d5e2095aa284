//! `rekey`: encrypts a file, changes its keys, or decrypts it.

use std::time::Duration;

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Form, Rekeyed};

use crate::arguments::count;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, ID, NOTE, Page, plain, span};
use crate::screen::Answer;

/// Encrypt a file, give it other keys, or decrypt it
///
/// What states hold is sealed with the first key of the key file; the keys that follow in it open what was sealed before.
/// Programs may use the file while its keys are exchanged, but not while it is encrypted or decrypted as a whole. When it
/// is interrupted, do it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep rekey essays.db --key-file keys.txt")]
pub(crate) struct Rekey {
    #[command(flatten)]
    file: FileArgument,
    /// Decrypt it
    #[arg(long)]
    plain: bool,
    /// How many seconds to wait for somebody who has the file open or is writing
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
                "this program has the file open, and it takes who is alone with it to encrypt or decrypt it: \
                 `superstep rekey` does, when the program has ended",
            ));
        }
        let file = self.file.keyed_to_encrypt()?;
        if !file.has_keys() {
            return Err(Failure::unusable(
                "it takes keys: name the file that has them with --key-file, or with SUPERSTEP_KEY_FILE",
            ));
        }
        let form = if self.plain { Form::Plain } else { Form::Encrypted };
        Ok(Changed(maintenance::rekey(file, form, Duration::from_secs(self.patience))?))
    }
}

impl Answer for Changed {
    fn show(&self, page: &mut Page) {
        let Rekeyed { rows, bytes, retired, in_use, purged } = &self.0;
        page.line([
            plain(format!("{rows} rows written anew")),
            span(DIM, format!(", {bytes} bytes of texts")),
        ]);
        if !retired.is_empty() {
            page.line([plain("not needed any more: "), span(ID, retired.join(", "))]);
        }
        if !in_use.is_empty() {
            page.line([
                plain("still needed: "),
                span(ID, in_use.join(", ")),
                span(NOTE, ", a program writes with it: do it again when it has the new key"),
            ]);
        }
        if !purged {
            page.line([span(
                NOTE,
                "somebody reads an older state: `superstep vacuum` takes out what was, after that",
            )]);
        }
    }
}
