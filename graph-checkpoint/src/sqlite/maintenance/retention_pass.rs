//! One pass of background pruning over a file.

use super::collect::collect_unused;
use super::prune::prune_in;
use super::writing::refuse_malformed;
use crate::maintenance::{Collected, MaintenanceError, Pruned};
use crate::sqlite::connection::Connection;
use crate::sqlite::file::File;

/// The result of one pass.
pub(crate) struct Passed {
    pub(crate) pruned: Pruned,
    pub(crate) collected: Collected,
    /// The number of checkpoint rows left.
    pub(crate) left: u64,
}

/// Prunes and collects until `stop` returns `true`. The first call opens the connection and reads all pages once, to
/// detect damage.
pub(crate) fn pass(
    file: &File,
    connection: &mut Option<Connection>,
    stop: impl Fn() -> bool,
) -> Result<Passed, MaintenanceError> {
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
