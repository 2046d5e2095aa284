//! Commands of the thread protocol, and their responses.

use serde_json::{Map, Value, json};

use super::filter::EventFilter;
use crate::wire::Failure;
use crate::wire::members::Members;
use crate::wire::request::RunCreate;
use crate::wire::state_request::{HistoryRequest, StateAt};

/// A command with its number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandRequest {
    /// The number, which the response repeats.
    pub(crate) id: u64,
    /// The command.
    pub(crate) command: Command,
}

/// A command to a thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Starts a run, and creates the thread if it does not exist. On a thread with open questions, the input is the
    /// answer.
    RunStart(Box<RunCreate>),
    /// Answers open questions.
    Respond(Respond),
    /// Subscribes to events. Over HTTP, the stream of events is a request of its own.
    Subscribe(EventFilter),
    /// Ends a subscription.
    Unsubscribe,
    /// Asks for the tree of running subgraphs.
    GetTree,
    /// Asks for a state.
    StateGet(StateAt),
    /// Asks for the history.
    ListCheckpoints(HistoryRequest),
    /// Branches the thread at a checkpoint.
    Fork(String),
}

/// Answers to open questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Respond {
    /// The answers, by the ids of the questions.
    pub(crate) answers: Vec<(String, Value)>,
    /// The request of the run that continues, as the body of a request for a run without an assistant.
    pub(crate) run: Map<String, Value>,
}

/// The kind of an error of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The command or one of its parameters has a wrong form.
    InvalidArgument,
    /// There is no such command.
    UnknownCommand,
    /// Another error.
    UnknownError,
    /// The thread has no such run or checkpoint.
    NoSuchRun,
    /// The thread has no such question.
    NoSuchInterrupt,
    /// The client may not do this.
    PermissionDenied,
    /// The server cannot do this.
    NotSupported,
}

impl Code {
    /// Returns the name of the code.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::UnknownCommand => "unknown_command",
            Self::UnknownError => "unknown_error",
            Self::NoSuchRun => "no_such_run",
            Self::NoSuchInterrupt => "no_such_interrupt",
            Self::PermissionDenied => "permission_denied",
            Self::NotSupported => "not_supported",
        }
    }

    /// Returns the code of an error of the service.
    pub(crate) fn of(failure: &Failure) -> Self {
        match failure.status {
            400 | 409 | 413 | 422 => Self::InvalidArgument,
            401 | 403 => Self::PermissionDenied,
            404 => Self::NoSuchRun,
            501 => Self::NotSupported,
            _ => Self::UnknownError,
        }
    }
}

impl CommandRequest {
    /// Reads a command. The error is the status and the body of the response.
    pub(crate) fn read(body: &Value) -> Result<Self, (u16, Value)> {
        let id = body.get("id").and_then(Value::as_u64);
        let method = body.get("method").and_then(Value::as_str);
        let (Some(id), Some(method)) = (id, method) else {
            let message = "Protocol commands must include an integer id and string method.";
            return Err((400, error(None, Code::InvalidArgument, message)));
        };
        let empty = json!({});
        let params = body.get("params").filter(|params| !params.is_null()).unwrap_or(&empty);
        let read = Command::read(method, params);
        let command = read.map_err(|(code, message)| (200, error(Some(id), code, &message)))?;
        Ok(Self { id, command })
    }
}

impl Command {
    fn read(method: &str, params: &Value) -> Result<Self, (Code, String)> {
        let wrong = |failure: Failure| (Code::InvalidArgument, failure.detail);
        match method {
            "run.start" => run_start(params),
            "input.respond" => Respond::read(params).map(Self::Respond),
            "subscription.subscribe" => EventFilter::read(params).map(Self::Subscribe).map_err(wrong),
            "subscription.unsubscribe" => Ok(Self::Unsubscribe),
            "agent.getTree" => Ok(Self::GetTree),
            "state.get" => state_get(params).map(Self::StateGet).map_err(wrong),
            "state.listCheckpoints" => list(params).map(Self::ListCheckpoints).map_err(wrong),
            "state.fork" => {
                let members = Members::of(params).map_err(wrong)?;
                let checkpoint = members.required("checkpoint_id").map_err(wrong)?;
                Ok(Self::Fork(checkpoint.to_owned()))
            }
            unknown => Err((Code::UnknownCommand, format!("Unknown protocol command: {unknown}"))),
        }
    }
}

/// Returns the parameters of a run with the defaults of the protocol: the run can be resumed, its subgraphs are
/// streamed, and the thread is created and kept.
fn run_body(params: &Map<String, Value>) -> Map<String, Value> {
    let mut body = params.clone();
    if let Some(strategy) = body.remove("multitaskStrategy") {
        body.entry("multitask_strategy").or_insert(strategy);
    }
    for (name, value) in [
        ("stream_resumable", json!(true)),
        ("stream_subgraphs", json!(true)),
        ("if_not_exists", json!("create")),
        ("on_completion", json!("keep")),
    ] {
        body.insert(name.into(), value);
    }
    body
}

fn run_start(params: &Value) -> Result<Command, (Code, String)> {
    let wrong = |failure: Failure| (Code::InvalidArgument, failure.detail);
    Members::of(params).map_err(wrong)?;
    if params.get("assistant_id").and_then(Value::as_str).is_none() {
        return Err((Code::InvalidArgument, "run.start requires an assistant_id.".to_owned()));
    }
    let body = params.as_object().map(run_body).unwrap_or_default();
    let run = RunCreate::read(&body.into()).map_err(wrong)?;
    Ok(Command::RunStart(Box::new(run)))
}

/// Reads the parameters of a request for a state, which may name its subgraph as a list.
fn state_get(params: &Value) -> Result<StateAt, Failure> {
    let members = Members::of(params)?;
    let mut at = StateAt::default();
    at.checkpoint.id = members.text("checkpoint_id")?.map(str::to_owned);
    at.checkpoint.namespace = namespace(&members)?;
    at.subgraphs = members.flag("subgraphs", false)?;
    Ok(at)
}

fn list(params: &Value) -> Result<HistoryRequest, Failure> {
    let history = HistoryRequest::read(params)?;
    let namespace = namespace(&Members::of(params)?)?;
    Ok(if namespace.is_empty() { history } else { HistoryRequest { namespace, ..history } })
}

fn namespace(members: &Members<'_>) -> Result<String, Failure> {
    Ok(members.texts("namespace")?.unwrap_or_default().join("|"))
}

impl Respond {
    fn read(params: &Value) -> Result<Self, (Code, String)> {
        let missing =
            || (Code::InvalidArgument, "input.respond requires an interrupt_id and a response.".to_owned());
        let answer = |given: &Value| {
            let id = given.get("interrupt_id")?.as_str()?.to_owned();
            Some((id, given.get("response").cloned().unwrap_or(Value::Null)))
        };
        let answers: Option<Vec<_>> = match params.get("responses") {
            Some(Value::Array(all)) => all.iter().map(answer).collect(),
            _ => answer(params).map(|answer| vec![answer]),
        };
        let answers = answers.filter(|answers| !answers.is_empty()).ok_or_else(missing)?;
        let mut run = params.as_object().map(run_body).unwrap_or_default();
        let mut command = Map::new();
        for name in ["update", "goto"] {
            if let Some(value) = run.remove(name) {
                command.insert(name.into(), value);
            }
        }
        let resume: Map<String, Value> = answers.iter().cloned().collect();
        command.insert("resume".into(), resume.into());
        run.insert("command".into(), command.into());
        Ok(Self { answers, run })
    }
}

/// Returns the response to a command that was carried out. `seq` is the number of the last event before it.
pub(crate) fn succeeded(id: u64, result: Value, seq: u64) -> Value {
    json!({ "type": "success", "id": id, "result": result, "meta": { "applied_through_seq": seq } })
}

/// Returns the response to a command that failed.
pub(crate) fn failed(id: u64, code: Code, message: &str) -> Value {
    error(Some(id), code, message)
}

fn error(id: Option<u64>, code: Code, message: &str) -> Value {
    json!({ "type": "error", "id": id, "error": code.name(), "message": message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, params: Value) -> Result<Command, (u16, Value)> {
        let body = json!({ "id": 7, "method": method, "params": params });
        CommandRequest::read(&body).map(|request| request.command)
    }

    #[test]
    fn a_run_of_the_protocol_can_be_resumed_and_creates_its_thread() {
        let params = json!({ "assistant_id": "agent", "input": { "x": 1 }, "multitaskStrategy": "interrupt",
            "config": { "configurable": { "thread_id": "t", "checkpoint_id": "c" } } });
        let Ok(Command::RunStart(run)) = read("run.start", params) else { panic!("it is a run") };
        assert!(run.creates_thread && run.kwargs.resumable && run.kwargs.subgraphs && run.keeps_thread);
        assert_eq!(run.multitask, superstep_core::records::Multitask::Interrupt);
        assert_eq!(run.kwargs.checkpoint.unwrap().id.as_deref(), Some("c"));
    }

    #[test]
    fn an_error_has_the_code_that_clients_expect() {
        for (method, params, code) in [
            ("nope.nope", json!({}), "unknown_command"),
            ("input.inject", json!({}), "unknown_command"),
            ("run.start", json!({}), "invalid_argument"),
            ("run.start", json!([]), "invalid_argument"),
            ("input.respond", json!({ "response": 1 }), "invalid_argument"),
            ("subscription.subscribe", json!({ "channels": ["nope"] }), "invalid_argument"),
            ("state.fork", json!({}), "invalid_argument"),
        ] {
            let (status, body) = read(method, params).unwrap_err();
            assert_eq!((status, &body["error"], &body["id"]), (200, &json!(code), &json!(7)), "{method}");
        }
        let (status, body) = CommandRequest::read(&json!({ "hello": 1 })).unwrap_err();
        assert_eq!((status, &body["id"]), (400, &Value::Null));
    }

    #[test]
    fn answers_are_given_one_by_one_or_together() {
        let one = json!({ "interrupt_id": "i", "namespace": [], "response": "yes" });
        let Ok(Command::Respond(one)) = read("input.respond", one) else { panic!("it answers") };
        assert_eq!(one.answers, [("i".to_owned(), json!("yes"))]);
        let both = json!({ "responses": [{ "interrupt_id": "i", "response": 1 }, { "interrupt_id": "j" }], "goto": "x" });
        let Ok(Command::Respond(both)) = read("input.respond", both) else { panic!("it answers") };
        assert_eq!(both.run["command"], json!({ "resume": { "i": 1, "j": null }, "goto": "x" }));
    }

    #[test]
    fn states_are_read_by_namespace() {
        let Ok(Command::StateGet(at)) = read("state.get", json!({ "namespace": ["a:1", "b:2"] })) else {
            panic!("it is a state")
        };
        assert_eq!(at.checkpoint.namespace, "a:1|b:2");
        assert!(matches!(read("state.listCheckpoints", json!({})), Ok(Command::ListCheckpoints(_))));
        assert_eq!(read("state.fork", json!({ "checkpoint_id": "c" })), Ok(Command::Fork("c".into())));
    }
}
