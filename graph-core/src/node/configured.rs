//! The extractor of a run's configuration.

use core::any::type_name;
use core::ops::Deref;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::describe::{NodeDescription, schema_of};
use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::checkpoint::CONFIGURATION;
use crate::state::{CodecError, Json, State};

/// Extracts the configuration of the run, as a `T`: settings that each run may choose, such as the name of a model.
/// Values of the program, such as a client, are a part of its context: see [`Dep`](super::Dep).
///
/// [`RunRequest::configure`](crate::run::RunRequest::configure) sets the configuration, a JSON object. Without one it
/// is the empty object, so give each member that a run may leave out a default, with `#[serde(default)]`. A run
/// whose configuration does not fit the type of one of its nodes, also in a subgraph, does not start. Nodes may take
/// different types, each with the members that it needs.
///
/// The configuration is stored with the checkpoints of the run, and a run that continues the thread without an input
/// of its own has the same one unless it sets another. Do not put secrets into it.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// # use serde_json::{Map, json};
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::node::Configured;
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default)]
/// # struct Essay {
/// #     text: String,
/// # }
/// #[derive(Deserialize, JsonSchema)]
/// struct Style {
///     #[serde(default = "plain")]
///     tone: String,
/// }
/// # fn plain() -> String {
/// #     "plain".into()
/// # }
///
/// async fn write(style: Configured<Style>) -> Update<Essay> {
///     Essay::update().set_text(format!("in a {} tone", style.tone))
/// }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let mut g = StateGraph::<Essay>::new("essay");
/// # let write = g.node("write", write);
/// # g.edge(START, write);
/// # g.edge(write, END);
/// # let essays = g.compile().unwrap();
///
/// let configuration = Map::from_iter([("tone".into(), json!("solemn"))]);
/// let run = essays.run(Essay::update()).configure(configuration).await.unwrap();
/// assert_eq!(run.state.text, "in a solemn tone");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Configured<T>(pub T);

impl<T> Deref for Configured<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<S, C, T> FromTask<S, C> for Configured<T>
where
    S: State,
    T: DeserializeOwned + JsonSchema + Send + 'static,
{
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        let configuration = task.cell().run.metadata.get(CONFIGURATION);
        let value = configuration.map_or_else(|| nothing().decode(), Json::decode);
        Self(value.expect("a configuration is checked before its run starts"))
    }

    fn describe(node: &mut NodeDescription, _position: usize) {
        node.configured.push(ConfigurationDescription {
            type_name: type_name::<T>(),
            schema: schema_of::<T>(),
            check: |configuration| configuration.decode::<T>().map(drop),
        });
    }
}

/// The type of a `Configured<T>` argument.
#[derive(Clone, Debug)]
pub(crate) struct ConfigurationDescription {
    pub(crate) type_name: &'static str,
    pub(crate) schema: Json,
    check: fn(&Json) -> Result<(), CodecError>,
}

impl NodeDescription {
    /// Checks the configuration of a run, or the absence of one. An error names the type that it does not fit.
    pub(crate) fn check_configuration(
        &self,
        configuration: Option<&Json>,
    ) -> Result<(), (&'static str, CodecError)> {
        self.configured.iter().try_for_each(|described| {
            let checked = configuration.map_or_else(|| (described.check)(&nothing()), described.check);
            checked.map_err(|error| (described.type_name, error))
        })
    }

    /// Returns the schemas of the configuration.
    pub(crate) fn configurations(&self) -> impl Iterator<Item = &Json> {
        self.configured.iter().map(|described| &described.schema)
    }
}

/// Returns the configuration of a run without one.
fn nothing() -> Json {
    Json::encode(&serde_json::Map::new()).expect("an empty object has a JSON form")
}
