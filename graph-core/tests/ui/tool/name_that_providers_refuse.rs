#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Adds two numbers.
#[tool(crate = crate::nodes, name = "add two")]
async fn add(a: i64, b: i64) -> String {
    (a + b).to_string()
}

fn main() {}
