#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

struct Index;

/// Searches.
#[tool(crate = crate::nodes)]
async fn search(#[dep] index: Index, #[dep] log: &mut String, query: String) -> String {
    query
}

fn main() {}
