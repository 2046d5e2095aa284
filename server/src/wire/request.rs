//! Requests for runs, and what is stored of them with the run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep_core::records::Multitask;

use super::Failure;
use super::checkpoint::CheckpointRef;
use super::members::Members;

/// The members of `config.configurable` that name a checkpoint or the run itself, and are no configuration.
const RESERVED: [&str; 8] = [
    "thread_id",
    "checkpoint_id",
    "checkpoint_ns",
    "checkpoint_map",
    "run_id",
    "graph_id",
    "assistant_id",
    "user_id",
];

/// A request for a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunCreate {
    /// The id of an assistant, or the name of a graph.
    pub(crate) assistant: String,
    /// The request as it is stored with the run.
    pub(crate) kwargs: Kwargs,
    /// Entries for the metadata of the run and its checkpoints.
    pub(crate) metadata: Map<String, Value>,
    /// The treatment of the thread's other runs.
    pub(crate) multitask: Multitask,
    /// `true` to create the thread if it does not exist.
    pub(crate) creates_thread: bool,
    /// `true` to cancel the run when the client of its stream goes away.
    pub(crate) cancels_on_disconnect: bool,
    /// `true` to keep the thread of a run that has a thread of its own.
    pub(crate) keeps_thread: bool,
    /// The delay before the run starts, in seconds.
    pub(crate) after_seconds: f64,
}

/// The stored request of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Kwargs {
    /// The input. `None` continues from the checkpoint.
    pub(crate) input: Option<Value>,
    /// A command, which takes precedence over the input.
    pub(crate) command: Option<Command>,
    /// The configuration.
    pub(crate) config: RunConfig,
    /// The context of the graph.
    pub(crate) context: Map<String, Value>,
    /// The checkpoint to start from; `None` for the head.
    pub(crate) checkpoint: Option<CheckpointRef>,
    /// The streams that the client asked for.
    pub(crate) stream_mode: Vec<StreamMode>,
    /// The nodes to stop before.
    pub(crate) interrupt_before: Option<Nodes>,
    /// The nodes to stop after.
    pub(crate) interrupt_after: Option<Nodes>,
    /// An address that is called when the run has ended.
    pub(crate) webhook: Option<String>,
    /// `true` if the thread is deleted after the run.
    pub(crate) temporary: bool,
    /// `true` to stream the events of subgraphs.
    pub(crate) subgraphs: bool,
    /// `true` to keep the events of the run, so that a client can resume its stream.
    pub(crate) resumable: bool,
    /// The time at which checkpoints have to be stored.
    pub(crate) durability: Durability,
    /// `true` to refuse answers to questions that are not open.
    pub(crate) strict_resume: bool,
}

/// The action that a run starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action<'k> {
    /// A command is carried out.
    Command(&'k Command),
    /// An input is given to the graph.
    Input(&'k Value),
    /// The thread continues from the checkpoint.
    Continue,
}

/// A command to a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Command {
    /// An answer to the open question, or an object of answers by the ids of questions.
    pub(crate) resume: Option<Value>,
    /// An update of the state.
    pub(crate) update: Option<Value>,
    /// The nodes that run next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) goto: Vec<Goto>,
}

/// A node that runs next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Goto {
    /// The node.
    pub(crate) node: String,
    /// Its input, as the item of `each`.
    pub(crate) input: Option<Value>,
}

/// The configuration of a run or an assistant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunConfig {
    /// Labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    /// The largest number of supersteps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recursion_limit: Option<u64>,
    /// Values for the nodes of the graph.
    pub(crate) configurable: Map<String, Value>,
    /// Entries for the metadata of the run.
    pub(crate) metadata: Map<String, Value>,
}

/// Nodes that a request names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Nodes {
    /// These nodes.
    Named(Vec<String>),
    /// All nodes, written `"*"`.
    All(AllNodes),
}

/// The text `"*"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AllNodes {
    /// All nodes.
    #[serde(rename = "*")]
    All,
}

/// A stream of events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamMode {
    /// The state after each superstep.
    Values,
    /// The updates of each task.
    Updates,
    /// Messages so far, as they grow.
    Messages,
    /// Parts of messages with their metadata.
    MessagesTuple,
    /// Events of nodes.
    Custom,
    /// The start and the end of each task.
    Tasks,
    /// The stored checkpoints.
    Checkpoints,
    /// Tasks and checkpoints, with times.
    Debug,
    /// Events of chains, models and tools.
    Events,
}

impl StreamMode {
    /// All modes, with the names that clients use.
    pub(crate) const ALL: [(&'static str, Self); 9] = [
        ("values", Self::Values),
        ("updates", Self::Updates),
        ("messages", Self::Messages),
        ("messages-tuple", Self::MessagesTuple),
        ("custom", Self::Custom),
        ("tasks", Self::Tasks),
        ("checkpoints", Self::Checkpoints),
        ("debug", Self::Debug),
        ("events", Self::Events),
    ];

    /// Reads the name of a mode.
    ///
    /// # Errors
    /// Returns status 422 for an unknown name.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        let known = Self::ALL.iter().find(|(known, _)| *known == name);
        known.map(|(_, mode)| *mode).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            Failure::invalid(format!(
                "stream_mode: {name:?} is not valid; expected one of {}",
                all.join(", ")
            ))
        })
    }
}

/// The time at which checkpoints have to be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// Before the next superstep ends.
    #[default]
    Async,
    /// Before the next superstep starts.
    Sync,
    /// When the run ends.
    Exit,
}

impl RunCreate {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form, and 400 for both `context` and `config.configurable`.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let mut config = RunConfig::read(&members)?;
        let context = members.object_or_empty("context")?;
        let checkpoint = CheckpointRef::of_run(&members, &mut config.configurable)?;
        config.configurable.retain(|name, _| !RESERVED.contains(&name.as_str()));
        if !context.is_empty() && !config.configurable.is_empty() {
            let detail = "Cannot specify both configurable and context. Prefer setting context alone.";
            return Err(Failure::bad_request(detail));
        }
        let metadata = {
            let mut metadata = config.metadata.clone();
            metadata.extend(members.object_or_empty("metadata")?);
            metadata
        };
        let keeps_thread =
            members.choice("on_completion", &[("delete", false), ("keep", true)])?.unwrap_or(false);
        let disconnects = [("continue", false), ("cancel", true)];
        let kwargs = Kwargs {
            input: members.any("input").cloned(),
            command: Command::read(&members)?,
            config,
            context,
            checkpoint,
            stream_mode: stream_modes(&members)?,
            interrupt_before: Nodes::read(&members, "interrupt_before")?,
            interrupt_after: Nodes::read(&members, "interrupt_after")?,
            webhook: members.text("webhook")?.map(str::to_owned),
            temporary: false,
            subgraphs: members.flag("stream_subgraphs", false)?,
            resumable: members.flag("stream_resumable", false)?,
            durability: members
                .choice(
                    "durability",
                    &[("async", Durability::Async), ("sync", Durability::Sync), ("exit", Durability::Exit)],
                )?
                .unwrap_or_default(),
            strict_resume: members.flag("strict_resume", false)?,
        };
        Ok(Self {
            assistant: members.required("assistant_id")?.to_owned(),
            kwargs,
            metadata,
            multitask: multitask(&members, "multitask_strategy")?,
            creates_thread: members
                .choice("if_not_exists", &[("reject", false), ("create", true)])?
                .unwrap_or(false),
            cancels_on_disconnect: members.choice("on_disconnect", &disconnects)?.unwrap_or(false),
            keeps_thread,
            after_seconds: members.number("after_seconds")?.unwrap_or(0.0),
        })
    }

    /// Reads a list of requests.
    ///
    /// # Errors
    /// Returns status 422 for a body that is no list, and the errors of [`read`](Self::read).
    pub(crate) fn read_batch(body: &Value) -> Result<Vec<Self>, Failure> {
        let items = body.as_array().ok_or_else(|| Failure::invalid("the body must be a list of runs"))?;
        items.iter().map(Self::read).collect()
    }

    /// Checks a request for a run without a thread.
    ///
    /// # Errors
    /// Returns status 400 for an answer to a question, which needs a thread.
    pub(crate) fn check_stateless(&self) -> Result<(), Failure> {
        match &self.kwargs.command {
            Some(Command { resume: Some(_), .. }) => {
                Err(Failure::bad_request("You must provide a thread_id when resuming."))
            }
            _ => Ok(()),
        }
    }
}

/// Reads the treatment of a thread's other runs.
pub(super) fn multitask(members: &Members<'_>, name: &str) -> Result<Multitask, Failure> {
    let choices = [
        ("reject", Multitask::Reject),
        ("enqueue", Multitask::Enqueue),
        ("interrupt", Multitask::Interrupt),
        ("rollback", Multitask::Rollback),
    ];
    Ok(members.choice(name, &choices)?.unwrap_or_default())
}

/// Returns the modes that a request names; if it names none, also with an empty list, the values.
fn stream_modes(members: &Members<'_>) -> Result<Vec<StreamMode>, Failure> {
    let names = match members.any("stream_mode") {
        None => Vec::new(),
        Some(Value::String(name)) => vec![name.clone()],
        Some(_) => members.texts("stream_mode")?.unwrap_or_default(),
    };
    if names.is_empty() {
        return Ok(vec![StreamMode::Values]);
    }
    names.iter().map(|name| StreamMode::read(name)).collect()
}

impl Kwargs {
    /// Returns the action that the run starts with.
    pub(crate) fn action(&self) -> Action<'_> {
        match (&self.command, &self.input) {
            (Some(command), _) => Action::Command(command),
            (None, Some(input)) => Action::Input(input),
            (None, None) => Action::Continue,
        }
    }
}

impl RunConfig {
    fn read(members: &Members<'_>) -> Result<Self, Failure> {
        let Some(config) = members.inner("config")? else { return Ok(Self::default()) };
        Ok(Self {
            tags: config.texts("tags")?.unwrap_or_default(),
            recursion_limit: config.whole("recursion_limit")?,
            configurable: config.object_or_empty("configurable")?,
            metadata: config.object_or_empty("metadata")?,
        })
    }
}

impl Command {
    fn read(members: &Members<'_>) -> Result<Option<Self>, Failure> {
        let Some(command) = members.inner("command")? else { return Ok(None) };
        let goto = match command.any("goto") {
            None => Vec::new(),
            Some(Value::Array(targets)) => {
                targets.iter().map(Goto::read).collect::<Option<_>>().unwrap_or_default()
            }
            Some(target) => Goto::read(target).into_iter().collect(),
        };
        if goto.is_empty()
            && command.any("goto").is_some_and(|goto| goto.as_array().is_none_or(|all| !all.is_empty()))
        {
            return Err(
                command.invalid("goto", "expected the name of a node, {node, input}, or a list of them")
            );
        }
        let (resume, update) = (command.any("resume").cloned(), command.any("update").cloned());
        let is_empty = resume.is_none() && update.is_none() && goto.is_empty();
        Ok((!is_empty).then_some(Self { resume, update: update.map(pairs), goto }))
    }
}

/// Returns an update that is a list of `[field, value]` as an object.
fn pairs(update: Value) -> Value {
    let pair = |item: &Value| match item.as_array().map(Vec::as_slice) {
        Some([Value::String(field), value]) => Some((field.clone(), value.clone())),
        _ => None,
    };
    let members = update.as_array().and_then(|items| items.iter().map(pair).collect::<Option<Map<_, _>>>());
    members.map_or(update, Value::Object)
}

impl Goto {
    fn read(target: &Value) -> Option<Self> {
        match target {
            Value::String(node) => Some(Self { node: node.clone(), input: None }),
            Value::Object(send) => {
                let input = send.get("input").filter(|input| !input.is_null()).cloned();
                Some(Self { node: send.get("node")?.as_str()?.to_owned(), input })
            }
            _ => None,
        }
    }
}

impl Nodes {
    fn read(members: &Members<'_>, name: &str) -> Result<Option<Self>, Failure> {
        let names = match members.any(name) {
            None => return Ok(None),
            Some(Value::String(node)) => vec![node.clone()],
            Some(_) => members.texts(name)?.unwrap_or_default(),
        };
        Ok(match names.iter().any(|node| node == "*") {
            true => Some(Self::All(AllNodes::All)),
            false => Some(names).filter(|names| !names.is_empty()).map(Self::Named),
        })
    }
}

/// Returns the configuration of an assistant that was given a context: the same values, for nodes that read the one or
/// the other.
pub(super) fn config_of_context(context: &Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([("configurable".to_owned(), json!(context))])
}

#[cfg(test)]
mod tests;
