//! Open questions: the expected answers, and the deadlines with default answers.

use std::sync::Arc;
use std::vec::Vec;

use alloc::borrow::Cow;
use alloc::string::ToString;

use super::outcome::Interrupt;
use super::shared::Runtime;
use super::thread_error::ThreadError;
use super::thread_head::ThreadHead;
use crate::checkpoint::{AnsweredBy, AskRecord, CheckpointerExt};
use crate::graph::Program;
use crate::id::{InterruptId, ThreadId};
use crate::node::{AskDescription, EFFECT_ARGUMENT, HANDLER, effect_ask};

impl Program {
    /// Returns the questions that the asking node may ask, or those of its error handler if the handler asked.
    pub(crate) fn asks_of(&self, ask: &AskRecord) -> Option<&[AskDescription]> {
        let mut program = self;
        for subgraph in &ask.path {
            let node = program.topology.find(subgraph)?;
            program = program.node(node).subgraph.as_ref()?;
        }
        let node = program.node(program.topology.find(&ask.node)?);
        match &node.handler {
            Some(handler) if ask.key.starts_with(HANDLER) => Some(&handler.description.asks),
            _ => Some(&node.description.asks),
        }
    }

    /// Returns the argument of the node that asked, or the question about effects of unknown outcome.
    pub(crate) fn ask_of(&self, ask: &AskRecord) -> Option<Cow<'_, AskDescription>> {
        if ask.argument == Some(EFFECT_ARGUMENT) {
            return Some(Cow::Owned(effect_ask()));
        }
        let is_it = |described: &&AskDescription| match ask.argument {
            Some(argument) => usize::try_from(argument).is_ok_and(|argument| argument == described.position),
            None => described.position.to_string() == ask.key,
        };
        self.asks_of(ask)?.iter().find(is_it).map(Cow::Borrowed)
    }

    /// Returns a question in the form for users.
    pub(crate) fn interrupt(&self, ask: &AskRecord) -> Interrupt {
        let described = self.ask_of(ask);
        let AskRecord { id, node, path, key, argument, question, deadline, .. } = ask.clone();
        Interrupt {
            id,
            node,
            path,
            key,
            argument,
            question,
            deadline,
            question_schema: described.as_ref().map(|described| described.question.clone()),
            answer_schema: described.map(|described| described.answer.clone()),
        }
    }

    /// Returns the questions that wait for an answer.
    pub(crate) fn open_questions<'a>(
        &'a self,
        asks: impl IntoIterator<Item = &'a AskRecord>,
    ) -> Vec<Interrupt> {
        asks.into_iter().filter(|ask| ask.is_open()).map(|ask| self.interrupt(ask)).collect()
    }
}

impl Runtime {
    /// Applies deadlines that have passed at a thread's head.
    pub(crate) async fn on_time(
        &self,
        thread: &ThreadId,
        head: Option<ThreadHead>,
    ) -> Result<Option<ThreadHead>, ThreadError> {
        let is_late = head.as_ref().is_some_and(|head| {
            let has_deadline = head.work.asks.iter().any(|ask| ask.deadline.is_some() && ask.is_open());
            // The clock is only read if a question waits for it.
            has_deadline && {
                let now = self.ambient.now_ms();
                head.work.asks.iter().any(|ask| ask.is_overdue(now))
            }
        });
        match head {
            Some(late) if is_late => {
                self.expire(Some(thread)).await?;
                self.refreshed(thread, late).await
            }
            head => Ok(head),
        }
    }

    /// Applies deadlines that have passed.
    pub(crate) async fn expire(
        &self,
        thread: Option<&ThreadId>,
    ) -> Result<Vec<(ThreadId, AskRecord)>, ThreadError> {
        let saver = self.saver.as_ref().map(Arc::clone).ok_or(ThreadError::NoCheckpointer)?;
        Ok(saver.expire(self.program.topology.name(), thread, self.ambient.now_ms()).await?)
    }
}

/// Returns the question whose answer came too late.
pub(crate) fn answered_by_deadline(asks: &[AskRecord]) -> Option<InterruptId> {
    asks.iter().find(|ask| ask.answered_by == AnsweredBy::Deadline).map(|ask| ask.id)
}
