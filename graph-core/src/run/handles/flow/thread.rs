//! A thread of a flow.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::request::FlowRequest;
use super::state::FlowState;
use crate::id::{InterruptId, ThreadId};
use crate::run::handles::thread::Thread;
use crate::state::Json;

/// A thread of a [`Flow`](super::Flow): a sequence of runs, each of which knows what the one before it saved.
pub struct FlowThread<I, O> {
    thread: Thread<FlowState>,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Serialize, O: DeserializeOwned> FlowThread<I, O> {
    pub(super) fn new(thread: Thread<FlowState>) -> Self {
        Self { thread, types: PhantomData }
    }

    /// The thread's id.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        self.thread.id()
    }

    /// Runs the flow on an input. A run that has not finished is given up; it stays visible in the history.
    pub fn run(&self, input: &I) -> FlowRequest<O> {
        FlowRequest::input(input, |update| self.thread.run(update))
    }

    /// Goes on after a crash, an error or a cancellation. On a finished thread it returns the value again.
    pub fn resume(&self) -> FlowRequest<O> {
        FlowRequest::new(self.thread.resume())
    }

    /// Answers the only open question and goes on.
    pub fn answer(&self, answer: impl Serialize) -> FlowRequest<O> {
        FlowRequest::new(self.thread.answer(answer))
    }

    /// Answers the question with this id and goes on; other questions stay open.
    pub fn answer_to(&self, interrupt: InterruptId, answer: impl Serialize) -> FlowRequest<O> {
        FlowRequest::new(self.thread.answer_to(interrupt, answer))
    }

    /// Answers several questions, all or none, and goes on.
    pub fn answers(&self, answers: impl IntoIterator<Item = (InterruptId, Json)>) -> FlowRequest<O> {
        FlowRequest::new(self.thread.answers(answers))
    }

    /// The thread of the graph behind the flow: its history, its head, its forks and edits.
    #[must_use]
    pub fn as_thread(&self) -> &Thread<FlowState> {
        &self.thread
    }
}

impl<I, O> Clone for FlowThread<I, O> {
    fn clone(&self) -> Self {
        Self { thread: self.thread.clone(), types: PhantomData }
    }
}

impl<I, O> fmt::Debug for FlowThread<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlowThread").field(self.thread.id()).finish()
    }
}
