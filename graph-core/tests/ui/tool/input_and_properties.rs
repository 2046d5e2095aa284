#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

struct Query;

/// Searches.
#[tool(crate = crate::nodes)]
async fn search(#[input] query: Query, limit: u32, #[input] again: Query) -> String {
    String::new()
}

fn main() {}
