//! `gc`: what nobody needs goes.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::checkpoint::care::{self, Collected};

use crate::cli::answer::Answer;
use crate::cli::failure::Failure;
use crate::cli::page::{DIM, GOOD, Page, plain, span};

/// Take out of a file what nobody needs
///
/// That is long texts and work that no checkpoint refers to, and what deletions left. No thread or checkpoint changes. The
/// file keeps its size until `vacuum`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep gc essays.db --dry-run")]
pub(crate) struct Gc {
    /// The checkpoint file
    file: PathBuf,
    /// Only tell what would go
    #[arg(long)]
    dry_run: bool,
    /// How many seconds to wait for somebody who is writing
    #[arg(long, default_value_t = 30)]
    patience: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Gone {
    #[serde(flatten)]
    collected: Collected,
    dry_run: bool,
}

impl Gc {
    pub(crate) fn answer(&self) -> Result<Gone, Failure> {
        let collected = match self.dry_run {
            true => care::collectable(&self.file)?,
            false => care::collect(&self.file, Duration::from_secs(self.patience))?,
        };
        Ok(Gone { collected, dry_run: self.dry_run })
    }
}

impl Answer for Gone {
    fn show(&self, page: &mut Page) {
        let Collected { bodies, work, remains, bytes } = self.collected;
        if self.collected.is_empty() {
            return page.line([span(GOOD, "nothing is there for nobody")]);
        }
        let counts =
            [(bodies, "long texts"), (work, "questions and effects"), (remains, "remains of deletions")];
        let told = counts.into_iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
        let how = if self.dry_run { "would take out" } else { "took out" };
        page.line([plain(format!("{how} {}", told.join(", "))), span(DIM, format!(" of {bytes} bytes"))]);
    }
}
