//! One pass over a file by the saver that keeps it.

use super::collect::{Collected, collect_unused};
use super::error::CareError;
use super::prune::{Pruned, prune_in};
use super::writing::refuse_malformed;
use crate::connection::Connection;
use crate::file::File;

/// What a saver has done by itself: see [`SqliteOptions::retention`](crate::SqliteOptions::retention).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// How often it has looked.
    pub passes: u64,
    /// How many checkpoints it has taken out, or left only the state of.
    pub checkpoints: u64,
    /// What the latest pass failed of, if it did. The next one tries again.
    pub failed: Option<String>,
}

/// What one pass has come to.
pub(crate) struct Passed {
    pub(crate) pruned: Pruned,
    pub(crate) collected: Collected,
    /// How many rows of checkpoints are left.
    pub(crate) left: u64,
}

/// Prunes and collects, until `stop` says that it is enough. The connection is opened the first time, and the file read
/// through once then.
pub(crate) fn pass(
    file: &File,
    connection: &mut Option<Connection>,
    stop: impl Fn() -> bool,
) -> Result<Passed, CareError> {
    let connection = match connection {
        Some(connection) => connection,
        None => {
            let opened = file.open_writer()?;
            refuse_malformed(&opened)?;
            connection.insert(opened)
        }
    };
    let patience = file.options.busy_limit;
    let mut pruned = Pruned::default();
    let left = prune_in(connection, &file.options.retention, &mut pruned, patience, &stop)?;
    let mut collected = Collected::default();
    if pruned.checkpoints > 0 && !stop() {
        collect_unused(connection, &mut collected, patience)?;
    }
    Ok(Passed { pruned, collected, left })
}
