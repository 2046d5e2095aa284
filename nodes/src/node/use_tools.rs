//! The node that gathers information for a response.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_core::state::{Field, State};

use super::agent::{CUT_OFF, skipped};
use super::compact::{Compact, permit_all};
use super::fields::{MessagesField, all, appended};
use super::model_calls::{ModelCalls, failure};
use super::tally::{Tallies, Tally};
use super::tool_runner::{self, ToolRunner, ToolTask};
use crate::compaction::{Compaction, view};
use crate::message::{AiMessage, Message};
use crate::model::{ChatModel, ModelRequest, Purpose, Settings};
use crate::tool::{ExecutionPolicy, ToolRegistry};

/// The node that lets a model use tools until it needs no more: it asks the model, runs the tools that the model asks
/// for, shows it the results, and repeats. The reply that asks for none is appended as the response, unless it is blank
/// or incomplete; after the last [round](Self::rounds) there is no response yet. If the model fails after tools have
/// run, the visit ends with their results and leads to [`UseToolsNext::Again`], so that a failed turn has them in its
/// conversation; the next visit asks again.
///
/// It is one node, so the graph stays simple; [`Agent`](super::Agent) and [`Tools`](super::Tools) do the same as two
/// nodes, with a checkpoint after each. Every call of the model and of a tool is still an effect of its own: a resumed
/// run does not repeat calls that have finished. All messages are appended at the end of the visit: resume a turn that
/// a crash has left, as a new request on the thread would not have the work of that visit.
///
/// While the run is observed, calls of tools emit [`ToolEvent`](crate::tool::ToolEvent)s, as custom events of the name
/// [`UseTools::EVENT`].
pub struct UseTools<S: State> {
    model: Arc<dyn ChatModel>,
    runner: ToolRunner,
    messages: MessagesField<S>,
    rounds: NonZeroU32,
    system: Option<String>,
    settings: Settings,
    compact: Option<Compact<S>>,
    tallies: Tallies<S>,
}

/// The result of a visit.
struct Gathered {
    messages: Vec<Message>,
    compactions: Vec<Compaction>,
    next: UseToolsNext,
}

impl<S: State> UseTools<S> {
    /// The name of the custom events that calls of tools emit.
    pub const EVENT: &'static str = tool_runner::EVENT;

    /// The default for the maximum number of times that tools are run for a request.
    pub const ROUNDS: NonZeroU32 = NonZeroU32::new(5).expect("five is not zero");

    /// Makes a node in which `model` continues `messages` with these tools.
    pub fn new(model: Arc<dyn ChatModel>, tools: ToolRegistry, messages: MessagesField<S>) -> Self {
        Self {
            model,
            runner: ToolRunner::new(tools),
            messages,
            rounds: Self::ROUNDS,
            system: None,
            settings: Settings::default(),
            compact: None,
            tallies: Tallies::none(),
        }
    }

    /// Runs tools so often for a request, at most.
    #[must_use]
    pub fn rounds(mut self, rounds: NonZeroU32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Gives the model standing instructions.
    #[must_use]
    pub fn system(mut self, instructions: impl Into<String>) -> Self {
        self.system = Some(instructions.into());
        self
    }

    /// Says how the model is to answer.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Runs calls as this policy allows.
    #[must_use]
    pub fn policy(mut self, policy: ExecutionPolicy) -> Self {
        self.runner.set_policy(policy);
        self
    }

    /// Sets the folder that the tools of all threads work in.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.runner.set_workspace(folder.into());
        self
    }

    /// Shows the model the conversation in short, as the compactions of this node say, and compacts it as that would
    /// before each call of the model that it has become too long for.
    #[must_use]
    pub fn compacted(mut self, compact: Compact<S>) -> Self {
        self.compact = Some(compact);
        self
    }

    /// Counts the model calls in a field, such as a [`Ledger`](crate::model::Ledger), for the purpose
    /// [`Agent`](crate::model::Purpose::Agent).
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    async fn gather(&self, state: &S, calls: &ModelCalls, task: &ToolTask) -> Result<Gathered, NodeError> {
        let before = self.messages.get(state);
        let earlier = self.compact.as_ref().map_or(&[][..], |compact| compact.earlier(state));
        let tools = self.runner.specs();
        let (mut messages, mut compactions) = (before.to_vec(), earlier.to_vec());
        let mut next = UseToolsNext::Done;
        let rounds = self.rounds.get().saturating_sub(rounds_since_request(before));
        for round in 1..=rounds {
            if let Some(compact) = &self.compact {
                let id = calls.message_id_of(format_args!("{round}.compaction"));
                compactions.extend(
                    compact.compaction(&id, state, &messages, &compactions, calls, &permit_all).await?,
                );
            }
            let mut request =
                ModelRequest::new(Purpose::Agent, view(&messages, &compactions)).with_tools(tools.clone());
            request.system.clone_from(&self.system);
            request.settings.clone_from(&self.settings);
            let id = calls.message_id_of(round);
            let reply = match calls.try_ask(&self.model, request, id.clone()).await? {
                Ok(reply) => reply,
                Err(error) if round > 1 && !calls.is_worth_another_attempt(&error) => {
                    next = UseToolsNext::Again;
                    break;
                }
                Err(error) => return Err(failure(error)),
            };
            let is_cut_off = reply.stop.is_cut_off();
            let is_whole = !is_cut_off && !reply.is_paused();
            if reply.tool_calls.is_empty() && (!is_whole || reply.text().trim().is_empty()) {
                // It is no response: who responds is to give one.
                break;
            }
            let said = reply.into_message(id);
            let answers = match is_cut_off {
                true => skipped(&said, 0, CUT_OFF, |position| {
                    calls.message_id_of(format_args!("{round}.{position}"))
                }),
                false => self.answers(round, &said, task).await,
            };
            let asks = !said.tool_calls.is_empty();
            messages.push(said.into());
            messages.extend(answers);
            if !asks {
                break;
            }
        }
        // Who responds after the last round is shown what fits.
        if let (Some(compact), Some(Message::Tool(_))) = (&self.compact, messages.last()) {
            let id = calls.message_id_of("last.compaction");
            compactions
                .extend(compact.compaction(&id, state, &messages, &compactions, calls, &permit_all).await?);
        }
        let (messages, compactions) =
            (messages.split_off(before.len()), compactions.split_off(earlier.len()));
        Ok(Gathered { messages, compactions, next })
    }

    /// Runs the tools that a message asks for.
    async fn answers(&self, round: u32, said: &AiMessage, task: &ToolTask) -> Vec<Message> {
        let mut running = self.runner.begin(task);
        for (position, call) in said.tool_calls.iter().enumerate() {
            let id = task.message_id_of(format_args!("{round}.{position}"));
            // Models are known to give two calls the same id; the round and the position tell them apart.
            let key = format!("{round}:{position}:{}", call.id);
            running.hand_in(id, call.clone(), self.runner.prepare(call), key);
        }
        let mut answers = Vec::new();
        while let Some(answer) = running.next().await {
            answers.push(answer.message.into());
        }
        answers
    }
}

/// Returns the number of times that tools were run since the last message of the user.
fn rounds_since_request(messages: &[Message]) -> u32 {
    let turn = messages.iter().rev().take_while(|message| !matches!(message, Message::Human(_)));
    let rounds = turn.filter(|message| !message.tool_calls().is_empty()).count();
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for UseTools<S> {
    type Output = Result<Output<S, UseToolsNext>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls, tools) = (Arc::clone(task.state()), ModelCalls::of(&task), ToolTask::of(&task));
        drop(task);
        let Gathered { messages, compactions, next } = self.gather(&state, &calls, &tools).await?;
        let length = self.messages.get(&state).len() + messages.len();
        let mut writes = vec![self.messages.write(appended(messages))];
        if let Some(compact) = self.compact.as_ref().filter(|_| !compactions.is_empty()) {
            writes.extend(compact.said(true, length));
            writes.push(compact.record(compactions));
        }
        writes.extend(self.tallies.writes(&calls.made()));
        Ok(Output { update: Some(all(writes)), route: next })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.messages.id());
        if let Some(compact) = &self.compact {
            compact.describe_records(node);
        }
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for UseTools<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UseTools")
            .field("model", &self.model.name())
            .field("tools", &self.runner)
            .finish_non_exhaustive()
    }
}

/// The next step after a [`UseTools`](super::UseTools).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseToolsNext {
    /// The model asks for no more tools, or there are no rounds left.
    Done,
    /// The model failed after tools had run: their results are kept, and the node is to be visited again.
    Again,
}

#[cfg(test)]
mod tests;
