#[path = "../nodes.rs"]
mod nodes;

use superstep_macros::tool;

struct Calculator;

impl Calculator {
    /// Adds two numbers.
    #[tool(crate = crate::nodes)]
    async fn add(&self, a: i64, b: i64) -> String {
        (a + b).to_string()
    }
}

fn main() {}
