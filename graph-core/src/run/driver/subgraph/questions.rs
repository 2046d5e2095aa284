//! Questions of subgraphs, on the subgraphs' own threads.
//!
//! A question is stored on the thread of the subgraph that asked it, and under the same id on every thread above
//! it, where it is answered. Later changes below do not reach the threads above: an edit of the subgraph gives its
//! tasks and questions other ids, and may remove a question. Therefore an answer is checked against the threads
//! below before it is stored.

use std::vec::Vec;

use crate::checkpoint::{
    AskRecord, At, Checkpoint, Checkpointer, CheckpointerExt, EffectRecord, NextTask, Source, StepRecord,
    StoreError, below,
};
use crate::id::{CheckpointId, ThreadId};

/// The status of a question on the thread of a subgraph.
pub(super) enum Question<'a> {
    /// The question waits for its answer. Edits may have given it another id.
    Open(&'a AskRecord),
    /// The question has an answer.
    Answered,
    /// The question is no longer asked there.
    Gone,
}

impl<'a> Question<'a> {
    /// Finds the question that is `asked` on the thread above in `asks`, the questions on `checkpoint` of the
    /// subgraph's thread.
    pub(super) async fn find(
        saver: &dyn Checkpointer,
        thread: &ThreadId,
        checkpoint: &Checkpoint,
        asks: &'a [AskRecord],
        asked: &AskRecord,
    ) -> Result<Self, StoreError> {
        let found = match asks.iter().find(|ask| ask.id == asked.id) {
            Some(found) => Some(found),
            None => carried(saver, thread, checkpoint, asks, asked).await?,
        };
        Ok(match found {
            None => Self::Gone,
            Some(open) if open.is_open() => Self::Open(open),
            Some(_) => Self::Answered,
        })
    }
}

/// Finds the question that edits have carried to this checkpoint from the one on which it was `asked`.
async fn carried<'a>(
    saver: &dyn Checkpointer,
    thread: &ThreadId,
    checkpoint: &Checkpoint,
    asks: &'a [AskRecord],
    asked: &AskRecord,
) -> Result<Option<&'a AskRecord>, StoreError> {
    let alike = asks.iter().filter(|ask| {
        ask.path.is_empty()
            && (&ask.node, &ask.key, &ask.question) == (&asked.node, &asked.key, &asked.question)
    });
    let mut candidates: Vec<(&AskRecord, u32, &NextTask)> = alike
        .filter_map(|ask| {
            let mut tasks = checkpoint.frontier.tasks.iter();
            let task = tasks.find(|task| task.id(checkpoint.id, checkpoint.step) == ask.task)?;
            Some((ask, ask.occurrence()?, task))
        })
        .collect();
    let mut edited = (checkpoint.source, checkpoint.parent);
    while let (Source::Update, Some(parent)) = edited
        && !candidates.is_empty()
        && let Some(before) = step(saver, thread, At::Id(parent)).await?
    {
        let Checkpoint { id, step, frontier, source, parent, .. } = &before.checkpoint;
        candidates.retain(|(.., task)| frontier.tasks.iter().any(|old| old.is_carried_as(task)));
        let is_asked = |(_, occurrence, task): &&(_, u32, &NextTask)| {
            asked.id_of(task.id(*id, *step), *occurrence) == asked.id
        };
        if let Some((ask, ..)) = candidates.iter().find(is_asked) {
            return Ok(Some(ask));
        }
        edited = (*source, *parent);
    }
    Ok(None)
}

/// Returns `true` if a finished superstep of the subgraph used the answer to `asked`.
pub(super) async fn was_used(
    saver: &dyn Checkpointer,
    thread: &ThreadId,
    head: &Checkpoint,
    asked: &AskRecord,
) -> Result<bool, StoreError> {
    let mut older: Option<CheckpointId> = head.parent;
    while let Some(id) = older
        && let Some(StepRecord { checkpoint, work, .. }) = step(saver, thread, At::Id(id)).await?
    {
        let question = Question::find(saver, thread, &checkpoint, &work.asks, asked).await?;
        if matches!(question, Question::Answered) {
            return Ok(true);
        }
        older = checkpoint.parent;
    }
    Ok(false)
}

/// Checks that a question of a task of `thread` is still open in the subgraph that asked it.
///
/// # Errors
/// Returns [`StoreError::NoInterrupt`] if it is no longer asked there, and [`StoreError::AlreadyAnswered`] if it
/// has an answer there.
pub(in crate::run) async fn check_open_below(
    saver: &dyn Checkpointer,
    thread: &ThreadId,
    effects: &[EffectRecord],
    asked: &AskRecord,
) -> Result<(), StoreError> {
    let gone = || StoreError::NoInterrupt { thread: thread.clone(), interrupt: asked.id };
    let mut level = below::thread(effects, thread, asked.task);
    loop {
        let head = step(saver, &level, At::Head).await?.ok_or_else(gone)?;
        let StepRecord { checkpoint, work, .. } = head;
        match Question::find(saver, &level, &checkpoint, &work.asks, asked).await? {
            Question::Gone => return Err(gone()),
            Question::Answered => return Err(StoreError::AlreadyAnswered(asked.id)),
            Question::Open(open) if open.path.is_empty() => return Ok(()),
            Question::Open(open) => level = below::thread(&work.effects, &level, open.task),
        }
    }
}

async fn step(saver: &dyn Checkpointer, thread: &ThreadId, at: At) -> Result<Option<StepRecord>, StoreError> {
    Ok(saver.steps(thread, at, 1).await?.pop())
}
