//! Runs a thread, and reports its progress and its end.

use serde_json::Value;
use superstep_core::checkpoint::{At, CheckpointerExt};
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::run::{
    AnyState, CancellationToken, Interrupt, Run, RunError, RunRequest, Status, ThreadError,
};

use crate::arguments::Output;
use crate::debug::known_secrets::KnownSecrets;
use crate::debug::progress::{Progress, page};
use crate::debug::session::Chosen;
use crate::failure::Failure;
use crate::page::{DIM, GOOD, ID, NAME, NOTE, Page, plain, span};
use crate::screen::Exit;

/// Runs a thread and prints its progress. Ctrl-C cancels the run; a second Ctrl-C exits at once.
pub(super) async fn drive(
    chosen: &Chosen<'_>,
    thread: ThreadId,
    request: RunRequest<AnyState>,
    screen: &mut Progress<'_>,
) -> Result<Output, Failure> {
    let cancel = CancellationToken::new();
    let secrets = KnownSecrets::of(chosen.graph().saver(), &thread);
    let mut run = Box::pin(watched(request.cancel_on(cancel.clone()), secrets, screen));
    let ended = loop {
        tokio::select! {
            ended = &mut run => break ended,
            Ok(()) = tokio::signal::ctrl_c() => match cancel.is_cancelled() {
                true => return Ok((String::new(), Exit::Cancelled)),
                false => cancel.cancel(),
            },
        }
    };
    drop(run);
    match ended {
        Ok((step, status)) => {
            let text = page(screen, |page| show(page, chosen, &thread, Some(step), &status));
            Ok((text, exit(&status)))
        }
        Err(Stopped::Refused(failure)) => Err(failure.before_the_run()),
        Err(Stopped::Failed(error)) => {
            let text = error.to_string();
            Err(Failure::nothing(match is_left(chosen, &thread).await {
                true => {
                    let resume = chosen.command("resume", &[thread.as_str()]);
                    format!("{text}\nwhen that is fixed: {resume}")
                }
                false => text,
            }))
        }
    }
}

/// Runs to the end, and returns the last step with the status. Known secrets are redacted in both, and in all events
/// before.
async fn watched(
    request: RunRequest<AnyState>,
    mut secrets: KnownSecrets,
    screen: &mut Progress<'_>,
) -> Result<(i64, Status), Stopped> {
    let mut run = request.stream();
    while let Some(event) = run.next().await {
        screen.tell(&secrets.out_of(event).await);
    }
    let Run { step, mut status, .. } = run.finish().await?;
    secrets.in_status(&mut status).await;
    Ok((step, status))
}

/// Returns `true` if the thread can still be resumed. It may have been deleted while it ran.
async fn is_left(chosen: &Chosen<'_>, thread: &ThreadId) -> bool {
    let Some(saver) = chosen.graph().saver() else { return false };
    let head = saver.history(thread, At::Head, 1).await;
    // If the file cannot be read now, the thread may still exist.
    head.map_or(true, |head| !head.is_empty())
}

/// Returns the exit code for a run that did not fail.
pub(super) fn exit(status: &Status) -> Exit {
    match status {
        Status::Finished => Exit::Fine,
        Status::Cancelled => Exit::Cancelled,
        _ => Exit::Unfinished,
    }
}

/// Shows how a run ended, and how to continue it.
pub(super) fn show(
    page: &mut Page,
    chosen: &Chosen<'_>,
    thread: &ThreadId,
    step: Option<i64>,
    status: &Status,
) {
    let at = step.map(|step| format!(" at step {step}")).unwrap_or_default();
    let stopped = match status {
        Status::Finished => return page.line([span(GOOD, "finished"), plain(at)]),
        Status::Interrupted { interrupts } => {
            page.line([span(NOTE, "waiting"), plain(at)]);
            return interrupts.iter().for_each(|question| ask(page, chosen, thread, question));
        }
        Status::Breakpoint { before, after } => {
            let side = |side: &str, nodes: &[NodeName]| {
                let names: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
                (!names.is_empty()).then(|| format!(" {side} {}", names.join(", ")))
            };
            let sides = [side("before", before), side("after", after)];
            format!("stopped{}", sides.into_iter().flatten().collect::<Vec<_>>().join(" and"))
        }
        Status::LimitReached { limit } => format!("stopped at its limit of {limit} supersteps"),
        Status::Cancelled => "cancelled".to_owned(),
        _ => "stopped".to_owned(),
    };
    page.line([span(NOTE, stopped), plain(at)]);
    page.line([span(DIM, "  to continue: "), plain(chosen.command("resume", &[thread.as_str()]))]);
}

/// Removes the members of a schema that only machines need.
fn without_titles(mut schema: Value) -> Value {
    for name in ["$schema", "title"] {
        schema.as_object_mut().map(|members| members.remove(name));
    }
    schema
}

/// Shows a question, and the command that answers it.
fn ask(page: &mut Page, chosen: &Chosen<'_>, thread: &ThreadId, question: &Interrupt) {
    let path: String = question.path.iter().map(|node| format!("{node}/")).collect();
    page.line([
        span(ID, question.id.to_string()),
        plain("  "),
        span(NAME, format!("{path}{}", question.node)),
        plain(format!(" asks {}", question.question)),
    ]);
    if let Some(schema) = question.answer_schema.as_ref().and_then(|schema| schema.decode::<Value>().ok()) {
        page.line([span(DIM, "  an answer is: "), plain(without_titles(schema).to_string())]);
    }
    let answer = format!("{}=JSON", question.id);
    let command = chosen.command("answer", &[thread.as_str(), &answer]);
    page.line([span(DIM, "  to answer:    "), plain(command)]);
}

/// The reason why a run stopped early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It did not start: the request is not valid for the thread.
    Refused(Failure),
    /// It failed.
    Failed(RunError),
}

impl From<ThreadError> for Stopped {
    fn from(error: ThreadError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Thread(error) => error.into(),
            RunError::NothingToResume { .. } => Self::Refused(Failure::nothing(error.to_string())),
            RunError::NothingAsked { .. }
            | RunError::WhichQuestion { .. }
            | RunError::WrongAnswer { .. }
            | RunError::Subgraph { .. }
            | RunError::Leased { .. }
            | RunError::NotANewThread { .. }
            | RunError::Changed { .. } => Self::Refused(Failure::unusable(error.to_string())),
            error => Self::Failed(error),
        }
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::Store(error) => error.into(),
            ThreadError::NeverRan(_) => Self::nothing(error.to_string()),
            error => Self::unusable(error.to_string()),
        }
    }
}
