//! The wiring of an agentic loop.

use superstep_core::graph::{BuildError, END, NodeRef, START, StateGraph, to};
use superstep_core::node::NoInput;
use superstep_core::run::Graph;
use superstep_core::state::State;

use super::config::AgenticConfig;
use super::state::AgenticState;
use crate::NextAction;
use crate::model::ToolChoice;
use crate::node::{Agent, AgentNext, Compact, Refine, Router, UseTools, UseToolsNext, Verify, VerifyNext};

/// Makes the graph of a loop that gathers context, acts, verifies its work, and repeats.
///
/// ```text
///                           ┌──▶ use_tools ──┐                          ┌──────▶ END
/// START ──▶ compact ──▶ router              ├──▶ respond ──▶ verify ──┤
///                           └────────────────┘       ▲                  │ (refused, and attempts left)
///                                                    └──── refine ◀─────┘
/// ```
///
/// Without compaction there is no `compact`, and without verification there are neither `verify` nor `refine`. The
/// input and the state are the same in any case.
///
/// | node | asks a model |
/// |---|---|
/// | `compact` | for a summary, if the conversation has become too long |
/// | `router` | whether the request takes tools, if there are any |
/// | `use_tools` | until it asks for no more tools |
/// | `respond` | for the response, unless `use_tools` ended with one |
/// | `verify` | for a judgement, if all rules are kept |
/// | `refine` | – |
///
/// A response that is refused is taken out of the conversation, and the next one is asked for with the feedback on it.
/// After the last attempt the last response is given even if it was refused: [`AgenticState::verdict`] says so.
///
/// A turn takes 3 + 3 × (1 + refinements) supersteps at most, and one more each time that the model fails between
/// tools. Calls of models and tools are effects: a run that is resumed makes none again that has finished.
///
/// # Errors
/// Never fails with this wiring; the type is that of every graph's compilation.
///
/// ```
/// use superstep_nodes::graphs::{self, AgenticConfig, AgenticState};
/// use superstep_nodes::model::{Purpose, Scripted};
/// use superstep_nodes::verification::{PredicateRule, Submission, Verdict};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = Scripted::new().say("Paris, I guess.").on(Purpose::Refiner, ["Paris is the capital of France."]);
/// let sure = PredicateRule::new("sure", |it: &Submission| match it.response.contains("guess") {
///     true => Err("Do not guess.".to_owned()),
///     false => Ok(()),
/// });
/// let graph = graphs::agentic(AgenticConfig::new(model).rule(sure).without_judge())?;
/// let state = graph.run(AgenticState::ask("What is the capital of France?")).await?.finished()?;
/// match state.verdict() {
///     Verdict::Verified(verified) => assert_eq!(verified.response, "Paris is the capital of France."),
///     Verdict::Unverified { why, .. } => panic!("{why}"),
///     Verdict::Unchecked => panic!("it was checked"),
/// }
/// assert_eq!(state.refinement_attempts, Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn agentic(config: AgenticConfig) -> Result<Graph<AgenticState>, BuildError> {
    AgenticGraph::<()>::new(&config).graph.compile()
}

/// An [`agentic`] graph before it is compiled, to be extended.
#[derive(Debug)]
pub struct AgenticGraph<C = ()> {
    /// The graph, completely wired.
    pub graph: StateGraph<AgenticState, C>,
    /// The node `compact`, if conversations are compacted.
    pub compact: Option<NodeRef<NoInput, ()>>,
    /// The node `router`.
    pub router: NodeRef<NoInput, NextAction>,
    /// The node `use_tools`.
    pub use_tools: NodeRef<NoInput, UseToolsNext>,
    /// The node `respond`.
    pub respond: NodeRef<NoInput, AgentNext>,
    /// The nodes `verify` and `refine`, if responses are verified.
    pub verify: Option<(NodeRef<NoInput, VerifyNext>, NodeRef<NoInput, ()>)>,
}

impl<C: Send + Sync + 'static> AgenticGraph<C> {
    /// The name of the graph: what threads remember.
    pub const NAME: &'static str = "agentic";

    /// Makes the nodes and wires them.
    pub fn new(config: &AgenticConfig) -> Self {
        let settings = &config.settings;
        let mut graph = StateGraph::with_schema(Self::NAME, AgenticState::schema(), AgenticState::default());
        let compact =
            settings.enable_context_compaction.then(|| graph.node("compact", compact_context(config)));
        let router = graph.node("router", route_request(config));
        let use_tools = graph.node("use_tools", use_tools(config));
        let respond = graph.node("respond", respond(config));
        let verify = settings.enable_verification.then(|| {
            (graph.node("verify", verify_response(config)), graph.node("refine", refine_response()))
        });

        if let Some(compact) = compact {
            graph.policy(compact).retry(config.retry());
        }
        graph.policy(use_tools).retry(config.retry());
        graph.policy(router).retry(config.retry());
        graph.policy(respond).retry(config.retry());

        match compact {
            Some(compact) => {
                graph.edge(START, compact);
                graph.edge(compact, router);
            }
            None => graph.edge(START, router),
        }
        graph.route(router, move |next| match next {
            NextAction::UseTools => to(use_tools),
            NextAction::Respond => to(respond),
        });
        graph.route(use_tools, move |next| match next {
            UseToolsNext::Done => to(respond),
            UseToolsNext::Again => to(use_tools),
        });
        match verify {
            Some((verify, refine)) => {
                graph.policy(verify).retry(config.retry());
                graph.route(respond, move |next| match next {
                    AgentNext::RunTools | AgentNext::Respond => to(verify),
                });
                graph.route(verify, move |next| match next {
                    VerifyNext::Finish => END,
                    VerifyNext::Refine => to(refine),
                });
                graph.edge(refine, respond);
            }
            None => {
                graph.route(respond, move |next| match next {
                    AgentNext::RunTools | AgentNext::Respond => END,
                });
            }
        }
        Self { graph, compact, router, use_tools, respond, verify }
    }
}

/// Gather context: the conversation is shown in short if it has become too long.
fn compact_context(config: &AgenticConfig) -> Compact<AgenticState> {
    compaction(config).task(AgenticState::USER_REQUEST).count(AgenticState::LEDGER)
}

fn compaction(config: &AgenticConfig) -> Compact<AgenticState> {
    let model = config.model_of(config.summariser.as_ref());
    Compact::new(model, config.context_manager(), AgenticState::MESSAGES, AgenticState::COMPACTIONS)
        .applied(AgenticState::COMPACTION_APPLIED, AgenticState::ORIGINAL_MESSAGE_COUNT)
}

fn route_request(config: &AgenticConfig) -> Router<AgenticState> {
    let model = config.model_of(config.router.as_ref());
    Router::new(model, AgenticState::USER_REQUEST, AgenticState::MESSAGES)
        .tools(&config.tools)
        .compacted(AgenticState::COMPACTIONS)
        .decision(AgenticState::NEXT_ACTION, AgenticState::ROUTING_CONFIDENCE, AgenticState::REASONING)
        .count(AgenticState::LEDGER)
}

/// Take action: tools run until the model has what it needs.
fn use_tools(config: &AgenticConfig) -> UseTools<AgenticState> {
    let tools = UseTools::new(config.model_of(None), config.tools.clone(), AgenticState::MESSAGES)
        .rounds(config.settings.max_tool_rounds)
        .policy(config.policy)
        .system(config.system.clone())
        .settings(config.model_settings.clone())
        .count(AgenticState::LEDGER);
    let tools = match &config.workspace {
        Some(folder) => tools.workspace(folder),
        None => tools,
    };
    match config.settings.enable_context_compaction {
        true => tools.compacted(compaction(config)),
        false => tools,
    }
}

fn respond(config: &AgenticConfig) -> Agent<AgenticState> {
    Agent::new(config.model_of(None), AgenticState::MESSAGES, AgenticState::RESPONSES)
        .system(config.system.clone())
        .settings(config.model_settings.clone())
        .tools(&config.tools)
        .tool_choice(ToolChoice::None)
        .take_response()
        .compacted(AgenticState::COMPACTIONS)
        .corrections(AgenticState::VERIFICATIONS)
        .turn(AgenticState::TURN)
        .stop(AgenticState::STOP)
        .count(AgenticState::LEDGER)
}

/// Verify work: by rules, and then by a judge.
fn verify_response(config: &AgenticConfig) -> Verify<AgenticState> {
    let judge = config.model_of(config.judge.as_ref());
    Verify::new(judge, config.output_verifier(), AgenticState::MESSAGES, AgenticState::VERIFICATIONS)
        .request(AgenticState::USER_REQUEST)
        .attempts(AgenticState::REFINEMENT_ATTEMPTS, config.settings.max_refinement_attempts)
        .turn(AgenticState::TURN)
        .stop(AgenticState::STOP)
        .passed(AgenticState::VERIFICATION_PASSED)
        .score(AgenticState::VERIFICATION_SCORE)
        .feedback(AgenticState::VERIFICATION_FEEDBACK)
        .count(AgenticState::LEDGER)
}

/// Repeat: the refused response makes room for the next.
fn refine_response() -> Refine<AgenticState, Option<u32>> {
    Refine::new(AgenticState::MESSAGES, AgenticState::VERIFICATIONS, AgenticState::REFINEMENT_ATTEMPTS)
}
