#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

#[tool(crate = crate::nodes)]
async fn add(a: i64, b: i64) -> String {
    (a + b).to_string()
}

fn main() {}
