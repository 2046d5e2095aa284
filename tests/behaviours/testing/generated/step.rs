//! Step 2 of thread "rust" of graph "essay" ends as recorded, from its next tasks on.
//! Written by `superstep test` for rust@2.

use superstep::testing::{self, Cassette};

#[tokio::test]
async fn rust_at_2() -> Result<(), Box<dyn std::error::Error>> {
    // Fill in: the graph, compiled and with its context. Its effects do not run, and it needs no checkpointer.
    let graph = super::graph();

    let cassette = Cassette::parse(CASSETTE)?;
    testing::turn(&graph)
        .after_step(1)
        .state(STATE)
        .next(BEGIN)
        // .secret("token", r#""its value, as JSON""#)
        .cassette(&cassette)
        .supersteps(1)
        .comes_to(EXPECTED)
        .leads_to(["write"])
        .await?;
    Ok(())
}

/// The initial state.
const STATE: &str = r#"{
  "draft": "",
  "facts": [],
  "rounds": 0,
  "token": "<secret>",
  "topic": "Rust"
}"#;

/// The input, or the tasks that were next.
const BEGIN: &str = r#"{
  "tasks": [
    {
      "cause": {
        "each": {
          "by": 0,
          "index": 0
        }
      },
      "input": "history",
      "node": "research"
    },
    {
      "cause": {
        "each": {
          "by": 0,
          "index": 1
        }
      },
      "input": "people",
      "node": "research"
    }
  ]
}"#;

/// The final state.
const EXPECTED: &str = r#"{
  "draft": "",
  "facts": [
    "history (1)",
    "people (1)"
  ],
  "rounds": 0,
  "token": "<secret>",
  "topic": "Rust"
}"#;

/// The recorded effects and answers.
const CASSETTE: &str = r#"{
  "version": 1,
  "recordings": [
    {
      "node": "research",
      "step": 2,
      "item": [
        0,
        0
      ],
      "effect": "search",
      "key": "history",
      "ok": "history (1)"
    },
    {
      "node": "research",
      "step": 2,
      "item": [
        0,
        1
      ],
      "effect": "search",
      "key": "people",
      "ok": "people (1)"
    }
  ]
}"#;
