//! The verb `gc`: deletes data that no session of the folder refers to.

use std::time::{Duration, SystemTime};

use clap::Args;
use serde::Serialize;
use superstep_assistant::rewind::referenced;
use superstep_assistant::snapshot::{SnapshotError, Swept};
use superstep_checkpoint::maintenance;

use super::hold::Hold;
use super::past::snapshots;
use super::sessions::past;
use super::workbench::Workbench;
use crate::failure::Failure;
use crate::page::{DIM, Page, plain, span};
use crate::screen::Answer;
use crate::verbs::gc::Gone;

/// Delete unreferenced data of the sessions of this folder
///
/// These are snapshots of files that no checkpoint refers to, such as those of deleted sessions, and all that
/// `superstep gc` deletes from the checkpoint file. `superstep gc FILE --keep-days D` deletes old checkpoints.
#[derive(Debug, Args)]
pub(crate) struct Gc {}

/// Data that was deleted.
#[derive(Debug, Serialize)]
pub(crate) struct Collected {
    snapshots: u64,
    contents: u64,
    /// The size of the deleted contents of files.
    bytes: u64,
    file: Gone,
}

/// The age at which a snapshot is deleted while a session works, which may not have stored its reference yet.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The longest time to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(30);

impl Gc {
    pub(crate) async fn answer(&self) -> Result<Collected, Failure> {
        let bench = past().await?;
        let begun = SystemTime::now();
        let taken_since = if any_works(&bench).await? { begun - HOUR } else { begun };
        let kept = referenced(&bench.graph).await?;
        let swept = snapshots(&bench)?.collect(kept, taken_since).await;
        let Swept { snapshots, contents, bytes, .. } =
            swept.map_err(|error: SnapshotError| Failure::unusable(error.to_string()))?;
        let file = bench.places.checkpoints();
        let collected = tokio::task::spawn_blocking(move || maintenance::collect(file, PATIENCE));
        let collected = collected.await.map_err(Failure::of)??;
        Ok(Collected { snapshots, contents, bytes, file: Gone::unreferenced(collected) })
    }
}

/// Returns `true` if a process works on a session of the folder.
async fn any_works(bench: &Workbench) -> Result<bool, Failure> {
    for it in bench.sessions().await? {
        if Hold::is_held(&bench.places, &it.session)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Answer for Collected {
    fn show(&self, page: &mut Page) {
        let Self { snapshots, contents, bytes, file } = self;
        page.line([
            plain(format!("snapshots: deleted {snapshots}, and {contents} contents of files")),
            span(DIM, format!(" ({bytes} bytes)")),
        ]);
        page.line([plain("checkpoints:")]);
        file.show(page);
    }
}
