//! Answers from callers, which are checked against their questions and stored.

use std::vec::Vec;

use super::order::Answers;
use super::subgraph::questions::check_open_below;
use crate::checkpoint::{AskRecord, StoreError};
use crate::graph::Program;
use crate::id::{InterruptId, ThreadId};
use crate::run::runtime::error::RunError;
use crate::run::runtime::questions::answered_by_deadline;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::run::runtime::thread_head::ThreadHead;
use crate::state::Json;

/// Checks answers against their questions and stores them. Returns the thread with the answers, and the ids of the
/// questions.
pub(crate) async fn answer(
    runtime: &Runtime,
    thread: &ThreadId,
    head: Option<ThreadHead>,
    answers: &Answers,
) -> Result<(ThreadHead, Vec<InterruptId>), RunError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    let nothing = || RunError::NothingToResume { thread: thread.clone() };
    let head = head.ok_or_else(nothing)?;
    let open: Vec<&AskRecord> = head.work.asks.iter().filter(|ask| ask.is_open()).collect();
    let answers = addressed(thread, &head.work.asks, &open, answers)?;
    for (interrupt, value) in &answers {
        // The store rejects an answer to a question that is not open, because it knows the reason.
        let Some(ask) = open.iter().find(|ask| ask.id == *interrupt) else {
            continue;
        };
        check_answer(&runtime.program, ask, value)?;
        if !ask.path.is_empty() {
            check_open_below(&**saver, thread, &head.work.effects, ask).await?;
        }
    }
    let answered = answers.iter().map(|(interrupt, _)| *interrupt).collect();
    let head = runtime.answered(thread, head, answers).await?;
    Ok((head.ok_or_else(nothing)?, answered))
}

/// Returns the answers with the questions that they belong to.
fn addressed(
    thread: &ThreadId,
    asks: &[AskRecord],
    open: &[&AskRecord],
    answers: &Answers,
) -> Result<Vec<(InterruptId, Json)>, RunError> {
    match (answers, open) {
        (Answers::Broken(reason), _) => {
            Err(RunError::Encode { what: "the answer".into(), reason: reason.clone() })
        }
        (Answers::Only(_), []) => Err(match answered_by_deadline(asks) {
            Some(interrupt) => StoreError::AlreadyAnswered(interrupt).into(),
            None => RunError::NothingAsked { thread: thread.clone() },
        }),
        (Answers::Only(value), [only]) => Ok(std::vec![(only.id, value.clone())]),
        (Answers::Only(_), several) => Err(which(thread, several)),
        (Answers::ById(answers), []) if answers.is_empty() => {
            Err(RunError::NothingAsked { thread: thread.clone() })
        }
        (Answers::ById(answers), open) if answers.is_empty() => Err(which(thread, open)),
        (Answers::ById(answers), _) => Ok(answers.clone()),
    }
}

fn which(thread: &ThreadId, open: &[&AskRecord]) -> RunError {
    RunError::WhichQuestion { thread: thread.clone(), open: open.iter().map(|ask| ask.id).collect() }
}

/// Decodes an answer as the asking node would, so that a wrong answer is rejected before it is used.
pub(crate) fn check_answer(program: &Program, ask: &AskRecord, value: &Json) -> Result<(), RunError> {
    // Entries of older files contain no argument number. Then only the node knows which of its asks has a key of
    // its own.
    let result = match (program.ask_of(ask), program.asks_of(ask).unwrap_or_default()) {
        (Some(described), _) => (described.check)(value),
        (None, []) => Ok(()),
        (None, several) => {
            let mut results = several.iter().map(|described| (described.check)(value));
            let first = results.next().expect("there are several");
            if results.any(|result| result.is_ok()) { Ok(()) } else { first }
        }
    };
    result.map_err(|reason| RunError::WrongAnswer { interrupt: ask.id, node: ask.node.clone(), reason })
}
