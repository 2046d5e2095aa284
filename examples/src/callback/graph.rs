//! The wiring of a callback graph.

use std::sync::Arc;
use std::time::Duration;

use superstep::graph::{BuildError, END, NodeRef, START, StateGraph, to};
use superstep::node::{NoInput, Retry};
use superstep::run::Graph;
use superstep::state::State;

use super::config::CallbackConfig;
use super::state::CallbackState;
use superstep::nodes::model::ModelError;
use superstep::nodes::node::{Agent, AgentNext, Tools};
use superstep::nodes::tool::ExecutionPolicy;

/// Makes the graph of an agent that calls tools one after the other until it needs no more, and reports its steps.
///
/// ```text
///            ┌──────── tools ◀──┐ (tool calls, and iterations left)
///            ▼                  │
/// START ──▶ agent ──────────────┴──▶ END
/// ```
///
/// The text of the model before it calls tools, each call and each result are events:
/// [`AgentEvent`](superstep::nodes::node::AgentEvent)s, or [`AgentCallbacks`](superstep::nodes::node::AgentCallbacks).
/// At the limit the last calls are not made, and the run ends with the messages so far; [`CallbackState::exit`] reports
/// it.
///
/// After an error about its rate limit, the model is called again after 2, 4 and 8 seconds, or after the time that the
/// provider requests if that is longer; then the run fails with the error. Other errors fail the run at once.
///
/// # Errors
/// Never with this wiring; compiling any graph returns this type.
pub fn callback(config: CallbackConfig) -> Result<Graph<CallbackState>, BuildError> {
    CallbackGraph::<()>::new(config).graph.compile()
}

/// A [`callback`] graph before it is compiled, to be extended.
#[derive(Debug)]
pub struct CallbackGraph<C = ()> {
    /// The graph, completely wired.
    pub graph: StateGraph<CallbackState, C>,
    /// The node `agent`.
    pub agent: NodeRef<NoInput, AgentNext>,
    /// The node `tools`.
    pub tools: NodeRef<NoInput, ()>,
}

impl<C: Send + Sync + 'static> CallbackGraph<C> {
    /// The name of the graph, which is stored with threads.
    pub const NAME: &'static str = "callback";

    /// Makes the nodes and wires them.
    pub fn new(config: CallbackConfig) -> Self {
        let CallbackConfig { model, name, system, tools, max_iterations, settings } = config;
        let initial = CallbackState { system: system.clone(), max_iterations, ..CallbackState::default() };
        let agent = Agent::new(Arc::clone(&model), CallbackState::MESSAGES, CallbackState::ITERATION)
            .tools(&tools)
            .system(system)
            .settings(settings)
            .task(CallbackState::MESSAGE)
            .limit(CallbackState::MAX_ITERATIONS)
            .count(CallbackState::LEDGER)
            .stop(CallbackState::STOP)
            .log_calls(CallbackState::CALLS)
            .tell_reasoning(name);
        let tools = Tools::new(tools, CallbackState::MESSAGES)
            .policy(ExecutionPolicy::Sequential)
            .log_calls(CallbackState::CALLS);

        let mut graph = StateGraph::with_schema(Self::NAME, CallbackState::schema(), initial);
        let (agent, tools) = (graph.node("agent", agent), graph.node("tools", tools));
        graph.policy(agent).retry(patience());
        graph.edge(START, agent);
        graph.route(agent, move |next| match next {
            AgentNext::RunTools => to(tools),
            AgentNext::Respond => END,
        });
        graph.edge(tools, agent);
        Self { graph, agent, tools }
    }
}

/// Returns the retries after an error about a rate limit.
fn patience() -> Retry {
    let limits_rate = |error: &ModelError| matches!(error, ModelError::RateLimited { .. });
    Retry::exponential(4).initial(Duration::from_secs(2)).without_jitter().only_if(limits_rate)
}
