#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Waits.
#[tool(crate = crate::nodes)]
async fn wait<T>(seconds: u64) {}

fn main() {}
