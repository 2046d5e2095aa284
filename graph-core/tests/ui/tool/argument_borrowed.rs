#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Shouts.
#[tool(crate = crate::nodes)]
async fn shout(text: &str) -> String {
    text.to_uppercase()
}

fn main() {}
