//! Checkpoints, the store and the rows of a server in a Postgres database.
//!
//! ```text
//! PostgresSaver ──Call──► Database: pool, retries ──one statement──► functions of the schema: *.sql
//!      ▲                                                                   │
//!      └──────── Part: Loaded, StepRecord, … ◄───────rows──────────────────┘
//! ```
//!
//! Each request is a call of one function of the schema: one statement, one transaction, one round trip. Only an edit that
//! carries work over, a decision about rows of a server and a deletion take several. Statements are not prepared by name and
//! nothing depends on the session, so a pooler in transaction mode may be in between. `PostgresStore` and the rows of a server
//! share the database of a saver. Only the signals of servers have a connection of their own.

mod address;
mod blocking;
mod call;
mod commit;
mod contents;
mod database;
mod delete;
#[cfg(feature = "encryption")]
mod encryption;
#[cfg(not(feature = "encryption"))]
#[path = "encryption/absent.rs"]
mod encryption;
mod error;
mod export;
mod import;
mod import_rows;
mod inspect;
mod maintenance;
mod migrate;
mod options;
mod parts;
mod password;
mod read_only;
mod reader;
mod records;
mod saver;
mod scan;
mod session;
mod store;
mod stored;
mod tls;
mod unsent;
mod work;

pub use self::options::PostgresOptions;
pub(crate) use self::read_only::ReadDatabase;
pub use self::reader::PostgresReader;
pub use self::saver::PostgresSaver;
pub use self::store::PostgresStore;
