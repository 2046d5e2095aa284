//! A checkpoint file that a verb writes to.

use std::future::Future;
use std::thread;

use tokio::runtime::Builder;

use superstep_checkpoint::{CheckpointFile, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::StoreError;

use super::failure::Failure;
use super::file::FileArgument;

/// A file of the current format, open for writing. A program may write to it at the same time.
#[derive(Debug)]
pub(super) struct WritableFile {
    pub(super) saver: SqliteSaver,
}

impl WritableFile {
    /// Opens an existing file. No file is created, and an older format is not upgraded.
    pub(super) fn open(file: &FileArgument) -> Result<Self, Failure> {
        let keyed = file.keyed()?;
        match SqliteReader::open(keyed.clone())?.format() {
            SqliteReader::FORMAT => Self::at(keyed),
            older => Err(Failure::older_format(file, older, SqliteReader::FORMAT)),
        }
    }

    /// Opens an existing file, or creates one, encrypted if there are keys for it. Returns `true` if it was created.
    pub(super) fn open_or_create(file: &FileArgument) -> Result<(Self, bool), Failure> {
        match file.exists() {
            true => Ok((Self::open(file)?, false)),
            false => Ok((Self::at(file.keyed_to_encrypt()?)?, true)),
        }
    }

    fn at(file: CheckpointFile) -> Result<Self, Failure> {
        Ok(Self { saver: wait(SqliteSaver::open(file))? })
    }
}

/// Waits for an operation of a saver.
pub(super) fn wait<T: Send>(work: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, Failure> {
    Ok(runs(work)??)
}

/// Waits on a separate thread: a verb may be called inside a runtime, which must not be blocked.
pub(super) fn runs<T: Send>(work: impl Future<Output = T> + Send) -> Result<T, Failure> {
    let run = || {
        let runtime =
            Builder::new_current_thread().build().map_err(|error| Failure::unusable(error.to_string()))?;
        Ok(runtime.block_on(work))
    };
    thread::scope(|scope| scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}
