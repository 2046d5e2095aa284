//! The wiring of a critic's graph.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::graph::{BuildError, END, NodeRef, START, StateGraph, to};
use superstep::node::{NoInput, Snapshot};
use superstep::nodes::model::ToolChoice;
use superstep::nodes::node::{Agent, AgentNext, Tools};
use superstep::nodes::tool::{ExecutionPolicy, ToolRegistry};
use superstep::route::Route;
use superstep::run::Graph;
use superstep::state::State;

use super::config::CriticConfig;
use super::photo;
use super::prompt::composition_tool;
use super::state::{CriticState, MAX_CRITIC_ITERATIONS};

/// Makes the graph of a critic of photographs, which searches the advice of experts.
///
/// ```text
///                       ┌───────── tools ◀──┐ (tool calls)
///                       ▼            │      │
/// START ──▶ photo ──▶ critic ────────┼──────┴──────────────▶ END
///                                    └──▶ last_word ──▶ END
///                                  (asked three times)
/// ```
///
/// The photograph is prepared and sent in one message with the prompt. Nothing is sent beside that message, the replies
/// and the results of tools. The model is called at most three times with its tool. If it asked for the tool each time,
/// it is called once more for its last word: the request has the tool, as providers want, but the model may not call
/// it. So there are at most four calls.
///
/// With a checkpointer each step is stored, including the photograph as it was sent. A run that was killed can be
/// resumed, and no reply is paid for twice.
///
/// # Errors
/// Never with this wiring; compiling any graph returns this type.
pub fn critic(config: CriticConfig) -> Result<Graph<CriticState>, BuildError> {
    CriticGraph::<()>::new(config).graph.compile()
}

/// A [`critic`] graph before it is compiled, to be extended.
#[derive(Debug)]
pub struct CriticGraph<C = ()> {
    /// The graph, completely wired.
    pub graph: StateGraph<CriticState, C>,
    /// The node `photo`.
    pub photo: NodeRef<NoInput, ()>,
    /// The node `critic`.
    pub critic: NodeRef<NoInput, AgentNext>,
    /// The node `tools`.
    pub tools: NodeRef<NoInput, ()>,
    /// The node `last_word`.
    pub last_word: NodeRef<NoInput, AgentNext>,
}

/// The next step after the results of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AfterTools {
    AskAgain,
    LastWord,
    Halt,
}

impl<C: Send + Sync + 'static> CriticGraph<C> {
    /// The name of the graph, which is stored with threads.
    pub const NAME: &'static str = "critic";

    /// Makes the nodes and wires them.
    pub fn new(config: CriticConfig) -> Self {
        let CriticConfig { model, knowledge, settings, model_settings, retry } = config;
        let initial = CriticState {
            prompt: settings.prompt,
            detail: settings.detail,
            max_size: settings.max_size,
            on_tool_error: settings.on_tool_error,
            ..CriticState::default()
        };
        let tools = ToolRegistry::new()
            .with(composition_tool(knowledge, settings.top_k))
            .expect("the tool's name and schema are as they should be");
        let agent = || {
            Agent::new(Arc::clone(&model), CriticState::MESSAGES, CriticState::ITERATION)
                .tools(&tools)
                .settings(model_settings.clone())
                .count(CriticState::LEDGER)
                .last_usage(CriticState::LAST_CALL)
                .stop(CriticState::STOP)
        };

        let mut graph = StateGraph::with_schema(Self::NAME, CriticState::schema(), initial);
        let instructions: Arc<str> = settings.instructions.into();
        let photo = graph.node("photo", move |state: Snapshot<CriticState>| {
            let instructions = Arc::clone(&instructions);
            async move { photo::begin(state, &instructions).await }
        });
        let critic = graph.node("critic", agent());
        let last_word = graph.node("last_word", agent().tool_choice(ToolChoice::None));
        let runner = Tools::new(tools, CriticState::MESSAGES).policy(ExecutionPolicy::Sequential);
        let tools = graph.node("tools", runner);
        if let Some(retry) = retry {
            graph.policy(critic).retry(retry.clone());
            graph.policy(last_word).retry(retry);
        }

        graph.edge(START, photo);
        graph.edge(photo, critic);
        graph.route(critic, move |next| match next {
            AgentNext::RunTools => to(tools),
            AgentNext::Respond => END,
        });
        graph.branch(tools, after_tools, move |next| match next {
            AfterTools::AskAgain => to(critic),
            AfterTools::LastWord => to(last_word),
            AfterTools::Halt => END,
        });
        graph.route(last_word, move |next| match next {
            AgentNext::RunTools | AgentNext::Respond => END,
        });
        Self { graph, photo, critic, tools, last_word }
    }
}

fn after_tools(state: &CriticState) -> AfterTools {
    if state.halted_by().is_some() {
        return AfterTools::Halt;
    }
    match state.iteration < MAX_CRITIC_ITERATIONS {
        true => AfterTools::AskAgain,
        false => AfterTools::LastWord,
    }
}
