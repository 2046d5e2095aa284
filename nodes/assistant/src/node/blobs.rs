//! Texts that are stored beside the conversation.

use std::io::{self, Read, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use superstep_core::error::NodeError;
use superstep_nodes::__private::{ModelCalls, ToolRunner, blocking};
use superstep_nodes::tool::{LongResults, ReadSeek};

use crate::config::AssistantConfig;
use crate::context::{Blob, ResultLimits, blob_path};

/// The folder for texts in the workspace. It is opened through a handle, so links do not lead out.
struct Blobs {
    workspace: PathBuf,
    limits: ResultLimits,
}

/// Lets tools store long results, so that no more than their limit enters the state.
pub(crate) fn store_long_results(config: &AssistantConfig, runner: &mut ToolRunner) {
    if let Some(blobs) = Blobs::of(config) {
        runner.set_long_results(Arc::new(blobs));
    }
}

/// Stores texts in the workspace, once: the path of a text is made of its digest.
pub(super) async fn store(
    config: &AssistantConfig,
    calls: &ModelCalls,
    texts: Vec<Blob>,
) -> Result<(), NodeError> {
    let Some(blobs) = Blobs::of(config).filter(|_| !texts.is_empty()) else { return Ok(()) };
    let write = move || {
        let write = |blob: &Blob| blobs.write(&blob.path, &mut blob.text.as_bytes());
        texts.iter().try_for_each(|blob| {
            let path = || blob.path.clone();
            write(blob).map_err(|error| StoreBlobError::Failed { path: path(), reason: error.to_string() })
        })
    };
    let write = || async { blocking(write).await.unwrap_or(Err(StoreBlobError::Ended)) };
    calls.run("blobs", write).await.map_err(NodeError::retryable)
}

impl Blobs {
    fn of(config: &AssistantConfig) -> Option<Self> {
        Some(Self { workspace: config.workspace.clone()?, limits: config.context.results.clone() })
    }

    fn write(&self, path: &str, text: &mut dyn Read) -> io::Result<()> {
        let workspace = Dir::open_ambient_dir(&self.workspace, ambient_authority())?;
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        workspace.create_dir_all(folder)?;
        // Neither git nor a snapshot has these files.
        workspace.write(folder.join(".gitignore"), "*\n")?;
        // Also over a file that is there: a crash may have cut its write off.
        io::copy(text, &mut workspace.create(path)?).map(drop)
    }
}

impl LongResults for Blobs {
    fn max_chars(&self) -> usize {
        self.limits.per_result()
    }

    fn store(&self, text: &mut dyn ReadSeek) -> io::Result<String> {
        let (mut hasher, mut buffer) = (blake3::Hasher::new(), vec![0; 64 << 10]);
        while let length @ 1.. = text.read(&mut buffer)? {
            hasher.update(&buffer[..length]);
        }
        let path = blob_path(&self.limits, &hasher.finalize());
        text.seek(SeekFrom::Start(0))?;
        self.write(&path, text)?;
        Ok(path)
    }
}

/// The error of a text that cannot be stored.
#[derive(Debug, thiserror::Error)]
enum StoreBlobError {
    #[error("a long result cannot be stored as `{path}` in the workspace: {reason}")]
    Failed { path: String, reason: String },
    #[error("a long result was not stored, as the program is ending")]
    Ended,
}
