//! `vacuum`: returns free pages to the file system.

use std::time::Duration;

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Vacuumed};

use crate::arguments::count;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, NOTE, Page, plain, span};
use crate::screen::Answer;

/// Give the free pages of a file back
///
/// The file is written anew, which takes as much space again for a while. Programs may have it open: those that write wait
/// so long.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep vacuum essays.db")]
pub(crate) struct Vacuum {
    #[command(flatten)]
    file: FileArgument,
    /// How many seconds to wait for somebody who is writing
    #[arg(long, default_value_t = 30, value_parser = count::<u64>, allow_hyphen_values = true)]
    patience: u64,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Shorter(Vacuumed);

impl Vacuum {
    pub(crate) fn answer(&self) -> Result<Shorter, Failure> {
        Ok(Shorter(maintenance::vacuum(self.file.keyed()?, Duration::from_secs(self.patience))?))
    }
}

impl Answer for Shorter {
    fn show(&self, page: &mut Page) {
        let Vacuumed { before, after, shortened } = self.0;
        let given = span(DIM, format!(", {} given back", before.saturating_sub(after)));
        page.line([plain(format!("{before} bytes before, {after} after")), given]);
        if !shortened {
            page.line([span(NOTE, "somebody reads an older state: the file is shortened after that")]);
        }
    }
}
