extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::state::State;

#[derive(State, Clone, Default, Serialize, Deserialize)]
#[serde(rename = "essay")]
struct Essay {
    #[serde(skip_serializing_if = "String::is_empty")]
    topic: String,
    #[serde(with = "text")]
    draft: String,
    #[serde(skip)]
    score: f64,
}

mod text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        text.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer)
    }
}

fn main() {}
