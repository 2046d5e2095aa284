//! Texts that are stored beside the conversation.

use std::io;
use std::path::{Component, Path};

use superstep_core::error::NodeError;
use superstep_nodes::__private::{ModelCalls, blocking};

use crate::config::AssistantConfig;
use crate::context::Blob;

/// Stores texts in the workspace, once: the path of a text is made of its digest.
pub(super) async fn store(
    config: &AssistantConfig,
    calls: &ModelCalls,
    blobs: Vec<Blob>,
) -> Result<(), NodeError> {
    let Some(folder) = config.workspace.clone().filter(|_| !blobs.is_empty()) else { return Ok(()) };
    let write =
        || async { blocking(move || write_all(&folder, &blobs)).await.unwrap_or(Err(StoreBlobError::Ended)) };
    calls.run("blobs", write).await.map_err(NodeError::retryable)
}

fn write_all(folder: &Path, blobs: &[Blob]) -> Result<(), StoreBlobError> {
    for blob in blobs {
        let failed =
            |error: io::Error| StoreBlobError::Failed { path: blob.path.clone(), reason: error.to_string() };
        let path = Path::new(&blob.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(failed(io::Error::other("it is outside of the workspace")));
        }
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        // Also over a file that is there: a crash may have cut its write off.
        std::fs::write(&path, &blob.text).map_err(failed)?;
    }
    Ok(())
}

/// The error of a text that cannot be stored.
#[derive(Debug, thiserror::Error)]
enum StoreBlobError {
    #[error("a long result cannot be stored as `{path}` in the workspace: {reason}")]
    Failed { path: String, reason: String },
    #[error("a long result was not stored, as the program is ending")]
    Ended,
}
