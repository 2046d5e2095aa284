//! Step 9 of thread "visit" of graph "replies" ends as recorded, from its next tasks on.
//! Written by `superstep test` for visit@9.

use superstep::testing::{self, Cassette};

#[tokio::test]
async fn visit_at_9() -> Result<(), Box<dyn std::error::Error>> {
    // Fill in: the graph, compiled and with its context. Its effects do not run, and it needs no checkpointer.
    let graph = crate::museum::replies(true).compile()?;

    let cassette = Cassette::parse(CASSETTE)?;
    testing::turn(&graph)
        .after_step(8)
        .state(STATE)
        .next(BEGIN)
        .cassette(&cassette)
        .supersteps(1)
        .comes_to(EXPECTED)
        .leads_to(["write"])
        .await?;
    Ok(())
}

/// The initial state.
const STATE: &str = r#"{
  "answer": "The museum is open every day, from 10 to 18 (on Thursdays until 21). Entry costs 12 euros, 6 euros for students with a card, and nothing on the first Sunday of a month. Tram 28 stops at the door, and bus 201 two streets away, behind the market.",
  "facts": [
    {
      "condition": "except Mondays",
      "id": "hours",
      "text": "The museum is open every day except Mondays, from 10 to 18 (on Thursdays until 21)."
    },
    {
      "condition": null,
      "id": "entry",
      "text": "Entry costs 12 euros (in cash), 6 euros for students with a card, and nothing on the first Sunday of a month."
    },
    {
      "condition": null,
      "id": "way",
      "text": "Tram 28 stops at the door, too, and bus 201 two streets away, behind the market."
    }
  ],
  "question": "When can I visit the museum?",
  "score": 3
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
      "node": "evaluate"
    }
  ]
}"#;

/// The final state.
const EXPECTED: &str = r#"{
  "answer": "The museum is open every day, from 10 to 18 (on Thursdays until 21). Entry costs 12 euros, 6 euros for students with a card, and nothing on the first Sunday of a month. Tram 28 stops at the door, and bus 201 two streets away, behind the market.",
  "facts": [
    {
      "condition": "except Mondays",
      "id": "hours",
      "text": "The museum is open every day except Mondays, from 10 to 18 (on Thursdays until 21)."
    },
    {
      "condition": null,
      "id": "entry",
      "text": "Entry costs 12 euros (in cash), 6 euros for students with a card, and nothing on the first Sunday of a month."
    },
    {
      "condition": null,
      "id": "way",
      "text": "Tram 28 stops at the door, too, and bus 201 two streets away, behind the market."
    }
  ],
  "keep": [
    "except Mondays"
  ],
  "question": "When can I visit the museum?",
  "score": 0
}"#;

/// The recorded effects and answers.
const CASSETTE: &str = r#"{
  "version": 1,
  "recordings": []
}"#;
