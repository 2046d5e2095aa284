//! Errors of the database, and the refusals of its functions.

use std::path::PathBuf;

use superstep_core::checkpoint::{KeyProblem, LeaseRecord, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, InterruptId, NodeName, ThreadId};
use tokio_postgres::error::{DbError, SqlState};

use super::tls;
use crate::error::keys;

/// Errors of a database other than those of the trait.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostgresError {
    #[error("the address of the database is not valid: {0}; write postgres://user@host/database")]
    Address(String),
    #[error("failed to connect to the database: {0}; check its address and that it is running")]
    Unreachable(String),
    #[error("the database refused the user: {0}; check the user and the password")]
    Login(String),
    #[error("the database does not exist: {0}; create it first")]
    NoDatabase(String),
    #[error(
        "the user of the database lacks a right: {0}; grant it, or open the saver as the owner of the schema"
    )]
    Forbidden(String),
    #[error("the database accepts the user only with TLS: {0}; connect with `sslmode=require`")]
    NeedsTls(String),
    #[cfg(any(test, not(feature = "postgres-tls")))]
    #[error(
        "the program was built without TLS: build it with the feature `postgres-tls`, or connect with `sslmode=disable` on a \
         network that you trust"
    )]
    NoTls,
    #[error(
        "the connection to the database cannot be secured with TLS: {0}; check `sslmode` and `sslrootcert`"
    )]
    Tls(String),
    #[cfg(feature = "postgres-tls")]
    #[error(
        "`sslmode=verify-ca` and `sslmode=verify-full` need the certificates to trust: name their file with `sslrootcert` or `root_certificate`"
    )]
    NoRootCertificate,
    #[cfg(feature = "postgres-tls")]
    #[error("failed to read the certificates in {}: {reason}", file.display())]
    RootCertificate { file: PathBuf, reason: String },
    #[error("failed to read the password in {}: {reason}", file.display())]
    PasswordFile { file: PathBuf, reason: String },
    #[error("all connections are in use: allow the saver more of them, or wait longer with its `busy_limit`")]
    PoolExhausted,
    #[error(
        "the database has no more connections: {0}; raise its `max_connections`, or lower those of its users"
    )]
    TooManyConnections(String),
    #[error("the database is full: {0}; nothing was stored, free space and try again")]
    Full(String),
    #[error("the database does not accept writes: {0}; it may be a replica, connect to the primary")]
    ReadOnly(String),
    #[error("the database cancelled a statement: {0}; raise its `statement_timeout`")]
    Cancelled(String),
    #[error(
        "the connection was lost before the database replied, so it is unknown if the request was carried out: {0}"
    )]
    Unknown(String),
    #[error("the database has version {0}; the saver needs Postgres 15 or newer")]
    OldServer(String),
    #[error("the database has the encoding {0}; create one with the encoding UTF8")]
    Encoding(String),
    #[error(
        "the default isolation level of the user is {0}: set its `default_transaction_isolation` to 'read committed'"
    )]
    Isolation(String),
    #[error(
        "{0:?} is not a name for a schema: use 1 to 63 letters, digits, hyphens and underscores of ASCII"
    )]
    SchemaName(String),
    #[error(
        "the schema {schema} has format {found}; this program supports up to {supported}: update the program"
    )]
    Newer { schema: String, found: i32, supported: i32 },
    #[error(
        "the schema {schema} has format {found}, which this program neither reads nor upgrades: choose another schema"
    )]
    Older { schema: String, found: i32 },
    #[error("the schema {0} does not exist or has no checkpoints: open it once without `no_migrate`")]
    NotMigrated(String),
    #[error(
        "the database has no checkpoints in the schema {0}: name its schema with ?schema=NAME in the address"
    )]
    NoCheckpoints(String),
    #[error("the schema {0} contains tables of another program: choose another schema")]
    Foreign(String),
    #[error("the schema was encrypted after this program opened it: open it again, with its keys")]
    Encrypted,
    #[error("the schema was decrypted after this program opened it: open it again, without keys")]
    Decrypted,
    #[error("the answer of the database is not what was asked for: {0}")]
    Answer(String),
    #[error("{0}")]
    Other(String),
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        Self::Io(Box::new(error))
    }
}

/// A failed call.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A function refused the request. Nothing was stored.
    Refused(Refusal),
    /// Nothing was stored, and the same request may succeed later.
    Again(StoreError),
    /// The connection was lost. It is unknown if anything was stored.
    Lost(StoreError),
    /// Any other failure.
    Store(StoreError),
}

/// The reason why a function refused a request: its `ERRCODE`, with its `DETAIL`.
#[derive(Debug)]
pub(crate) enum Refusal {
    NoCheckpoint,
    Pruned(CheckpointId),
    NotRegistered(Fingerprint),
    WrongGraph(String),
    Superseded,
    NoInterrupt(InterruptId),
    AlreadyAnswered(InterruptId),
    ThreadExists,
    LeaseLost(Option<String>),
}

/// What a request is about, for the texts of its errors.
pub(crate) struct About<'a> {
    pub(crate) thread: &'a ThreadId,
    pub(crate) checkpoint: String,
    pub(crate) base: Option<CheckpointId>,
    pub(crate) graph: Option<&'a NodeName>,
    pub(crate) lease: Option<&'a LeaseRecord>,
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// Classifies an error of the client library.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        let Some(refused) = error.as_db_error() else {
            let text = with_causes(error);
            if text.starts_with("error performing TLS handshake")
                && let Some(reason) = tls::refused(error)
            {
                return Self::Store(PostgresError::Tls(reason).into());
            }
            if error.is_closed()
                || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>())
            {
                return Self::Lost(PostgresError::Unknown(text).into());
            }
            return Self::Store(PostgresError::Other(text).into());
        };
        if let Some(refusal) = refused_by(refused) {
            return Self::Refused(refusal);
        }
        Self::of_server(refused)
    }

    fn of_server(refused: &DbError) -> Self {
        let code = refused.code();
        let text = refused.message().to_owned();
        let is_one_of = |codes: &[SqlState]| codes.contains(code);
        // Another transaction has created the same row at the same moment: the next attempt finds it.
        let raced = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::UNIQUE_VIOLATION,
        ];
        if is_one_of(&raced) || *code == SqlState::LOCK_NOT_AVAILABLE {
            return Self::Again(StoreError::Busy);
        }
        if is_one_of(&[SqlState::CANNOT_CONNECT_NOW]) {
            return Self::Again(PostgresError::Unreachable(text).into());
        }
        if is_one_of(&[SqlState::TOO_MANY_CONNECTIONS]) {
            return Self::Again(PostgresError::TooManyConnections(text).into());
        }
        if is_one_of(&[SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN]) {
            return Self::Lost(PostgresError::Unknown(text).into());
        }
        if is_one_of(&[SqlState::CHECK_VIOLATION]) {
            return Self::of_form(refused.constraint().unwrap_or_default(), text);
        }
        let error = if text.ends_with("no encryption") {
            PostgresError::NeedsTls(text)
        } else if is_one_of(&[SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION]) {
            PostgresError::Login(text)
        } else if is_one_of(&[SqlState::INVALID_CATALOG_NAME]) {
            PostgresError::NoDatabase(text)
        } else if is_one_of(&[SqlState::INSUFFICIENT_PRIVILEGE]) {
            PostgresError::Forbidden(text)
        } else if is_one_of(&[SqlState::DISK_FULL, SqlState::OUT_OF_MEMORY]) {
            PostgresError::Full(text)
        } else if is_one_of(&[SqlState::READ_ONLY_SQL_TRANSACTION]) {
            PostgresError::ReadOnly(text)
        } else if is_one_of(&[SqlState::QUERY_CANCELED]) {
            PostgresError::Cancelled(text)
        } else {
            PostgresError::Other(format!("{text} ({})", code.code()))
        };
        Self::Store(error.into())
    }

    /// Returns the error for a text that the constraints of the function `protect` refuse.
    fn of_form(constraint: &str, text: String) -> Self {
        Self::Store(match constraint.split_once('_') {
            Some(("encrypted", "store")) => keys("the schema", KeyProblem::Store),
            Some(("encrypted", _)) => PostgresError::Encrypted.into(),
            Some(("plain", _)) => PostgresError::Decrypted.into(),
            _ => PostgresError::Other(text).into(),
        })
    }

    /// Converts the failure of a request that no function can refuse.
    pub(crate) fn plain(self) -> StoreError {
        match self {
            Self::Again(error) | Self::Lost(error) | Self::Store(error) => error,
            Self::Refused(refusal) => PostgresError::Answer(format!("{refusal:?}")).into(),
        }
    }

    /// Converts the failure to the error of the request.
    pub(crate) fn about(self, about: &About<'_>) -> StoreError {
        let thread = || about.thread.clone();
        let refusal = match self {
            Self::Again(error) | Self::Lost(error) | Self::Store(error) => return error,
            Self::Refused(refusal) => refusal,
        };
        match refusal {
            Refusal::NoCheckpoint => {
                StoreError::NoCheckpoint { thread: thread(), checkpoint: about.checkpoint.clone() }
            }
            Refusal::Pruned(id) => StoreError::pruned(about.thread, id),
            Refusal::NotRegistered(fingerprint) => StoreError::NotRegistered(fingerprint),
            Refusal::WrongGraph(found) => {
                let expected = about.graph.map(ToString::to_string).unwrap_or_default();
                StoreError::WrongGraph { thread: thread(), expected, found }
            }
            Refusal::Superseded => match about.base {
                Some(base) => StoreError::Superseded { thread: thread(), base },
                None => PostgresError::Answer("a checkpoint is superseded".into()).into(),
            },
            Refusal::NoInterrupt(interrupt) => StoreError::NoInterrupt { thread: thread(), interrupt },
            Refusal::AlreadyAnswered(interrupt) => StoreError::AlreadyAnswered(interrupt),
            Refusal::ThreadExists => StoreError::ThreadExists(thread()),
            Refusal::LeaseLost(to) => {
                let thread = about.lease.map_or_else(thread, |lease| lease.thread.clone());
                StoreError::LeaseLost { thread, to }
            }
        }
    }
}

/// Adds the thread and the checkpoint to the place of an error about damage, unless they are in it.
pub(crate) fn located(error: StoreError, thread: &ThreadId, checkpoint: Option<CheckpointId>) -> StoreError {
    let StoreError::Corrupt { mut place, reason } = error else { return error };
    if let Some(id) = checkpoint.filter(|_| !place.contains("checkpoint ")) {
        place = format!("{place} on checkpoint {id}");
    }
    if !place.contains(" of thread ") {
        place = format!("{place} of thread {thread}");
    }
    StoreError::Corrupt { place, reason }
}

fn refused_by(refused: &DbError) -> Option<Refusal> {
    let detail = || refused.detail().and_then(from_hex).unwrap_or_default();
    let text = || String::from_utf8_lossy(&detail()).into_owned();
    let id = || detail().try_into().unwrap_or_default();
    Some(match refused.code().code() {
        "SS001" => Refusal::NoCheckpoint,
        "SS002" => Refusal::NotRegistered(Fingerprint::from_bytes(id())),
        "SS003" => Refusal::WrongGraph(text()),
        "SS004" => Refusal::Superseded,
        "SS005" => Refusal::NoInterrupt(InterruptId::from_bytes(id())),
        "SS006" => Refusal::AlreadyAnswered(InterruptId::from_bytes(id())),
        "SS007" => Refusal::ThreadExists,
        "SS008" => Refusal::Pruned(CheckpointId(uuid::Uuid::from_bytes(id()))),
        "SS009" => Refusal::LeaseLost((refused.detail() != Some("-")).then(text)),
        _ => return None,
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Returns the text of an error with those of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
