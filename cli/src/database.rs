//! The address of a database, where a verb takes a file.

use std::error::Error;
use std::fmt;
use std::path::Path;

use superstep_checkpoint::{CheckpointFile, CheckpointReader, ReadOnlySaver};
#[cfg(feature = "postgres")]
use superstep_core::checkpoint::{KeyProblem, StoreError};
use superstep_core::run::AnyGraph;

use super::failure::Failure;
#[cfg(feature = "postgres")]
use super::file::on_own_thread;

/// The time in which a verb tries again while a database restarts.
#[cfg(feature = "postgres")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// The file or the database that a verb reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CheckpointSource {
    /// A file, with its keys.
    File(CheckpointFile),
    /// A database.
    Database(DatabaseUrl),
}

impl CheckpointSource {
    /// Returns the database at a URL; `None` if the text is not the URL of a database.
    #[must_use]
    pub fn database(url: &str) -> Option<Self> {
        DatabaseUrl::of(Path::new(url)).map(Self::Database)
    }

    /// Returns the file.
    ///
    /// # Errors
    /// Fails for a database.
    pub fn file(self) -> Result<CheckpointFile, Box<dyn Error + Send + Sync>> {
        match self {
            Self::File(file) => Ok(file),
            Self::Database(url) => {
                Err(format!("{} is a database: this verb needs a file", url.shown()).into())
            }
        }
    }

    /// Opens the file or the database for graphs that are only read.
    ///
    /// # Errors
    /// Fails if it cannot be read, and for a database without the feature `postgres`.
    pub async fn open_read_only(self) -> Result<ReadOnlySaver, Box<dyn Error + Send + Sync>> {
        match self {
            Self::File(file) => Ok(ReadOnlySaver::open(file).await?),
            #[cfg(feature = "postgres")]
            Self::Database(url) => Ok(url.options().open_read_only(&url.url).await?),
            #[cfg(not(feature = "postgres"))]
            Self::Database(url) => Err(url.unsupported().text.into()),
        }
    }
}

/// The path of the file, or the URL of the database without passwords.
impl fmt::Display for CheckpointSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.path().display().fmt(f),
            Self::Database(url) => f.write_str(&url.shown()),
        }
    }
}

impl From<CheckpointFile> for CheckpointSource {
    fn from(file: CheckpointFile) -> Self {
        Self::File(file)
    }
}

/// The URL of a database. It may contain a password, so only its form without that is printed.
#[derive(Clone)]
pub struct DatabaseUrl {
    url: String,
    #[cfg(feature = "encryption")]
    keys: Option<superstep_checkpoint::KeyRing>,
}

impl DatabaseUrl {
    /// Returns the URL; `None` for the path of a file.
    pub(crate) fn of(text: &Path) -> Option<Self> {
        let text = text.to_str()?;
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        is_url.then(|| Self {
            url: text.to_owned(),
            #[cfg(feature = "encryption")]
            keys: None,
        })
    }

    /// Returns the database with its keys.
    #[cfg(feature = "encryption")]
    pub(crate) fn keyed(self, keys: superstep_checkpoint::KeyRing) -> Self {
        Self { keys: Some(keys), ..self }
    }

    #[cfg(feature = "encryption")]
    pub(crate) fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Returns `true` if reading the database requires keys.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(
            self.options().open_reader(&self.url),
            Err(StoreError::Keys { problem: KeyProblem::NoKeys { .. }, .. })
        )
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn is_encrypted(&self) -> bool {
        false
    }

    /// Returns options with the keys.
    #[cfg(feature = "postgres")]
    fn options(&self) -> superstep_checkpoint::PostgresOptions {
        let options = superstep_checkpoint::PostgresSaver::options().busy_limit(PATIENCE);
        #[cfg(feature = "encryption")]
        if let Some(keys) = &self.keys {
            return options.encrypt(keys.clone());
        }
        options
    }

    /// Returns the URL without passwords.
    #[must_use]
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        // A password may contain any sign, also a second `@`.
        let (user, rest) = match rest.rsplit_once('@') {
            Some((user, rest)) => (user.split(':').next(), rest),
            None => (None, rest),
        };
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let is_shown = |parameter: &&str| {
            let name = parameter.split('=').next().unwrap_or_default();
            !name.is_empty() && !name.to_ascii_lowercase().contains("password")
        };
        let shown: Vec<&str> = parameters.split('&').filter(is_shown).collect();
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        let mark = if shown.is_empty() { "" } else { "?" };
        format!("{scheme}://{user}{place}{mark}{}", shown.join("&"))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn open(&self) -> Result<superstep_checkpoint::PostgresReader, Failure> {
        Ok(self.options().open_reader(&self.url)?)
    }

    /// Opens the database for reading.
    #[cfg(feature = "postgres")]
    pub(crate) fn reader(&self) -> Result<Box<dyn CheckpointReader + Send>, Failure> {
        Ok(Box::new(self.open()?))
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn reader(&self) -> Result<Box<dyn CheckpointReader + Send>, Failure> {
        Err(self.unsupported())
    }

    /// Measures the schema.
    #[cfg(feature = "postgres")]
    pub(crate) fn usage(&self) -> Result<superstep_checkpoint::maintenance::Usage, Failure> {
        Ok(self.open()?.usage()?)
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn usage(&self) -> Result<superstep_checkpoint::maintenance::Usage, Failure> {
        Err(self.unsupported())
    }

    /// Checks the schema.
    #[cfg(feature = "postgres")]
    pub(crate) fn verify(&self) -> Result<superstep_checkpoint::maintenance::Verified, Failure> {
        Ok(self.open()?.verify()?)
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn verify(&self) -> Result<superstep_checkpoint::maintenance::Verified, Failure> {
        Err(self.unsupported())
    }

    /// Returns a graph that keeps its threads in the database, in the runtime of the caller.
    #[cfg(feature = "postgres")]
    pub(crate) async fn under(&self, graph: AnyGraph) -> Result<AnyGraph, Failure> {
        Ok(graph.checkpointer(self.saver().await?))
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) async fn under(&self, _graph: AnyGraph) -> Result<AnyGraph, Failure> {
        Err(self.unsupported())
    }

    /// Opens the database for writing, in the runtime of the caller.
    #[cfg(feature = "postgres")]
    pub(crate) async fn saver(&self) -> Result<superstep_checkpoint::PostgresSaver, Failure> {
        Ok(self.options().connections(4).open(&self.url).await?)
    }

    /// Waits for maintenance of an existing schema, in a runtime of its own. Other writers are waited for as long as
    /// `patience`.
    #[cfg(feature = "postgres")]
    pub(crate) fn maintain<T: Send, F: Future<Output = Result<T, StoreError>>>(
        &self,
        patience: std::time::Duration,
        work: impl FnOnce(superstep_checkpoint::PostgresSaver) -> F + Send,
    ) -> Result<T, Failure> {
        // A reader says what is missing, and creates nothing.
        drop(self.open()?);
        let options = self.options().connections(2).busy_limit(patience);
        Self::waited(async || work(options.no_migrate().open(&self.url).await?).await)
    }

    /// Encrypts the schema, changes its keys, or decrypts it.
    #[cfg(all(feature = "postgres", feature = "encryption"))]
    pub(crate) fn rekey(
        &self,
        form: superstep_checkpoint::maintenance::Form,
        patience: std::time::Duration,
    ) -> Result<superstep_checkpoint::maintenance::Rekeyed, Failure> {
        let options = self.options().connections(2).busy_limit(patience);
        Self::waited(|| options.rekey(&self.url, form))
    }

    #[cfg(all(not(feature = "postgres"), feature = "encryption"))]
    pub(crate) fn rekey(
        &self,
        _form: superstep_checkpoint::maintenance::Form,
        _patience: std::time::Duration,
    ) -> Result<superstep_checkpoint::maintenance::Rekeyed, Failure> {
        Err(self.unsupported())
    }

    /// Waits for work on a database, in a runtime of its own.
    #[cfg(feature = "postgres")]
    fn waited<T: Send, F: Future<Output = Result<T, StoreError>>>(
        work: impl FnOnce() -> F + Send,
    ) -> Result<T, Failure> {
        on_own_thread(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            Ok(runtime.map_err(Failure::of)?.block_on(work())?)
        })
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn unsupported(&self) -> Failure {
        Failure::unusable(format!(
            "{} is a database, and this program is built without the feature `postgres`: build it with that",
            self.shown()
        ))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatabaseUrl").field(&self.shown()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        DatabaseUrl::of(Path::new(text)).map(|url| url.shown())
    }

    #[test]
    fn a_password_is_never_shown() {
        for (url, expected) in [
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("postgres://h:5432/d", "postgres://h:5432/d"),
            ("postgres://u:secret@h/d?schema=s", "postgres://u@h/d?schema=s"),
            ("postgresql://u:se@cr?et/@h/d", "postgresql://u@h/d"),
            ("postgres://h/d?user=u&password=secret&schema=s", "postgres://h/d?user=u&schema=s"),
            ("postgres://u@/d?host=/run/x&PASSWORD=secret", "postgres://u@/d?host=/run/x"),
            ("postgres://u:secret@h/d?sslpassword=secret", "postgres://u@h/d"),
        ] {
            assert_eq!(shown(url).as_deref(), Some(expected));
            let url = DatabaseUrl::of(Path::new(url)).map(|url| format!("{url:?}"));
            assert!(url.is_some_and(|url| !url.contains("secret")));
        }
        assert_eq!(shown("essays.db"), None);
        assert_eq!(shown("./postgres://u@h/d"), None);
    }
}
