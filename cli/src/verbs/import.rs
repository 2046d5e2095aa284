//! `import`: stores a thread from a JSON document.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use superstep_checkpoint::portable::{self, Export, NoExport};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::state::SizeLimits;

use crate::amend::thread_name;
use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile};
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;

use super::export::without_secrets;

/// Store an exported thread in a file, which is created if it does not exist
///
/// The whole document is checked before anything is written; then all of it is stored or nothing. Ids, times, steps and
/// sources do not change.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep import essays.db rust.json
          superstep export here.db rust | superstep import there.db --as copy")]
pub(crate) struct Import {
    #[command(flatten)]
    file: FileArgument,
    /// The export, or `-` for the standard input
    #[arg(default_value = "-")]
    export: PathBuf,
    /// Give the thread this name instead of its old one
    #[arg(long = "as", value_name = "THREAD")]
    name: Option<String>,
    /// Allow a redacted export, which its program may not be able to continue
    #[arg(long)]
    redacted: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Imported {
    imported: ThreadId,
    checkpoints: usize,
    redacted: bool,
    /// `true` if the checkpoint file was created.
    created: bool,
}

impl Import {
    pub(crate) fn answer(&self) -> Result<Imported, Failure> {
        let export = read(&self.export)?;
        if export.is_redacted() && !self.redacted {
            return Err(Failure::unusable(
                "the export is without its secrets, and the program may not be able to go on with it; add --redacted to \
                 import it all the same",
            ));
        }
        let name = match &self.name {
            Some(name) => thread_name(name)?,
            None => export.thread().clone(),
        };
        let (checkpoints, redacted) = (export.checkpoints(), export.is_redacted());
        let (target, created) = WritableFile::open_or_create(&self.file)?;
        let imported = target.wait(portable::import(target.import_target(), export, &name));
        imported.map_err(|error| self.refused(error))?;
        Ok(Imported { imported: name, checkpoints, redacted, created })
    }

    fn refused(&self, error: StoreError) -> Failure {
        match error {
            StoreError::ThreadExists(name) => {
                Failure::unusable(format!("thread {name} already exists: choose another name with --as"))
            }
            StoreError::CheckpointExists(id) => {
                let text = format!("checkpoint {id} of the export is in {} already", self.file.display());
                Failure::unusable(text).with_help("fork", "makes another thread of it")
            }
            StoreError::CheckpointDiffers(id) => Failure::unusable(format!(
                "checkpoint {id} of the export is in {} already, and is not the same there: import into another file",
                self.file.display()
            )),
            other => other.into(),
        }
    }
}

fn read(from: &Path) -> Result<Export, Failure> {
    let (name, text) = match from.to_str() {
        Some("-") => ("the standard input".to_owned(), bounded(io::stdin())),
        _ => (from.display().to_string(), fs::File::open(from).and_then(bounded)),
    };
    let text = text.map_err(|error| {
        Failure::unusable(match error.kind() {
            ErrorKind::NotFound => format!("there is no file {name}"),
            ErrorKind::InvalidData => format!("{name} is not an export of a thread: it is not text"),
            _ => format!("{name} cannot be read: {error}"),
        })
    })?;
    Export::parse(&text).map_err(|error| {
        let told = format!("{name}: {error}");
        match error {
            NoExport::Changed | NoExport::Inconsistent(_) => Failure::nothing(told),
            NoExport::Newer { .. } => Failure::unusable(format!("{told}: use a newer version of it")),
            _ => Failure::unusable(told),
        }
    })
}

/// Reads a document up to one byte more than the size limit, so that a longer one is noticed.
fn bounded(from: impl Read) -> io::Result<String> {
    let most = SizeLimits::default().of_document().most_bytes();
    io::read_to_string(from.take(most as u64 + 1))
}

impl Answer for Imported {
    fn show(&self, page: &mut Page) {
        let Self { imported, checkpoints, redacted, created } = self;
        let into = if *created { " into a new file" } else { "" };
        page.line([
            plain("imported "),
            span(NAME, imported.as_str()),
            plain(into),
            span(DIM, format!(" ({checkpoints} checkpoints{})", without_secrets(*redacted))),
        ]);
    }
}
