//! Options for opening a database.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::state::SizeLimits;
use tokio_postgres::Config;

use super::address;
use super::error::{PostgresError, with_causes};
use super::password;
use super::read_only::ReadDatabase;
use super::reader::PostgresReader;
use super::saver::PostgresSaver;
use super::tls::Tls;
use crate::encryption::SharedKeys;
use crate::maintenance::Retention;
use crate::read_only::ReadOnlySaver;
use crate::retention::Policy;

/// The time after which a connection is given up if the other side does not even acknowledge packets. A statement may take
/// longer.
const SILENCE: Duration = Duration::from_secs(10);

/// Options for opening a [`PostgresSaver`], made by [`options`](PostgresSaver::options).
#[derive(Clone)]
pub struct PostgresOptions {
    pub(crate) schema: String,
    pub(crate) connections: usize,
    pub(crate) busy_limit: Duration,
    pub(crate) limits: SizeLimits,
    /// The error for a schema that does not exist; `None` if it is created.
    pub(crate) missing: Option<fn(String) -> PostgresError>,
    pub(crate) tls: Tls,
    pub(crate) retention: Policy,
    /// The least number of commits between two retention passes.
    pub(crate) retain_every: u32,
    password_file: Option<PathBuf>,
    pub(crate) keys: Option<SharedKeys>,
}

impl PostgresOptions {
    pub(crate) fn new() -> Self {
        Self {
            schema: "superstep".into(),
            connections: 16,
            busy_limit: Duration::from_secs(30),
            limits: SizeLimits::default(),
            missing: None,
            tls: Tls::default(),
            retention: Policy::default(),
            retain_every: 1000,
            password_file: None,
            keys: None,
        }
    }

    /// Sets the name of the schema in which the saver keeps its tables. The default is `superstep`. Savers with different
    /// schemas share nothing.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// Sets the largest number of connections that the saver opens. The default is 16.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most.max(1);
        self
    }

    /// Sets the time in which a call is repeated while the database cannot carry it out: it restarts, it has no free
    /// connection, or transactions block each other. The default is 30 seconds.
    #[must_use]
    pub fn busy_limit(mut self, limit: Duration) -> Self {
        self.busy_limit = limit;
        self
    }

    /// Limits the size of a state and of the other records: larger ones are rejected when they are written or read. All
    /// programs that use a schema need limits at least as high as those with which it was written.
    #[must_use]
    pub fn size_limits(mut self, limits: SizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets which checkpoints are kept. The saver deletes older ones itself while threads run, as
    /// [`PostgresSaver::prune`] does, in a task of its own and in short transactions, each time that
    /// [as many](Self::retain_every) checkpoints were committed. By default, everything is kept. If several programs share the
    /// schema, one that prunes suffices.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention.set_all(retention);
        self
    }

    /// Sets which checkpoints of one thread and its subgraphs are kept, instead of [`retention`](Self::retention). A
    /// checkpoint that several threads share is kept if one of them keeps it.
    #[must_use]
    pub fn retention_of(mut self, thread: impl Into<ThreadId>, retention: Retention) -> Self {
        self.retention.set(thread.into(), retention);
        self
    }

    /// Sets the number of checkpoints that the saver commits between two retention passes: at least this many, and half as
    /// many as there are, because a pass looks at all of them. The default is 1,000.
    #[must_use]
    pub fn retain_every(mut self, checkpoints: u32) -> Self {
        self.retain_every = checkpoints.max(1);
        self
    }

    /// Encrypts the texts of the schema with these keys. A new schema is encrypted from its beginning, and an encrypted one
    /// stays so; [`rekey`](Self::rekey) encrypts one that is not. The saver encrypts with the key that is current when it is
    /// opened. An encrypted schema cannot contain a [store](super::PostgresStore).
    ///
    /// Without keys, an encrypted schema cannot be opened, and neither can one that is not encrypted with keys.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn encrypt(mut self, keys: impl crate::Keys + 'static) -> Self {
        self.keys = Some(std::sync::Arc::new(keys));
        self
    }

    /// Does not create the schema and its tables, and does not upgrade them. Opening then fails if they are missing.
    #[must_use]
    pub fn no_migrate(mut self) -> Self {
        self.missing = Some(PostgresError::NotMigrated);
        self
    }

    /// Trusts only certificates issued by those in the PEM file at `path`, and those themselves. The parameter `sslrootcert`
    /// of an address does the same, and comes first.
    #[must_use]
    pub fn root_certificate(mut self, path: impl Into<PathBuf>) -> Self {
        self.tls.roots = Some(path.into());
        self
    }

    /// Reads the password from the file at `path`, if the address has none. Its lines have the form
    /// `host:port:database:user:password`, where `*` stands for anything, and only its owner may read it.
    #[must_use]
    pub fn password_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.password_file = Some(path.into());
        self
    }

    /// Opens the database at `url`, such as `postgres://essays@localhost/essays`, and creates the schema if it does not
    /// exist. The parameter `schema` of the address names the schema, like [`schema`](Self::schema). If the address has no
    /// password, it is that of [`password_file`](Self::password_file), of the environment variable `PGPASSWORD`, or of the
    /// file in `PGPASSFILE`.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`] if the address is not valid, the database cannot be reached or refuses the user, the
    /// schema was written by a newer version or by another program, or the user may not create it; and [`StoreError::Keys`]
    /// if the keys do not fit the schema.
    pub async fn open(self, url: impl AsRef<str>) -> Result<PostgresSaver, StoreError> {
        let (config, options) = self.at(url.as_ref())?;
        let saver = PostgresSaver::open_with(config, options).await?;
        saver.session().add_current_key().await?;
        Ok(saver)
    }

    /// Opens the database at `url` for reading, with one connection. Blocks, and creates nothing.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), and [`StoreError::Io`] if the schema has no checkpoints.
    pub fn open_reader(self, url: impl AsRef<str>) -> Result<PostgresReader, StoreError> {
        let (config, options) = self.at(url.as_ref())?;
        PostgresReader::open_with(config, Self { connections: 1, ..options.for_reading() })
    }

    /// Opens the database at `url` for graphs that are only read. It creates, upgrades and prunes nothing.
    ///
    /// # Errors
    /// Returns the errors of [`open_reader`](Self::open_reader).
    pub async fn open_read_only(self, url: impl AsRef<str>) -> Result<ReadOnlySaver, StoreError> {
        let (config, options) = self.at(url.as_ref())?;
        let saver = PostgresSaver::open_with(config, options.for_reading()).await?;
        Ok(ReadDatabase::of(saver).into())
    }

    fn for_reading(self) -> Self {
        Self { missing: Some(PostgresError::NoCheckpoints), retention: Policy::default(), ..self }
    }

    /// Returns the configuration of the connections to an address, and these options with the parameters in it that the
    /// client library does not know.
    pub(super) fn at(mut self, address: &str) -> Result<(Config, Self), StoreError> {
        let (address, schemas) = address::without(address, &["schema"]);
        if let Some((_, schema)) = schemas.into_iter().next_back() {
            self.schema = schema;
        }
        let invalid = |error: tokio_postgres::Error| PostgresError::Address(with_causes(&error));
        let address = self.tls.take_from(&address);
        let mut config = Config::from_str(&address).map_err(invalid)?;
        self.tls.prepare(&mut config)?;
        password::complete(&mut config, self.password_file.as_deref())?;
        if config.get_application_name().is_none() {
            config.application_name("superstep");
        }
        notice_silence(&mut config);
        Ok((config, self))
    }
}

/// Has a connection end soon after the other side or the network has gone without a word, unless the address says otherwise.
/// Otherwise a request would wait for its answer for a quarter of an hour or longer.
fn notice_silence(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(SILENCE);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(SILENCE / 2);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(SILENCE / 5);
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PostgresOptions");
        shown.field("schema", &self.schema).field("connections", &self.connections);
        shown.field("busy_limit", &self.busy_limit).field("retention", &self.retention);
        shown.field("has_keys", &self.keys.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_connection_is_given_up_unless_the_address_says_otherwise() {
        let of = |address: &str| {
            let (config, _) = PostgresOptions::new().at(address).expect("an address");
            let after = [config.get_connect_timeout().copied(), config.get_tcp_user_timeout().copied()];
            (after, config.get_keepalives_idle(), config.get_keepalives_interval())
        };
        let (after, idle, interval) = of("postgres://u@db/d");
        assert_eq!(after, [Some(SILENCE); 2]);
        assert!(idle + interval.expect("an interval") < SILENCE);

        let own = "connect_timeout=60&tcp_user_timeout=61&keepalives_idle=62&keepalives_interval=63";
        let seconds = Duration::from_secs;
        let (after, idle, interval) = of(&format!("postgres://u@db/d?{own}"));
        assert_eq!(after, [Some(seconds(60)), Some(seconds(61))]);
        assert_eq!((idle, interval), (seconds(62), Some(seconds(63))));
    }
}
