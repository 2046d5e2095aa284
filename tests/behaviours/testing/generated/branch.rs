//! Step 6 of thread "zig" of graph "essay" ends as recorded, from its next tasks on.
//! Written by `superstep test` for zig.

use superstep::testing::{self, Cassette};

#[tokio::test]
async fn zig_at_6() -> Result<(), Box<dyn std::error::Error>> {
    // Fill in: the graph, compiled and with its context. Its effects do not run, and it needs no checkpointer.
    let graph = super::graph();

    let cassette = Cassette::parse(CASSETTE)?;
    testing::turn(&graph)
        .after_step(5)
        .state(STATE)
        .next(BEGIN)
        // .secret("token", r#""its value, as JSON""#)
        .cassette(&cassette)
        .supersteps(1)
        .comes_to(EXPECTED)
        .leads_to(["review"])
        .await?;
    Ok(())
}

/// The initial state.
const STATE: &str = r#"{
  "draft": "Rust (1): history (1), people (1) 01941f29-7c00-7000-8000-0006cbbeaa11",
  "facts": [
    "history (1)",
    "people (1)"
  ],
  "rounds": 1,
  "token": "<secret>",
  "topic": "Zig"
}"#;

/// The input, or the tasks that were next.
const BEGIN: &str = r#"{
  "tasks": [
    {
      "cause": {
        "tasks": [
          0
        ]
      },
      "node": "write"
    }
  ]
}"#;

/// The final state.
const EXPECTED: &str = r#"{
  "draft": "Zig (1): history (1), people (1) 01941f29-7c00-7000-8000-00116cd3d6af",
  "facts": [
    "history (1)",
    "people (1)"
  ],
  "rounds": 2,
  "token": "<secret>",
  "topic": "Zig"
}"#;

/// The recorded effects and answers.
const CASSETTE: &str = r#"{
  "version": 1,
  "recordings": [
    {
      "node": "write",
      "step": 6,
      "effect": "$uuid",
      "ok": "01941f29-7c00-7000-8000-00116cd3d6af"
    },
    {
      "node": "write",
      "step": 6,
      "effect": "draft",
      "ok": "Zig (1)"
    }
  ]
}"#;
