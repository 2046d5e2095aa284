//! Graphs from data: nodes, edges and state are described in JSON or TOML, and refer to registered functions.
//!
//! ```text
//! Description::from_json(text)      what: state, nodes, where each leads, policies
//! Registry::new().node("f", f)      how: node functions over a JsonState, and decisions
//!        └──────────┬─────────┘
//!   registry.build(&description)  ──►  StateGraph<JsonState, C>  ── compile() ──►  as any graph
//! ```
//!
//! `compile()` reports all mistakes in a description together, each with its path.

mod cases;
mod code;
mod description;
mod policies;
mod reader;
mod registry;
#[cfg(feature = "toml")]
mod toml_size;
mod unique;

pub use cases::CaseError;
pub use code::JsonDecision;
pub use description::{Description, DescriptionError};
pub use registry::Registry;
