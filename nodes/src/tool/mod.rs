//! Tools: what a model may ask to have done.
//!
//! ```text
//! model ──ToolCall──▶ ToolRegistry ──▶ PreparedCall ──▶ Tool: validate, permit, call, map
//!   ▲                  name, schema          │
//!   └─────────ToolMessage◀──ToolResult───────┘
//! ```
//!
//! A model asks by name and with an input of its own making, so both may be wrong. That is no failure of
//! the program: every call ends in exactly one [`ToolOutcome`], and always has a [`ToolResult`], which the model reads
//! and may learn from. [`Execution`] decides which calls run at the same time.
//!
//! A tool is anything that implements [`Tool`]; the attribute [`tool`](macro@tool) makes one of an async function, and
//! [`TypedTool`] one of a closure.
//!
//! ```
//! use superstep_nodes::message::ToolCall;
//! use superstep_nodes::tool::{ToolRegistry, tool};
//!
//! /// Adds two numbers.
//! #[tool(crate = superstep_nodes, read_only)]
//! async fn add(a: i64, b: i64) -> Result<String, &'static str> {
//!     a.checked_add(b).map(|sum| sum.to_string()).ok_or("the sum is too large")
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let tools = ToolRegistry::new().with(add())?;
//!
//! let call = ToolCall::new("c1", "add", serde_json::json!({ "a": 2, "b": 3 }));
//! assert_eq!(tools.answer("m1", &call).await.content.to_text(), "5");
//! # Ok::<(), superstep_nodes::tool::RegistryError>(())
//! # }).unwrap();
//! ```

#[cfg(test)]
mod attribute_tests;
mod context;
mod cut;
mod error;
mod event;
mod execution;
mod failure;
mod input_schema;
mod output;
mod permission;
mod prepared_call;
#[cfg(test)]
mod probe;
mod registry;
mod result;
mod schedule;
mod session;
#[expect(clippy::module_inception, reason = "one main type a file, and the file is named after it")]
mod tool;
mod typed;

pub use self::context::ToolContext;
pub use self::cut::{LongResults, ReadSeek};
pub use self::error::ToolError;
pub use self::event::{ToolEvent, ToolEventKind};
pub use self::execution::{Concurrency, Execution, ExecutionPolicy};
pub use self::failure::ToolFailure;
pub use self::output::{IntoToolOutput, ToolOutput};
pub use self::permission::{
    AllowReadOnly, AllowUnlessAsked, Pattern, Permission, PermissionDecision, PermissionMatcher,
    PermissionParts, PermissionPolicy, PermissionRequest, Touch,
};
pub use self::prepared_call::PreparedCall;
pub use self::registry::{RegistryError, ToolRegistry};
pub use self::result::{ToolOutcome, ToolResult};
pub use self::session::{ToolNotes, ToolSession};
pub use self::tool::{DEFAULT_MAX_RESULT_CHARS, DEFAULT_TIMEOUT, InvalidInput, Tool, ToolEffect, ToolSpec};
pub use self::typed::TypedTool;
#[doc(hidden)]
pub use self::typed::schema_of;

/// Checks whether a schema is one that inputs can be checked against, or says what is wrong with it.
#[doc(hidden)]
pub fn check_schema(schema: &serde_json::Value) -> Result<(), String> {
    input_schema::InputSchema::compile(schema).map(drop)
}

/// ```
/// use superstep_nodes::tool::{Tool, ToolContext, tool};
///
/// struct Index(Vec<String>);
///
/// /// Finds lines that have a word.
/// #[tool(crate = superstep_nodes, read_only, name = "find_lines")]
/// async fn find(
///     #[dep] index: &Index,
///     context: &ToolContext,
///     /// The word.
///     word: String,
///     /// How many lines to return at most; all, if it is left out.
///     limit: Option<usize>,
/// ) -> String {
///     context.progress("searching");
///     let found = index.0.iter().filter(|line| line.contains(&word)).take(limit.unwrap_or(usize::MAX));
///     found.map(String::as_str).collect::<Vec<_>>().join("\n")
/// }
///
/// let tool = find(Index(vec!["a line".to_owned()]));
/// assert_eq!(tool.name(), "find_lines");
/// assert_eq!(tool.prompt(), "Finds lines that have a word.");
/// assert_eq!(tool.input_schema()["properties"]["word"]["description"], "The word.");
/// ```
///
/// Within this crate's own documentation the attribute says where the crate is; a program that has `superstep` does
/// without.
pub use superstep_macros::tool;

/// The items that the expansion of [`tool`](macro@tool) names. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use std::sync::Arc;

    pub use schemars;
    pub use serde;
    pub use serde::de::DeserializeOwned;
    pub use serde_json::Value;

    pub use super::{Concurrency, IntoToolOutput, ToolContext, ToolEffect, TypedTool};
}
