//! Nodes: plain `async fn`s whose arguments are extractors.

mod context;
mod outcome;

pub use context::{Dep, FromRef};
pub use outcome::{IntoOutcome, Output};
