//! The tool that reads tables.

use std::io::Read;

use async_trait::async_trait;
use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_core::run::CancellationToken;
use superstep_nodes::tool::{PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput};

use super::built_in::{BuiltIn, blocking, built_in};
use super::path_rule::path_matcher;
use super::text_file::shortened;
use super::workspace::{Workspace, display};

/// The tool `read_csv`: reads rows of a table whose first line names the columns, as CSV or, if the file's name ends
/// with `.tsv`, with tabs.
///
/// The file is read row by row, so it may be larger than the memory. Rows that are shorter or longer than the first
/// line are shown unchanged.
#[derive(Clone, Debug)]
pub struct ReadCsv {
    workspace: Workspace,
    max_file_bytes: u64,
}

/// The input of [`ReadCsv`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadCsvInput {
    /// The file, relative to the workspace.
    pub path: String,
    /// The columns to return, by their names; all by default.
    pub columns: Option<Vec<String>>,
    /// The first row to return, from 1, without the header line.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub from_row: usize,
    /// The maximum number of rows to return. With 0 only the columns and the number of rows are returned.
    #[serde(default = "default_rows")]
    #[schemars(range(max = 1_000))]
    pub rows: usize,
}

const fn first() -> usize {
    1
}

const fn default_rows() -> usize {
    ReadCsv::DEFAULT_ROWS
}

impl ReadCsv {
    /// The name of the tool.
    pub const NAME: &'static str = "read_csv";

    /// The default number of rows that are returned.
    pub const DEFAULT_ROWS: usize = 50;

    /// The size in bytes above which a file is not read, unless the program says otherwise.
    pub const MAX_FILE_BYTES: u64 = 256 << 20;

    const MAX_ROWS: usize = 1_000;
    const MAX_CELL_CHARS: usize = 500;
    const MAX_BYTES: usize = 40_000;

    /// Makes a tool that reads the tables of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, max_file_bytes: Self::MAX_FILE_BYTES }
    }

    /// Sets the size in bytes above which a file is not read.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }
}

#[async_trait]
impl BuiltIn for ReadCsv {
    type Input = ReadCsvInput;

    fn describe(&self) -> String {
        "Reads rows of a CSV or TSV file of the workspace whose first line names the columns. Says which columns and how many \
         rows there are, and returns the rows as CSV, 1,000 at most."
            .to_owned()
    }

    fn effect_of(&self, _: &ReadCsvInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, input: &ReadCsvInput) -> String {
        format!("read the table {}", input.path)
    }

    fn matcher(&self, input: &ReadCsvInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    async fn run(&self, input: ReadCsvInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (folder, stop) = (self.workspace.open(context)?, context.cancellation().clone());
        let most = self.max_file_bytes;
        blocking(move || {
            let path = folder.resolve(&input.path)?;
            let file = folder.open_at_most(&path, most)?;
            let tabs = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
            let separator = if tabs { b'\t' } else { b',' };
            rows(&display(&path), file.take(most), separator, &input, &stop)
        })
        .await
    }
}

built_in!(ReadCsv);

fn rows(
    named: &str,
    file: impl Read,
    separator: u8,
    input: &ReadCsvInput,
    stop: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let wrong = |error: csv::Error| ToolFailure::new(format!("`{named}` is no table: {error}"));
    let mut reader = ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(file);
    let names = reader.headers().map_err(wrong)?.clone();
    let columns = input.columns.as_deref().map(|columns| positions(&names, columns)).transpose()?;
    let mut shown = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let chosen = |row: &StringRecord| -> Vec<String> {
        let cell = |cell: &str| shortened(cell, ReadCsv::MAX_CELL_CHARS).into_owned();
        match &columns {
            None => row.iter().map(cell).collect(),
            Some(columns) => columns.iter().map(|at| cell(row.get(*at).unwrap_or_default())).collect(),
        }
    };
    shown.write_record(chosen(&names))?;
    let (from, most) = (input.from_row.max(1), input.rows.min(ReadCsv::MAX_ROWS));
    let (mut all, mut returned, mut full) = (0, 0, most == 0);
    let mut row = StringRecord::new();
    while reader.read_record(&mut row).map_err(wrong)? {
        if stop.is_cancelled() {
            return Err(ToolFailure::new("stopped"));
        }
        all += 1;
        if all < from || full {
            continue;
        }
        shown.write_record(chosen(&row))?;
        returned += 1;
        shown.flush()?;
        full = returned == most || shown.get_ref().len() > ReadCsv::MAX_BYTES;
    }
    if from > all.max(1) {
        return Err(ToolFailure::new(format!("`{named}` has only {all} rows")));
    }
    let bytes = shown.into_inner().map_err(|error| ToolFailure::new(error.to_string()))?;
    let to = from + returned - 1;
    let head = match returned {
        0 => format!("{named}: {all} rows, {} columns\n", names.len()),
        _ => format!("{named}: rows {from} to {to} of {all}, {} columns\n", names.len()),
    };
    let mut text = head + &String::from_utf8_lossy(&bytes);
    if returned > 0 && to < all {
        text.push_str(&format!("[read on with from_row {}]\n", to + 1));
    }
    let names: Vec<&str> = names.iter().collect();
    Ok(ToolOutput::text(text)
        .with_data(json!({ "path": named, "columns": names, "rows": all, "returned": returned })))
}

/// Returns the positions of the named columns.
fn positions(names: &StringRecord, columns: &[String]) -> Result<Vec<usize>, ToolFailure> {
    let position = |column: &String| {
        names.iter().position(|name| name == column).ok_or_else(|| {
            let known = names.iter().collect::<Vec<_>>().join(", ");
            ToolFailure::new(format!("there is no column `{column}`; the columns are: {known}"))
        })
    };
    columns.iter().map(position).collect()
}

#[cfg(test)]
mod tests;
