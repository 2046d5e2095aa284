#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Adds two numbers.
#[tool(crate = crate::nodes)]
async fn add((a, b): (i64, i64), c: impl Into<i64>) -> String {
    (a + b).to_string()
}

fn main() {}
