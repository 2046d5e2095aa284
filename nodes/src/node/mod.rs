//! Nodes of an agent, as types over any state.
//!
//! A node names the fields that it reads and writes by their handles, so it does not know the state:
//!
//! ```text
//! Agent::new(model, Chat::MESSAGES, Chat::VISITS).tools(&tools).limit(Chat::MAX_VISITS)
//!
//!            messages ──▶ ┌───────┐ ──▶ messages: one AI message
//!   iteration, limit ──▶ │ Agent │ ──▶ iteration + 1
//!         evaluations ──▶ └───────┘ ──▶ AgentNext::{RunTools, Respond}
//! ```
//!
//! | node | asks a model | writes | decides |
//! |---|---|---|---|
//! | [`Agent`] | once | messages, iteration | [`AgentNext`] |
//! | [`Tools`] | – | messages | – |
//! | [`UseTools`] | until it asks for no tools | messages | [`UseToolsNext`] |
//! | [`Compact`] | if the conversation is too long | compactions | – |
//! | [`Router`] | once, if there are tools | messages, the decision | [`NextAction`](crate::NextAction) |
//! | [`Evaluator`] | once | evaluations | – |
//! | [`Verify`] | if the response keeps all rules | verifications | [`VerifyNext`] |
//! | [`Refine`] | – | messages, attempts | – |
//! | [`Ranker`] | once | rankings | – |
//! | [`Decider`] | only for a final response | response, messages | [`DeciderNext`] |
//!
//! A node cannot do without the arguments of `new`; everything else is optional and added with a method.
//! The graphs in [`graphs`](crate::graphs) are these nodes with their wiring.
//!
//! **Nothing is done twice.** Model and tool calls are effects: a finished call is recorded, and a run that is resumed
//! takes the recorded outcome. A model call that a crash cut short is made again; for a tool call,
//! [`ToolEffect`](crate::tool::ToolEffect) decides.
//!
//! **Nothing is left to chance.** The id of a message is the [place](superstep_core::node::TaskInfo::place) of the task
//! that wrote it, the node's name and the superstep, `agent.3`, and for tool messages the position of the call,
//! `tools.4.0`. Supersteps only grow in a thread, so no two messages of a conversation share an id, also those of
//! subgraphs (`research.2/agent.1`), and the same run makes the same ids.
//!
//! **Everything can be watched.** While a run is observed, the output of a model is emitted piece by piece as message
//! chunks of the run's log: [`ModelChunk`]s. Custom events report what was done: each call of a model ([`ModelCall`]),
//! each tool call that was answered ([`ToolRun`]), and the length of the conversation ([`ConversationLength`]).
//! [`AgentCallbacks`] and
//! [`AgentEvent`] pick what an agent says and calls.

pub(crate) mod agent;
mod agent_callbacks;
mod agent_event;
mod compact;
pub(crate) mod conversation;
mod decider;
mod evaluator;
mod events;
mod fields;
mod judge;
pub(crate) mod model_calls;
mod ranker;
mod refine;
mod router;
pub(crate) mod streaming;
mod tally;
pub(crate) mod tool_runner;
mod tool_sessions;
mod tools;
mod turn_judgements;
mod use_tools;
mod verify;

pub use agent::{Agent, AgentNext};
pub use agent_callbacks::AgentCallbacks;
pub use agent_event::AgentEvent;
#[doc(hidden)]
pub use compact::Permit;
pub use compact::{Compact, WithoutSummary};
pub use conversation::{MIN_RESPONSE_CHARS, is_complete};
pub use decider::{Decider, DeciderNext};
pub use evaluator::Evaluator;
pub use events::{ConversationLength, ModelCall, ModelChunk, Reasoning, ToolRun};
pub use fields::{CompactionsField, MessagesField, OptionalCount, OptionalText};
pub use ranker::Ranker;
pub use refine::{Refine, Refinement};
pub use router::{RoutedBy, Router, Routing};
pub use tally::{CallCost, LlmCalls, Tally};
pub use tools::Tools;
pub use turn_judgements::{TurnEvaluation, TurnRanking, Unjudged};
pub use use_tools::{UseTools, UseToolsNext};
pub use verify::{Verify, VerifyNext};
