//! The derive and attribute macros of [Superstep](https://docs.rs/superstep). Add `superstep` to a program,
//! not this crate: it re-exports every macro beside the trait it implements.
//!
//! Each macro reads in four steps, one file each: `ast` is what was written, `attr` parses the attributes,
//! `valid` refuses what cannot work, `expand` writes the code, and `fallback` keeps a refused item from
//! causing errors elsewhere.
#![forbid(unsafe_code)]

mod errors;
mod from_ref;
mod node;
mod route;
mod source;
mod state;
mod tool;

use proc_macro::TokenStream;

/// Implements `State` for a struct with named fields, and makes its update type.
///
/// For `struct Essay { topic: String, #[reducer(Append)] facts: Vec<String> }` it makes
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
/// Setters and handles are as visible as their field. The struct needs `Clone` and `Default`; the initial state
/// is the default one. Stored fields are `Serialize + DeserializeOwned`. Type parameters get the bounds that a
/// state needs: `Clone + Send + Sync + 'static`, and those of serde if a stored field mentions them.
///
/// | attribute of a field | meaning |
/// |---|---|
/// | `#[reducer(Type)]` | the type folds the writes; without it two writes in one superstep are an error |
/// | `#[state(secret)]` | values are not shown in logs, traces and exports |
/// | `#[state(transient)]` | kept in memory only, at its initial value after a resume; needs no serde |
/// | `#[state(flatten)]` | embeds another state: its fields are stored one by one as `field.inner`, with their own reducers; the setter takes its update, and `Essay::FIELD` turns its handles into handles of this state with `within` |
/// | `#[serde(rename = "..")]` | the stored name |
/// | `#[serde(alias = "..")]` | a former stored name, under which older checkpoints may hold the field |
/// | `#[serde(default)]`, `#[serde(bound = ..)]` | accepted, without effect on what is stored |
/// | `#[serde(skip)]` and its kin | on transient fields only, for a struct that is also serialised as a whole |
///
/// | attribute of the struct | meaning |
/// |---|---|
/// | `#[serde(rename_all = "..")]` | the case of the stored names |
/// | `#[serde(default, deny_unknown_fields, bound = .., crate = ..)]` | accepted, without effect on what is stored |
/// | `#[state(version = 2)]` | the version of the type, which is stored with its schema; 1 without it |
/// | `#[state(version = 2, migrate = from_v1)]` | the function that makes this state of that of an older version, a state type of its own, which may migrate from a still older one: `fn(EssayV1) -> Essay`, or `-> Result<Essay, E>` |
/// | `#[state(crate = path)]` | where Superstep is, when it is not `::superstep` |
///
/// Every other attribute of serde is refused, because a state is stored field by field and it would silently
/// do nothing. Two fields that would need one setter, constant or stored name are refused, too.
#[proc_macro_derive(State, attributes(reducer, state, serde))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    state::derive(input.into()).into()
}

/// Implements `Route` for an enum, so that a node can return it and `graph.route` can match on it.
///
/// The enum must be `Serialize + DeserializeOwned`: decisions are stored. Each variant is a case. So that a
/// graph can be checked and drawn before it runs, there is one example of each: its payload is filled with
/// `Default`, or given.
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[route(example = value)]` | a payload field | the example of this field |
/// | `#[route(example = value)]` | a variant | the example of the whole case |
/// | `#[route(crate = path)]` | the enum | where Superstep is, when it is not `::superstep` |
#[proc_macro_derive(Route, attributes(route, serde))]
pub fn derive_route(input: TokenStream) -> TokenStream {
    route::derive(input.into()).into()
}

/// Implements `FromRef` for a graph's context, so that nodes can take its parts as `Dep<Part>`.
///
/// A node may take the type of each field, and the context itself; all of them are cloned. Two fields of one
/// type are refused: give one of them a newtype, or leave it out.
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[from_ref(skip)]` | a field | nodes cannot take it by its type |
/// | `#[from_ref(crate = path)]` | the struct | where Superstep is, when it is not `::superstep` |
#[proc_macro_derive(FromRef, attributes(from_ref))]
pub fn derive_from_ref(input: TokenStream) -> TokenStream {
    from_ref::derive(input.into()).into()
}

/// Checks the signature of a node function, so that a wrong argument or result is pointed at.
///
/// The function is left as it is: the attribute adds nothing but the check, and nodes work without it. What is
/// checked: every argument is an extractor, the result is one that nodes return, and the future is `Send`.
///
/// | argument | meaning |
/// |---|---|
/// | `state = Type` | the graph's state; without it, the `S` of a `Snapshot<S>` or `Update<S>` in the signature, or else any state |
/// | `context = Type` | the graph's context; without it `Dep` arguments are not checked, and other extractors must fit any context |
/// | `crate = path` | where Superstep is, when it is not `::superstep` |
#[proc_macro_attribute]
pub fn node(arguments: TokenStream, item: TokenStream) -> TokenStream {
    node::expand(arguments.into(), item.into()).into()
}

/// Makes a tool of an async function.
///
/// `async fn search(query: String) -> Result<String, E>` becomes `fn search() -> TypedTool<..>`, which is added to a
/// registry with `ToolRegistry::new().with(search())?`. The function's doc comment is what models are told of the tool,
/// and its arguments are the properties of the input: their doc comments describe them, and an `Option` may be left
/// out. A property that the function does not have is refused.
///
/// | argument of the function | meaning |
/// |---|---|
/// | `limit: Option<u32>` | a property of the input; its type is `Deserialize` and `JsonSchema`. Attributes of serde and schemars may stand above it |
/// | `#[input] query: Query` | the whole input, instead of properties |
/// | `#[dep] index: &Index` | something that the tool is made with: the function that makes it takes the `Index` |
/// | `context: &ToolContext` | the circumstances of the call |
///
/// | argument of the attribute | meaning |
/// |---|---|
/// | `read_only` | a call changes nothing: it may be repeated after a crash, and run beside others |
/// | `idempotent` | twice is as good as once: a call may be repeated after a crash |
/// | `concurrent` | calls may run beside others, though they change something |
/// | `name = ".."` | the tool's name, when it is not the function's |
/// | `timeout = Duration::from_secs(30)` | how long a call may take; ten minutes without it |
/// | `max_result_chars = 10_000` | how long a result may be; 50,000 characters without it |
/// | `crate = path` | where `superstep_nodes` is, when it is not `::superstep::nodes` |
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(arguments.into(), item.into()).into()
}
