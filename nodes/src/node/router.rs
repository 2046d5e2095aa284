//! The node that decides how a request is worked on.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::state::{Field, State};

use super::OptionalText;
use super::conversation::{ends_with, last_request, opening};
use super::fields::{CompactionsField, MessagesField, Read, all, appended, text_of};
use super::model_calls::{ModelCalls, failure};
use super::tally::{Tallies, Tally};
use crate::compaction::view;
use crate::message::Message;
use crate::model::ChatModel;
use crate::prompt::{OfferedTool, RouterPrompt, Said};
use crate::text::{stem, words};
use crate::tool::{ToolRegistry, ToolSpec};
use crate::{NextAction, RoutingDecision};

/// The node that decides whether a request takes tools: a model does, and if it cannot be asked or gives no decision,
/// the words of the request do.
///
/// The request is appended to the messages as a human message, unless they end with one of the same text; a blank one
/// fails the node if they do not end with a human message. Without tools there is nothing to decide, and no model is
/// asked. An error of the model does not end the run: the response may still be had.
///
/// While the run is observed, the decision is emitted as a custom event of the name [`Router::EVENT`], with a
/// [`Routing`] as its data.
pub struct Router<S: State> {
    model: Arc<dyn ChatModel>,
    request: Read<S, String>,
    messages: MessagesField<S>,
    tools: Vec<ToolSpec>,
    compactions: Option<CompactionsField<S>>,
    decision: Option<DecisionFields<S>>,
    tallies: Tallies<S>,
}

/// The fields that hold a decision: the action, the confidence and the reasoning.
type DecisionFields<S> = (Field<S, Option<NextAction>>, Field<S, Option<f64>>, Field<S, Option<String>>);

/// A decision, and who has made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Routing {
    /// The decision.
    #[serde(flatten)]
    pub decision: RoutingDecision,
    /// The source of the decision.
    pub by: RoutedBy,
}

/// The source of a decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutedBy {
    /// The model.
    Model,
    /// The words of the request, as the model gave no decision.
    Keywords,
    /// There are no tools, so there was nothing to decide.
    Nobody,
}

/// The confidence of a decision by keywords.
const CONFIDENCE_OF_WORDS: f64 = 0.5;

/// Words that ask for information or an action, beside those of the names of tools.
const KEYWORDS: &[&str] = &[
    "calculate",
    "check",
    "compute",
    "count",
    "document",
    "fetch",
    "file",
    "find",
    "folder",
    "get",
    "list",
    "look",
    "lookup",
    "query",
    "read",
    "run",
    "search",
    "show",
    "source",
];

impl<S: State> Router<S> {
    /// The name of the events of decisions.
    pub const EVENT: &'static str = "routing";

    /// Makes a node that has `model` decide how `request` is worked on, which it appends to `messages`.
    pub fn new<T: OptionalText>(
        model: Arc<dyn ChatModel>,
        request: Field<S, T>,
        messages: MessagesField<S>,
    ) -> Self {
        Self {
            model,
            request: text_of(request),
            messages,
            tools: Vec::new(),
            compactions: None,
            decision: None,
            tallies: Tallies::none(),
        }
    }

    /// Offers these tools.
    #[must_use]
    pub fn tools(mut self, tools: &ToolRegistry) -> Self {
        self.tools = tools.specs();
        self
    }

    /// Shows the model the conversation in short, as the compactions in this field say: see
    /// [`Compact`](super::Compact).
    #[must_use]
    pub fn compacted(mut self, compactions: CompactionsField<S>) -> Self {
        self.compactions = Some(compactions);
        self
    }

    /// Writes the decision, its confidence, and the reasoning.
    #[must_use]
    pub fn decision(
        mut self,
        action: Field<S, Option<NextAction>>,
        confidence: Field<S, Option<f64>>,
        reasoning: Field<S, Option<String>>,
    ) -> Self {
        self.decision = Some((action, confidence, reasoning));
        self
    }

    /// Counts the model calls in a field, such as a [`Ledger`](crate::model::Ledger), for the purpose
    /// [`Router`](crate::model::Purpose::Router).
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    async fn decide(&self, state: &S, calls: &ModelCalls) -> Result<Routing, NodeError> {
        if self.tools.is_empty() {
            let reasoning = "There are no tools.".to_owned();
            let decision = RoutingDecision { action: NextAction::Respond, confidence: 1.0, reasoning };
            return Ok(Routing { decision, by: RoutedBy::Nobody });
        }
        let prompt = self.prompt(state);
        let request = prompt.to_request(calls.message_id_of("request"));
        let said = calls.try_ask(&self.model, request, calls.message_id()).await?;
        let decided = match said {
            Err(error) if calls.is_worth_another_attempt(&error) => return Err(failure(error)),
            said => said.map_err(|error| error.to_string()),
        };
        let decided = decided.and_then(|reply| prompt.read(&reply).map_err(|error| error.to_string()));
        Ok(match decided {
            Ok(decision) => Routing { decision, by: RoutedBy::Model },
            Err(reason) => Routing { decision: by_words(&prompt, &reason), by: RoutedBy::Keywords },
        })
    }

    /// Returns the request; where that is blank, the last message of the user.
    fn request_of(&self, state: &S) -> String {
        match (self.request)(state) {
            request if request.trim().is_empty() => last_request(self.messages.get(state)),
            request => request,
        }
    }

    fn prompt(&self, state: &S) -> RouterPrompt {
        let request = self.request_of(state);
        let compactions = self.compactions.as_ref().map_or(&[][..], |compactions| compactions.get(state));
        let mut before = view(self.messages.get(state), compactions);
        if ends_with(&before, &request) {
            before.pop();
        }
        let last = before.len().saturating_sub(RouterPrompt::MESSAGES);
        let offered =
            |tool: &ToolSpec| OfferedTool { name: tool.name.clone(), description: tool.description.clone() };
        RouterPrompt {
            request,
            tools: self.tools.iter().map(offered).collect(),
            conversation: before[last..].iter().map(Said::from).collect(),
        }
    }
}

/// Decides without a model.
fn by_words(prompt: &RouterPrompt, reason: &str) -> RoutingDecision {
    let telling: BTreeSet<String> = KEYWORDS
        .iter()
        .flat_map(|word| words(word))
        .chain(prompt.tools.iter().flat_map(|tool| words(&tool.name)))
        .map(|word| stem(&word))
        .collect();
    let said = words(&prompt.request).find(|word| telling.contains(&stem(word)));
    let (action, why) = match said {
        Some(word) => (NextAction::UseTools, format!("the request says `{word}`")),
        None => (NextAction::Respond, "the request says nothing that tools are for".to_owned()),
    };
    let reasoning = format!("By its words, as the model gave no decision ({reason}): {why}.");
    RoutingDecision { action, confidence: CONFIDENCE_OF_WORDS, reasoning }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Router<S> {
    type Output = Result<Output<S, NextAction>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        let messages = self.messages.get(&state);
        if (self.request)(&state).trim().is_empty() && !matches!(messages.last(), Some(Message::Human(_))) {
            return Err(NodeError::terminal(
                "there is nothing to answer: the request is blank, and no message of a user is the last",
            ));
        }
        let routing = self.decide(&state, &calls).await?;
        calls.emit(Self::EVENT, &routing);
        let Routing { decision: RoutingDecision { action, confidence, reasoning }, .. } = routing;
        let opening = opening(self.messages.get(&state), &(self.request)(&state), &calls);
        let opening = opening.map(|message| self.messages.write(appended(vec![message])));
        let decided = self.decision.iter().flat_map(|(to, sure, why)| {
            [to.write(Some(action)), sure.write(Some(confidence)), why.write(Some(reasoning.clone()))]
        });
        let made = calls.made();
        let counted = self.tallies.writes(&made);
        Ok(Output { update: Some(all(opening.into_iter().chain(decided).chain(counted))), route: action })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.messages.id());
        if let Some((action, confidence, reasoning)) = &self.decision {
            for field in [action.id(), confidence.id(), reasoning.id()] {
                node.writes_field(field);
            }
        }
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Router<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
