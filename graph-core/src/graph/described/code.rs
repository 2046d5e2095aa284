//! The code of a described node: a registered function whose result is checked against the description.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::any::{Any, TypeId};

use serde_json::Value;

use super::cases::{CaseError, Cases, Chosen};
use crate::checkpoint::RouteRecord;
use crate::error::BoxError;
use crate::graph::program::{Branch, GivenOutcome, Router};
use crate::node::{Code, Done, JsonOutcome};
use crate::state::{ErasedState, FieldId, Json, JsonFields, JsonState, JsonUpdate, JsonWrite, StateUpdate};

/// The decision that a registered function may return: none, or that of its [`JsonOutcome`].
#[diagnostic::on_unimplemented(
    message = "a function of a described graph cannot decide by returning `{Self}`",
    label = "a described graph names its cases",
    note = "return a `JsonOutcome`, a `serde_json::Value`, a `JsonUpdate`, `()`, or a `Result` of those"
)]
pub trait JsonDecision: sealed::Sealed {}

impl JsonDecision for () {}
impl JsonDecision for JsonOutcome {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for super::JsonOutcome {}
}

/// The allowed results of a function: the fields that it may write, and the cases that it may choose.
#[derive(Clone)]
pub(super) struct Outcome {
    pub(super) fields: Arc<JsonFields>,
    pub(super) cases: Option<Arc<Cases>>,
}

/// Returns the function with a check of its result.
pub(super) fn checked(code: Code, outcome: Outcome) -> Code {
    Code::new(move |task| {
        let state = Arc::clone(&task.state);
        let running = code.start(task);
        let outcome = outcome.clone();
        Box::pin(async move {
            let done = running.await?;
            Ok(outcome.check(done, &state)?)
        })
    })
}

/// Returns the check of an outcome that replaces a run.
pub(super) fn given(outcome: Outcome) -> GivenOutcome {
    GivenOutcome {
        fits: |route| route.is::<()>() || route.is::<JsonOutcome>(),
        check: Arc::new(move |done, state| outcome.check(done, state)),
    }
}

impl Outcome {
    fn check(&self, mut done: Done, state: &Arc<dyn ErasedState>) -> Result<Done, BoxError> {
        let outcome = done.decision.take().and_then(|route| route.downcast::<JsonOutcome>().ok());
        let (case, gave) = match outcome {
            None => (None, None),
            Some(outcome) => {
                let overwrite = self.fields.overwrite(&outcome.overwrite)?;
                let update = self.fields.update(&outcome.update)?.and(overwrite);
                done.update = (!update.writes().is_empty()).then(|| Box::new(update) as Box<_>);
                (outcome.route, outcome.items)
            }
        };
        match (case, &self.cases) {
            (None, None) => {}
            (None, Some(cases)) => return Err(CaseError::NoneChosen { cases: cases.names() }.into()),
            (Some(case), None) => return Err(CaseError::NoCases { case }.into()),
            (Some(case), Some(cases)) => {
                let chosen = cases.choose(case, gave, typed(&**state), own_writes(&done))?;
                done.decision = Some(Box::new(chosen));
            }
        }
        Ok(done)
    }
}

/// Returns the writes of a node, which its own decision sees, as branches do.
fn own_writes(done: &Done) -> &[JsonWrite] {
    let Some(update) = &done.update else { return &[] };
    let update: &dyn Any = &**update;
    update.downcast_ref::<JsonUpdate>().expect("the update of a JSON state").writes()
}

fn typed(state: &dyn ErasedState) -> &JsonState {
    let state: &dyn Any = state;
    state.downcast_ref().expect("the driver owns the state of this graph")
}

/// Returns the router that maps a node's decision to its targets.
pub(super) fn router(graph: u32, cases: Arc<Cases>) -> Router {
    Router {
        decides: TypeId::of::<Chosen>(),
        encode: |route| {
            let chosen = route.downcast_ref::<Chosen>().expect("the decision of a checked function");
            Ok(RouteRecord { case: chosen.case.clone(), value: Json::encode(chosen)? })
        },
        decode: |json| Ok(Box::new(json.decode::<Chosen>()?)),
        map: Arc::new(move |route| {
            let chosen = route.downcast::<Chosen>().expect("the decision of a checked function");
            cases.targets(graph, *chosen)
        }),
    }
}

/// A decision registered under a name.
pub(super) type Decide = Arc<dyn Fn(&JsonState) -> String + Send + Sync>;

/// The value on which a branch decides.
pub(super) enum Basis {
    /// The value of a field.
    Field(FieldId),
    /// A registered function.
    Function(Decide),
}

/// Returns the branch that maps the state to targets.
pub(super) fn branch(graph: u32, basis: Basis, cases: Cases) -> Branch {
    Branch {
        decide: Arc::new(move |state| {
            let state = typed(state);
            let case = match &basis {
                Basis::Function(decide) => decide(state),
                Basis::Field(field) => {
                    let name = &state.fields().schema().field(*field).name;
                    match &state[name.as_str()] {
                        Value::String(text) => text.clone(),
                        value => alloc::format!("{value}"),
                    }
                }
            };
            let chosen = cases.choose(case, None, state, &[])?;
            cases.targets(graph, chosen)
        }),
    }
}
