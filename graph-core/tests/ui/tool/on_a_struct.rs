#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

/// Adds two numbers.
#[tool(crate = crate::nodes)]
struct Add;

fn main() {}
