//! Named cases and their targets.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::BoxError;
use crate::graph::END;
use crate::graph::handle::{List, Target, Targets};
use crate::graph::topology::{CaseTargets, NodeId};
use crate::node::InputDescription;
use crate::state::{FieldId, Json, JsonState, JsonWrite, suggestion};

/// The cases of one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Cases {
    pub(super) ways: BTreeMap<String, Vec<Way>>,
    /// The targets of all other cases.
    pub(super) otherwise: Option<Vec<Way>>,
}

/// A target of a case.
#[derive(Clone, Debug)]
pub(super) enum Way {
    To(u32),
    /// One task per item of a field, or of the items that the node returns.
    Each {
        node: u32,
        input: InputDescription,
        items: Option<FieldId>,
    },
}

/// A decision in its recorded form: the case, and the items of each of its `each` targets, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Chosen {
    pub(super) case: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) items: Vec<Vec<Value>>,
}

/// An error about a decision that the description does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The node has cases and must choose one.
    #[error("the node chose no case; there are {cases}")]
    NoneChosen {
        /// The cases, by name.
        cases: String,
    },
    /// The node has no cases, but chose one.
    #[error("the node chose the case {case:?}, and its description has no cases")]
    NoCases {
        /// The case.
        case: String,
    },
    /// The description has no such case.
    #[error("there is no case {case:?}; there are {cases}{meant}")]
    Unknown {
        /// The case.
        case: String,
        /// The cases, by name.
        cases: String,
        /// A suggestion of the nearest name, as a question; empty if no name is near.
        meant: String,
    },
    /// The items do not fit the case.
    #[error("the case {case:?}: {reason}")]
    Items {
        /// The case.
        case: String,
        /// The reason.
        reason: String,
    },
}

impl Cases {
    pub(super) fn names(&self) -> String {
        self.ways.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn find(&self, case: &str) -> Result<&[Way], CaseError> {
        self.ways.get(case).or(self.otherwise.as_ref()).map(Vec::as_slice).ok_or_else(|| CaseError::Unknown {
            case: case.to_string(),
            cases: self.names(),
            meant: suggestion(case, self.ways.keys().map(String::as_str)),
        })
    }

    /// Chooses a case. The items come from the fields of `state` after these writes, or from those that the node
    /// `gave`.
    pub(super) fn choose(
        &self,
        case: String,
        gave: Option<Vec<Value>>,
        state: &JsonState,
        writes: &[JsonWrite],
    ) -> Result<Chosen, BoxError> {
        let ways = self.find(&case)?;
        let wrong = |reason: &str| CaseError::Items { case: case.clone(), reason: reason.to_string() };
        let gives = |way: &Way| matches!(way, Way::Each { items: None, .. });
        if gave.is_some() && !ways.iter().any(gives) {
            return Err(wrong("the node gave items, and no `each` of the case takes them").into());
        }
        let mut items = Vec::new();
        for way in ways {
            match way {
                Way::To(_) => {}
                Way::Each { items: None, .. } => {
                    let gave = gave
                        .clone()
                        .ok_or_else(|| wrong("its `each` names no field, and the node gave no items"));
                    items.push(gave?);
                }
                Way::Each { items: Some(field), .. } => match state.field_with(*field, writes) {
                    Value::Array(held) => items.push(held),
                    _ => {
                        let name = &state.fields().schema().field(*field).name;
                        return Err(wrong(&format!("field {name:?} holds no array")).into());
                    }
                },
            }
        }
        Ok(Chosen { case, items })
    }

    /// Returns the targets of a decision.
    pub(super) fn targets(&self, graph: u32, chosen: Chosen) -> Result<Targets, BoxError> {
        let Chosen { case, items } = chosen;
        let mut lists = items.into_iter();
        let mut all = END;
        for way in self.find(&case)? {
            let (node, items) = match way {
                Way::To(node) => (*node, None),
                Way::Each { node, input, .. } => {
                    let list = lists.next().unwrap_or_default();
                    let item = |(index, value): (usize, &Value)| {
                        let item = Json::encode(value).and_then(|json| (input.decode)(&json));
                        item.map_err(|error| error.within(format!("case {case:?}, item {index}")))
                    };
                    (*node, Some(list.iter().enumerate().map(item).collect::<Result<_, _>>()?))
                }
            };
            all = all.and(Targets(List::One(Target { graph, node, items })));
        }
        Ok(all)
    }

    /// Returns the cases in the form that checks and drawings use.
    pub(super) fn described(&self) -> Vec<CaseTargets> {
        let otherwise = self.otherwise.iter().map(|ways| ("else", ways));
        let all = self.ways.iter().map(|(case, ways)| (case.as_str(), ways)).chain(otherwise);
        let target = |way: &Way| match way {
            Way::To(node) => (NodeId(*node), false),
            Way::Each { node, .. } => (NodeId(*node), true),
        };
        all.map(|(case, ways)| CaseTargets {
            case: case.to_string(),
            targets: ways.iter().map(target).collect(),
        })
        .collect()
    }
}
