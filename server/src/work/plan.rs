//! The work of a run: what its request does to the thread first, and the requests to the engine that follow.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::Source;
use superstep_core::graph::EveryNode;
use superstep_core::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep_core::records::RunRow;
use superstep_core::run::{AnyGraph, AnyState, Past, RunError, RunRequest, Thread, ThreadError};
use superstep_core::state::{CodecError, Json};

use super::outcome::Failed;
use super::rollback::branched;
use crate::wire::checkpoint::CheckpointRef;
use crate::wire::request::{Action, Command, Goto, Kwargs, Nodes};
use crate::wire::{ids, values};

/// The entry in the metadata of a checkpoint that names the run of the server.
pub(crate) const RUN_ID: &str = "run_id";

/// A request to the engine.
#[derive(Debug)]
pub(super) enum Step {
    /// Run on an input.
    Input(Value),
    /// Continue.
    Resume,
    /// Answer questions and continue. Answers to questions that are not open are left out.
    Answer(Vec<(InterruptId, Json)>),
    /// Answer the only open question and continue.
    AnswerOnly(Value),
}

/// The stored request of a run.
pub(super) struct Request<'r> {
    pub(super) row: &'r RunRow,
    kwargs: Kwargs,
    /// The questions that were open when the request was accepted, if nothing was running then.
    asked: Option<Vec<InterruptId>>,
}

/// The member of a stored request that is not the client's: see [`Request::asked`].
pub(crate) const ASKED: &str = "superstep.asked";

impl<'r> Request<'r> {
    pub(super) fn new(row: &'r RunRow) -> Result<Self, Failed> {
        let invalid = |error: CodecError| Failed::new("ValueError", error.to_string());
        let stored: Value = row.kwargs.decode().map_err(invalid)?;
        let asked = stored.get(ASKED).and_then(Value::as_array);
        let asked = asked.map(|ids| ids.iter().filter_map(|id| id.as_str()?.parse().ok()).collect());
        Ok(Self { row, kwargs: row.kwargs.decode().map_err(invalid)?, asked })
    }

    /// Returns `true` if the events of the run are stored.
    pub(super) fn is_resumable(&self) -> bool {
        self.kwargs.resumable
    }

    fn incoming(&self, value: &Value, graph: &AnyGraph) -> Value {
        values::incoming(value, &graph.description().schema, &self.row.id)
    }

    /// Returns the entries in the metadata of the run's checkpoints.
    pub(super) fn metadata(&self) -> BTreeMap<String, Json> {
        let row = self.row;
        let encoded = |value: &Value| Json::encode(value).expect("a value has a JSON form");
        let mut all: Map<String, Value> = row.metadata.clone();
        for (name, value) in [
            (RUN_ID, row.id.as_str()),
            ("thread_id", row.thread.as_str()),
            ("graph_id", row.graph.as_str()),
            ("assistant_id", &row.assistant),
        ] {
            all.insert(name.to_owned(), json!(value));
        }
        all.iter().map(|(name, value)| (name.clone(), encoded(value))).collect()
    }

    fn configuration(&self) -> Map<String, Value> {
        let mut configuration = self.kwargs.config.configurable.clone();
        configuration.extend(self.kwargs.context.clone());
        configuration
    }

    /// Returns `true` if the request may change the thread before the engine runs.
    #[cfg(feature = "restate")]
    pub(super) fn edits(&self) -> bool {
        let is_edit = |command: &Command| command.update.is_some() || !command.goto.is_empty();
        self.kwargs.checkpoint.is_some() || self.kwargs.command.as_ref().is_some_and(is_edit)
    }

    /// Returns the run as the handler `drive` of Restate takes it.
    #[cfg(feature = "restate")]
    pub(super) fn order(&self, steps: Vec<Step>) -> Value {
        let nodes = |nodes: &Option<Nodes>| match nodes {
            Some(Nodes::All(_)) => vec!["*".to_owned()],
            Some(Nodes::Named(nodes)) => nodes.clone(),
            None => Vec::new(),
        };
        json!({
            "begins": steps.into_iter().map(Step::begin).collect::<Vec<_>>(),
            "options": {
                "metadata": self.metadata(),
                "configuration": self.configuration(),
                "recursion_limit": self.kwargs.config.recursion_limit,
                "interrupt_before": nodes(&self.kwargs.interrupt_before),
                "interrupt_after": nodes(&self.kwargs.interrupt_after),
            },
        })
    }

    /// Adds the options of the run to a request to the engine.
    pub(super) fn options(&self, mut request: RunRequest<AnyState>) -> RunRequest<AnyState> {
        for (name, value) in self.metadata() {
            request = request.metadata(name, &value);
        }
        let configuration = self.configuration();
        if !configuration.is_empty() {
            request = request.configure(configuration);
        }
        if let Some(limit) = self.kwargs.config.recursion_limit {
            request = request.recursion_limit(limit);
        }
        request = match &self.kwargs.interrupt_before {
            Some(Nodes::All(_)) => request.interrupt_before(EveryNode),
            Some(Nodes::Named(nodes)) => request.interrupt_before(nodes.clone()),
            None => request,
        };
        match &self.kwargs.interrupt_after {
            Some(Nodes::All(_)) => request.interrupt_after(EveryNode),
            Some(Nodes::Named(nodes)) => request.interrupt_after(nodes.clone()),
            None => request,
        }
    }

    /// Returns the checkpoint from which the run begins, if it names one, and the namespace of a subgraph.
    fn checkpoint(&self) -> Result<Option<(CheckpointId, &str)>, Failed> {
        let Some(CheckpointRef { namespace, id: Some(id) }) = &self.kwargs.checkpoint else {
            return Ok(None);
        };
        let id = id.parse().map_err(|_| Failed::new("ValueError", format!("{id} is not a checkpoint id")))?;
        Ok(Some((id, namespace)))
    }
}

/// Changes the thread as the request asks, unless an earlier attempt did, and returns the requests to the engine.
pub(super) async fn plan(
    request: &Request<'_>,
    graph: &AnyGraph,
    thread: &Thread<AnyState>,
) -> Result<Vec<Step>, Failed> {
    if request.row.attempt == 1
        && request.kwargs.checkpoint.is_none()
        && let Action::Input(input) = request.kwargs.action()
    {
        // The engine reads the thread itself.
        return Ok(vec![Step::Input(request.incoming(input, graph))]);
    }
    let mut head = head(thread).await?;
    let begun =
        if request.row.attempt > 1 { head.as_ref().filter(|head| is_of(head, request.row)) } else { None };
    let is_edited = begun.is_some_and(is_edit);
    if begun.is_some() && !is_edited {
        return Ok(vec![Step::Resume]);
    }
    if !is_edited && let Some((id, namespace)) = request.checkpoint()? {
        head = Some(fork(request, thread, head, id, namespace).await?);
    }
    let is_fork = request.checkpoint()?.is_some() && head.as_ref().is_some_and(is_edit);
    match request.kwargs.action() {
        Action::Command(command) => commanded(request, graph, thread, head, command, is_fork).await,
        Action::Input(input) => Ok(vec![Step::Input(request.incoming(input, graph))]),
        Action::Continue if head.is_none() => {
            let message = "the thread has never run; give the run an input".to_owned();
            Err(Failed::new("EmptyInputError", message))
        }
        Action::Continue => Ok(vec![Step::Resume]),
    }
}

async fn head(thread: &Thread<AnyState>) -> Result<Option<Past<AnyState>>, Failed> {
    match thread.head().await {
        Ok(head) => Ok(Some(head)),
        Err(ThreadError::NeverRan(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns `true` for a checkpoint that an attempt of the run wrote.
fn is_of(checkpoint: &Past<AnyState>, run: &RunRow) -> bool {
    let written = checkpoint.loaded().checkpoint.metadata.get(RUN_ID);
    written.and_then(|id| id.decode::<String>().ok()).is_some_and(|id| id == run.id)
}

/// Returns `true` for a copy or an edit, with which the request of a run may begin.
fn is_edit(checkpoint: &Past<AnyState>) -> bool {
    matches!(checkpoint.source(), Source::Fork | Source::Update)
}

/// Takes the thread to the checkpoint that the request names.
async fn fork(
    request: &Request<'_>,
    thread: &Thread<AnyState>,
    head: Option<Past<AnyState>>,
    id: CheckpointId,
    namespace: &str,
) -> Result<Past<AnyState>, Failed> {
    let tasks = ids::tasks_of(namespace);
    if tasks.is_empty() {
        match head {
            Some(head) if head.id() == id => return Ok(head),
            _ => {
                let past = thread.at(id).await?;
                let tip = head.map_or(id, |head| head.id());
                branched(&past, tip, request.metadata()).await?;
            }
        }
    } else {
        let below = subgraph(thread.id(), &tasks)?;
        let head = head.ok_or_else(|| ThreadError::NeverRan(thread.id().clone()))?;
        head.branch_below(&below, id).await?;
    }
    Ok(thread.head().await?)
}

/// Returns the thread of a subgraph, from the tasks that lead to it.
fn subgraph(thread: &ThreadId, tasks: &[String]) -> Result<ThreadId, Failed> {
    tasks.iter().try_fold(thread.clone(), |thread, task| {
        let task = task.parse().map_err(|_| Failed::new("ValueError", format!("{task} is not a task id")))?;
        Ok(thread.below(task))
    })
}

/// Carries out the edits of a command, and returns the requests for the rest.
async fn commanded(
    request: &Request<'_>,
    graph: &AnyGraph,
    thread: &Thread<AnyState>,
    head: Option<Past<AnyState>>,
    command: &Command,
    is_fork: bool,
) -> Result<Vec<Step>, Failed> {
    let update = command.update.as_ref().map(|update| request.incoming(&pairs(update), graph));
    let nodes = goto(&command.goto)?;
    let Some(head) = head else {
        return match update {
            Some(update) if nodes.is_empty() => Ok(vec![Step::Input(update)]),
            _ => Err(Failed::new("ValueError", "the thread has never run; give the run an input".to_owned())),
        };
    };
    let mut answers = answers(command.resume.as_ref(), request, &head);
    // An edit of an earlier attempt is not repeated: its checkpoint has the metadata of the run.
    let is_done = request.row.attempt > 1 && is_of(&head, request.row) && !is_fork;
    if (update.is_some() || !nodes.is_empty()) && !is_done {
        thread.go_to(update, nodes, request.metadata()).await?;
        let after = thread.head().await?;
        answers = answers.map(|answers| moved(answers, &head, &after));
    }
    Ok(match answers {
        None => vec![Step::Resume],
        Some(answer) if is_fork => vec![Step::Resume, answer],
        Some(answer) => vec![answer],
    })
}

/// Returns an update of a command as an object: LangGraph's clients may send a list of pairs.
fn pairs(update: &Value) -> Value {
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([Value::String(name), value]) => Some((name.clone(), value.clone())),
        _ => None,
    };
    let object = update.as_array().and_then(|all| all.iter().map(pair).collect::<Option<Map<_, _>>>());
    object.map_or_else(|| update.clone(), Value::Object)
}

fn goto(targets: &[Goto]) -> Result<Vec<(NodeName, Option<Json>)>, Failed> {
    let one = |target: &Goto| {
        let input = target.input.as_ref().map(Json::encode).transpose();
        let input = input.map_err(|error| Failed::new("ValueError", error.to_string()))?;
        Ok((NodeName::from(target.node.as_str()), input))
    };
    targets.iter().map(one).collect()
}

/// Returns the answers of a command: a map of question ids, or the answer to the only question.
fn answers(resume: Option<&Value>, request: &Request<'_>, head: &Past<AnyState>) -> Option<Step> {
    let resume = resume?;
    if let Some(answers) = by_id(resume) {
        return Some(Step::Answer(answers));
    }
    // A question that was asked later is not answered by a repeated attempt.
    let Some(asked) = &request.asked else { return Some(Step::AnswerOnly(resume.clone())) };
    let open = head.interrupts();
    let answer = Json::encode(resume).expect("a value has a JSON form");
    let open = open.iter().map(|ask| ask.id).find(|id| asked.contains(id));
    Some(Step::Answer(open.map(|id| (id, answer)).into_iter().collect()))
}

/// Returns a map whose members are all named like questions.
pub(crate) fn by_id(resume: &Value) -> Option<Vec<(InterruptId, Json)>> {
    let answers = resume.as_object().filter(|answers| !answers.is_empty())?;
    let answer = |(id, answer): (&String, &Value)| {
        let id = ids::hexadecimal(id).parse().ok()?;
        Some((id, Json::encode(answer).ok()?))
    };
    answers.iter().map(answer).collect()
}

/// Returns the answers for the same questions after an edit, which gives them other ids.
fn moved(step: Step, before: &Past<AnyState>, after: &Past<AnyState>) -> Step {
    let Step::Answer(answers) = step else { return step };
    let (before, after) = (before.interrupts(), after.interrupts());
    let answers = answers.into_iter().filter_map(|(id, answer)| {
        let old = before.iter().find(|ask| ask.id == id)?;
        let same =
            after.iter().find(|ask| ask.node == old.node && ask.path == old.path && ask.key == old.key)?;
        Some((same.id, answer))
    });
    Step::Answer(answers.collect())
}

impl Step {
    /// Returns the step as the handler `drive` of Restate takes it.
    #[cfg(feature = "restate")]
    fn begin(self) -> Value {
        match self {
            Self::Input(input) => json!({ "input": input }),
            Self::Resume => json!("resume"),
            Self::AnswerOnly(answer) => json!({ "answer_if_asked": answer }),
            Self::Answer(answers) => {
                json!({ "answers_if_open": answers.into_iter().collect::<BTreeMap<_, _>>() })
            }
        }
    }

    /// Returns the request to the engine; `None` if there is nothing to do.
    pub(super) async fn request(self, thread: &Thread<AnyState>) -> Result<RunRequest<AnyState>, RunError> {
        Ok(match self {
            Self::Input(input) => thread.run(input),
            Self::Resume => thread.resume(),
            Self::AnswerOnly(answer) if !thread.head().await?.interrupts().is_empty() => {
                thread.answer(answer)
            }
            Self::AnswerOnly(_) => thread.resume(),
            Self::Answer(answers) => {
                let open = thread.head().await?.interrupts();
                let is_open = |id: &InterruptId| open.iter().any(|ask| ask.id == *id);
                let answers: Vec<_> = answers.into_iter().filter(|(id, _)| is_open(id)).collect();
                if answers.is_empty() { thread.resume() } else { thread.answers(answers) }
            }
        })
    }
}
