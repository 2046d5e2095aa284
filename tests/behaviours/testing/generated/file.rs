//! Step 6 of thread "rust" of graph "essay" ends as recorded, from its input on.
//! Written by `superstep test` for rust.

use superstep::testing::{self, Cassette};

#[tokio::test]
async fn rust_at_6() -> Result<(), Box<dyn std::error::Error>> {
    // Fill in: the graph, compiled and with its context. Its effects do not run, and it needs no checkpointer.
    let graph = super::graph();

    let cassette = Cassette::load("tests/behaviours/testing/generated/rust.json")?;
    testing::turn(&graph)
        .after_step(-1)
        .state(STATE)
        .input(BEGIN)
        // .secret("token", r#""its value, as JSON""#)
        .cassette(&cassette)
        .supersteps(7)
        .comes_to(EXPECTED)
        .leads_to([] as [&str; 0])
        .await?;
    Ok(())
}

/// The initial state.
const STATE: &str = r#"{}"#;

/// The input, or the tasks that were next.
const BEGIN: &str = r#"[
  {
    "field": "topic",
    "op": "set",
    "value": "Rust"
  },
  {
    "field": "facts",
    "op": "set",
    "value": []
  },
  {
    "field": "draft",
    "op": "set",
    "value": ""
  },
  {
    "field": "rounds",
    "op": "set",
    "value": 0
  },
  {
    "field": "token",
    "op": "set",
    "value": "<secret>"
  }
]"#;

/// The final state.
const EXPECTED: &str = r#"{
  "draft": "Rust (2): history (1), people (1) 01941f29-7c00-7000-8000-000a88795369",
  "facts": [
    "history (1)",
    "people (1)"
  ],
  "rounds": 2,
  "token": "<secret>",
  "topic": "Rust"
}"#;
