//! `export`: writes a thread as a JSON document.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use superstep_checkpoint::portable;
use superstep_core::id::ThreadId;
use superstep_core::state::{Json, SizeLimits};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;

/// Write a thread with everything that belongs to it as one JSON document
///
/// The document has its branches, the past that it shares with other threads, the threads of its subgraphs, effects,
/// questions and answers. `superstep import` stores it in another file, where its program can continue it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep export essays.db rust > rust.json
          superstep export essays.db rust --redact -o rust.json")]
pub(crate) struct Export {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
    /// Write to this new file instead of the standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Redact the values of secret fields
    ///
    /// Their texts are redacted everywhere. Numbers, and texts with fewer than four letters, are redacted only in the
    /// field itself.
    #[arg(long)]
    redact: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Exported {
    Document(Json),
    File(Written),
}

#[derive(Debug, Serialize)]
pub(crate) struct Written {
    exported: ThreadId,
    to: PathBuf,
    checkpoints: usize,
    redacted: bool,
}

impl Export {
    pub(crate) fn answer(&self) -> Result<Exported, Failure> {
        let source = Source::open(&self.file)?;
        let thread = source.thread(&self.thread)?.thread;
        let export = portable::export(&*source.reader, &thread)?;
        let export = export.ok_or_else(|| Failure::nothing("the thread has just been deleted"))?;
        let export = if self.redact { export.redacted() } else { export };
        let Some(to) = &self.output else {
            let limits = SizeLimits::default().of_document();
            return Ok(Exported::Document(
                Json::parse_within(export.to_text(), limits).map_err(Failure::damaged)?,
            ));
        };
        write(to, &export.to_text())?;
        Ok(Exported::File(Written {
            exported: thread,
            to: to.clone(),
            checkpoints: export.checkpoints(),
            redacted: export.is_redacted(),
        }))
    }
}

/// Writes a new file. Fails if the file exists.
fn write(to: &Path, text: &str) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(to);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::unusable(match error.kind() {
            ErrorKind::AlreadyExists => format!("{} already exists: choose another name", to.display()),
            _ => format!("{} cannot be written: {error}", to.display()),
        })
    })
}

impl Answer for Exported {
    fn show(&self, page: &mut Page) {
        match self {
            Self::Document(text) => page.document(text.as_str()),
            Self::File(Written { exported, to, checkpoints, redacted }) => page.line([
                plain("exported "),
                span(NAME, exported.as_str()),
                plain(format!(" to {}", to.display())),
                span(DIM, format!(" ({checkpoints} checkpoints{})", without_secrets(*redacted))),
            ]),
        }
    }
}

/// Returns the note for an export that was redacted.
pub(super) fn without_secrets(redacted: bool) -> &'static str {
    if redacted { ", without secrets" } else { "" }
}
