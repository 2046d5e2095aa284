//! The connections to a database, and calls with retries.

use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolConfig, PoolError, QueueMode, RecyclingMethod, Runtime,
    TimeoutType, Timeouts, Transaction,
};
use superstep_core::checkpoint::StoreError;
use tokio::time::{Instant, sleep};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, IsolationLevel, Row, RowStream, Socket};

use super::call::Call;
use super::error::{Fault, PostgresError, with_causes};
use super::options::PostgresOptions;
use super::tls::Connector;
use crate::error::ReaderError;

/// A pool of connections, and the schema that they use.
pub(crate) struct Database {
    pool: Pool,
    config: Config,
    tls: Connector,
    /// The name of the schema as an identifier in quotes.
    pub(crate) schema: String,
    busy_limit: Duration,
}

type TlsStream = <Connector as MakeTlsConnect<Socket>>::Stream;

/// The requests that are sent again although an earlier attempt may have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A second attempt has the same result, or the function knows the id of the request from the first one.
    Always,
    /// If a second attempt is refused, the first one has done what was asked for.
    UntilRefused,
    /// A second attempt could be taken for that of another program.
    IfNothingWasStored,
}

impl Database {
    pub(crate) fn new(config: Config, options: &PostgresOptions) -> Result<Self, StoreError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if !(1..=63).contains(&options.schema.len()) || !options.schema.chars().all(is_plain) {
            return Err(PostgresError::SchemaName(options.schema.clone()).into());
        }
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let tls = options.tls.connector()?;
        let manager = Manager::from_config(config.clone(), Connector::clone(&tls), manager);
        let limit = Some(options.busy_limit);
        let timeouts = Timeouts { wait: limit, create: limit, recycle: limit };
        // The connection that was used last has the plans of the statements.
        let queue_mode = QueueMode::Lifo;
        let pool = PoolConfig { max_size: options.connections, timeouts, queue_mode };
        let pool = Pool::builder(manager).config(pool).runtime(Runtime::Tokio1);
        let pool = pool.build().map_err(|error| PostgresError::Other(error.to_string()))?;
        let schema = format!("\"{}\"", options.schema);
        Ok(Self { pool, config, tls, schema, busy_limit: options.busy_limit })
    }

    /// Returns the hosts, the database and the user, without the password.
    pub(crate) fn place(&self) -> String {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(|host| format!("{host:?}")).collect();
        let user = self.config.get_user().unwrap_or_default();
        format!("{user}@{}/{}", hosts.join(","), self.config.get_dbname().unwrap_or_default())
    }

    /// Returns the name of the schema with its place, for errors.
    pub(crate) fn name(&self) -> String {
        format!("the schema {} of {}", self.schema.trim_matches('"'), self.place())
    }

    /// Returns the error of a request to write to a schema that was opened for reading.
    pub(crate) fn refused(&self) -> StoreError {
        ReaderError::ReadOnly(format!("the schema {}", self.schema)).into()
    }

    /// Returns the time in which a call is repeated.
    pub(crate) fn busy_limit(&self) -> Duration {
        self.busy_limit
    }

    /// Lends a connection.
    pub(crate) async fn connection(&self) -> Result<Object, Fault> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => match Fault::of(&error) {
                // No request was sent yet.
                Fault::Lost(_) => Fault::Again(PostgresError::Unreachable(with_causes(&error)).into()),
                fault => fault,
            },
            PoolError::Timeout(TimeoutType::Wait) => Fault::Store(PostgresError::PoolExhausted.into()),
            PoolError::Timeout(_) => {
                Fault::Store(PostgresError::Unreachable("it does not answer".into()).into())
            }
            error => Fault::Store(PostgresError::Other(with_causes(&error)).into()),
        })
    }

    /// Opens a connection that is not one of the pool.
    pub(crate) async fn separate(
        &self,
    ) -> Result<(Client, Connection<Socket, TlsStream>), tokio_postgres::Error> {
        self.config.connect(Connector::clone(&self.tls)).await
    }

    /// Calls a function, again and again while the database cannot carry out the call. A request that was carried out before
    /// it was refused has no rows.
    pub(crate) async fn call(&self, call: &Call<'_>, repeat: Repeat) -> Result<Vec<Row>, Fault> {
        let mut attempts = Attempts::new(self.busy_limit);
        loop {
            let done = match self.connection().await {
                Ok(connection) => self.on(&connection, call).await,
                Err(fault) => Err(fault),
            };
            match done {
                Err(Fault::Refused(_)) if attempts.were_lost && repeat == Repeat::UntilRefused => {
                    return Ok(Vec::new());
                }
                Err(fault) => attempts.after(fault, repeat).await?,
                rows => return rows,
            }
        }
    }

    /// Calls a function on a connection.
    pub(crate) async fn on(&self, client: &Client, call: &Call<'_>) -> Result<Vec<Row>, Fault> {
        let rows = client.query_typed(&call.statement(&self.schema), &call.arguments()).await;
        rows.map_err(|error| Fault::of(&error))
    }

    /// Calls a function on a connection, and returns the rows as they arrive.
    pub(crate) async fn stream(&self, client: &Client, call: &Call<'_>) -> Result<RowStream, Fault> {
        let rows = client.query_typed_raw(&call.statement(&self.schema), call.arguments()).await;
        rows.map_err(|error| Fault::of(&error))
    }

    /// Runs `read` in a transaction that reads one snapshot and cannot write.
    pub(crate) async fn snapshot<T>(
        &self,
        read: impl AsyncFn(&Client) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut attempts = self.attempts();
        loop {
            match self.attempt_snapshot(&read).await {
                Err(fault) => attempts.after(fault, Repeat::Always).await?,
                found => return found,
            }
        }
    }

    async fn attempt_snapshot<T>(
        &self,
        read: &impl AsyncFn(&Client) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut connection = self.connection().await?;
        let transaction = begin_snapshot(&mut connection).await?;
        let found = read(transaction.client()).await?;
        transaction.commit().await.map_err(|error| Fault::of(&error))?;
        Ok(found)
    }

    /// Returns the attempts of a request that takes several calls.
    pub(crate) fn attempts(&self) -> Attempts {
        Attempts::new(self.busy_limit)
    }
}

/// Begins a transaction that reads one snapshot and cannot write.
pub(crate) async fn begin_snapshot(connection: &mut Object) -> Result<Transaction<'_>, Fault> {
    let transaction = connection.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    transaction.read_only(true).start().await.map_err(|error| Fault::of(&error))
}

/// The attempts of one request.
pub(crate) struct Attempts {
    until: Instant,
    pause: Duration,
    /// Set once it is unknown if an attempt was carried out.
    were_lost: bool,
}

impl Attempts {
    fn new(limit: Duration) -> Self {
        Self { until: Instant::now() + limit, pause: Duration::from_millis(5), were_lost: false }
    }

    /// Allows an attempt at once, because another program was faster; returns [`StoreError::Busy`] after the limit.
    pub(crate) fn at_once(&self) -> Result<(), StoreError> {
        if Instant::now() > self.until { Err(StoreError::Busy) } else { Ok(()) }
    }

    /// Waits for the next attempt; returns the fault if there is none.
    pub(crate) async fn after(&mut self, fault: Fault, repeat: Repeat) -> Result<(), Fault> {
        let is_repeated = match &fault {
            Fault::Again(_) => true,
            Fault::Lost(_) => repeat != Repeat::IfNothingWasStored,
            Fault::Refused(_) | Fault::Store(_) => false,
        };
        self.were_lost |= matches!(fault, Fault::Lost(_));
        if !is_repeated || Instant::now() + self.pause > self.until {
            return Err(fault);
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(500));
        Ok(())
    }
}
