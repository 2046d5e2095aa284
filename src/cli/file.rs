//! The file that a verb is about, and the keys for it.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::checkpoint::{CheckpointFile, KeyError, KeyProblem, KeyRing, SqliteReader, StoreError};

use super::failure::Failure;

/// Where keys are looked for when no option says so.
const KEY_FILE: &str = "SUPERSTEP_KEY_FILE";

/// A checkpoint file.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FileArgument {
    /// The checkpoint file
    file: PathBuf,
    /// The file with the keys of an encrypted one; else the one that SUPERSTEP_KEY_FILE names
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
}

impl FileArgument {
    /// The file with its keys.
    pub(crate) fn keyed(&self) -> Result<CheckpointFile, Failure> {
        let file = CheckpointFile::at(&self.file);
        Ok(match self.keys()? {
            Some(keys) => file.keys(keys),
            None => file,
        })
    }

    /// The keys that were given. What the environment names is for those files that are encrypted.
    pub(crate) fn keys(&self) -> Result<Option<KeyRing>, Failure> {
        let named = match &self.key_file {
            Some(path) => path.clone().into_os_string(),
            None => match std::env::var_os(KEY_FILE) {
                Some(path) if self.is_encrypted() => path,
                _ => return Ok(None),
            },
        };
        read(&named).map(Some)
    }

    /// The keys that were given, wherever they were, for a file that is to be encrypted.
    pub(crate) fn keys_for_any_file(&self) -> Result<Option<KeyRing>, Failure> {
        let named = self.key_file.clone().map(PathBuf::into_os_string).or_else(|| std::env::var_os(KEY_FILE));
        named.map(|path| read(&path)).transpose()
    }

    fn is_encrypted(&self) -> bool {
        let problem = match SqliteReader::open(&self.file) {
            Err(StoreError::Keys { problem, .. }) => problem,
            _ => return false,
        };
        matches!(problem, KeyProblem::NoKeys { .. })
    }
}

fn read(path: &OsString) -> Result<KeyRing, Failure> {
    KeyRing::read(path).map_err(|error| match error {
        KeyError::Unreadable(..) => Failure::unusable(error.to_string()),
        malformed => Failure::unusable(format!("the key file {}: {malformed}", path.display())),
    })
}

impl Deref for FileArgument {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.file
    }
}
