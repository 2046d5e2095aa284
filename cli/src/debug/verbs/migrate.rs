//! `migrate --check` with the program's types: reports which threads of a file could continue.

use serde::Serialize;

use crate::debug::session::Session;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, Page, plain, span};
use crate::screen::{Answer, Exit};
use crate::source::Source;
use crate::verbs::Migrate;
use superstep_core::id::{CheckpointId, NodeName, ThreadId};

/// The changes that a migration would make to the file, and the threads that could continue. For an older format, only
/// the former is known.
#[derive(Debug, Serialize)]
pub(crate) struct Checked<F> {
    #[serde(flatten)]
    format: F,
    #[serde(flatten)]
    states: Option<States>,
}

#[derive(Debug, Serialize)]
struct States {
    threads: Vec<CheckedThread>,
    /// The graphs that the debugger does not have; their threads cannot be checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_graphs: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CheckedThread {
    graph: NodeName,
    thread: ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<CheckpointId>,
    /// The version of the stored state.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The difference between the program that wrote the thread and this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
    /// The finished nodes that would run again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    again: Vec<NodeName>,
    /// The reason why the thread cannot continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Answers `migrate --check` where the program's types are known.
pub(crate) async fn check(session: &Session, verb: &Migrate) -> Result<impl Answer + use<>, Failure> {
    let format = verb.answer()?;
    let states = match format.is_needed() {
        true => None,
        false => Some(States::of(session, verb.file()).await?),
    };
    Ok(Checked { format, states })
}

impl States {
    async fn of(session: &Session, file: &FileArgument) -> Result<Self, Failure> {
        let known: Vec<&str> = session.graphs.iter().map(|graph| graph.name().as_str()).collect();
        let mut unknown_graphs: Vec<String> = Source::open(file)?
            .reader
            .threads()?
            .into_iter()
            .map(|thread| thread.graph)
            .filter(|graph| !known.contains(&graph.as_str()))
            .collect();
        unknown_graphs.sort_unstable();
        unknown_graphs.dedup();
        let mut threads = Vec::new();
        for chosen in session.all(file).await? {
            let graph = chosen.graph().name().clone();
            let checked = chosen.graph().check_threads().await?.threads.into_iter();
            threads.extend(checked.map(|checked| CheckedThread {
                graph: graph.clone(),
                thread: checked.thread,
                checkpoint: checked.checkpoint,
                version: checked.version,
                changed: checked.changed.map(|changed| changed.to_string()),
                again: checked.again,
                problem: checked.problem.map(|problem| problem.to_string()),
            }));
        }
        Ok(Self { threads, unknown_graphs })
    }

    fn failures(&self) -> usize {
        self.threads.iter().filter(|thread| thread.problem.is_some()).count()
    }
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

impl<F: Answer> Answer for Checked<F> {
    fn show(&self, page: &mut Page) {
        self.format.show(page);
        if let Some(states) = &self.states {
            states.show(page);
        }
    }

    fn exit(&self) -> Exit {
        match &self.states {
            Some(states) if states.failures() > 0 => Exit::No,
            _ => self.format.exit(),
        }
    }
}

impl States {
    fn show(&self, page: &mut Page) {
        let (count, failures) = (self.threads.len(), self.failures());
        page.line(match failures {
            0 => [span(GOOD, "fine"), plain(format!(": {} could continue", threads(count)))],
            failures => [
                span(BAD, "not fine"),
                plain(format!(": {failures} of {} could not continue", threads(count))),
            ],
        });
        for thread in &self.threads {
            let told = match (&thread.problem, &thread.changed) {
                (Some(problem), _) => span(BAD, problem),
                (None, Some(changed)) => span(NOTE, format!("written under another {changed}, and loads")),
                (None, None) => continue,
            };
            let mut spans = vec![span(NAME, thread.thread.as_str()), plain(": "), told];
            if !thread.again.is_empty() {
                let again: Vec<&str> = thread.again.iter().map(NodeName::as_str).collect();
                spans.push(plain(format!("; runs again: {}", again.join(", "))));
            }
            page.line(spans);
        }
        if !self.unknown_graphs.is_empty() {
            let names = self.unknown_graphs.join(", ");
            page.line([span(
                DIM,
                format!("not checked: threads of {names}, which this program does not have"),
            )]);
        }
    }
}
