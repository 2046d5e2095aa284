#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

struct Index;

#[tool(crate = crate::nodes)]
async fn search(#[dep] index: &Index, query: String) -> String {
    query
}

fn main() {
    let _tool = search(Index);
}
