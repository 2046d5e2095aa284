extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    #[serde(rename = "topic")]
    subject: String,
    #[serde(alias = "text")]
    draft: String,
    #[serde(alias = "text")]
    essay: String,
    #[serde(alias = "score")]
    score: f64,
}

fn main() {}
