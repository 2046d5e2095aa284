//! The node that has a conversation shown in short.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::reducer::{LogEdit, LogWrite};
use superstep_core::state::{Field, State};

use super::OptionalText;
use super::conversation::opening;
use super::fields::{CompactionsField, MessagesField, Read, all, appended, text_of};
use super::model_calls::{ModelCalls, failure};
use super::tally::{Tallies, Tally};
use crate::compaction::{Compaction, CompactionPlan, ContextManager};
use crate::message::{Message, MessageId};
use crate::model::{ChatModel, ModelError, ModelRequest};

/// The node that compacts a conversation that has become too long: it asks a model for a summary of the earlier part
/// and records which messages the [`Agent`](super::Agent) is to be shown. A conversation that is short enough is left
/// unchanged, without any call.
///
/// An error of the model does not fail the node, unless it may pass and the node's retry policy has an attempt left. If
/// the messages are too many for the model, it is asked without the older half of them,
/// [three times](CompactionPlan::MAX_SHORTENINGS) at most. If the model fails, or its summary is empty, cut off or would
/// not shorten the conversation, only [notes](crate::compaction::KeyInformation) are recorded, if they make it shorter;
/// otherwise, or if the node [says so](Self::without_summary), nothing changes. Messages for which there are only notes
/// are part of the next summary's material.
///
/// While the run is observed, each compaction is emitted as a custom event of the name [`Compact::EVENT`], with the
/// [`Compaction`] as its data, and beside its members the `threshold`, the tokens above which a conversation is compacted, and
/// `elapsed_ms` and `model_ms`: how long it took, and how much of that was spent waiting for the model.
pub struct Compact<S: State> {
    model: Arc<dyn ChatModel>,
    manager: ContextManager,
    messages: MessagesField<S>,
    compactions: CompactionsField<S>,
    shown: Option<Box<Shown<S>>>,
    without_summary: WithoutSummary,
    request: Option<Read<S, String>>,
    applied: Option<AppliedFields<S>>,
    tallies: Tallies<S>,
}

/// The record that a [`Compact`] node makes of a conversation that is too long, if no model gives a usable summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithoutSummary {
    /// A compaction with [notes](crate::compaction::KeyInformation), if they make the conversation shorter.
    #[default]
    Notes,
    /// None: models are shown the conversation as before.
    Unchanged,
}

/// The messages of a state, as a model is shown them.
type Shown<S> = dyn Fn(&S, &[Message]) -> Vec<Message> + Send + Sync;

/// A decision on a request, or the reason for which it is not sent.
pub type Permit<'p> = dyn Fn(&mut ModelRequest) -> Result<(), String> + Send + Sync + 'p;

/// Permits every request.
pub(super) fn permit_all(_: &mut ModelRequest) -> Result<(), String> {
    Ok(())
}

/// The fields that tell whether a visit has compacted, and how many messages there were.
type AppliedFields<S> = (Field<S, Option<bool>>, Field<S, Option<u32>>);

/// The data of a compaction's custom event.
#[derive(Serialize)]
struct CompactionEvent<'c> {
    #[serde(flatten)]
    compaction: &'c Compaction,
    /// The number of tokens above which a conversation is compacted.
    threshold: u64,
    /// The duration of the compaction, in milliseconds.
    elapsed_ms: u64,
    /// The part of it that was spent waiting for the model; 0 if the summary was taken from the record.
    model_ms: u64,
}

impl<S: State> Compact<S> {
    /// The name of the events of compactions.
    pub const EVENT: &'static str = "compaction";

    /// Makes a node that has `model` summarise `messages` when `manager` says so, and records it in `compactions`.
    pub fn new(
        model: Arc<dyn ChatModel>,
        manager: ContextManager,
        messages: MessagesField<S>,
        compactions: CompactionsField<S>,
    ) -> Self {
        Self {
            model,
            manager,
            messages,
            compactions,
            shown: None,
            without_summary: WithoutSummary::default(),
            request: None,
            applied: None,
            tallies: Tallies::none(),
        }
    }

    /// Plans and summarises the messages as this function returns them: the same ones, with the same ids, but some of
    /// them shortened, as models are shown them.
    #[must_use]
    pub fn shown(mut self, shown: impl Fn(&S, &[Message]) -> Vec<Message> + Send + Sync + 'static) -> Self {
        self.shown = Some(Box::new(shown));
        self
    }

    /// Sets what a visit records if no model gives a usable summary.
    #[must_use]
    pub fn without_summary(mut self, records: WithoutSummary) -> Self {
        self.without_summary = records;
        self
    }

    /// Begins a turn with its request: it is appended as a human message, unless the messages end with one of the same
    /// text.
    #[must_use]
    pub fn task<T: OptionalText>(mut self, request: Field<S, T>) -> Self {
        self.request = Some(text_of(request));
        self
    }

    /// Writes whether a visit has compacted the conversation, and how many messages that had.
    #[must_use]
    pub fn applied(mut self, applied: Field<S, Option<bool>>, messages: Field<S, Option<u32>>) -> Self {
        self.applied = Some((applied, messages));
        self
    }

    /// Counts the model calls in a field, such as a [`Ledger`](crate::model::Ledger), for the purpose
    /// [`Summarizer`](crate::model::Purpose::Summarizer).
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    /// Compacts a conversation, if it has to be; the id is that of the record.
    pub(super) async fn compaction(
        &self,
        id: &MessageId,
        state: &S,
        messages: &[Message],
        compactions: &[Compaction],
        calls: &ModelCalls,
        permit: &Permit<'_>,
    ) -> Result<Option<Compaction>, NodeError> {
        let (began_ms, waited_ms) = (calls.clock_ms(), calls.waited_ms());
        let shown = self.shown.as_ref().map(|shown| shown(state, messages));
        let messages = shown.as_deref().unwrap_or(messages);
        let Some(plan) = self.manager.plan(messages, compactions) else { return Ok(None) };
        let compaction = self.make(&plan, id.as_str(), calls, permit).await?;
        if let Some(compaction) = &compaction {
            let threshold = self.manager.limit();
            let elapsed_ms = calls.clock_ms().saturating_sub(began_ms);
            let model_ms = calls.waited_ms().saturating_sub(waited_ms);
            calls.emit(Self::EVENT, &CompactionEvent { compaction, threshold, elapsed_ms, model_ms });
        }
        Ok(compaction)
    }

    /// The compactions of a state.
    pub(super) fn earlier<'s>(&self, state: &'s S) -> &'s [Compaction] {
        self.compactions.get(state)
    }

    /// The write that records compactions.
    pub(super) fn record(&self, made: impl IntoIterator<Item = Compaction>) -> S::Update {
        self.compactions.write(LogWrite(made.into_iter().map(LogEdit::Put).collect()))
    }

    /// Says that a node writes what [`record`](Self::record) and [`said`](Self::said) make.
    pub(super) fn describe_records(&self, node: &mut NodeDescription) {
        node.writes_field(self.compactions.id());
        self.describe_said(node);
    }

    fn describe_said(&self, node: &mut NodeDescription) {
        if let Some((applied, messages)) = &self.applied {
            node.writes_field(applied.id());
            node.writes_field(messages.id());
        }
    }

    /// The writes that say whether a conversation of so many messages was compacted.
    pub(super) fn said(&self, is_compacted: bool, messages: usize) -> Vec<S::Update> {
        let said = self.applied.iter().flat_map(|(applied, count)| {
            let messages = u32::try_from(messages).unwrap_or(u32::MAX);
            [applied.write(Some(is_compacted)), count.write(Some(messages))]
        });
        said.collect()
    }

    /// Visits the node with these means of a task. Each request is asked for a permit, which may limit its reply; without
    /// one the model gives no summary.
    #[doc(hidden)]
    pub async fn visit(
        &self,
        state: &S,
        calls: &ModelCalls,
        permit: &Permit<'_>,
    ) -> Result<Option<S::Update>, NodeError> {
        let mut messages = Cow::Borrowed(&**self.messages.get(state));
        let request = self.request.as_ref().map(|request| request(state));
        let opening = request.and_then(|request| opening(&messages, &request, calls));
        if let Some(opening) = &opening {
            messages.to_mut().push(opening.clone());
        }
        let (id, earlier) = (calls.message_id(), self.earlier(state));
        let compaction = self.compaction(&id, state, &messages, earlier, calls, permit).await?;
        let mut writes = self.said(compaction.is_some(), messages.len());
        writes.extend(opening.map(|message| self.messages.write(appended(vec![message]))));
        writes.extend(compaction.map(|made| self.record([made])));
        writes.extend(self.tallies.writes(&calls.made()));
        Ok((!writes.is_empty()).then(|| all(writes)))
    }

    async fn make(
        &self,
        plan: &CompactionPlan<'_>,
        id: &str,
        calls: &ModelCalls,
        permit: &Permit<'_>,
    ) -> Result<Option<Compaction>, NodeError> {
        let (mut left_out, mut shortenings) = (0, 0);
        let reason = loop {
            let mut request = plan.request(format!("{id}.request"), left_out);
            if let Err(reason) = permit(&mut request) {
                break reason;
            }
            match calls.try_ask_about(&self.model, request).await? {
                Ok(reply) => match plan.accept(id, &reply, left_out) {
                    Ok(compaction) => return Ok(Some(compaction)),
                    Err(unaccepted) => break unaccepted.to_string(),
                },
                Err(error @ ModelError::RequestTooLong { .. }) => match plan.shorten(left_out, shortenings) {
                    Some(more) => (left_out, shortenings) = (more, shortenings + 1),
                    None => break error.to_string(),
                },
                Err(error) if calls.is_worth_another_attempt(&error) => return Err(failure(error)),
                Err(error) => break error.to_string(),
            }
        };
        Ok(match self.without_summary {
            WithoutSummary::Notes => plan.without_summary(id, reason).ok(),
            WithoutSummary::Unchanged => None,
        })
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Compact<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        let update = self.visit(&state, &calls, &permit_all).await?;
        Ok(Output { update, route: () })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.compactions.id());
        if self.request.is_some() {
            node.writes_field(self.messages.id());
        }
        self.describe_said(node);
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Compact<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut node = f.debug_struct("Compact");
        node.field("model", &self.model.name()).field("manager", &self.manager).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
