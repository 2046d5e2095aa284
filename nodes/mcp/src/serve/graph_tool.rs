//! A graph as a tool.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use superstep_core::id::{InterruptId, ThreadId};
use superstep_core::run::{AnyGraph, AnyState, CancellationToken, Graph, Run, RunError, RunRequest, Status};
use superstep_core::state::{IntoInput, Json, State};
use superstep_nodes::tool::{ToolEffect, check_schema, schema_of};

use super::ServeError;
use super::outcome::{Ended, Failed, schema};
use super::progress::Watcher;

/// The suffix of the tool that continues a run, after the name of the tool that begins one.
const RESUME: &str = "_resume";

/// The maximum number of letters of a tool's name, without the suffix.
const MOST_LETTERS: usize = 64 - RESUME.len();

/// The maximum number of bytes of a thread's name that a client gives.
const MOST_OF_THREAD: usize = 200;

/// A graph as a tool of an [`McpService`](super::McpService).
///
/// A call is a run: on a new thread, or on the one that the client names with `thread`, if the graph has a
/// checkpointer. Then there is a second tool, with the suffix `_resume`. It answers the questions of a run, and
/// continues one that failed, was cancelled or has reached its limit.
///
/// A client gets `{ "status": "finished", "thread": .., "output": .. }` or, if the run asks, `"interrupted"` with its
/// `questions`.
///
/// Every client of the tool may name any thread of the graph, and answer its questions. Errors of nodes are passed on
/// unchanged.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::node::Snapshot;
/// # use superstep::state::{State, Update};
/// use superstep_mcp::{GraphTool, McpService};
///
/// # #[derive(State, Clone, Default)]
/// # struct Poem { subject: String, text: String }
/// #[derive(Deserialize, JsonSchema)]
/// struct Subject {
///     /// What the poem is about.
///     subject: String,
/// }
///
/// # let mut g = StateGraph::<Poem>::new("poem");
/// # let write = g.node("write", |poem: Snapshot<Poem>| async move { Poem::update().text(poem.subject.clone()) });
/// # g.edge(START, write);
/// # g.edge(write, END);
/// # let graph = g.compile()?;
/// let write = GraphTool::new(
///     "write_poem",
///     "Writes a poem.",
///     graph,
///     |input: Subject| Poem::update().subject(input.subject),
///     |poem: Poem| poem.text,
/// );
/// let service = McpService::new("poems", "1.0").with(write)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GraphTool {
    pub(super) name: String,
    description: String,
    input: Value,
    output: Map<String, Value>,
    effect: ToolEffect,
    graph: AnyGraph,
    begin: Arc<Begin>,
    result: Arc<Output>,
}

/// Creates the request to run on an input, on this thread or on a new one.
type Begin = dyn Fn(Option<ThreadId>, Value) -> Result<RunRequest<AnyState>, String> + Send + Sync;

/// Creates the output from a final state.
type Output = dyn Fn(AnyState) -> Result<Value, String> + Send + Sync;

/// The work that a client asks for.
pub(super) enum Work {
    /// A run with an input, on this thread or on a new one.
    Begin { thread: Option<ThreadId>, input: Value },
    /// The rest of what a thread has begun.
    Resume { thread: ThreadId, answers: Answers },
}

/// Answers to what a run has asked.
pub(super) enum Answers {
    None,
    Only(Value),
    ById(Map<String, Value>),
}

impl GraphTool {
    /// Makes a tool of a graph. One function makes the graph's input of the tool's, and the other the tool's output of the final
    /// state; the types of both are described to clients.
    pub fn new<S, I, N, O>(
        name: impl Into<String>,
        description: impl Into<String>,
        graph: Graph<S>,
        input: impl Fn(I) -> N + Send + Sync + 'static,
        output: impl Fn(S) -> O + Send + Sync + 'static,
    ) -> Self
    where
        S: State,
        I: DeserializeOwned + JsonSchema + 'static,
        N: IntoInput<S>,
        O: Serialize + JsonSchema,
    {
        let any = graph.erased();
        let begin = move |thread: Option<ThreadId>, given| {
            let given =
                serde_json::from_value(given).map_err(|error| format!("the input does not fit: {error}"))?;
            let input = unless_it_panics(|| input(given), "reads the input")?;
            Ok(match thread {
                Some(thread) => graph.thread(thread).run(input),
                None => graph.run(input),
            }
            .erased())
        };
        let result = move |state: AnyState| {
            let state: S = state.downcast().expect("a run gives the state of its graph");
            let made = unless_it_panics(|| serde_json::to_value(output(state)), "makes the output")?;
            made.map_err(|error| format!("the output has no form in JSON: {error}"))
        };
        Self {
            name: name.into(),
            description: description.into(),
            input: schema_of::<I>(),
            output: schema::<O>(),
            effect: ToolEffect::default(),
            graph: any,
            begin: Arc::new(begin),
            result: Arc::new(result),
        }
    }

    /// Declares what a call does to the world, for clients that trust the server. Without this, a call is taken to change it.
    #[must_use]
    pub fn with_effect(mut self, effect: ToolEffect) -> Self {
        self.effect = effect;
        self
    }

    /// The name of the tool that continues runs, if their threads are kept.
    pub(super) fn resume_name(&self) -> Option<String> {
        self.keeps().then(|| format!("{}{RESUME}", self.name))
    }

    /// Returns `true` if there is a store that keeps its threads.
    fn keeps(&self) -> bool {
        self.graph.saver().is_some()
    }

    /// Carries out a request of a client.
    pub(super) fn run(
        &self,
        work: Work,
        cancel: CancellationToken,
        watcher: Watcher,
    ) -> BoxFuture<'static, Result<Ended, Failed>> {
        let (keeps, result) = (self.keeps(), Arc::clone(&self.result));
        let request = self.request(work);
        Box::pin(async move {
            let request = request.map_err(|reason| Failed { thread: None, reason })?;
            let thread = watcher.thread();
            match request.cancel_on(cancel).observe(watcher).await {
                Ok(run) => ended(run, keeps, &*result),
                Err(error) => {
                    let thread = thread.get().filter(|_| keeps && is_kept(&error)).cloned();
                    Err(Failed { thread, reason: error.to_string() })
                }
            }
        })
    }

    fn request(&self, work: Work) -> Result<RunRequest<AnyState>, String> {
        let (thread, answers) = match work {
            Work::Begin { thread, input } => return (self.begin)(thread, input),
            Work::Resume { thread, answers } => (self.graph.thread(thread), answers),
        };
        Ok(match answers {
            Answers::None => thread.resume(),
            Answers::Only(answer) => thread.answer(&answer),
            Answers::ById(answers) => {
                let answer = |(id, answer): (String, Value)| {
                    let id: InterruptId = id.parse().map_err(|_| format!("`{id}` is no id of a question"))?;
                    Ok((id, Json::encode(&answer).map_err(|error| error.to_string())?))
                };
                thread.answers(answers.into_iter().map(answer).collect::<Result<Vec<_>, String>>()?)
            }
        })
    }

    /// Checks the tool and adds the thread to its input.
    pub(super) fn prepare(&mut self) -> Result<(), ServeError> {
        let name = || self.name.clone();
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=MOST_LETTERS).contains(&self.name.len()) || !self.name.bytes().all(letter) {
            return Err(ServeError::Name { name: name() });
        }
        check_schema(&self.input).map_err(|reason| ServeError::Schema { name: name(), reason })?;
        if !self.keeps() {
            return Ok(());
        }
        if self.input["properties"].get("thread").is_some() {
            return Err(ServeError::ThreadField { name: name() });
        }
        let thread = json!({
            "type": "string",
            "description": "The thread that this is said on, with what was said there before. A new one, if it is left out.",
            "maxLength": MOST_OF_THREAD,
        });
        self.input["properties"]["thread"] = thread;
        Ok(())
    }

    /// Returns the descriptions of its tools for clients.
    pub(super) fn listed(&self) -> Vec<Listed> {
        let with = |name: &str, description: &str, input: &Value| {
            let input = input.as_object().cloned().unwrap_or_default();
            Listed::new(name.to_owned(), description.to_owned(), Arc::new(input))
                .with_raw_output_schema(Arc::new(self.output.clone()))
                .with_annotations(self.hints())
        };
        let mut listed = vec![with(&self.name, &self.description, &self.input)];
        if let Some(resume) = self.resume_name() {
            let description = format!(
                "Goes on with what `{}` has begun: answers what it asked, or tries once more what failed or was stopped.",
                self.name
            );
            listed.push(with(&resume, &description, &resume_input()));
        }
        listed
    }

    fn hints(&self) -> ToolAnnotations {
        let hints = ToolAnnotations::new();
        match self.effect {
            ToolEffect::ReadOnly => hints.read_only(true),
            ToolEffect::Idempotent => hints.read_only(false).idempotent(true),
            // `Changes`, and any effect added later.
            _ => hints.read_only(false),
        }
    }

    /// The work that an input of the first tool asks for.
    pub(super) fn begin(&self, mut input: Map<String, Value>) -> Result<Work, String> {
        let thread = match self.keeps() {
            true => input.remove("thread").map(thread_of).transpose()?,
            false => None,
        };
        Ok(Work::Begin { thread, input: Value::Object(input) })
    }

    /// The work that an input of the second tool asks for.
    pub(super) fn resume(&self, mut input: Map<String, Value>) -> Result<Work, String> {
        let thread =
            thread_of(input.remove("thread").ok_or("the input does not fit: \"thread\" is missing")?)?;
        let answers = match (input.remove("answer"), input.remove("answers")) {
            (None, None) => Answers::None,
            (Some(answer), None) => Answers::Only(answer),
            (None, Some(Value::Object(answers))) => Answers::ById(answers),
            (None, Some(_)) => return Err("the input does not fit: \"answers\" is no object".to_owned()),
            (Some(_), Some(_)) => {
                return Err("the input does not fit: it has both \"answer\" and \"answers\"".to_owned());
            }
        };
        match input.keys().next() {
            Some(other) => Err(format!("the input does not fit: there is nothing called {other:?}")),
            None => Ok(Work::Resume { thread, answers }),
        }
    }
}

fn thread_of(named: Value) -> Result<ThreadId, String> {
    let Some(thread) = named.as_str().filter(|thread| (1..=MOST_OF_THREAD).contains(&thread.len())) else {
        return Err(format!("the input does not fit: \"thread\" is no text of 1 to {MOST_OF_THREAD} bytes"));
    };
    Ok(thread.into())
}

fn resume_input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "thread": { "type": "string", "description": "The thread, as the result named it.", "maxLength": MOST_OF_THREAD },
            "answer": { "description": "The answer, where one question is open." },
            "answers": {
                "type": "object",
                "description": "The answers by the ids of their questions, where several are open.",
            },
        },
        "required": ["thread"],
        "additionalProperties": false,
    })
}

/// Calls a function of the program and catches a panic, which would leave the client without an answer.
fn unless_it_panics<T>(function: impl FnOnce() -> T, does: &str) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|_| format!("the function that {does} has panicked"))
}

/// Returns true if the run can be continued from what was stored.
const fn is_kept(error: &RunError) -> bool {
    matches!(error, RunError::Node(_) | RunError::StepTimedOut { .. })
}

fn ended(run: Run<AnyState>, keeps: bool, result: &Output) -> Result<Ended, Failed> {
    let Run { thread, status, state, .. } = run;
    let thread = keeps.then_some(thread);
    let output = match &status {
        Status::Finished => Some(
            result(Arc::unwrap_or_clone(state))
                .map_err(|reason| Failed { thread: thread.clone(), reason })?,
        ),
        _ => None,
    };
    Ok(Ended { thread, status, output })
}

impl fmt::Debug for GraphTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphTool").field("name", &self.name).finish_non_exhaustive()
    }
}
