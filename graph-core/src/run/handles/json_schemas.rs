//! The JSON Schemas of a graph's state, input and output.

use std::string::String;
use std::vec::Vec;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::graph::Graph;
use crate::graph::Program;
use crate::id::NodeName;
use crate::node::schema_of;
use crate::state::{FieldSchema, Lifetime, Schema, bare_name};

/// The names of the reducers that accept the type of their field, in lower case.
const BUILT_IN: [&str; 11] =
    ["", "any", "append", "ephemeral", "keyedlog", "lastvalue", "max", "merge", "min", "sum", "union"];

/// The JSON Schemas of a graph's data; `None` for types without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JsonSchemas {
    /// The schema of the state, as returned by [`AnyState::to_json`](crate::run::AnyState::to_json).
    pub state: Option<Value>,
    /// The schema of the input of a run, as accepted by an [`AnyGraph`](crate::run::AnyGraph).
    pub input: Option<Value>,
    /// The schema of the result of a run: the state, unless the graph [sets another one](Graph::with_json_schemas).
    pub output: Option<Value>,
    /// The schema of the configuration of a run; `None` if no node takes [`Configured`](crate::node::Configured).
    /// Several types are combined by `allOf`.
    pub config: Option<Value>,
}

impl<S, C> Graph<S, C> {
    /// Returns the JSON Schemas of the state, the input and the output. They exist for a state that derives
    /// `schemars::JsonSchema`, and for every graph that is read from a description.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// use schemars::JsonSchema;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::reducer::Append;
    /// # use superstep::state::State;
    /// #[derive(State, Clone, Default, JsonSchema)]
    /// struct Essay {
    ///     topic: String,
    ///     #[reducer(Append)]
    ///     facts: Vec<String>,
    /// }
    /// # let mut g = StateGraph::<Essay>::new("essay");
    /// # let write = g.node("write", || async {});
    /// # g.edge(START, write);
    /// # g.edge(write, END);
    /// # let essays = g.compile().unwrap();
    /// let schemas = essays.erased().json_schemas();
    /// let input = schemas.input.unwrap();
    /// assert_eq!(input["properties"]["facts"]["items"]["type"], "string");
    /// ```
    #[must_use]
    pub fn json_schemas(&self) -> JsonSchemas {
        let schemas = of_program(&self.runtime().program);
        match &self.runtime().json_schemas {
            Some((input, output)) => {
                JsonSchemas { input: input.decode().ok(), output: output.decode().ok(), ..schemas }
            }
            // The fields of a flow are not its input.
            None if self.runtime().read_input.is_some() => {
                JsonSchemas { input: None, output: None, ..schemas }
            }
            None => schemas,
        }
    }

    /// Returns the JSON Schemas of all subgraphs, each with the nodes that lead to it.
    #[must_use]
    pub fn subgraph_json_schemas(&self) -> Vec<(Vec<NodeName>, JsonSchemas)> {
        let mut found = Vec::new();
        add_subgraphs(&self.runtime().program, &[], &mut found);
        found
    }

    /// Sets the types `I` of inputs and `O` of outputs for [`json_schemas`](Self::json_schemas): the types of a
    /// flow, or those into which a program converts the state.
    #[must_use]
    pub fn with_json_schemas<I: JsonSchema, O: JsonSchema>(self) -> Self {
        self.with(|runtime| runtime.json_schemas = Some((schema_of::<I>(), schema_of::<O>())))
    }
}

/// Returns the schemas of a graph whose input and output are its state.
fn of_program(program: &Program) -> JsonSchemas {
    let derived = program.initial.json_schema().and_then(|schema| schema.decode::<Value>().ok());
    let object = |is_input| derived.as_ref().map(|derived| object(derived, &program.schema, is_input));
    let state = object(false);
    let mut configurations = Vec::new();
    program.add_configurations(&mut configurations);
    let mut configurations: Vec<Value> =
        configurations.iter().filter_map(|schema| schema.decode().ok()).collect();
    let config = match configurations.len() {
        0 | 1 => configurations.pop(),
        _ => Some(json!({ "type": "object", "allOf": configurations })),
    };
    JsonSchemas { input: object(true), output: state.clone(), state, config }
}

fn add_subgraphs(program: &Program, above: &[NodeName], found: &mut Vec<(Vec<NodeName>, JsonSchemas)>) {
    for (node, name) in program.nodes.iter().zip(&*program.names) {
        if let Some(subgraph) = &node.subgraph {
            let path = [above, core::slice::from_ref(name)].concat();
            found.push((path.clone(), of_program(subgraph)));
            add_subgraphs(subgraph, &path, found);
        }
    }
}

/// Returns the schema of an object by field name, built from the schema of the state's type.
fn object(derived: &Value, schema: &Schema, is_input: bool) -> Value {
    let stored = schema.fields.iter().filter(|field| field.lifetime != Lifetime::Unstored);
    let properties: Map<String, Value> =
        stored.map(|field| (field.name.clone(), property(derived, field, is_input))).collect();
    let names: Vec<&String> = properties.keys().collect();
    let mut object = json!({ "type": "object", "title": schema.name });
    match is_input {
        true => object["additionalProperties"] = Value::Bool(false),
        false => object["required"] = json!(names),
    }
    object["properties"] = Value::Object(properties);
    if let Some(definitions) = derived.get("$defs") {
        object["$defs"] = definitions.clone();
    }
    object
}

/// Returns the schema of a field; if it is unknown, the schema of any value.
fn property(derived: &Value, field: &FieldSchema, is_input: bool) -> Value {
    // The argument of a user's reducer need not have the type of the field.
    if is_input && !is_built_in(&field.reducer) {
        return Value::Bool(true);
    }
    let mut at = Some(derived);
    for name in field.name.split('.') {
        at = at.map(|at| resolved(derived, at)).and_then(|at| at.get("properties")?.get(name));
    }
    at.cloned().unwrap_or(Value::Bool(true))
}

/// Returns `true` for the name of a reducer of this crate, in the form of derived or described states.
fn is_built_in(reducer: &str) -> bool {
    BUILT_IN.contains(&&*bare_name(reducer))
}

/// Follows a reference to a definition.
fn resolved<'s>(root: &'s Value, at: &'s Value) -> &'s Value {
    let reference = at.get("$ref").and_then(Value::as_str);
    let path = reference.and_then(|reference| reference.strip_prefix('#'));
    path.and_then(|path| root.pointer(path)).unwrap_or(at)
}
