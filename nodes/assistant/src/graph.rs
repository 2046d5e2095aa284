//! The wiring of an assistant.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_core::graph::{BuildError, END, NodeRef, START, StateGraph, Targets, each, to};
use superstep_core::node::{NoInput, OnUnknown, Takes};
use superstep_core::run::{Graph, Lens};
use superstep_core::state::State;

use crate::agents::{AGENT, AgentError, Delegation};
use crate::budget::NoPrice;
use crate::config::AssistantConfig;
use crate::node::{
    Authorize, AuthorizeNext, Compact, Delegate, DelegateNext, Finish, FinishNext, Gate, GateNext,
    MAX_AGENTS, Recover, RecoverNext, Tools, ToolsNext, Turn, TurnNext, store_long_results,
};
use crate::state::AssistantState;

/// Makes the graph of an assistant: an agent that works on a message of the user with tools, turn by turn, recovers from
/// failures, and ends with an [`Exit`](crate::exit::Exit).
///
/// ```text
///                        ┌─ tools ◀── authorize ◀───────┐ calls
///                        ▼                              │
/// START ─────────────▶ gate ────────────▶ turn ─────────┼── no calls ──▶ finish ──▶ END
///                        │               ▲ │ ▲          │                  │
///                       END   ┌──────────┘ │ │          │ failed           └─ objected ──▶ gate
///            limit of turns   │   too long │ │          ▼
///                          compact ◀───────┘ └────── recover ──▶ END
///                             ▲    wait, other model,   │    nothing helps
///                             │    more output          │
///                             └───── once ──────────────┘
/// ```
///
/// | node | asks a model | writes |
/// |---|---|---|
/// | `gate` | – | the message of the user; the exit, if the limit of turns is reached |
/// | `turn` | for the next step | its message, the records of the [passes](crate::context), or the failure |
/// | `compact` | for a summary | a compaction |
/// | `recover` | – | the counters of recovery; the exit, if nothing helps |
/// | `authorize` | mode `auto`: whether a call may be made | decisions, grants, an answer for each denied call; the exit, if a hook ends the run |
/// | `tools` | – | an answer for each call |
/// | `finish` | – | the exit, or the objections of stop hooks |
///
/// The run finishes also where the work fails: `exit` says how it ended, and the next message continues the session. Each
/// call of a model and of a tool is an effect, so a resumed run makes none again that has ended.
///
/// # Errors
/// Fails if money is limited and the price of a model is not known.
///
/// ```
/// use superstep_assistant::exit::Exit;
/// use superstep_assistant::{AssistantConfig, AssistantState, assistant};
/// use superstep_nodes::model::Scripted;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let graph = assistant(AssistantConfig::new(Scripted::new().say("Four.")))?;
/// let state = graph.run(AssistantState::ask("What is two and two?")).await?.finished()?;
/// assert_eq!((state.response().as_str(), state.exit), ("Four.", Some(Exit::Completed)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn assistant(config: AssistantConfig) -> Result<Graph<AssistantState>, AssistantError> {
    config.check_prices(&config.meter)?;
    config.check_agents()?;
    compiled(config)
}

/// Compiles the graph of an assistant or a sub-agent.
pub(crate) fn compiled(config: AssistantConfig) -> Result<Graph<AssistantState>, AssistantError> {
    // The limit of turns comes first: a turn with tools takes 4 supersteps, agents that run one after the other take 2
    // each, and recovery some 30 for a message.
    let of_agents = if config.kinds.is_empty() { 0 } else { 2 * MAX_AGENTS as u64 + 1 };
    let supersteps = u64::from(config.max_turns.get()) * (5 + of_agents) + 64;
    Ok(AssistantGraph::<()>::new(config)?.graph.compile()?.recursion_limit(supersteps))
}

/// The error of a configuration of which no assistant can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssistantError {
    /// The limit on money cannot be kept. Give the price of the model, or limit tokens.
    #[error(transparent)]
    NoPrice(#[from] NoPrice),
    /// Sub-agents cannot be made of their kinds. The error says which, and why.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The graph does not compile. This wiring always does.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// An [`assistant`] graph before it is compiled, to be extended.
#[derive(Debug)]
pub struct AssistantGraph<C = ()> {
    /// The graph, completely wired.
    pub graph: StateGraph<AssistantState, C>,
    /// The node `gate`.
    pub gate: NodeRef<NoInput, GateNext>,
    /// The node `compact`.
    pub compact: NodeRef<NoInput, ()>,
    /// The node `turn`.
    pub turn: NodeRef<NoInput, TurnNext>,
    /// The node `recover`.
    pub recover: NodeRef<NoInput, RecoverNext>,
    /// The node `authorize`.
    pub authorize: NodeRef<NoInput, AuthorizeNext>,
    /// The node `tools`.
    pub tools: NodeRef<NoInput, ToolsNext>,
    /// The node `delegate`.
    pub delegate: NodeRef<NoInput, DelegateNext>,
    /// The subgraphs of sub-agents, by kind: the nodes `agent.KIND`.
    pub agents: AgentNodes,
    /// The node `finish`.
    pub finish: NodeRef<NoInput, FinishNext>,
}

impl<C: Send + Sync + 'static> AssistantGraph<C> {
    /// The name of the graph, which threads remember.
    pub const NAME: &'static str = "assistant";

    /// Makes the nodes and wires them.
    ///
    /// # Errors
    /// Fails if the graph of a sub-agent cannot be made.
    pub fn new(config: AssistantConfig) -> Result<Self, AssistantError> {
        let config = Arc::new(config);
        let initial = AssistantState { mode: config.mode, ..AssistantState::default() };
        let mut graph = StateGraph::with_schema(Self::NAME, AssistantState::schema(), initial);
        let mut runner = config.runner();
        store_long_results(&config, &mut runner);
        let gate = graph.node("gate", Gate::new(&config));
        let compact = graph.node("compact", Compact::new(&config));
        let turn = graph.node("turn", Turn::new(&config, &runner));
        let recover = graph.node("recover", Recover::new(&config));
        let authorize = graph.node("authorize", Authorize::new(&config, &runner));
        let tools = graph.node("tools", Tools::new(&config, &runner));
        graph.policy(tools).on_unknown(OnUnknown::Ask);
        let delegate = graph.node("delegate", Delegate::new(&config));
        let agents = add_agents(&mut graph, &config)?;
        let finish = graph.node("finish", Finish::new(&config));

        graph.edge(START, gate);
        graph.route(gate, move |next| match next {
            GateNext::Turn => to(turn),
            GateNext::Stop => END,
        });
        graph.edge(compact, turn);
        graph.route(turn, move |next| match next {
            TurnNext::Calls => to(authorize),
            TurnNext::Compact => to(compact),
            TurnNext::Again => to(turn),
            TurnNext::Done => to(finish),
            TurnNext::Failed => to(recover),
            TurnNext::Stopped => END,
        });
        graph.route(recover, move |next| match next {
            RecoverNext::Turn => to(turn),
            RecoverNext::Compact => to(compact),
            RecoverNext::Stop => END,
        });
        graph.route(authorize, move |next| match next {
            AuthorizeNext::Run => to(tools),
            AuthorizeNext::Delegate => to(delegate),
            AuthorizeNext::Gate => to(gate),
            AuthorizeNext::Stopped => END,
        });
        graph.route(tools, move |next| match next {
            ToolsNext::Gate => to(gate),
            ToolsNext::Delegate => to(delegate),
            ToolsNext::Stopped => END,
        });
        let nodes = agents.clone();
        graph.route(delegate, move |next| match next {
            DelegateNext::Agents(batch) => to_agents(&nodes, &batch),
            DelegateNext::Gate => to(gate),
            DelegateNext::Stopped => END,
        });
        agents.values().for_each(|agent| graph.edge(*agent, delegate));
        graph.route(finish, move |next| match next {
            FinishNext::End => END,
            FinishNext::Gate => to(gate),
        });
        Ok(Self { graph, gate, compact, turn, recover, authorize, tools, delegate, agents, finish })
    }
}

/// The subgraphs of sub-agents, by kind.
type AgentNodes = BTreeMap<String, NodeRef<Takes<Delegation>, ()>>;

/// Adds a subgraph for each kind of sub-agents: an assistant like this one, with another configuration.
fn add_agents<C: Send + Sync + 'static>(
    graph: &mut StateGraph<AssistantState, C>,
    config: &AssistantConfig,
) -> Result<AgentNodes, AssistantError> {
    let mut nodes = AgentNodes::new();
    for kind in &config.kinds {
        let access = kind.access;
        let lens = Lens::new()
            .item(|task: &Delegation| AssistantState::delegated(task.clone()))
            .give_with(move |parent: &AssistantState| AssistantState::inherited(parent, access))
            .share(AssistantState::GRANTS, AssistantState::GRANTS)
            // Agents that change files run one after the other, so their snapshots follow each other.
            .share(AssistantState::SNAPSHOT, AssistantState::SNAPSHOT)
            .share(AssistantState::CHANGES, AssistantState::CHANGES)
            .share(AssistantState::NOT_COVERED, AssistantState::NOT_COVERED)
            .take(AssistantState::LEDGER, AssistantState::LEDGER)
            .take_with(|agent: &AssistantState| AssistantState::update().results([agent.result()]));
        let agent = compiled(config.of_agent(kind))?.with_own_context();
        nodes.insert(kind.name.clone(), graph.subgraph(format!("{AGENT}{}", kind.name), agent, lens));
    }
    Ok(nodes)
}

/// Leads to one task for each delegation.
fn to_agents(nodes: &AgentNodes, batch: &[Delegation]) -> Targets {
    let of_kind = |(kind, node): (&String, &NodeRef<Takes<Delegation>, ()>)| {
        each(*node, batch.iter().filter(|it| it.agent == *kind).cloned())
    };
    nodes.iter().map(of_kind).reduce(Targets::and).unwrap_or(END)
}

#[cfg(test)]
mod tests;
