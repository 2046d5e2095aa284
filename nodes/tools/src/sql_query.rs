//! The tool that asks a database.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::tool::{InvalidInput, ToolContext, ToolEffect, ToolFailure, ToolOutput};

use super::built_in::{BuiltIn, blocking, built_in};
use super::sql_run::Question;
use super::text_file::shortened;

/// The tool `sql_query`: one SQL statement on a SQLite file that the program names.
///
/// The file is opened for reading, and what a statement may do is checked when it is prepared: it may read tables and
/// views and ask for their columns and indexes. `ATTACH`, settings, transactions and extensions are refused in any
/// case. A statement that takes longer than [`DEFAULT_TIME`](Self::DEFAULT_TIME) is interrupted, as is one whose call
/// is cancelled.
///
/// With [`writable`](Self::writable) statements may also change data and tables. Each is a transaction: one that fails
/// or is interrupted changes nothing.
///
/// Sorts and joins of a query may take memory and temporary files until its time limit.
#[derive(Clone, Debug)]
pub struct SqlQuery {
    path: PathBuf,
    access: Access,
    time: Duration,
}

/// The access that statements have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The input of [`SqlQuery`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlQueryInput {
    /// One SQL statement in SQLite's dialect, with `?` for each parameter.
    #[schemars(length(min = 1))]
    pub sql: String,
    /// The parameters: texts, numbers, true, false or null.
    #[serde(default)]
    pub parameters: Vec<Value>,
    /// The maximum number of rows to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: usize,
}

const fn default_limit() -> usize {
    SqlQuery::DEFAULT_LIMIT
}

impl SqlQuery {
    /// The name of the tool.
    pub const NAME: &'static str = "sql_query";

    /// The default number of rows that are returned.
    pub const DEFAULT_LIMIT: usize = 100;

    /// The default time limit of a statement.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(30);

    const MAX_LIMIT: usize = 1_000;

    /// Makes a tool that reads a SQLite file. It is opened by each call.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), access: Access::Read, time: Self::DEFAULT_TIME }
    }

    /// Lets statements change data and tables. The tool is then no longer read-only, and the registry's policy may
    /// refuse all its calls.
    #[must_use]
    pub fn writable(mut self) -> Self {
        self.access = Access::Write;
        self
    }

    /// Returns the SQLite file.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Sets how long a statement may take.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }
}

#[async_trait]
impl BuiltIn for SqlQuery {
    type Input = SqlQueryInput;

    fn describe(&self) -> String {
        let may = match self.access {
            Access::Read => "It can be read and not changed.",
            Access::Write => "Statements may change it; each is a transaction of its own.",
        };
        format!(
            "Runs one SQL statement on a SQLite database. {may} Returns the names of the columns and the rows, each as a JSON \
             array on a line, 1,000 rows at most. `SELECT name, sql FROM sqlite_schema` tells which tables there are."
        )
    }

    fn effect_of(&self, _: &SqlQueryInput) -> ToolEffect {
        match self.access {
            Access::Read => ToolEffect::ReadOnly,
            Access::Write => ToolEffect::Changes,
        }
    }

    fn in_short(&self, input: &SqlQueryInput) -> String {
        format!("run the SQL statement {}", shortened(&input.sql, 1_000))
    }

    fn time(&self, _: &SqlQueryInput) -> Duration {
        // The statement is interrupted before, with a text that says more.
        self.time + Duration::from_secs(10)
    }

    async fn validate(&self, input: &SqlQueryInput, _: &ToolContext) -> Result<(), InvalidInput> {
        let scalar = |value: &Value| !value.is_array() && !value.is_object();
        match input.parameters.iter().all(scalar) {
            true => Ok(()),
            false => Err(InvalidInput::new("a parameter is a text, a number, true, false or null")),
        }
    }

    async fn run(&self, input: SqlQueryInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (path, access, time) = (self.path.clone(), self.access, self.time);
        let stop = context.cancellation().clone();
        let limit = input.limit.clamp(1, Self::MAX_LIMIT);
        blocking(move || {
            let question = Question { path: &path, access, time, stop, limit };
            question.ask(&input.sql, &input.parameters)
        })
        .await
    }
}

built_in!(SqlQuery);

#[cfg(test)]
mod tests;
