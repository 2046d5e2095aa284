extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
#[serde(rename_all = "snakeCase")]
struct Essay {
    #[serde(rename(serialize = "subject"))]
    topic: String,
    #[serde(alias)]
    draft: String,
    #[serde(rename = "")]
    score: f64,
    #[serde(rename = "notes.first")]
    note: String,
}

fn main() {}
