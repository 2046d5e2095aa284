//! The wiring of an evaluator graph.

use std::sync::Arc;

use superstep_core::graph::{BuildError, END, NodeRef, START, StateGraph, to};
use superstep_core::node::NoInput;
use superstep_core::run::Graph;
use superstep_core::state::State;

use super::config::EvaluatorConfig;
use super::state::AgentState;
use crate::node::{Agent, AgentNext, Decider, DeciderNext, Evaluator, Ranker, Tools};
use crate::verification::OnJudgeError;

/// Makes the graph of an agent whose responses are evaluated, ranked and decided on.
///
/// ```text
///            ┌──────── tools ◀───────┐ (tool calls, and iterations left)
///            ▼                       │
/// START ──▶ agent ──────────────────▶┴─▶ evaluator ──▶ ranker ──▶ decider ──▶ END
///            ▲                                                       │
///            └───────────────────────────────────────────────────────┘ (not complete, and iterations left)
/// ```
///
/// A response is complete if it asks for no tools and [has ten characters](crate::node::is_complete). An
/// iteration is a visit of the agent, also one that only asks for tools. At the limit tools are not run, and
/// a turn without a complete response ends with one call for a final one, which is the decider's only call.
/// So with five iterations a turn takes 3 model calls if the first response is complete, one more for each
/// visit that asks for tools, and 5 + 5 + 5 + 1 = 16 at most, unless a judge's reply has to be asked for
/// again. [`AgentState::llm_calls`] counts them.
///
/// The tools node runs without a retry, as not every tool may run twice; the others retry as configured. A judge that
/// fails after that does not lose the response: see [`EvaluatorConfig::on_judge_error`].
///
/// # Errors
/// Never fails with this wiring; the type is that of every graph's compilation.
///
/// ```
/// use superstep_nodes::graphs::{self, AgentState, EvaluatorConfig};
/// use superstep_nodes::model::{Purpose, Scripted};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = Scripted::new()
///     .say("Paris is the capital of France.")
///     .on(Purpose::Evaluator, [r#"{ "iteration": 1, "score": 1.0, "complete": true, "feedback": "" }"#])
///     .on(Purpose::Ranker, [r#"{ "iteration": 1, "order": [1], "best": 1, "reason": "the only one" }"#]);
///
/// let graph = graphs::evaluator(EvaluatorConfig::new(model))?;
/// let state = graph.run(AgentState::ask("What is the capital of France?")).await?.finished()?;
/// assert_eq!(state.response.as_deref(), Some("Paris is the capital of France."));
/// assert_eq!(state.llm_calls.total(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn evaluator(config: EvaluatorConfig) -> Result<Graph<AgentState>, BuildError> {
    EvaluatorGraph::<()>::new(config).graph.compile()
}

/// An [`evaluator`] graph before it is compiled, to be extended: with a context of its own, policies, or
/// branches from its nodes.
#[derive(Debug)]
pub struct EvaluatorGraph<C = ()> {
    /// The graph, completely wired.
    pub graph: StateGraph<AgentState, C>,
    /// The node `agent`.
    pub agent: NodeRef<NoInput, AgentNext>,
    /// The node `tools`.
    pub tools: NodeRef<NoInput, ()>,
    /// The node `evaluator`.
    pub evaluator: NodeRef<NoInput, ()>,
    /// The node `ranker`.
    pub ranker: NodeRef<NoInput, ()>,
    /// The node `decider`.
    pub decider: NodeRef<NoInput, DeciderNext>,
}

impl<C: Send + Sync + 'static> EvaluatorGraph<C> {
    /// The name of the graph: what threads remember.
    pub const NAME: &'static str = "evaluator";

    /// Makes the nodes and wires them.
    pub fn new(config: EvaluatorConfig) -> Self {
        let initial = AgentState { max_iterations: config.max_iterations, ..AgentState::default() };
        let mut graph = StateGraph::with_schema(Self::NAME, AgentState::schema(), initial);
        let tools = Tools::new(config.tools.clone(), AgentState::MESSAGES);
        let agent = graph.node("agent", agent(&config, &tools));
        let tools = graph.node("tools", tools);
        let evaluator = graph.node("evaluator", evaluator_node(&config));
        let ranker = graph.node("ranker", ranker(&config));
        let decider = graph.node("decider", decider(&config));

        graph.policy(agent).retry(config.retry.clone());
        graph.policy(evaluator).retry(config.retry.clone());
        graph.policy(ranker).retry(config.retry.clone());
        graph.policy(decider).retry(config.retry);

        graph.edge(START, agent);
        graph.route(agent, move |next| match next {
            AgentNext::RunTools => to(tools),
            AgentNext::Respond => to(evaluator),
        });
        graph.edge(tools, agent);
        graph.edge(evaluator, ranker);
        graph.edge(ranker, decider);
        graph.route(decider, move |next| match next {
            DeciderNext::Finish => END,
            DeciderNext::Iterate => to(agent),
        });
        Self { graph, agent, tools, evaluator, ranker, decider }
    }
}

fn agent(config: &EvaluatorConfig, tools: &Tools<AgentState>) -> Agent<AgentState> {
    let agent = Agent::new(Arc::clone(&config.model), AgentState::MESSAGES, AgentState::ITERATION);
    let agent = if config.stream_tools { agent.stream_tools(tools) } else { agent.tools(&config.tools) };
    agent
        .system(config.system.clone())
        .task(AgentState::TASK)
        .limit(AgentState::MAX_ITERATIONS)
        .feedback(AgentState::EVALUATIONS)
        .count(AgentState::LLM_CALLS)
}

fn evaluator_node(config: &EvaluatorConfig) -> Evaluator<AgentState> {
    let (task, messages) = (AgentState::TASK, AgentState::MESSAGES);
    let evaluator = Evaluator::new(Arc::clone(&config.judge), task, messages, AgentState::EVALUATIONS)
        .iteration(AgentState::ITERATION)
        .turn(AgentState::TURN)
        .count(AgentState::LLM_CALLS);
    match config.on_judge_error {
        OnJudgeError::Accept => evaluator.accept_errors(AgentState::UNJUDGED),
        OnJudgeError::Fail => evaluator,
    }
}

fn ranker(config: &EvaluatorConfig) -> Ranker<AgentState> {
    let ranker = Ranker::new(
        Arc::clone(&config.judge),
        AgentState::TASK,
        AgentState::MESSAGES,
        AgentState::EVALUATIONS,
        AgentState::RANKINGS,
    )
    .turn(AgentState::TURN)
    .count(AgentState::LLM_CALLS);
    match config.on_judge_error {
        OnJudgeError::Accept => ranker.accept_errors(AgentState::UNJUDGED),
        OnJudgeError::Fail => ranker,
    }
}

fn decider(config: &EvaluatorConfig) -> Decider<AgentState> {
    Decider::new(AgentState::MESSAGES, AgentState::RESPONSE)
        .limit(AgentState::ITERATION, AgentState::MAX_ITERATIONS)
        .final_response(
            Arc::clone(&config.model),
            AgentState::TASK,
            AgentState::EVALUATIONS,
            AgentState::RANKINGS,
        )
        .tools(&config.tools)
        .turn(AgentState::TURN)
        .count(AgentState::LLM_CALLS)
}
