//! The routes that read: each one is a verb of the command line.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::guard;
use crate::wire::Failure;
use crate::wire::query::Query;

use super::Studio;
use super::refused::Refused;

/// The most rows of one response.
const MOST_ROWS: u64 = 500;

/// A route that reads, and the verb that it asks.
pub(super) struct Read {
    /// The path below `/studio/api/`.
    pub(super) path: &'static str,
    pub(super) verb: &'static str,
    /// Options that are always given.
    pub(super) always: &'static [&'static str],
    /// The parameters of the query, arguments in their order.
    pub(super) params: &'static [(&'static str, Param)],
}

/// The use of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Param {
    /// An argument after the file.
    Argument,
    /// An argument that may be missing. No other one follows it.
    MaybeArgument,
    /// A flag.
    Flag(&'static str),
    /// An option with a text.
    Text(&'static str),
    /// An option with a whole number up to the most.
    Number(&'static str, u64),
    /// The same, without which the verb would give another document.
    Needed(&'static str, u64),
    /// The number of rows to leave out, unless the rows around a checkpoint are asked for.
    Skip,
    /// The number of rows, and its default.
    Count(u64),
}

use Param::{Argument, Count, Flag, MaybeArgument, Needed, Number, Skip, Text};

/// The routes that read.
pub(super) const READS: &[Read] = &[
    Read {
        path: "threads",
        verb: "threads",
        always: &["--tokens"],
        params: &[
            ("from", Skip),
            ("count", Count(100)),
            ("status", Text("--status")),
            ("graph", Text("--graph")),
            ("text", Text("--text")),
        ],
    },
    Read {
        path: "interrupts",
        verb: "interrupts",
        always: &[],
        params: &[("from", Skip), ("count", Count(100))],
    },
    Read {
        path: "log",
        verb: "log",
        always: &[],
        params: &[
            ("thread", Argument),
            ("from", Skip),
            ("count", Count(50)),
            ("graph", Flag("--graph")),
            ("depth", Number("--depth", 16)),
            ("around", Text("--around")),
        ],
    },
    Read {
        path: "show",
        verb: "show",
        always: &[],
        params: &[("checkpoint", Argument), ("path", MaybeArgument), ("messages", Flag("--messages"))],
    },
    Read {
        path: "diff",
        verb: "diff",
        always: &[],
        params: &[("checkpoint", Argument), ("other", MaybeArgument)],
    },
    Read {
        path: "blame",
        verb: "blame",
        always: &[],
        params: &[("checkpoint", Argument), ("path", Argument)],
    },
    Read { path: "why", verb: "why", always: &[], params: &[("checkpoint", Argument), ("node", Argument)] },
    Read {
        path: "grep",
        verb: "grep",
        always: &[],
        params: &[("pattern", Argument), ("thread", Text("--thread"))],
    },
    Read {
        path: "bisect",
        verb: "bisect",
        always: &[],
        params: &[
            ("checkpoint", Argument),
            ("path", Text("--path")),
            ("is", Text("--is")),
            ("linear", Flag("--linear")),
        ],
    },
    Read { path: "compare", verb: "compare", always: &[], params: &[("a", Argument), ("b", Argument)] },
    Read { path: "calls", verb: "calls", always: &[], params: &[("checkpoint", Argument)] },
    Read { path: "graph", verb: "graph", always: &[], params: &[("thread", Argument)] },
    Read {
        path: "strip",
        verb: "log",
        always: &[],
        params: &[("thread", Argument), ("width", Needed("--strip", 10_000))],
    },
    Read {
        path: "test",
        verb: "test",
        always: &[],
        params: &[("checkpoint", Argument), ("step", Flag("--step"))],
    },
    Read {
        path: "export",
        verb: "export",
        always: &[],
        params: &[("thread", Argument), ("redact", Flag("--redact"))],
    },
];

/// The words of a verb: its options, and its arguments after the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) options: Vec<String>,
    pub(super) arguments: Vec<String>,
}

impl Read {
    /// Returns the words for a query.
    pub(super) fn words(&self, query: &Query) -> Result<Words, Failure> {
        if let Some(name) = query.names().find(|name| self.params.iter().all(|(known, _)| known != name)) {
            let known: Vec<&str> = self.params.iter().map(|(known, _)| *known).collect();
            let detail = format!("{name}: {} has no such parameter, but {}", self.path, known.join(", "));
            return Err(Failure::invalid(detail));
        }
        let mut words = Words::default();
        words.options.extend(self.always.iter().map(|option| (*option).to_owned()));
        for (name, param) in self.params {
            let text = query.text(name);
            match (param, text) {
                (Argument | Needed(..), None) => {
                    return Err(Failure::invalid(format!("{name}: it is missing")));
                }
                (Argument | MaybeArgument, Some(text)) => words.arguments.push(text.to_owned()),
                (Text(option), Some(text)) => words.options.push(format!("{option}={text}")),
                (Flag(option), _) if query.flag(name)?.unwrap_or(false) => {
                    words.options.push((*option).to_owned());
                }
                (Number(option, most) | Needed(option, most), Some(_)) => {
                    let number = whole(query, name, *most)?;
                    words.options.push(format!("{option}={number}"));
                }
                (Skip, _) if query.text("around").is_none() => {
                    let skipped = query.whole(name)?.unwrap_or(0);
                    words.options.push(format!("--skip={skipped}"));
                }
                (Count(default), _) => {
                    let count = if text.is_some() { whole(query, name, MOST_ROWS)? } else { *default };
                    words.options.push(format!("-n={}", count.max(1)));
                }
                (MaybeArgument | Text(_) | Flag(_) | Number(..) | Skip, _) => {}
            }
        }
        Ok(words)
    }
}

fn whole(query: &Query, name: &str, most: u64) -> Result<u64, Failure> {
    let number = query.whole(name)?.unwrap_or(0);
    match number <= most {
        true => Ok(number),
        false => Err(Failure::invalid(format!("{name}: {number} is more than {most}"))),
    }
}

/// Answers a request with the document of its verb.
pub(super) async fn answer(studio: &Studio, asked: &'static Read, query: &str) -> Result<Response, Refused> {
    let words = asked.words(&Query::parse(query))?;
    let thread = words.arguments.first().cloned();
    let text = studio
        .blocking(move |documents| {
            documents.answer(asked.verb, words.options, words.arguments.iter().map(String::as_str))
        })
        .await?;
    match asked.path {
        "interrupts" => Ok(document(with_schemas(studio, &text).await?)),
        "export" => Ok(attachment(document(text), &thread.unwrap_or_default())),
        _ => Ok(document(text)),
    }
}

/// Makes a response of a document.
pub(super) fn document(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Has a browser save a document as a file named after the thread.
fn attachment(mut response: Response, thread: &str) -> Response {
    let named = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let name: String = thread.chars().map(|letter| if named(letter) { letter } else { '_' }).collect();
    let value = HeaderValue::try_from(format!("attachment; filename=\"{name}.json\""));
    response.headers_mut().insert(CONTENT_DISPOSITION, value.expect("letters and digits are a header value"));
    response
}

/// A list of questions, whose values stay as they are written.
#[derive(Deserialize, Serialize)]
struct Questions {
    interrupts: Vec<BTreeMap<String, Box<RawValue>>>,
    total: u64,
}

/// Adds the schemas of answers to a list of questions, as far as the program's graphs have them.
async fn with_schemas(studio: &Studio, text: &str) -> Result<String, Refused> {
    let mut listed: Questions = serde_json::from_str(text).map_err(Refused::of)?;
    let mut schemas: Option<(String, Value)> = None;
    for question in &mut listed.interrupts {
        let member = |name: &str| {
            let raw = question.get(name).map(|raw| serde_json::from_str::<String>(raw.get()));
            raw.and_then(Result::ok).unwrap_or_default()
        };
        let (thread, id) = (member("thread"), member("id"));
        let known = match schemas.take() {
            Some((of, known)) if of == thread => known,
            _ => match &studio.0.program {
                Some(program) => program.service.answer_schemas(&thread).await?,
                None => Value::Null,
            },
        };
        let schema = to_raw_value(known.get(&id).unwrap_or(&Value::Null)).map_err(Refused::of)?;
        question.insert("schema".to_owned(), schema);
        schemas = Some((thread, known));
    }
    serde_json::to_string(&listed).map_err(Refused::of)
}

/// Describes the studio.
pub(super) async fn session(State(studio): State<Studio>) -> Result<Response, Refused> {
    let (file, format, mut graphs) = studio
        .blocking(|documents| {
            Ok((documents.path().display().to_string(), documents.format()?, documents.graphs()?))
        })
        .await?;
    let lent = studio.0.program.iter().flat_map(|program| &program.graphs);
    graphs.extend(lent.map(|graph| graph.name().to_string()));
    let has_program = studio.0.program.is_some();
    let verbs = super::routes::routes(has_program);
    let verbs: Vec<&str> =
        verbs.iter().filter(|route| route.method == "POST").map(|route| route.path).collect();
    Ok(guard::json(
        200,
        &json!({
            "file": file,
            "program": has_program,
            "graphs": graphs,
            "version": env!("CARGO_PKG_VERSION"),
            "format": format,
            "verbs": verbs,
        }),
    ))
}
