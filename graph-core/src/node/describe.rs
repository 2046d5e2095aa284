//! The description of a node at registration: the schemas that storage and checks need.

use alloc::string::String;
use alloc::vec::Vec;
use core::any::type_name;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::configured::ConfigurationDescription;
use super::effect::{EffectAnswer, EffectQuestion};
use super::input::Item;
use crate::state::{CodecError, FieldId, Json};

/// The description of a node: its input, its questions and the fields that it writes.
#[derive(Clone, Debug, Default)]
pub struct NodeDescription {
    pub(crate) input: Option<InputDescription>,
    pub(crate) asks: Vec<AskDescription>,
    pub(crate) writes: Vec<FieldId>,
    /// The types of its `Configured<T>` arguments.
    pub(crate) configured: Vec<ConfigurationDescription>,
    pub(crate) uses_effects: bool,
    /// `true` if the node blocks its thread.
    pub(crate) blocks: bool,
    /// `true` if the node takes `Failed`, which only error handlers may.
    pub(crate) takes_failure: bool,
}

/// The decoder of a task's item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputDescription {
    pub(crate) type_name: &'static str,
    pub(crate) decode: fn(&Json) -> Result<Item, CodecError>,
}

/// The schemas of the questions and answers of one `Ask` argument.
#[derive(Clone, Debug)]
pub(crate) struct AskDescription {
    pub(crate) position: usize,
    pub(crate) question: Json,
    pub(crate) answer: Json,
    pub(crate) check: fn(&Json) -> Result<(), CodecError>,
}

impl NodeDescription {
    /// Declares a field that the node writes in every run, so that `compile()` can detect conflicts.
    pub fn writes_field(&mut self, field: FieldId) {
        self.writes.push(field);
    }

    /// Declares the type of the node's [`Input`](super::Input).
    pub(crate) fn takes<T>(&mut self)
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        self.input = Some(InputDescription { type_name: type_name::<T>(), decode: Item::decode::<T> });
    }

    /// Declares an `Ask<Q, A>` argument.
    pub(crate) fn asks<Q, A>(&mut self, position: usize)
    where
        Q: JsonSchema,
        A: JsonSchema + DeserializeOwned,
    {
        self.asks.push(AskDescription {
            position,
            question: schema_of::<Q>(),
            answer: schema_of::<A>(),
            check: |answer| answer.decode::<A>().map(drop),
        });
    }

    /// Returns the JSON Schemas of the node's asks, as pairs of question and answer.
    pub(crate) fn schemas(&self) -> Vec<(Json, Json)> {
        self.asks.iter().map(|ask| (ask.question.clone(), ask.answer.clone())).collect()
    }

    /// Declares that the node blocks its thread.
    #[cfg(feature = "tokio")]
    pub(crate) fn blocks(&mut self) {
        self.blocks = true;
    }

    /// Returns `true` if the node could block its thread forever.
    pub(crate) fn blocks_for_ever(&self) -> bool {
        self.blocks && (!self.asks.is_empty() || self.uses_effects)
    }

    /// Declares that the node takes a node's failure.
    pub(crate) fn takes_failure(&mut self) {
        self.takes_failure = true;
    }

    /// Declares that the node runs effects, so that a replay re-executes it.
    pub(crate) fn uses_effects(&mut self) {
        self.uses_effects = true;
    }
}

/// Describes the question about an effect of unknown outcome, which every node with effects may ask.
pub(crate) fn effect_ask() -> AskDescription {
    let mut node = NodeDescription::default();
    node.asks::<EffectQuestion, EffectAnswer>(0);
    node.asks.swap_remove(0)
}

/// Returns the JSON Schema of a type.
pub(crate) fn schema_of<T: JsonSchema>() -> Json {
    Json::encode(&schemars::schema_for!(T)).expect("a JSON Schema is JSON")
}

/// Returns the name of a type without its path, for messages.
pub(crate) fn short_type_name(full: &str) -> String {
    let mut short = String::new();
    let mut segment = String::new();
    for letter in full.chars() {
        if letter.is_alphanumeric() || letter == '_' {
            segment.push(letter);
        } else if letter == ':' {
            segment.clear();
        } else {
            short.push_str(&segment);
            segment.clear();
            short.push(letter);
        }
    }
    short.push_str(&segment);
    short
}
