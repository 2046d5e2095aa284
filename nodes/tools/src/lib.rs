//! Built-in tools: for files, tables and databases.
//!
//! | tool | what it does | changes something |
//! |---|---|---|
//! | [`ReadFile`] | reads a file by lines, or shows an image | no |
//! | [`Glob`] | lists files | no |
//! | [`Grep`] | searches files | no |
//! | [`ReadCsv`] | reads rows of a table | no |
//! | [`ReadJson`] | reads a part of a JSON document | no |
//! | [`DescribeApi`] | shows the operations of an OpenAPI document | no |
//! | [`DescribeDatabase`] | shows the tables of a SQLite database | no |
//! | [`WriteFile`] | writes a whole file | yes |
//! | [`EditFile`] | replaces a text in a file | yes |
//! | [`DrawChart`] | draws rows of a table or a query as SVG | yes |
//! | [`GenerateImage`], [`EditImage`] | have a model make an image | yes |
//! | [`SqlQuery`] | asks a SQLite database | if the program says so |
//! | `HttpRequest` | asks a server of the public internet, with the feature `http` | with some methods |
//! | `Bash` | runs a command in a sandbox, with the feature `shell`, on Unix | yes |
//!
//! The tools for files stay in a [`Workspace`], the session's own or one that is named. [`read_only()`] and
//! [`workspace()`] make registries of them:
//!
//! ```
//! use superstep_nodes::message::ToolCall;
//! use superstep_tools::Workspace;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("notes.txt"), "bread\nmilk\n")?;
//! let tools = superstep_tools::read_only(Workspace::at(folder.path())?);
//!
//! let call = ToolCall::new("c1", "read_file", serde_json::json!({ "path": "notes.txt" }));
//! assert_eq!(tools.answer("m1", &call).await.content.to_text(), "     1\tbread\n     2\tmilk\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! The registry's [policy](superstep_nodes::tool::PermissionPolicy) decides which calls are permitted; each tool
//! reports which of its calls change something. A tool's own checks hold under every policy.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
#[cfg(test)]
extern crate superstep_core as superstep;

mod built_in;
mod chart;
mod describe_api;
mod describe_database;
mod draw_chart;
mod edit_file;
mod files_read;
mod glob;
mod grep;
#[cfg(feature = "http")]
mod http;
mod images;
mod matches;
mod path_rule;
mod picture;
mod read_csv;
mod read_file;
mod read_json;
mod replace;
#[cfg(test)]
mod session;
mod sets;
#[cfg(all(feature = "shell", unix))]
mod shell;
mod sql_query;
mod sql_rules;
mod sql_run;
mod text_file;
mod walk;
mod wildcard;
mod workspace;
mod write_file;

pub use describe_api::{DescribeApi, DescribeApiInput};
pub use describe_database::{DescribeDatabase, DescribeDatabaseInput};
pub use draw_chart::{ChartForm, DrawChart, DrawChartInput};
pub use edit_file::{EditFile, EditFileInput};
pub use glob::{Glob, GlobInput};
pub use grep::{Grep, GrepInput, GrepOutput};
#[cfg(feature = "http")]
pub use http::{HttpMethod, HttpRequest, HttpRequestInput, HttpRuleError};
pub use images::{EditImage, EditImageInput, GenerateImage, GenerateImageInput};
pub use read_csv::{ReadCsv, ReadCsvInput};
pub use read_file::{ReadFile, ReadFileInput};
pub use read_json::{ReadJson, ReadJsonInput};
pub use sets::{read_only, workspace};
#[cfg(all(feature = "shell", unix))]
pub use shell::{Bash, BashInput, CommandRunner, Network, ProcessLimits, Sandbox, Ssh, SshError};
pub use sql_query::{SqlQuery, SqlQueryInput};
pub use workspace::{Workspace, WorkspaceError};
pub use write_file::{WriteFile, WriteFileInput};
