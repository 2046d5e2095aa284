//! The derive and attribute macros of [Superstep](https://docs.rs/superstep). Programs depend on `superstep`, which
//! re-exports every macro beside the trait it implements, and not on this crate.
//!
//! Each macro works in four steps, one file each: `ast` parses the item, `attr` parses the attributes, `valid`
//! rejects invalid items, and `expand` generates the code. For a rejected item, `fallback` generates stubs, so that
//! the mistake causes no errors elsewhere.
#![forbid(unsafe_code)]

mod errors;
mod from_ref;
mod node;
mod route;
mod source;
mod state;
mod tool;

use proc_macro::TokenStream;

/// Implements `State` for a struct with named fields, and generates its update type.
///
/// For `struct Essay { topic: String, #[reducer(Append)] facts: Vec<String> }` it generates
///
/// ```text
/// Essay::update() -> EssayUpdate           an empty update
/// EssayUpdate::topic(write)                writes a field through its reducer
/// EssayUpdate::set_topic(value)            overwrites it
/// EssayUpdate::clear_facts()               overwrites it with its initial value (fields with a #[reducer])
/// EssayUpdate::and(other)                  these writes, then those
/// Essay::TOPIC: Field<Essay, String>       a handle, for nodes that are generic over the state
/// ```
///
/// Setters and handles have the visibility of their field. The struct must implement `Clone` and `Default`; the
/// initial state is the default value. The types of stored fields must implement `Serialize + DeserializeOwned`.
/// The derive adds the bounds `Clone + Send + Sync + 'static` to type parameters, and serde's bounds to those that
/// a stored field mentions.
///
/// | attribute of a field | meaning |
/// |---|---|
/// | `#[reducer(Type)]` | merges the writes with this reducer; without it, two writes in one superstep are an error |
/// | `#[state(secret)]` | redacts the values in logs, traces and exports |
/// | `#[state(transient)]` | keeps the field in memory only, with its initial value after a resume; needs no serde |
/// | `#[state(flatten)]` | embeds another state: its fields are stored one by one as `field.inner`, with their own reducers; the setter takes an update of the embedded state, and `within` on `Essay::FIELD` converts the embedded state's handles into handles of this state |
/// | `#[serde(rename = "..")]` | sets the stored name |
/// | `#[serde(alias = "..")]` | names a former stored name, which older checkpoints may contain |
/// | `#[serde(default)]`, `#[serde(bound = ..)]` | accepted, without effect on what is stored |
/// | `#[serde(skip)]`, `#[serde(skip_serializing)]`, … | on transient fields only, for structs that are also serialised as a whole |
///
/// | attribute of the struct | meaning |
/// |---|---|
/// | `#[serde(rename_all = "..")]` | sets the case of the stored names |
/// | `#[serde(default, deny_unknown_fields, bound = .., crate = ..)]` | accepted, without effect on what is stored |
/// | `#[state(version = 2)]` | sets the version of the type, which is stored with its schema; the default is 1 |
/// | `#[state(version = 2, migrate = from_v1)]` | names the function that converts the state of an older version into this one: `fn(EssayV1) -> Essay`, or `-> Result<Essay, E>`; the older version is a state type of its own, which may migrate from an even older one |
/// | `#[state(crate = path)]` | the path of Superstep, if it is not `::superstep` |
///
/// Every other serde attribute is a compile error: a state is stored field by field, so the attribute would
/// silently have no effect. Two fields that need the same setter, constant or stored name are an error as well.
#[proc_macro_derive(State, attributes(reducer, state, serde))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    state::derive(input.into()).into()
}

/// Implements `Route` for an enum, so that a node can return it and `graph.route` can match on it.
///
/// The enum must implement `Serialize + DeserializeOwned`, because decisions are stored. Each variant is a case.
/// Checking and drawing a graph need an example of each case before the graph runs: payload fields have their
/// `Default` value unless an attribute gives another one.
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[route(example = value)]` | a payload field | the example of this field |
/// | `#[route(example = value)]` | a variant | the example of the whole case |
/// | `#[route(crate = path)]` | the enum | the path of Superstep, if it is not `::superstep` |
#[proc_macro_derive(Route, attributes(route, serde))]
pub fn derive_route(input: TokenStream) -> TokenStream {
    route::derive(input.into()).into()
}

/// Implements `FromRef` for a graph's context, so that nodes can take its fields as `Dep<Part>`.
///
/// A node can take the type of each field, and the context itself; the value is cloned. Two fields of the same type
/// are an error: wrap one of them in a newtype, or skip it.
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[from_ref(skip)]` | a field | nodes cannot take it by its type |
/// | `#[from_ref(crate = path)]` | the struct | the path of Superstep, if it is not `::superstep` |
#[proc_macro_derive(FromRef, attributes(from_ref))]
pub fn derive_from_ref(input: TokenStream) -> TokenStream {
    from_ref::derive(input.into()).into()
}

/// Checks the signature of a node function, so that compiler errors point at the wrong argument or result.
///
/// The attribute is optional and does not change the function. It checks that every argument is an extractor, that
/// a node can return the result type, and that the future is `Send`.
///
/// | argument | meaning |
/// |---|---|
/// | `state = Type` | the graph's state; by default the `S` of a `Snapshot<S>` or `Update<S>` in the signature, or else any state |
/// | `context = Type` | the graph's context; without it, `Dep` arguments are not checked, and other extractors must work with any context |
/// | `crate = path` | the path of Superstep, if it is not `::superstep` |
#[proc_macro_attribute]
pub fn node(arguments: TokenStream, item: TokenStream) -> TokenStream {
    node::expand(arguments.into(), item.into()).into()
}

/// Turns an async function into a tool.
///
/// `async fn search(query: String) -> Result<String, E>` becomes `fn search() -> TypedTool<..>`, which a program
/// adds to a registry with `ToolRegistry::new().with(search())?`. The function's doc comment is the description
/// that models read. Its arguments are the properties of the input: their doc comments describe the properties, and
/// `Option` makes a property optional. A call with an unknown property is rejected.
///
/// | argument of the function | meaning |
/// |---|---|
/// | `limit: Option<u32>` | a property of the input; its type is `Deserialize` and `JsonSchema`. Attributes of serde and schemars may stand above it |
/// | `#[input] query: Query` | the whole input, instead of single properties |
/// | `#[dep] index: &Index` | a dependency of the tool: the generated function takes the `Index` by value |
/// | `context: &ToolContext` | information about the call |
///
/// | argument of the attribute | meaning |
/// |---|---|
/// | `read_only` | a call changes nothing: it may be repeated after a crash, and run at the same time as other calls |
/// | `idempotent` | repeating a call has no further effect: it may be repeated after a crash |
/// | `concurrent` | calls may run at the same time as others, although they change something |
/// | `name = ".."` | the tool's name, if it is not the function's |
/// | `timeout = Duration::from_secs(30)` | the time limit of a call; the default is ten minutes |
/// | `max_result_chars = 10_000` | the length limit of a result, in characters; the default is 50,000 |
/// | `crate = path` | the path of `superstep_nodes`, if it is not `::superstep::nodes` |
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(arguments.into(), item.into()).into()
}
