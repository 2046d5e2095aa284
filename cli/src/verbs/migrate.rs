//! `migrate`: upgrades a file to the current format.

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Migration};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{GOOD, NOTE, Page, span};
use crate::screen::{Answer, Exit};

/// Upgrade a file of an older format
///
/// The upgrade is one transaction; programs of older versions then refuse the file. Any program that opens the file for
/// writing does the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep migrate essays.db --check")]
pub(crate) struct Migrate {
    #[command(flatten)]
    file: FileArgument,
    /// Only report; exits with 1 if an upgrade is needed
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Migrated {
    #[serde(flatten)]
    migration: Migration,
    migrated: bool,
    #[serde(skip)]
    check: bool,
}

impl Migrated {
    pub(crate) fn is_needed(&self) -> bool {
        self.migration.is_needed()
    }
}

impl Migrate {
    pub(crate) fn file(&self) -> &FileArgument {
        &self.file
    }

    pub(crate) fn only_checks(&self) -> bool {
        self.check
    }

    pub(crate) fn answer(&self) -> Result<Migrated, Failure> {
        let instead = "a program that opens it for writing upgrades its tables";
        self.file.check_no_database(instead)?;
        let migration = match self.check {
            true => maintenance::migration(self.file.keyed()?)?,
            false => maintenance::migrate(self.file.keyed()?)?,
        };
        Ok(Migrated { migration, migrated: migration.is_needed() && !self.check, check: self.check })
    }
}

impl Answer for Migrated {
    fn show(&self, page: &mut Page) {
        let Migration { from, to } = self.migration;
        page.line([match (self.migration.is_needed(), self.check) {
            (false, _) => span(GOOD, format!("the file has format {to}, the current one")),
            (true, true) => span(NOTE, format!("the file has format {from}, and would be upgraded to {to}")),
            (true, false) => span(GOOD, format!("upgraded from format {from} to {to}")),
        }]);
    }

    fn exit(&self) -> Exit {
        if self.check && self.migration.is_needed() { Exit::No } else { Exit::Fine }
    }
}
