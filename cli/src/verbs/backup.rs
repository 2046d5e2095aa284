//! `backup`: copies a file that may be in use.

use std::path::PathBuf;

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Copied, Existing};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{NAME, Page, plain, span};
use crate::screen::Answer;

/// Copy a file, even while a program writes to it
///
/// The copy is a single file with one consistent state. It appears only when it is complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep backup essays.db essays-monday.db")]
pub(crate) struct Backup {
    #[command(flatten)]
    file: FileArgument,
    /// The path of the copy
    to: PathBuf,
    /// Replace an existing checkpoint file; other files are never replaced
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Backed {
    file: String,
    #[serde(flatten)]
    copied: Copied,
}

impl Backup {
    pub(crate) fn answer(&self) -> Result<Backed, Failure> {
        let instead = "use pg_dump of Postgres, or copy its threads into a file with `copy`";
        self.file.check_no_database(instead)?;
        let existing = if self.force { Existing::Replace } else { Existing::Refuse };
        let copied = maintenance::backup(&*self.file, &self.to, existing)?;
        Ok(Backed { file: self.to.display().to_string(), copied })
    }
}

impl Answer for Backed {
    fn show(&self, page: &mut Page) {
        let Copied { bytes, checkpoints } = self.copied;
        let size = format!(": {checkpoints} checkpoints, {bytes} bytes");
        page.line([plain("copied to "), span(NAME, &self.file), plain(size)]);
    }
}
