//! `vacuum`: returns free pages to the file system.

use std::time::Duration;

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Vacuumed};

use crate::arguments::count;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, NOTE, Page, plain, span};
use crate::screen::Answer;

/// Return the free pages of a file to the file system
///
/// The whole file is rewritten, which temporarily needs as much space again. Programs may have it open; writers wait.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep vacuum essays.db")]
pub(crate) struct Vacuum {
    #[command(flatten)]
    file: FileArgument,
    /// The longest time to wait for another writer, in seconds
    #[arg(long, default_value_t = 30, value_parser = count::<u64>, allow_hyphen_values = true)]
    patience: u64,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Shorter(Vacuumed);

impl Vacuum {
    pub(crate) fn answer(&self) -> Result<Shorter, Failure> {
        self.file
            .check_no_database("it reuses its space by itself, and VACUUM FULL of Postgres returns it")?;
        Ok(Shorter(maintenance::vacuum(self.file.keyed()?, Duration::from_secs(self.patience))?))
    }
}

impl Answer for Shorter {
    fn show(&self, page: &mut Page) {
        let Vacuumed { before, after, shortened } = self.0;
        let given = span(DIM, format!(", {} given back", before.saturating_sub(after)));
        page.line([plain(format!("{before} bytes before, {after} after")), given]);
        if !shortened {
            page.line([span(
                NOTE,
                "another program reads an older state: the file shrinks when it has finished",
            )]);
        }
    }
}
