//! Creates the schema with its tables and functions, and checks its format.

use std::sync::Arc;

use superstep_core::checkpoint::StoreError;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::call::Call;
use super::database::{Database, Repeat};
use super::encryption::Encryption;
use super::error::{Fault, PostgresError};
use super::options::PostgresOptions;
use super::stored::Texts;

/// The newest format, which this program writes.
pub(crate) const FORMAT: i32 = 1;

/// The oldest version of Postgres, as its `server_version_num`.
const OLDEST_SERVER: i32 = 150_000;

const STATEMENTS: [&str; 7] = [
    include_str!("tables.sql"),
    include_str!("read.sql"),
    include_str!("write.sql"),
    include_str!("delete.sql"),
    include_str!("work.sql"),
    include_str!("store.sql"),
    include_str!("records.sql"),
];

/// Checks the server and the schema, and creates the schema if it does not exist. Several programs may do so at once.
pub(crate) async fn migrate(database: &Database, options: &PostgresOptions) -> Result<Texts, StoreError> {
    // An address that is wrong is reported at once.
    drop(database.connection().await.map_err(Fault::plain)?);
    let mut attempts = database.attempts();
    loop {
        match attempt(database, options).await {
            Err(fault) => attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?,
            Ok(encryption) => {
                let encryption = encryption.map(Arc::new);
                return Ok(Texts { limits: options.limits, encryption });
            }
        }
    }
}

async fn attempt(database: &Database, options: &PostgresOptions) -> Result<Option<Encryption>, Fault> {
    let mut connection = database.connection().await?;
    check_server(&connection).await?;
    let keys = options.keys.as_ref();
    if has_format(&connection, database, options).await? {
        return Encryption::find(database, &connection, keys).await;
    }
    if let Some(missing) = options.missing {
        return Err(Fault::Store(missing(options.schema.clone()).into()));
    }
    let failed = |error: tokio_postgres::Error| Fault::of(&error);
    let transaction = connection.transaction().await.map_err(failed)?;
    let client = transaction.client();
    // Two programs may start at once. The lock ends with the transaction.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('superstep ' || $1, 0))";
    client.query_typed(lock, &[(&options.schema, Type::TEXT)]).await.map_err(failed)?;
    if !has_format(client, database, options).await? {
        let taken = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 LIMIT 1";
        if !client.query_typed(taken, &[(&options.schema, Type::TEXT)]).await.map_err(failed)?.is_empty() {
            return Err(Fault::Store(PostgresError::Foreign(options.schema.clone()).into()));
        }
        let schema = &database.schema;
        let exists = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
        if client.query_typed(exists, &[(&options.schema, Type::TEXT)]).await.map_err(failed)?.is_empty() {
            client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.map_err(failed)?;
        }
        for statements in STATEMENTS {
            client.batch_execute(&statements.replace("@.", &format!("{schema}."))).await.map_err(failed)?;
        }
        let format = format!("INSERT INTO {schema}.format(version) VALUES ({FORMAT})");
        client.batch_execute(&format).await.map_err(failed)?;
        if let Some(keys) = keys {
            Encryption::new(database, keys)?.add_current(database, client).await?;
        }
        database.on(client, &Call::of("protect").argument(keys.is_some(), Type::BOOL)).await?;
    }
    transaction.commit().await.map_err(failed)?;
    Encryption::find(database, &connection, keys).await
}

async fn check_server(client: &Client) -> Result<(), Fault> {
    let sql = "SELECT current_setting('server_version_num')::integer, current_setting('server_version'), \
               current_setting('server_encoding'), current_setting('default_transaction_isolation')";
    let rows = client.query_typed(sql, &[]).await.map_err(|error| Fault::of(&error))?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (number, version, encoding): (i32, String, String) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
    if number < OLDEST_SERVER {
        return Err(Fault::Store(PostgresError::OldServer(version).into()));
    }
    let isolation: String = get(row, 3)?;
    if isolation != "read committed" {
        return Err(Fault::Store(PostgresError::Isolation(isolation).into()));
    }
    if encoding != "UTF8" {
        return Err(Fault::Store(PostgresError::Encoding(encoding).into()));
    }
    Ok(())
}

/// Returns `true` if the schema has the format of this program, and `false` if it has none.
async fn has_format(client: &Client, database: &Database, options: &PostgresOptions) -> Result<bool, Fault> {
    let table = format!("{}.format", database.schema);
    let failed = |error: tokio_postgres::Error| Fault::of(&error);
    // `to_regclass` could answer from a cache that does not know what another program has just created.
    let exists = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                  WHERE n.nspname = $1 AND c.relname = 'format'";
    if client.query_typed(exists, &[(&options.schema, Type::TEXT)]).await.map_err(failed)?.is_empty() {
        return Ok(false);
    }
    let sql = format!("SELECT version FROM {table}");
    let rows = client.query_typed(&sql, &[]).await.map_err(failed)?;
    let foreign = || Fault::Store(PostgresError::Foreign(options.schema.clone()).into());
    let found: i32 = get(rows.first().ok_or_else(foreign)?, 0)?;
    if found > FORMAT {
        let newer = PostgresError::Newer { schema: options.schema.clone(), found, supported: FORMAT };
        return Err(Fault::Store(newer.into()));
    }
    if found < FORMAT {
        return Err(Fault::Store(PostgresError::Older { schema: options.schema.clone(), found }.into()));
    }
    Ok(true)
}

fn get<'r, T: tokio_postgres::types::FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, Fault> {
    row.try_get(column).map_err(|error| Fault::Store(PostgresError::Answer(error.to_string()).into()))
}
