//! Step 5 of thread "rust" of graph "essay" ends as recorded, from its input on.
//! Written by `superstep test` for rust@5.

use superstep::testing::{self, Cassette};

#[tokio::test]
async fn rust_at_5() -> Result<(), Box<dyn std::error::Error>> {
    // Fill in: the graph, compiled and with its context. Its effects do not run, and it needs no checkpointer.
    let graph = super::graph();

    let cassette = Cassette::parse(CASSETTE)?;
    testing::turn(&graph)
        .after_step(-1)
        .state(STATE)
        .input(BEGIN)
        // .secret("token", r#""its value, as JSON""#)
        .cassette(&cassette)
        .supersteps(6)
        .comes_to(EXPECTED)
        .leads_to(["review"])
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
    },
    {
      "node": "write",
      "step": 3,
      "effect": "$uuid",
      "ok": "01941f29-7c00-7000-8000-0006cbbeaa11"
    },
    {
      "node": "write",
      "step": 3,
      "effect": "draft",
      "ok": "Rust (1)"
    },
    {
      "node": "review",
      "step": 4,
      "asks": "1",
      "question": "Rust (1): history (1), people (1) 01941f29-7c00-7000-8000-0006cbbeaa11",
      "answer": "bad"
    },
    {
      "node": "write",
      "step": 5,
      "effect": "$uuid",
      "ok": "01941f29-7c00-7000-8000-000a88795369"
    },
    {
      "node": "write",
      "step": 5,
      "effect": "draft",
      "ok": "Rust (2)"
    }
  ]
}"#;
