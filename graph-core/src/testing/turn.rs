//! A test that repeats a recorded part of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::format;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use alloc::boxed::Box;
use alloc::string::ToString;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::cassette::Cassette;
use super::difference::differences;
use super::error::TurnError;
use crate::checkpoint::{Cause, Frontier, NextTask};
use crate::id::START_NAME;
use crate::run::{Graph, NamedWrite, PartialRun, RunError, Runtime, Status};
use crate::state::{
    ErasedState, FieldId, FieldValue, Json, Lifetime, Logged, LoggedWrite, Op, Schema, SecretTexts, State,
    StateForm,
};

/// Runs a recorded part of a run again: see [`TurnTest`].
pub fn turn<S: State>(graph: &Graph<S>) -> TurnTest<S> {
    TurnTest {
        runtime: graph.runtime().clone(),
        state: "{}".into(),
        begin: Begin::Input("[]".into()),
        secrets: BTreeMap::new(),
        cassette: None,
        step: -1,
        supersteps: 1,
        expected: None,
        next: None,
        types: PhantomData,
    }
}

/// A test of some supersteps, from a state to the expected result. Await it to run them.
///
/// `superstep test FILE CHECKPOINT` generates such a test: the state and the input at the start of a turn, the
/// cassette of its outside world, and its result. All of it is JSON, so the test names no type of the program.
#[must_use = "a turn runs when it is awaited"]
pub struct TurnTest<S> {
    runtime: Runtime,
    state: String,
    begin: Begin,
    secrets: BTreeMap<String, String>,
    cassette: Option<Cassette>,
    step: i64,
    supersteps: u64,
    expected: Option<String>,
    next: Option<Vec<String>>,
    types: PhantomData<fn() -> S>,
}

/// The start of a turn.
enum Begin {
    Input(String),
    Next(String),
}

impl<S: State> TurnTest<S> {
    /// Sets the initial state: an object of fields, as JSON. Missing fields, and secret fields with the value
    /// `"<secret>"`, have the values of a new thread.
    pub fn state(mut self, fields: impl Into<String>) -> Self {
        self.state = fields.into();
        self
    }

    /// Sets the input: a list of writes, as JSON, each with its `field`, its `op` and its `value`.
    pub fn input(mut self, writes: impl Into<String>) -> Self {
        self.begin = Begin::Input(writes.into());
        self
    }

    /// Sets the next tasks at the start, instead of an input: a [`Frontier`] as JSON.
    pub fn next(mut self, frontier: impl Into<String>) -> Self {
        self.begin = Begin::Next(frontier.into());
        self
    }

    /// Sets the value of a secret field, as JSON. It replaces the `"<secret>"` that the test has for the field.
    /// Results are compared without secrets: if the text of a secret occurs in another field, the test has `<secret>`
    /// there.
    pub fn secret(mut self, field: impl Into<String>, value: impl Into<String>) -> Self {
        self.secrets.insert(field.into(), value.into());
        self
    }

    /// Sets the cassette for the outside world. All of it must be used.
    pub fn cassette(mut self, cassette: &Cassette) -> Self {
        self.cassette = Some(cassette.clone());
        self
    }

    /// Sets the step of the checkpoint at which the turn starts. The default is −1, as for a new thread.
    pub fn after_step(mut self, step: i64) -> Self {
        self.step = step;
        self
    }

    /// Sets the number of supersteps, in which START counts as one.
    pub fn supersteps(mut self, supersteps: u64) -> Self {
        self.supersteps = supersteps;
        self
    }

    /// Sets the expected final state: an object of fields, as JSON. Missing fields and secret ones are not
    /// compared, and texts of secrets count as `<secret>` everywhere.
    pub fn comes_to(mut self, fields: impl Into<String>) -> Self {
        self.expected = Some(fields.into());
        self
    }

    /// Sets the nodes that are expected to be next at the end, in merge order.
    pub fn leads_to<'n>(mut self, nodes: impl IntoIterator<Item = &'n str>) -> Self {
        self.next = Some(nodes.into_iter().map(ToString::to_string).collect());
        self
    }

    async fn run(self) -> Result<S, TurnError> {
        let Self { mut runtime, state, begin, secrets, cassette, step, supersteps, expected, next, .. } =
            self;
        let program = Arc::clone(&runtime.program);
        let reader = Reader { schema: &program.schema, secrets: &secrets };
        let values = reader.state(&state)?;
        let state = program.initial.load(&program.schema, &program.schema, &values);
        let frontier = match begin {
            Begin::Next(frontier) => parse::<Frontier>("what is next", &frontier)?,
            Begin::Input(writes) => {
                let input = Json::encode(&reader.input(&writes)?).expect("writes have a JSON form");
                let start = NextTask { node: START_NAME.into(), cause: Cause::Input, input: Some(input) };
                Frontier { tasks: std::vec![start], ..Frontier::default() }
            }
        };
        let state = state.map_err(|error| TurnError::unreadable("the state", &error))?;
        let mut hidden = reader.given()?;
        reader.learn(&mut hidden, &*state)?;
        if let Some(cassette) = &cassette {
            cassette.deck.hide(&hidden);
            runtime.deck = Some(Arc::clone(&cassette.deck));
        }
        let partial = PartialRun { runtime, state, frontier, step, observers: Vec::new() };
        let ended = partial.run(supersteps).await?;
        let taken = u64::try_from(ended.head.checkpoint.step - ended.begun.checkpoint.step).unwrap_or(0);
        let status = ended.status?;
        if taken < supersteps {
            return Err(TurnError::Short { supersteps, taken, status: Box::new(status) });
        }
        if let Some(expected) = expected {
            reader.learn(&mut hidden, &*ended.state)?;
            if let Some(cassette) = &cassette {
                hidden.learn_all(&cassette.deck.secrets());
            }
            reader.compare(&expected, &*ended.state, &hidden)?;
        }
        let led: Vec<String> = ended.head.checkpoint.frontier.nodes().map(ToString::to_string).collect();
        if let Some(expected) = next.filter(|expected| *expected != led) {
            return Err(TurnError::LeadsElsewhere { expected, led });
        }
        if let Some(cassette) = &cassette {
            cassette.finish()?;
        }
        Ok(Arc::unwrap_or_clone(S::read(ended.state, &program.schema)))
    }
}

/// A reader of the values in a test, which refer to fields by name.
struct Reader<'a> {
    schema: &'a Schema,
    secrets: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn field(&self, name: &str) -> Result<FieldId, TurnError> {
        self.schema.find(name).ok_or_else(|| {
            let names: Vec<&str> = self.schema.fields.iter().map(|field| field.name.as_str()).collect();
            TurnError::NoField {
                field: name.into(),
                state: self.schema.name.clone(),
                fields: names.join(", "),
            }
        })
    }

    /// Returns the value of a field; `None` for a secret that the test does not provide.
    fn value(&self, name: &str, field: FieldId, value: Json) -> Result<Option<Json>, TurnError> {
        if !is_hidden(&value) {
            return Ok(Some(value));
        }
        match self.secrets.get(name) {
            Some(secret) => parse(&format!("the secret {name}"), secret).map(Some),
            None if self.schema.field(field).secret => Ok(None),
            None => Ok(Some(value)),
        }
    }

    /// Returns the texts in the secrets that the test provides.
    fn given(&self) -> Result<SecretTexts, TurnError> {
        let mut texts = SecretTexts::default();
        for (name, value) in self.secrets {
            texts.learn(&parse(&format!("the secret {name}"), value)?);
        }
        Ok(texts)
    }

    /// Adds the texts of the secret fields of a state.
    fn learn(&self, texts: &mut SecretTexts, state: &dyn ErasedState) -> Result<(), TurnError> {
        for id in self.schema.ids() {
            let field = self.schema.field(id);
            if field.secret && field.lifetime != Lifetime::Unstored {
                let value = state.encode_field(id);
                texts.learn(&value.map_err(|error| TurnError::unreadable(&field.name, &error))?);
            }
        }
        Ok(())
    }

    fn state(&self, text: &str) -> Result<Vec<FieldValue>, TurnError> {
        let mut values = Vec::new();
        for (name, value) in parse::<BTreeMap<String, Json>>("the state", text)? {
            let field = self.field(&name)?;
            values.extend(self.value(&name, field, value)?.map(|value| FieldValue { field, value }));
        }
        Ok(values)
    }

    fn input(&self, text: &str) -> Result<Vec<LoggedWrite>, TurnError> {
        let mut writes = Vec::new();
        for NamedWrite { field: name, op, value } in parse::<Vec<NamedWrite>>("the input", text)? {
            let field = self.field(&name)?;
            if let Some(value) = self.value(&name, field, value)? {
                let write = logged(&op, value).ok_or_else(|| TurnError::NoOp { field: name, op })?;
                writes.push(LoggedWrite { field, write });
            }
        }
        Ok(writes)
    }

    fn compare(
        &self,
        expected: &str,
        state: &dyn ErasedState,
        secrets: &SecretTexts,
    ) -> Result<(), TurnError> {
        let mut expected: Map<String, Value> = parse("the expected state", expected)?;
        let mut found = Map::new();
        let mut hidden = Vec::new();
        for id in self.schema.ids() {
            let field = self.schema.field(id);
            if field.secret || field.lifetime == Lifetime::Unstored {
                hidden.push(field.name.as_str());
            } else if expected.contains_key(&field.name) {
                let value = state.encode_field(id).and_then(|value| value.decode::<Value>());
                let mut value = value.map_err(|error| TurnError::unreadable(&field.name, &error))?;
                secrets.hide_value(&mut value);
                found.insert(field.name.clone(), value);
            }
        }
        expected.retain(|name, _| !hidden.contains(&name.as_str()));
        expected.values_mut().for_each(|value| secrets.hide_value(value));
        let differences = differences(&Value::Object(expected), &Value::Object(found));
        if differences.is_empty() { Ok(()) } else { Err(TurnError::Differs { differences }) }
    }
}

/// Creates a write from the name of its operation.
fn logged(op: &str, value: Json) -> Option<Logged> {
    Some(Logged::Op(match op {
        "reduce" => return Some(Logged::Reduce(value)),
        "set" => Op::Set(value),
        "extend" => Op::Extend(value),
        "map_put" => Op::MapPut(value),
        "map_remove" => Op::MapRemove(value),
        "set_add" => Op::SetAdd(value),
        "set_remove" => Op::SetRemove(value),
        "keyed" => Op::Keyed(value),
        _ => return None,
    }))
}

/// Returns `true` if a value of a test is the placeholder of a secret.
fn is_hidden(value: &Json) -> bool {
    value.decode().is_ok_and(|value: Value| value == SecretTexts::HIDDEN)
}

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, TurnError> {
    serde_json::from_str(text).map_err(|error| TurnError::unreadable(what, &error))
}

impl<S: State> IntoFuture for TurnTest<S> {
    type Output = Result<S, TurnError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// Returns an error if the result differs from the expected one, if a node fails, if a recording is missing or
    /// unused, or if the test's values do not fit the graph.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<S> fmt::Debug for TurnTest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnTest").field("supersteps", &self.supersteps).finish_non_exhaustive()
    }
}

impl From<RunError> for TurnError {
    fn from(error: RunError) -> Self {
        Self::Run { error: Box::new(error) }
    }
}

impl TurnError {
    fn unreadable(what: &str, error: &dyn fmt::Display) -> Self {
        Self::Unreadable { what: what.into(), reason: error.to_string() }
    }
}

/// Displays the status of a run that ended too early.
pub(super) struct EndedBy<'s>(pub(super) &'s Status);

impl fmt::Display for EndedBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Status::Finished => f.write_str("nothing is next"),
            Status::Interrupted { interrupts } => {
                f.write_str("it asks")?;
                interrupts.iter().try_for_each(|ask| write!(f, " {} (node {})", ask.question, ask.node))
            }
            Status::LimitReached { limit } => write!(f, "its limit of {limit} supersteps is reached"),
            other => write!(f, "it stopped: {other:?}"),
        }
    }
}
