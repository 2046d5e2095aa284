//! The tool that draws charts.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use csv::ReaderBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::run::CancellationToken;
use superstep_nodes::tool::{
    InvalidInput, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::built_in::{BuiltIn, blocking, built_in};
use super::chart::{Chart, Form, Places, Series};
use super::files_read::FilesRead;
use super::path_rule::path_matcher;
use super::sql_query::{Access, SqlQuery};
use super::sql_run::Question;
use super::text_file::{TextFile, shortened};
use super::workspace::{Folder, Workspace};
use super::write_file::{target, write};

/// The tool `draw_chart`: draws a chart of the rows of a CSV file, a JSON file or a query, and writes it to an SVG
/// file of the workspace.
#[derive(Clone, Debug)]
pub struct DrawChart {
    workspace: Workspace,
    database: Option<PathBuf>,
}

/// The input of [`DrawChart`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrawChartInput {
    /// The file to write, relative to the workspace: its name ends with .svg.
    pub path: String,
    /// The title.
    pub title: String,
    /// The form of the chart.
    pub form: ChartForm,
    /// The rows: exactly one of the following three. A SQL query on the database, of at most 2,000 rows.
    pub sql: Option<String>,
    /// A CSV or TSV file of the workspace, whose first line names the columns.
    pub csv: Option<String>,
    /// A JSON file of the workspace: a list of objects, each a row.
    pub json: Option<String>,
    /// The column for the horizontal axis: names, or numbers for lines and points.
    pub x: String,
    /// The columns of numbers to draw, 8 at most.
    #[schemars(length(min = 1, max = 8))]
    pub y: Vec<String>,
}

/// The form of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChartForm {
    /// A bar for each row and column.
    Bars,
    /// A line for each column, in the order of the rows.
    Lines,
    /// A dot for each row and column.
    Points,
}

/// The maximum number of rows that are drawn.
const MOST_ROWS: usize = 2_000;

const MOST_SERIES: usize = 8;

/// The size in bytes above which a file is not read.
const MOST_BYTES: u64 = 32 << 20;

/// Rows of cells, with the names of their columns.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl DrawChart {
    /// The name of the tool.
    pub const NAME: &'static str = "draw_chart";

    /// Makes a tool that draws the files of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, database: None }
    }

    /// Draws the rows of queries on a SQLite file, too. Queries only read.
    #[must_use]
    pub fn database(mut self, path: impl Into<PathBuf>) -> Self {
        self.database = Some(path.into());
        self
    }

    /// Reads the rows that an input names.
    fn table(
        &self,
        input: &DrawChartInput,
        folder: &Folder,
        stop: CancellationToken,
    ) -> Result<Table, ToolFailure> {
        let read = |path: &String| folder.read(&folder.resolve(path)?, MOST_BYTES);
        match (&input.sql, &input.csv, &input.json) {
            (Some(sql), None, None) => {
                let path = self.database.as_ref().ok_or_else(|| ToolFailure::new("there is no database"))?;
                let (time, access) = (SqlQuery::DEFAULT_TIME, Access::Read);
                let question = Question { path, access, time, stop, limit: MOST_ROWS };
                Table::of_answer(question.ask(sql, &[])?.data)
            }
            (None, Some(path), None) => Table::of_csv(path, &read(path)?),
            (None, None, Some(path)) => {
                Table::of_json(path, TextFile::parse(path, read(path)?)?.text.as_str())
            }
            _ => Err(ToolFailure::new("name one source of rows: `sql`, `csv` or `json`")),
        }
    }
}

impl Table {
    fn of_answer(data: Option<Value>) -> Result<Self, ToolFailure> {
        #[derive(Deserialize)]
        struct Answer {
            columns: Vec<String>,
            rows: Vec<Vec<Value>>,
            complete: bool,
        }
        let Answer { columns, rows, complete } = serde_json::from_value(data.unwrap_or_default())?;
        if complete { Ok(Self { columns, rows }) } else { Err(too_many()) }
    }

    fn of_csv(path: &str, bytes: &[u8]) -> Result<Self, ToolFailure> {
        let wrong = |error: csv::Error| ToolFailure::new(format!("`{path}` is no table: {error}"));
        let tabs = Path::new(path).extension().is_some_and(|it| it.eq_ignore_ascii_case("tsv"));
        let separator = if tabs { b'\t' } else { b',' };
        let mut reader = ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(bytes);
        let columns = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            if rows.len() == MOST_ROWS {
                return Err(too_many());
            }
            rows.push(record.map_err(wrong)?.iter().map(Value::from).collect());
        }
        Ok(Self { columns, rows })
    }

    fn of_json(path: &str, text: &str) -> Result<Self, ToolFailure> {
        let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_str(text)
            .map_err(|error| ToolFailure::new(format!("`{path}` is no list of objects: {error}")))?;
        if rows.len() > MOST_ROWS {
            return Err(too_many());
        }
        let mut columns: Vec<String> = Vec::new();
        for name in rows.iter().flat_map(serde_json::Map::keys) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let cells = |row: &serde_json::Map<String, Value>| -> Vec<Value> {
            columns.iter().map(|name| row.get(name).cloned().unwrap_or_default()).collect()
        };
        let rows = rows.iter().map(cells).collect();
        Ok(Self { columns, rows })
    }

    /// Returns the cells of a column.
    fn column<'t>(&'t self, name: &str) -> Result<impl Iterator<Item = &'t Value> + use<'t>, ToolFailure> {
        let at = self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let known = self.columns.join(", ");
            ToolFailure::new(format!("there is no column `{name}`; the columns are: {known}"))
        })?;
        Ok(self.rows.iter().map(move |row| row.get(at).unwrap_or(&Value::Null)))
    }

    /// Returns the numbers of a column. An empty cell has none.
    fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, ToolFailure> {
        let number = |(row, cell): (usize, &Value)| match number(cell) {
            None if !is_empty(cell) => {
                let cell = cell.to_string();
                let cell = shortened(&cell, 100);
                Err(ToolFailure::new(format!("`{name}` of row {row} is {cell}, which is no number")))
            }
            number => Ok(number),
        };
        (1..).zip(self.column(name)?).map(number).collect()
    }

    /// Returns the places on the horizontal axis.
    fn places(&self, name: &str, form: Form) -> Result<Places, ToolFailure> {
        let cells: Vec<_> = self.column(name)?.collect();
        let numbers: Option<Vec<f64>> = cells.iter().map(|cell| number(cell)).collect();
        Ok(match numbers.filter(|_| form != Form::Bars) {
            Some(numbers) => Places::Numbers(numbers),
            None => {
                let text = |cell: &&Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
                Places::Named(cells.iter().map(text).collect())
            }
        })
    }
}

fn number(cell: &Value) -> Option<f64> {
    let number = match cell {
        Value::String(text) => text.trim().parse().ok()?,
        cell => cell.as_f64()?,
    };
    Some(number).filter(|number: &f64| number.is_finite())
}

fn is_empty(cell: &Value) -> bool {
    cell.is_null() || cell.as_str().is_some_and(|text| text.trim().is_empty())
}

fn too_many() -> ToolFailure {
    ToolFailure::new(format!("there are more than {MOST_ROWS} rows: group them first"))
}

#[async_trait]
impl BuiltIn for DrawChart {
    type Input = DrawChartInput;

    fn describe(&self) -> String {
        let query = if self.database.is_some() { "a SQL query, " } else { "" };
        format!(
            "Draws a chart of the rows of {query}a CSV file or a JSON file, of at most {MOST_ROWS} rows, and writes it to an \
             SVG file of the workspace: a new one, or one that you drew or read."
        )
    }

    fn effect_of(&self, _: &DrawChartInput) -> ToolEffect {
        // The same rows again make the same file, but a database may have others by then.
        ToolEffect::Changes
    }

    fn in_short(&self, input: &DrawChartInput) -> String {
        format!("draw the chart {}", input.path)
    }

    fn matcher(&self, input: &DrawChartInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    async fn validate(&self, input: &DrawChartInput, context: &ToolContext) -> Result<(), InvalidInput> {
        if !Path::new(&input.path).extension().is_some_and(|it| it.eq_ignore_ascii_case("svg")) {
            return Err(InvalidInput::new("the name of the file has to end with .svg"));
        }
        if !(1..=MOST_SERIES).contains(&input.y.len()) {
            return Err(InvalidInput::new(format!("there have to be 1 to {MOST_SERIES} columns in `y`")));
        }
        let check = async {
            let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
            let path = input.path.clone();
            blocking(move || target(&folder, &files, &path, None).map(drop)).await
        };
        check.await.map_err(|refused| InvalidInput::new(refused.to_string()))
    }

    async fn run(&self, input: DrawChartInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
        let (tool, stop) = (self.clone(), context.cancellation().clone());
        blocking(move || {
            let table = tool.table(&input, &folder, stop.clone())?;
            let form = match input.form {
                ChartForm::Bars => Form::Bars,
                ChartForm::Lines => Form::Lines,
                ChartForm::Points => Form::Points,
            };
            let series = |name: &'_ String| table.numbers(name);
            let values: Vec<_> = input.y.iter().map(series).collect::<Result<_, _>>()?;
            let drawn = values.iter().flatten().flatten().count();
            if drawn == 0 {
                return Err(ToolFailure::new("there are no numbers to draw"));
            }
            let series = input.y.iter().zip(values).map(|(name, values)| Series { name, values }).collect();
            let places = table.places(&input.x, form)?;
            let svg = Chart { title: &input.title, form, x: &input.x, places, series }.to_svg();
            let named = write(&folder, &files, &input.path, svg.as_bytes(), &stop)?.named;
            let rows = table.rows.len();
            let text = format!("{named} was drawn: {rows} rows, {drawn} values.");
            Ok(ToolOutput::text(text).with_data(json!({ "path": named, "rows": rows, "values": drawn })))
        })
        .await
    }
}

built_in!(DrawChart);

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use superstep_nodes::tool::{ToolOutcome, ToolRegistry};

    use super::*;
    use crate::session::Session;

    const CSV: &str = "city,sold,lost\nBern,3,1\nRome,4,\nOslo,x,2\n";

    fn session() -> Session {
        let file = tempfile::NamedTempFile::new().unwrap().into_temp_path().keep().unwrap();
        let rows = "CREATE TABLE s (day, sold); INSERT INTO s VALUES (1, 2), (5, 3)";
        Connection::open(&file).unwrap().execute_batch(rows).unwrap();
        let tool = DrawChart::new(Workspace::of_session()).database(file);
        Session::of(
            ToolRegistry::new().with(tool).unwrap(),
            &[("a.csv", CSV), ("a.json", r#"[{ "city": "Bern", "sold": 3 }, { "sold": 4.5 }]"#)],
        )
    }

    fn input(source: &str, from: &str, form: &str, x: &str, y: &[&str]) -> Value {
        json!({ "path": "charts/a.svg", "title": "Sales", "form": form, source: from, "x": x, "y": y })
    }

    #[tokio::test]
    async fn s2_176_rows_of_a_query_a_csv_file_and_a_json_file_are_drawn() {
        let session = session();
        for (source, from, form, x, shape, said) in [
            ("sql", "SELECT day, sold FROM s", "lines", "day", "<polyline", "2 rows, 2 values"),
            ("csv", "a.csv", "bars", "city", "<rect", "3 rows, 2 values"),
            ("json", "a.json", "points", "city", "<circle", "2 rows, 2 values"),
        ] {
            let y = if source == "csv" { "lost" } else { "sold" };
            let text = session.done("draw_chart", input(source, from, form, x, &[y])).await;
            assert_eq!(text, format!("charts/a.svg was drawn: {said}."));
            let svg = session.get("charts/a.svg");
            assert!(svg.starts_with("<svg ") && svg.contains(shape) && svg.contains(">Sales<"), "{svg}");
        }
    }

    #[tokio::test]
    async fn the_error_of_a_chart_names_the_column_and_the_row() {
        let session = session();
        for (input, reason) in [
            (
                input("csv", "a.csv", "bars", "city", &["sold"]),
                "`sold` of row 3 is \"x\", which is no number",
            ),
            (input("csv", "a.csv", "bars", "town", &["lost"]), "the columns are: city, sold, lost"),
            (input("json", "a.csv", "bars", "city", &["lost"]), "`a.csv` is no list of objects"),
            (input("sql", "SELECT day, sold FROM s WHERE 0", "bars", "day", &["sold"]), "no numbers to draw"),
            (input("sql", "DELETE FROM s", "bars", "day", &["sold"]), "statements may only read"),
        ] {
            let (outcome, said) = session.refused("draw_chart", input).await;
            assert_eq!(outcome, ToolOutcome::Error);
            assert!(said.contains(reason), "{said}");
        }
        let two = json!({ "path": "a.svg", "title": "", "form": "bars", "csv": "a.csv", "sql": "x", "x": "a", "y": ["b"] });
        assert!(session.refused("draw_chart", two).await.1.contains("name one source of rows"));
        assert!(!session.path("charts").exists());
    }

    #[tokio::test]
    async fn a_chart_does_not_replace_a_file_that_was_not_read() {
        let session = session();
        session.put("charts/a.svg", "theirs");
        let (outcome, said) =
            session.refused("draw_chart", input("csv", "a.csv", "bars", "city", &["lost"])).await;
        assert!(outcome == ToolOutcome::Invalid && said.contains("was not read yet"), "{said}");
        assert_eq!(session.get("charts/a.svg"), "theirs");
    }
}
