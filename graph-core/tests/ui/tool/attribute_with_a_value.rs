#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Adds two numbers.
#[tool(crate = crate::nodes, read_only = true)]
async fn add(#[input(flat)] a: i64, b: i64) -> String {
    (a + b).to_string()
}

fn main() {}
