//! The routes that write, or run a graph. They exist only if a program lends its graphs.
//!
//! Edits, forks and names are verbs of the command line, on the program's own file. Runs are those of the server: they
//! are stored before the response, survive the end of the process, and any process can cancel them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value, json};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::records::RunRow;
use superstep_core::run::RunError;

use crate::guard;
use crate::scope::Scope;
use crate::service::BUSY;
use crate::wire::Failure;
use crate::wire::members::Members;
use crate::wire::request::RunCreate;

use super::refused::Refused;
use super::{Program, Studio, read};

type Reply = Result<Response, Refused>;

/// The number of steps in which the answer of another client is looked for.
const RECENT: &str = "-n=64";

async fn body_of(studio: &Studio, headers: &HeaderMap, body: Body) -> Result<Value, Refused> {
    Ok(guard::read_json(headers, body, studio.limits()).await?)
}

/// Returns the document of a verb.
async fn document(
    studio: &Studio,
    verb: &'static str,
    options: Vec<String>,
    arguments: Vec<String>,
) -> Result<String, Refused> {
    let answer = studio
        .blocking(move |documents| documents.answer(verb, options, arguments.iter().map(String::as_str)));
    answer.await
}

/// Finds the checkpoint at an address.
async fn place(studio: &Studio, address: &str) -> Result<(ThreadId, CheckpointId), Refused> {
    let address = address.to_owned();
    studio.blocking(move |documents| documents.place(&address)).await
}

/// Returns the options of an edit.
fn edit_options(body: &Value) -> Result<Vec<String>, Failure> {
    let members = Members::of(body)?;
    let mut options = Vec::new();
    for (position, set) in members.list("set")?.into_iter().flatten().enumerate() {
        let path = set.get("path").and_then(Value::as_str);
        let (Some(path), Some(value)) = (path, set.get("value")) else {
            return Err(members.invalid(&format!("set[{position}]"), "an object with a path and a value"));
        };
        options.push(format!("--set={path}={value}"));
    }
    for (member, option) in [("name", "--name"), ("as", "--as"), ("case", "--case")] {
        options.extend(members.text(member)?.map(|text| format!("{option}={text}")));
    }
    if members.flag("force", false)? {
        options.push("--force".to_owned());
    }
    Ok(options)
}

/// Shows what an edit would change.
pub(super) async fn preview(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let checkpoint = Members::of(&body)?.required("checkpoint")?.to_owned();
    let mut options = edit_options(&body)?;
    options.push("--dry-run".to_owned());
    let edited = document(&studio, "edit", options, vec![checkpoint]).await?;
    let edited: Value = serde_json::from_str(&edited).map_err(Refused::of)?;
    // The document of `diff`: the new checkpoint has no id yet.
    let (from, state) = (&edited["from"], &edited["state"]);
    Ok(guard::json(200, &json!({ "from": from, "to": from, "state": state, "effects": [] })))
}

/// Stores an edit.
pub(super) async fn edit(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let members = Members::of(&body)?;
    let (checkpoint, options) = (members.required("checkpoint")?, edit_options(&body)?);
    changed(&studio, "edit", options, checkpoint).await
}

/// Begins a branch, or a thread.
pub(super) async fn fork(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let members = Members::of(&body)?;
    let name = members.text("name")?.map(|name| format!("--name={name}"));
    changed(&studio, "fork", name.into_iter().collect(), members.required("checkpoint")?).await
}

/// Names a checkpoint.
pub(super) async fn name(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let members = Members::of(&body)?;
    let (checkpoint, name) = (members.required("checkpoint")?, members.required("name")?);
    let named = document(&studio, "name", Vec::new(), vec![checkpoint.into(), name.into()]);
    Ok(read::document(named.await?))
}

/// Carries out a verb that changes the latest checkpoint of a thread, unless a run is working on it, or that begins a
/// thread of its own.
async fn changed(studio: &Studio, verb: &'static str, options: Vec<String>, checkpoint: &str) -> Reply {
    let (thread, _) = place(studio, checkpoint).await?;
    let above = std::iter::successors(thread.above(), ThreadId::above).last();
    let thread = above.unwrap_or(thread);
    let service = &studio.program()?.service;
    let is_elsewhere = options.iter().any(|option| option.starts_with("--name="));
    if !is_elsewhere && service.is_busy(&thread).await? {
        return Err(Failure::conflict(format!(
            "a run is working on thread {thread}: cancel it, or wait for its end"
        ))
        .into());
    }
    let stored = document(studio, verb, options, vec![checkpoint.to_owned()]).await?;
    service.note_change(&thread).await?;
    Ok(read::document(stored))
}

/// Answers questions, and continues the thread.
pub(super) async fn answer(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let members = Members::of(&body)?;
    let thread = members.required("thread")?;
    let answers = members.object_or_empty("answers")?;
    if answers.is_empty() {
        return Err(members.missing("answers").into());
    }
    let program = studio.program()?;
    let graph = graph_of(&studio, program, thread).await?;
    let head = program.service.head(thread).await?;
    for (id, answer) in &answers {
        let path = format!("answers.{id}");
        let Ok(question) = id.parse() else {
            return Err(Refused::from(Failure::invalid(format!("{id} is not the id of a question"))).at(path));
        };
        if head.interrupts().iter().all(|asked| asked.id != question) {
            return Err(answered_before(&studio, thread, id).await?.at(path));
        }
        let answer = superstep_core::state::Json::encode(answer).map_err(Refused::of)?;
        if let Err(error) = head.check_answer(question, &answer) {
            let place = match &error {
                RunError::WrongAnswer { reason, .. } => reason.mismatch().map(|misfit| misfit.path.clone()),
                _ => None,
            };
            let path = path + &place.map(|place| joined(&place)).unwrap_or_default();
            return Err(Refused::from(Failure::invalid(error.to_string())).at(path));
        }
    }
    let command = json!({ "resume": answers });
    let run = json!({ "assistant_id": graph, "command": command, "strict_resume": true });
    accepted(program, thread, run).await
}

/// Returns a path after another one: `.a`, or `[0]`.
fn joined(place: &str) -> String {
    match place.is_empty() || place.starts_with('[') {
        true => place.to_owned(),
        false => format!(".{place}"),
    }
}

/// Returns the error for a question that is not open, with the answer that it got.
async fn answered_before(studio: &Studio, thread: &str, id: &str) -> Result<Refused, Refused> {
    let log = document(studio, "log", vec![RECENT.to_owned()], vec![thread.to_owned()]).await?;
    let log: Value = serde_json::from_str(&log).map_err(Refused::of)?;
    let rows = log["checkpoints"].as_array().cloned().unwrap_or_default();
    let asked = rows.iter().enumerate().find_map(|(row, line)| {
        let question = line["questions"].as_array()?.iter().find(|question| question["id"] == id)?;
        Some((row.checked_sub(1).map(|next| &rows[next]), question))
    });
    let Some((next, question)) = asked else {
        let detail = format!("question {id} is not open on thread {thread}: read its questions again");
        return Ok(Failure::conflict(detail).into());
    };
    let (node, answer) = (question["node"].as_str().unwrap_or_default(), &question["answer"]);
    let by = if question["answered_by"] == "deadline" {
        "its deadline passed, and the default"
    } else {
        "another client was faster"
    };
    let detail = match next {
        Some(next) => {
            let (at, run) =
                (next["at"].as_str().unwrap_or_default(), next["run"].as_str().unwrap_or_default());
            format!("question {id} of {node} was answered before: {by}: {answer}, before {at}, in run {run}")
        }
        None => format!("question {id} of {node} was answered before: {by}: {answer}; its run is not over"),
    };
    let mut answered = Map::from_iter([("answer".to_owned(), answer.clone())]);
    for name in ["at", "run"] {
        answered.extend(next.map(|next| (name.to_owned(), next[name].clone())));
    }
    Ok(Refused::from(Failure::conflict(detail)).with("answered", answered))
}

/// Runs a thread on an input.
pub(super) async fn run(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let members = Members::of(&body)?;
    let thread = members.required("thread")?;
    let input = members.any("input").cloned().unwrap_or_else(|| json!({}));
    let program = studio.program()?;
    let graph = match (members.text("graph")?, &*program.graphs) {
        (Some(graph), _) => graph.to_owned(),
        (None, [only]) => only.name().to_string(),
        (None, _) => graph_of(&studio, program, thread).await.map_err(|refused| {
            refused.told(404, || format!("thread {thread} is new: say with `graph` which graph runs on it"))
        })?,
    };
    let run = json!({ "assistant_id": graph, "input": input, "if_not_exists": "create" });
    accepted(program, thread, run).await
}

/// Continues a thread.
pub(super) async fn resume(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let thread = Members::of(&body)?.required("thread")?;
    let program = studio.program()?;
    let graph = graph_of(&studio, program, thread).await?;
    let head = program.service.head(thread).await?;
    if head.next().is_empty() {
        let detail = format!("thread {thread} has finished: nothing is next on it");
        return Err(Failure::conflict(detail).into());
    }
    accepted(program, thread, json!({ "assistant_id": graph, "input": null })).await
}

/// Runs again from a checkpoint, on a new branch.
pub(super) async fn rerun(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let checkpoint = Members::of(&body)?.required("checkpoint")?;
    let program = studio.program()?;
    let (thread, id) = place(&studio, checkpoint).await?;
    let graph = graph_of(&studio, program, thread.as_str()).await?;
    let mut run = json!({ "assistant_id": graph, "input": null });
    match program.service.head(thread.as_str()).await?.id() == id {
        // A run from the head would use its unfinished work.
        true => drop(changed(&studio, "fork", Vec::new(), checkpoint).await?),
        false => run["checkpoint"] = json!({ "checkpoint_id": id.to_string() }),
    }
    accepted(program, thread.as_str(), run).await
}

/// Replays the steps that led to a checkpoint.
pub(super) async fn replay(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let members = Members::of(&body)?;
    let (checkpoint, after) = (members.required("checkpoint")?.to_owned(), members.text("after")?);
    let (after, graphs) = (after.map(str::to_owned), studio.program()?.graphs.clone());
    let documents = Arc::clone(&studio.0.documents);
    let runtime = tokio::runtime::Handle::current();
    // Reading the file blocks.
    let replay = move || runtime.block_on(documents.replay(&graphs, &checkpoint, after.as_deref()));
    let replayed = tokio::task::spawn_blocking(replay).await.map_err(Refused::of)?;
    Ok(read::document(replayed?))
}

/// Cancels the runs of a thread.
pub(super) async fn cancel(State(studio): State<Studio>, headers: HeaderMap, body: Body) -> Reply {
    let body = body_of(&studio, &headers, body).await?;
    let thread = Members::of(&body)?.required("thread")?;
    let program = studio.program()?;
    let cancelled = program.service.cancel_thread(thread).await;
    cancelled.map_err(|failure| {
        Refused::from(failure).told(404, || {
            format!(
                "nothing runs on thread {thread} that can be cancelled here: a run that its program began itself is \
                 cancelled there"
            )
        })
    })?;
    Ok(guard::json(202, &json!({})))
}

/// Returns the name of the graph of a thread.
async fn graph_of(studio: &Studio, program: &Program, thread: &str) -> Result<String, Refused> {
    // The error for a thread that does not exist is that of the command line.
    let (found, _) = place(studio, &format!("{thread}~0")).await?;
    if found.is_below() {
        let detail = format!("{thread} is the thread of a subgraph: name the thread above it");
        return Err(Failure::invalid(detail).into());
    }
    let graph = program.service.graph_name(thread).await?;
    graph.ok_or_else(|| {
        let names: Vec<&str> = program.graphs.iter().map(|graph| graph.name().as_str()).collect();
        let detail = format!(
            "thread {thread} belongs to a graph that the program was not given; it has {}",
            names.join(", ")
        );
        Failure::invalid(detail).into()
    })
}

/// Accepts a run on a thread on which no other one is working.
async fn accepted(program: &Program, thread: &str, mut run: Value) -> Reply {
    run["multitask_strategy"] = json!("reject");
    let created = program.service.create_run(&Scope::default(), Some(thread), RunCreate::read(&run)?).await;
    let RunRow { id, .. } = created.map_err(|failure| {
        let is_busy = failure.detail == BUSY;
        let refused = Refused::from(failure);
        match is_busy {
            true => refused.told(409, || {
                format!("another run is working on thread {thread}: nothing was stored; wait for its end, or cancel it")
            }),
            false => refused,
        }
    })?;
    Ok(guard::json(202, &json!({ "run": id })))
}
