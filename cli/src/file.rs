//! The file that a verb works on, and its keys.

#[cfg(feature = "encryption")]
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use clap::builder::{PathBufValueParser, TypedValueParser};
use superstep_checkpoint::{CheckpointFile, CheckpointReader, SqliteReader, SqliteSaver};
#[cfg(feature = "encryption")]
use superstep_checkpoint::{KeyError, KeyRing};
use superstep_core::checkpoint::{KeyProblem, StoreError};
use tokio::runtime::Builder;

use super::failure::Failure;
use super::kept_file::{Kept, KeptFile};

/// The environment variable for keys, read if no option names a key file.
const KEY_FILE: &str = "SUPERSTEP_KEY_FILE";

/// A checkpoint file.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FileArgument {
    /// The checkpoint file
    #[arg(value_parser = NamedFile::parser(Vec::new()), value_hint = clap::ValueHint::FilePath)]
    file: NamedFile,
    /// The key file of an encrypted file; defaults to the one that the variable SUPERSTEP_KEY_FILE names
    #[cfg(feature = "encryption")]
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
}

/// A file by its path, with the saver of the calling program if that has the file open.
#[derive(Clone)]
pub(crate) struct NamedFile {
    path: PathBuf,
    own: Option<SqliteSaver>,
    /// The file, if several verbs read it.
    kept: Option<Arc<KeptFile>>,
}

impl NamedFile {
    /// Returns a parser that recognizes the program's own files.
    pub(crate) fn parser(own: Vec<SqliteSaver>) -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().map(move |path| {
            let own = own.iter().find(|own| own.path().is_some_and(|own| is_same(own, &path))).cloned();
            Self { path, own, kept: None }
        })
    }

    /// Returns a parser of the path of a file that several verbs read.
    pub(crate) fn kept(file: Arc<KeptFile>) -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().map(move |path| Self { path, own: None, kept: Some(Arc::clone(&file)) })
    }
}

impl fmt::Debug for NamedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedFile").field(&self.path).finish()
    }
}

/// Returns `true` if two paths lead to the same file.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

impl FileArgument {
    /// Creates the argument for a file that several verbs read.
    pub(crate) fn kept_open(path: &Path, file: Arc<KeptFile>) -> Self {
        Self {
            file: NamedFile { path: path.to_owned(), own: None, kept: Some(file) },
            #[cfg(feature = "encryption")]
            key_file: None,
        }
    }

    /// Returns the file with its keys. The keys of the environment are used only if the file is encrypted.
    pub(crate) fn keyed(&self) -> Result<CheckpointFile, Failure> {
        self.keyed_as(|| self.is_encrypted())
    }

    /// Returns the same for a file that is to be encrypted.
    pub(crate) fn keyed_to_encrypt(&self) -> Result<CheckpointFile, Failure> {
        self.keyed_as(|| true)
    }

    /// Returns the program's own file, or else the file without keys. Fails if keys from the environment are needed.
    #[cfg(not(feature = "encryption"))]
    fn keyed_as(&self, environment_counts: impl FnOnce() -> bool) -> Result<CheckpointFile, Failure> {
        if let Some(own) = self.own_file() {
            return Ok(own);
        }
        if std::env::var_os(KEY_FILE).is_some() && environment_counts() {
            return Err(Failure::unusable(format!(
                "{KEY_FILE} names keys, and this program is built without the feature `encryption`: build it with that, or unset the variable"
            )));
        }
        Ok(CheckpointFile::at(&self.file.path))
    }

    /// Returns the file with the keys of the option; else the program's own file; else the file with the keys of the
    /// environment.
    #[cfg(feature = "encryption")]
    fn keyed_as(&self, environment_counts: impl FnOnce() -> bool) -> Result<CheckpointFile, Failure> {
        let file = self.own_file();
        let named = match (&self.key_file, file.is_some()) {
            (Some(path), _) => Some(path.clone().into_os_string()),
            (None, true) => None,
            (None, false) => std::env::var_os(KEY_FILE).filter(|_| environment_counts()),
        };
        let file = file.unwrap_or_else(|| CheckpointFile::at(&self.file.path));
        Ok(match named {
            Some(named) => file.keys(read(&named)?),
            None => file,
        })
    }

    /// Returns the file as it is now, if several verbs read it.
    pub(crate) fn kept(&self) -> Result<Option<Kept>, Failure> {
        self.file.kept.as_ref().map(KeptFile::now).transpose()
    }

    /// Opens the file for reading; through the saver of the calling program, if that has the file open.
    pub(crate) fn reader(&self) -> Result<Box<dyn CheckpointReader>, Failure> {
        match &self.file.own {
            Some(saver) if !self.names_keys() => Ok(saver.reader()),
            _ => Ok(Box::new(SqliteReader::open(self.keyed()?)?)),
        }
    }

    #[cfg(feature = "encryption")]
    fn names_keys(&self) -> bool {
        self.key_file.is_some()
    }

    #[cfg(not(feature = "encryption"))]
    fn names_keys(&self) -> bool {
        false
    }

    /// Returns the file with the keys of the calling program, if that has the file open, or with those of the file that
    /// several verbs read.
    fn own_file(&self) -> Option<CheckpointFile> {
        match &self.file.kept {
            Some(kept) => Some(kept.checkpoint_file()),
            None => self.file.own.as_ref()?.checkpoint_file(),
        }
    }

    /// Returns `true` if the calling program has the file open.
    #[cfg(feature = "encryption")]
    pub(crate) fn is_own(&self) -> bool {
        self.file.own.is_some()
    }

    /// Returns `true` if reading the file requires keys.
    pub(crate) fn is_encrypted(&self) -> bool {
        let problem = match SqliteReader::open(&self.file.path) {
            Err(StoreError::Keys { problem, .. }) => problem,
            _ => return false,
        };
        matches!(problem, KeyProblem::NoKeys { .. })
    }
}

#[cfg(feature = "encryption")]
fn read(path: &OsString) -> Result<KeyRing, Failure> {
    KeyRing::read(path).map_err(|error| match error {
        KeyError::Unreadable(..) => Failure::unusable(error.to_string()),
        malformed => Failure::unusable(format!("the key file {}: {malformed}", path.display())),
    })
}

impl Deref for FileArgument {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.file.path
    }
}

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
        let runtime = Builder::new_current_thread().build().map_err(Failure::of)?;
        Ok(runtime.block_on(work))
    };
    thread::scope(|scope| scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}
