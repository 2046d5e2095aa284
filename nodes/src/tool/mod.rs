//! Tools: what a model may ask to have done.
//!
//! ```text
//! model ──ToolCall──▶ ToolRegistry ──input──▶ Tool
//!   ▲                      │                    │
//!   └─────ToolMessage──────┴──────ToolOutput────┘
//! ```
//!
//! A model asks by name and with an input of its own making, so both may be wrong. That is no failure of
//! the program: [`ToolRegistry::answer`] turns an unknown name, an input that does not fit and a tool that
//! failed into a tool message with status `error`, which the model reads and may correct.
//!
//! A tool is anything that implements [`Tool`]; [`TypedTool`] makes one of an async function.
//!
//! ```
//! use superstep_nodes::message::ToolCall;
//! use superstep_nodes::tool::{ToolRegistry, TypedTool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let add = TypedTool::new("add", "Adds two numbers.", |input: Add| async move {
//!     input.a.checked_add(input.b).map(|sum| sum.to_string()).ok_or("the sum is too large")
//! });
//! let tools = ToolRegistry::new().with(add)?;
//!
//! let call = ToolCall::new("c1", "add", serde_json::json!({ "a": 2, "b": 3 }));
//! assert_eq!(tools.answer("m1", &call).await.content.to_text(), "5");
//! # Ok::<(), superstep_nodes::tool::DuplicateTool>(())
//! # }).unwrap();
//! ```

mod effect;
mod error;
mod output;
mod registry;
mod spec;
#[expect(clippy::module_inception, reason = "one main type a file, and the file is named after it")]
mod tool;
mod typed;

pub use effect::ToolEffect;
pub use error::ToolError;
pub use output::ToolOutput;
pub use registry::{DuplicateTool, ToolRegistry};
pub use spec::ToolSpec;
pub use tool::Tool;
pub use typed::TypedTool;
