//! One statement on a database.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, params_from_iter};
use serde_json::{Value, json};
use superstep_core::run::CancellationToken;
use superstep_nodes::tool::{ToolFailure, ToolOutput};

use super::sql_query::Access;
use super::sql_rules::{harden, judge};
use super::text_file::shortened;

/// After how many instructions of its virtual machine a statement is asked whether it may go on.
const INSTRUCTIONS: i32 = 10_000;

/// The time to wait for another connection's lock.
const PATIENCE: Duration = Duration::from_secs(5);

const MOST_CELL_CHARS: usize = 2_000;
const MOST_BYTES: usize = 40_000;

/// The connection and the limits of a statement.
pub(super) struct Question<'a> {
    pub(super) path: &'a Path,
    pub(super) access: Access,
    pub(super) time: Duration,
    pub(super) stop: CancellationToken,
    pub(super) limit: usize,
}

impl Question<'_> {
    pub(super) fn ask(&self, sql: &str, parameters: &[Value]) -> Result<ToolOutput, ToolFailure> {
        let mut connection = self.open().map_err(|error| {
            // The path is the program's own business.
            ToolFailure::new(format!("the database cannot be opened: {}", said(&error)))
        })?;
        let answer = self.run(&mut connection, sql, parameters).map_err(|error| self.explain(&error))?;
        Ok(answer.into_output(self.access))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = match self.access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let mut connection = Connection::open_with_flags(self.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(PATIENCE.min(self.time))?;
        harden(&connection)?;
        let (until, stop) = (Instant::now() + self.time, self.stop.clone());
        let over = move || stop.is_cancelled() || Instant::now() >= until;
        connection.progress_handler(INSTRUCTIONS, Some(over))?;
        if self.access == Access::Write {
            connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        let access = self.access;
        connection.authorizer(Some(move |context: AuthContext<'_>| judge(access, &context)))?;
        Ok(connection)
    }

    fn run(&self, connection: &mut Connection, sql: &str, parameters: &[Value]) -> rusqlite::Result<Answer> {
        let mut answer = Answer::default();
        let mut statement = connection.prepare(sql)?;
        answer.columns = statement.column_names().map(str::to_owned).collect();
        if self.access == Access::Read && !statement.readonly() {
            return Err(Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY),
                None,
            ));
        }
        let before = connection.total_changes();
        let mut rows = statement.query(params_from_iter(parameters.iter().map(cell)))?;
        while let Some(row) = rows.next()? {
            if answer.rows.len() == self.limit || answer.bytes > MOST_BYTES {
                answer.more = true;
                break;
            }
            let cells = (0..answer.columns.len()).map(|at| row.get_ref(at).map(shown));
            let cells = Value::Array(cells.collect::<Result<_, _>>()?);
            answer.bytes += cells.to_string().len();
            answer.rows.push(cells);
        }
        drop(rows);
        drop(statement);
        answer.changed = connection.total_changes() - before;
        if self.access == Access::Write {
            connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
            connection.execute_batch("COMMIT")?;
        }
        Ok(answer)
    }

    /// Converts the error of a statement into the text for the model.
    fn explain(&self, error: &Error) -> ToolFailure {
        let code = error.sqlite_error_code();
        ToolFailure::new(match (error, code) {
            (Error::MultipleStatement, _) => {
                "there is more than one statement: run them one by one".to_owned()
            }
            (_, Some(ErrorCode::OperationInterrupted)) if self.stop.is_cancelled() => "stopped".to_owned(),
            (_, Some(ErrorCode::OperationInterrupted)) => {
                format!("the statement took longer than {:?} and was interrupted", self.time)
            }
            (_, Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly)) => {
                let may = match self.access {
                    Access::Read => "statements may only read",
                    Access::Write => "statements may only read and change data and tables",
                };
                format!("this is not allowed: {may} ({})", said(error))
            }
            _ => said(error),
        })
    }
}

/// The text of an error, with the place in the statement where SQLite knows it.
fn said(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, offset, .. } if *offset >= 0 => format!("{msg}, at byte {offset}"),
        Error::SqliteFailure(_, Some(text)) => text.clone(),
        error => error.to_string(),
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(value) => Cell::Integer(i64::from(*value)),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Cell::Real(number.as_f64().unwrap_or(f64::NAN)), Cell::Integer)
        }
        Value::String(text) => Cell::Text(text.clone()),
        // It was found invalid before.
        other => Cell::Text(other.to_string()),
    }
}

fn shown(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => shortened(&String::from_utf8_lossy(text), MOST_CELL_CHARS).into(),
        ValueRef::Blob(bytes) => format!("[{} bytes]", bytes.len()).into(),
    }
}

/// The result of a statement.
#[derive(Default)]
struct Answer {
    columns: Vec<String>,
    rows: Vec<Value>,
    bytes: usize,
    more: bool,
    changed: u64,
}

impl Answer {
    fn into_output(self, access: Access) -> ToolOutput {
        let Self { columns, rows, more, changed, .. } = self;
        let mut text = String::new();
        if !columns.is_empty() {
            text.push_str(&format!("{}\n", json!(columns)));
            rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
            text.push_str(&match (more, rows.len()) {
                (true, shown) => format!("[these are the first {shown} rows; there are more]\n"),
                (false, 1) => "[1 row]\n".to_owned(),
                (false, all) => format!("[{all} rows]\n"),
            });
        }
        if access == Access::Write {
            let what = if changed == 1 { "row was" } else { "rows were" };
            text.push_str(&format!("[{changed} {what} changed]\n"));
        }
        let data = json!({ "columns": columns, "rows": rows, "complete": !more, "changed": changed });
        ToolOutput::text(text).with_data(data)
    }
}
