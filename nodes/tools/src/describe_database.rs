//! The tool that shows the tables of a database.

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::tool::{ToolContext, ToolEffect, ToolFailure, ToolOutput};

use super::built_in::{BuiltIn, blocking, built_in};
use super::sql_query::{Access, SqlQuery};
use super::sql_run::Question;

/// The tool `describe_database`: shows the tables and views of a SQLite file that the program names, each with the
/// statement that made it and some of its rows.
#[derive(Clone, Debug)]
pub struct DescribeDatabase {
    path: PathBuf,
}

/// The input of [`DescribeDatabase`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeDatabaseInput {
    /// The tables and views to show; all by default.
    pub tables: Option<Vec<String>>,
    /// The maximum number of rows to show of each.
    #[serde(default = "default_rows")]
    #[schemars(range(max = 20))]
    pub rows: usize,
}

const fn default_rows() -> usize {
    DescribeDatabase::DEFAULT_ROWS
}

const TABLES: &str = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' \
                      ESCAPE '\\' ORDER BY name";

impl DescribeDatabase {
    /// The name of the tool.
    pub const NAME: &'static str = "describe_database";

    /// The default number of rows that are shown of a table.
    pub const DEFAULT_ROWS: usize = 3;

    const MAX_ROWS: usize = 20;
    const MAX_TABLES: usize = 1_000;
    const MAX_BYTES: usize = 40_000;

    /// Makes a tool that shows the tables of a SQLite file. It is opened by each call.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

#[async_trait]
impl BuiltIn for DescribeDatabase {
    type Input = DescribeDatabaseInput;

    fn describe(&self) -> String {
        "Shows the tables and views of the SQLite database: the statement that made each, with its columns, and up to 20 of \
         its rows. A long result lists the names of the tables that it has no room for."
            .to_owned()
    }

    fn effect_of(&self, _: &DescribeDatabaseInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, _: &DescribeDatabaseInput) -> String {
        "show the tables of the database".to_owned()
    }

    async fn run(
        &self,
        input: DescribeDatabaseInput,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolFailure> {
        let (path, stop) = (self.path.clone(), context.cancellation().clone());
        blocking(move || {
            let ask = |sql: &str, parameters: &[Value], limit: usize| {
                let (stop, time, access) = (stop.clone(), SqlQuery::DEFAULT_TIME, Access::Read);
                Question { path: &path, access, time, stop, limit }.ask(sql, parameters)
            };
            let all = texts(&ask(TABLES, &[], Self::MAX_TABLES)?);
            let is_asked = |name: &String| input.tables.as_ref().is_none_or(|asked| asked.contains(name));
            if let Some(unknown) = input.tables.iter().flatten().find(|name| !all.contains(name)) {
                let known = all.join(", ");
                return Err(ToolFailure::new(format!(
                    "there is no table `{unknown}`; the tables are: {known}"
                )));
            }
            let (mut text, mut left_out) = (String::new(), Vec::new());
            for name in all.into_iter().filter(is_asked) {
                if text.len() > Self::MAX_BYTES {
                    left_out.push(name);
                    continue;
                }
                let sql = "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?";
                let sql = texts(&ask(sql, &[name.as_str().into()], 1)?).concat();
                let rows = input.rows.min(Self::MAX_ROWS);
                let select = format!("SELECT * FROM \"{}\" LIMIT {rows}", name.replace('"', "\"\""));
                // The statement of a view may fail, where that of a table does not.
                let rows = ask(&select, &[], Self::MAX_ROWS).map_or_else(
                    |failed| format!("[its rows cannot be read: {failed}]\n"),
                    |rows| rows.content.to_text().into_owned(),
                );
                text.push_str(&format!("{sql};\n{rows}\n"));
            }
            if !left_out.is_empty() {
                text.push_str(&format!("[there is no room for: {}]\n", left_out.join(", ")));
            }
            Ok(ToolOutput::text(if text.is_empty() {
                "The database has no tables.".to_owned()
            } else {
                text
            }))
        })
        .await
    }
}

built_in!(DescribeDatabase);

/// Returns the first column of an answer.
fn texts(answer: &ToolOutput) -> Vec<String> {
    let rows = answer.data.as_ref().and_then(|data| data.get("rows")?.as_array());
    rows.into_iter().flatten().filter_map(|row| Some(row.get(0)?.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde_json::json;
    use superstep_nodes::tool::ToolRegistry;

    use super::*;
    use crate::session::Session;

    fn session(sql: &str) -> Session {
        let file = tempfile::NamedTempFile::new().unwrap().into_temp_path().keep().unwrap();
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        Session::of(ToolRegistry::new().with(DescribeDatabase::new(file)).unwrap(), &[])
    }

    #[tokio::test]
    async fn s2_182_tables_are_shown_with_their_columns_and_some_rows() {
        let session = session(
            "CREATE TABLE \"the \"\"orders\" (id INTEGER, city TEXT); INSERT INTO \"the \"\"orders\" VALUES (1, 'Bern'),
             (2, 'Rome'), (3, 'Oslo'), (4, 'Graz'); CREATE VIEW lost AS SELECT * FROM gone;",
        );
        let all = session.done("describe_database", json!({})).await;
        assert!(all.contains("CREATE VIEW lost AS SELECT * FROM gone;\n[its rows cannot be read: "), "{all}");
        let orders = "(id INTEGER, city TEXT);\n[\"id\",\"city\"]\n[1,\"Bern\"]\n[2,\"Rome\"]\n[3,\"Oslo\"]\n[3 rows]\n";
        assert!(all.contains(orders) && !all.contains("Graz"), "{all}");
        let one = session.done("describe_database", json!({ "tables": ["lost"], "rows": 1 })).await;
        assert!(!one.contains("Bern"), "{one}");
        let (_, said) = session.refused("describe_database", json!({ "tables": ["order"] })).await;
        assert!(said.ends_with("there is no table `order`; the tables are: lost, the \"orders"), "{said}");
    }

    #[tokio::test]
    async fn a_large_database_is_shown_in_part_and_names_the_rest() {
        let sql: String =
            (0..200).map(|n| format!("CREATE TABLE t{n:03} ({} INTEGER);", "c".repeat(500))).collect();
        let shown = session(&sql).done("describe_database", json!({ "rows": 0 })).await;
        assert!(shown.len() < 50_000 && shown.contains("CREATE TABLE t000"), "{}", shown.len());
        assert!(shown.trim_end().ends_with("t198, t199]"), "{shown}");
    }
}
