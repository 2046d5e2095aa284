//! A recording of a cassette, and the place at which it was made.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::checkpoint::EffectOutcome;
use crate::id::NodeName;
use crate::state::{Json, SecretTexts};

/// The recorded response of the outside world at one place of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// The tasks that lead there, from the graph at the top down; the last one is the node's own task.
    pub(crate) place: Vec<Level>,
    pub(crate) what: What,
    /// The number of earlier recordings in the task with the same name and key.
    pub(crate) occurrence: u32,
}

/// The properties by which a task is found again in another run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level {
    pub(crate) node: NodeName,
    pub(crate) step: i64,
    /// For an item of `each`: the position of the task that sent it, and the item's index.
    pub(crate) each: Option<(u32, u32)>,
}

/// The content of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// An effect, or a value drawn by `now`, `uuid` or `random`.
    Effect { name: String, key: String, outcome: EffectOutcome },
    /// An answered question.
    Answer { key: String, question: Json, answer: Json },
}

/// The properties that several recordings share if they differ only in their order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Title {
    pub(super) nodes: Vec<NodeName>,
    /// The name of the effect; `None` for a question.
    pub(super) effect: Option<String>,
    pub(super) key: String,
}

/// One part of a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Step(i64),
    Item(Option<(u32, u32)>),
    Occurrence(u32),
}

impl Title {
    /// Returns the same title without secrets in its key.
    pub(super) fn without(self, secrets: &SecretTexts) -> Self {
        Self { key: secrets.hide_text(&self.key), ..self }
    }
}

impl Recording {
    pub(super) fn title(&self) -> Title {
        let nodes = nodes(&self.place);
        match &self.what {
            What::Effect { name, key, .. } => Title { nodes, effect: Some(name.clone()), key: key.clone() },
            What::Answer { key, .. } => Title { nodes, effect: None, key: key.clone() },
        }
    }

    /// Returns the name within its task.
    pub(crate) fn name(&self) -> String {
        let Title { effect, key, .. } = self.title();
        match (effect, key.as_str()) {
            (None, key) => alloc::format!("question {key:?}"),
            (Some(effect), "") => alloc::format!("effect {effect:?}"),
            (Some(effect), key) => alloc::format!("effect {effect:?} with key {key:?}"),
        }
    }

    pub(super) fn marks(&self) -> Vec<Mark> {
        marks(&self.place, self.occurrence)
    }

    /// Returns the place in a readable form.
    pub(super) fn at(&self) -> At<'_> {
        At { place: &self.place, occurrence: self.occurrence }
    }
}

pub(super) fn nodes(place: &[Level]) -> Vec<NodeName> {
    place.iter().map(|level| level.node.clone()).collect()
}

pub(super) fn marks(place: &[Level], occurrence: u32) -> Vec<Mark> {
    let levels = place.iter().flat_map(|level| [Mark::Step(level.step), Mark::Item(level.each)]);
    levels.chain([Mark::Occurrence(occurrence)]).collect()
}

/// Displays a place for people: `step 2, item 1, the 3rd`.
pub(super) struct At<'a> {
    pub(super) place: &'a [Level],
    pub(super) occurrence: u32,
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, level) in self.place.iter().enumerate() {
            if depth > 0 {
                f.write_str(", then ")?;
            }
            write!(f, "step {}", level.step)?;
            if let Some((_, index)) = level.each {
                write!(f, ", item {index}")?;
            }
        }
        match self.occurrence {
            0 => Ok(()),
            earlier => write!(f, ", after {earlier} of the same"),
        }
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.effect, self.key.as_str()) {
            (Some(effect), "") => write!(f, "effect {effect:?}")?,
            (Some(effect), key) => write!(f, "effect {effect:?} with key {key:?}")?,
            (None, key) => write!(f, "question {key:?}")?,
        }
        write!(f, " of node {}", Path(&self.nodes))
    }
}

/// Displays a node, after the nodes whose subgraphs lead to it.
pub(super) struct Path<'a>(pub(super) &'a [NodeName]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, node) in self.0.iter().enumerate() {
            if depth > 0 {
                f.write_str("/")?;
            }
            write!(f, "{node}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.title(), self.at())
    }
}
