//! The file that a verb works on, and its keys; or the database.

#[cfg(feature = "encryption")]
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use clap::builder::{PathBufValueParser, TypedValueParser};
use superstep_checkpoint::portable::ImportTarget;
use superstep_checkpoint::{CheckpointFile, CheckpointReader, SqliteReader, SqliteSaver};
#[cfg(feature = "encryption")]
use superstep_checkpoint::{KeyError, KeyRing};
use superstep_core::checkpoint::{Checkpointer, KeyProblem, StoreError};
use tokio::runtime::{Builder, Runtime};

use super::database::{CheckpointSource, DatabaseUrl};
use super::failure::Failure;
use super::kept_file::{Kept, KeptFile};

/// The environment variable for keys, read if no option names a key file.
const KEY_FILE: &str = "SUPERSTEP_KEY_FILE";

/// A checkpoint file.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FileArgument {
    /// The checkpoint file, or the URL of a database: postgres://USER@HOST/DATABASE
    #[arg(value_parser = NamedFile::parser(Vec::new()), value_hint = clap::ValueHint::FilePath)]
    file: NamedFile,
    /// The key file of an encrypted file; defaults to the one that the variable SUPERSTEP_KEY_FILE names
    #[cfg(feature = "encryption")]
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
}

/// A file by its path, with the saver of the calling program if that has the file open; or a database.
#[derive(Clone)]
pub(crate) struct NamedFile {
    /// The path as it is printed: that of a database has no password.
    path: PathBuf,
    database: Option<DatabaseUrl>,
    own: Option<SqliteSaver>,
    /// The file, if several verbs read it.
    kept: Option<Arc<KeptFile>>,
}

impl NamedFile {
    /// Returns a parser that recognizes the program's own files.
    pub(crate) fn parser(own: Vec<SqliteSaver>) -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().map(move |path| {
            let own = own.iter().find(|own| own.path().is_some_and(|own| is_same(own, &path))).cloned();
            Self { own, ..Self::at(path) }
        })
    }

    fn at(path: PathBuf) -> Self {
        match DatabaseUrl::of(&path) {
            Some(url) => Self { path: url.shown().into(), database: Some(url), own: None, kept: None },
            None => Self { path, database: None, own: None, kept: None },
        }
    }

    /// Returns a parser of the path of a file that several verbs read.
    pub(crate) fn kept(file: Arc<KeptFile>) -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().map(move |path| Self { kept: Some(Arc::clone(&file)), ..Self::at(path) })
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
            file: NamedFile { kept: Some(file), ..NamedFile::at(path.to_owned()) },
            #[cfg(feature = "encryption")]
            key_file: None,
        }
    }

    /// Creates the argument for another file, with the key file of its own.
    pub(crate) fn another(file: NamedFile, #[cfg(feature = "encryption")] key_file: Option<PathBuf>) -> Self {
        Self {
            file,
            #[cfg(feature = "encryption")]
            key_file,
        }
    }

    /// Returns the file with its keys. The keys of the environment are used only if the file is encrypted. Fails for a
    /// database.
    pub(crate) fn keyed(&self) -> Result<CheckpointFile, Failure> {
        self.check_no_database("this verb needs a file")?;
        self.keyed_as(|| self.is_encrypted())
    }

    /// Returns the same for a file that is to be encrypted.
    pub(crate) fn keyed_to_encrypt(&self) -> Result<CheckpointFile, Failure> {
        self.keyed_as(|| true)
    }

    /// Returns the file with its keys, or the database.
    pub(crate) fn source(&self) -> Result<CheckpointSource, Failure> {
        match self.keyed_database()? {
            Some(url) => Ok(CheckpointSource::Database(url)),
            None => Ok(CheckpointSource::File(self.keyed()?)),
        }
    }

    /// Fails for a database, with the reason, or with what to use instead.
    pub(crate) fn check_no_database(&self, instead: &str) -> Result<(), Failure> {
        match self.database() {
            Some(url) => Err(Failure::unusable(format!("{} is a database: {instead}", url.shown()))),
            None => Ok(()),
        }
    }

    /// Returns the address, if this is a database.
    pub(crate) fn database(&self) -> Option<&DatabaseUrl> {
        self.file.database.as_ref()
    }

    /// Returns the same with its keys: those of the option, or those of the environment if the database is encrypted.
    #[cfg(feature = "encryption")]
    pub(crate) fn keyed_database(&self) -> Result<Option<DatabaseUrl>, Failure> {
        self.database_keyed_as(DatabaseUrl::is_encrypted)
    }

    /// Returns the same for a database that is to be encrypted.
    #[cfg(feature = "encryption")]
    pub(crate) fn database_to_encrypt(&self) -> Result<Option<DatabaseUrl>, Failure> {
        self.database_keyed_as(|_| true)
    }

    #[cfg(feature = "encryption")]
    fn database_keyed_as(
        &self,
        environment_counts: impl FnOnce(&DatabaseUrl) -> bool,
    ) -> Result<Option<DatabaseUrl>, Failure> {
        let Some(url) = self.database() else { return Ok(None) };
        let keys = self.keys(|| environment_counts(url))?;
        Ok(Some(match keys {
            Some(keys) => url.clone().keyed(keys),
            None => url.clone(),
        }))
    }

    /// Returns the keys of the option; else those of the environment, if they count.
    #[cfg(feature = "encryption")]
    fn keys(&self, environment_counts: impl FnOnce() -> bool) -> Result<Option<KeyRing>, Failure> {
        let named = match &self.key_file {
            Some(path) => Some(path.clone().into_os_string()),
            None => std::env::var_os(KEY_FILE).filter(|_| environment_counts()),
        };
        named.as_ref().map(read).transpose()
    }

    /// Returns the address, if this is a database. Fails if keys from the environment are needed.
    #[cfg(not(feature = "encryption"))]
    pub(crate) fn keyed_database(&self) -> Result<Option<DatabaseUrl>, Failure> {
        match self.database() {
            Some(url) if std::env::var_os(KEY_FILE).is_some() && url.is_encrypted() => Err(no_encryption()),
            url => Ok(url.cloned()),
        }
    }

    /// Returns the program's own file, or else the file without keys. Fails if keys from the environment are needed.
    #[cfg(not(feature = "encryption"))]
    fn keyed_as(&self, environment_counts: impl FnOnce() -> bool) -> Result<CheckpointFile, Failure> {
        if let Some(own) = self.own_file() {
            return Ok(own);
        }
        if std::env::var_os(KEY_FILE).is_some() && environment_counts() {
            return Err(no_encryption());
        }
        Ok(CheckpointFile::at(&self.file.path))
    }

    /// Returns the file with the keys of the option; else the program's own file; else the file with the keys of the
    /// environment.
    #[cfg(feature = "encryption")]
    fn keyed_as(&self, environment_counts: impl FnOnce() -> bool) -> Result<CheckpointFile, Failure> {
        let own = self.own_file();
        let keys = self.keys(|| own.is_none() && environment_counts())?;
        let file = own.unwrap_or_else(|| CheckpointFile::at(&self.file.path));
        Ok(match keys {
            Some(keys) => file.keys(keys),
            None => file,
        })
    }

    /// Returns the file as it is now, if several verbs read it.
    pub(crate) fn kept(&self) -> Result<Option<Kept>, Failure> {
        self.file.kept.as_ref().map(KeptFile::now).transpose()
    }

    /// Opens the file for reading; through the saver of the calling program, if that has the file open.
    pub(crate) fn reader(&self) -> Result<Box<dyn CheckpointReader>, Failure> {
        if let Some(database) = self.keyed_database()? {
            return Ok(database.reader()?);
        }
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
            Some(kept) => kept.checkpoint_file(),
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

#[cfg(not(feature = "encryption"))]
fn no_encryption() -> Failure {
    Failure::unusable(format!(
        "{KEY_FILE} names keys, and this program is built without the feature `encryption`: build it with that, or unset the variable"
    ))
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

/// A file of the current format, or a database, open for writing. A program may write to it at the same time.
pub(super) struct WritableFile {
    saver: Saver,
    /// The runtime with the connections to a database.
    runtime: Option<Runtime>,
}

enum Saver {
    File(SqliteSaver),
    #[cfg(feature = "postgres")]
    Database(superstep_checkpoint::PostgresSaver),
}

impl WritableFile {
    /// Opens an existing file. No file is created, and an older format is not upgraded.
    pub(super) fn open(file: &FileArgument) -> Result<Self, Failure> {
        if let Some(database) = file.keyed_database()? {
            return Self::of(&database);
        }
        Ok(Self { saver: Saver::File(Self::saver_of(file)?), runtime: None })
    }

    /// Opens an existing file, and returns its saver.
    pub(super) fn saver_of(file: &FileArgument) -> Result<SqliteSaver, Failure> {
        let keyed = file.keyed()?;
        match SqliteReader::open(keyed.clone())?.format() {
            SqliteReader::FORMAT => Ok(runs(SqliteSaver::open(keyed))??),
            older => Err(Failure::older_format(file, older, SqliteReader::FORMAT)),
        }
    }

    /// Opens an existing file, or creates one, encrypted if there are keys for it. Returns `true` if it was created.
    pub(super) fn open_or_create(file: &FileArgument) -> Result<(Self, bool), Failure> {
        if let Some(database) = file.keyed_database()? {
            let is_there = database.reader().is_ok();
            #[cfg(feature = "encryption")]
            let database = match is_there {
                true => database,
                false => file.database_to_encrypt()?.unwrap_or(database),
            };
            return Ok((Self::of(&database)?, !is_there));
        }
        match file.exists() {
            true => Ok((Self::open(file)?, false)),
            false => {
                let saver = runs(SqliteSaver::open(file.keyed_to_encrypt()?))??;
                Ok((Self { saver: Saver::File(saver), runtime: None }, true))
            }
        }
    }

    #[cfg(feature = "postgres")]
    fn of(database: &DatabaseUrl) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::of)?;
        let saver = on_own_thread(|| runtime.block_on(database.saver()))?;
        Ok(Self { saver: Saver::Database(saver), runtime: Some(runtime) })
    }

    #[cfg(not(feature = "postgres"))]
    fn of(database: &DatabaseUrl) -> Result<Self, Failure> {
        Err(database.unsupported())
    }

    pub(super) fn saver(&self) -> &dyn Checkpointer {
        match &self.saver {
            Saver::File(saver) => saver,
            #[cfg(feature = "postgres")]
            Saver::Database(saver) => saver,
        }
    }

    pub(super) fn import_target(&self) -> &dyn ImportTarget {
        match &self.saver {
            Saver::File(saver) => saver,
            #[cfg(feature = "postgres")]
            Saver::Database(saver) => saver,
        }
    }

    /// Waits for an operation of the saver.
    pub(super) fn wait<T: Send>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match &self.runtime {
            Some(runtime) => on_own_thread(|| runtime.block_on(work)),
            None => runs(work).unwrap_or_else(|failure| Err(StoreError::Io(failure.text.into()))),
        }
    }
}

impl Drop for WritableFile {
    fn drop(&mut self) {
        // To wait for its end would panic inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Waits on a separate thread: a verb may be called inside a runtime, which must not be blocked.
fn runs<T: Send>(work: impl Future<Output = T> + Send) -> Result<T, Failure> {
    on_own_thread(|| {
        let runtime = Builder::new_current_thread().build().map_err(Failure::of)?;
        Ok(runtime.block_on(work))
    })
}

pub(crate) fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}
