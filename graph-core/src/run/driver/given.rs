//! The outcomes that an edit gives to nodes, which replace their runs.

use std::boxed::Box;

use alloc::string::ToString;

use serde_json::{Value, json};

use crate::error::NodeError;
use crate::graph::{NodeProgram, Program, Selected};
use crate::id::NodeName;
use crate::node::{Done, JsonOutcome, Output};
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{ErasedUpdate, Json, JsonError, JsonState, Logged, LoggedWrite, Misfit, Op, suggestion};

/// A node, with the outcome from an edit.
pub(crate) struct Given {
    pub(crate) node: Selected,
    pub(crate) outcome: Outcome,
}

/// An outcome in the types of the graph, or as JSON.
pub(crate) enum Outcome {
    Typed(Result<Done, NodeError>),
    Json(JsonOutcome),
}

/// Converts an outcome given as JSON into the outcome of a node.
pub(super) fn read(
    program: &Program,
    code: &NodeProgram,
    node: &NodeName,
    outcome: JsonOutcome,
) -> Result<Done, ThreadError> {
    if code.given.is_some() {
        // A node that is described by data takes the JSON unchanged.
        return Ok(Output::<JsonState, _>::routed(outcome).into());
    }
    let JsonOutcome { update, overwrite, route, items } = outcome;
    let update = update_of(program, &update, &overwrite)?;
    let decision = match (&code.router, route) {
        (None, None) => None,
        (Some(router), Some(case)) => {
            let value = match items {
                None => json!(case),
                Some(items) => json!({ &*case: items }),
            };
            let decision = Json::encode(&value).and_then(|value| (router.decode)(&value));
            Some(
                decision
                    .map_err(|error| misfit(Misfit::Json(JsonError::Input { reason: error.to_string() })))?,
            )
        }
        _ => return Err(ThreadError::WrongDecision { node: node.clone() }),
    };
    Ok(Done { update: Some(update), decision, ..Done::default() })
}

fn update_of(
    program: &Program,
    update: &Value,
    overwrite: &Value,
) -> Result<Box<dyn ErasedUpdate>, ThreadError> {
    let update = program.initial.update_from(update).map_err(|error| misfit(Misfit::Json(error)))?;
    let overwritten = overwrite.as_object().filter(|fields| !fields.is_empty());
    let Some(overwritten) = overwritten else { return Ok(update) };
    let mut writes = update.encode().map_err(|error| misfit(Misfit::Codec(error)))?;
    for (name, value) in overwritten {
        let no_field = || JsonError::NoSuchField {
            field: name.clone(),
            meant: suggestion(name, program.schema.fields.iter().map(|field| field.name.as_str())),
        };
        let field = program.schema.find(name).ok_or_else(|| misfit(Misfit::Json(no_field())))?;
        let value = Json::encode(value).map_err(|error| misfit(Misfit::Codec(error)))?;
        writes.push(LoggedWrite { field, write: Logged::Op(Op::Set(value)) });
    }
    program.initial.decode_update(&writes).map_err(|error| misfit(Misfit::Codec(error)))
}

fn misfit(misfit: Misfit) -> ThreadError {
    ThreadError::misfit("the edit", misfit)
}
