#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Adds two numbers.
#[tool(crate = crate::nodes, read_only, idempotent)]
async fn add(a: i64, b: i64) -> String {
    (a + b).to_string()
}

fn main() {}
