//! Agents that work beside their session.

use std::collections::BTreeMap;
use std::fmt;

use superstep_core::id::ThreadId;
use superstep_core::run::{Graph, Run, RunError, Status, Thread};
use superstep_core::store::AccessError;

use crate::agents::{AgentError, BackgroundAgent};
use crate::config::AssistantConfig;
use crate::graph::{AssistantError, compiled};
use crate::inbox::{Inbox, InboxMessage};
use crate::state::AssistantState;

/// The agents that work beside sessions, each on a thread of its own, `SESSION/NAME`.
///
/// A session lists its agents in the field [`background`](AssistantState::background) of its state, and leaves their work
/// to the program: it [runs](Self::run) each of them, after a checkpoint that lists a new one, and once at its start for
/// those that an earlier process left. An agent that has ended sends its answer to the inbox of the session, which then
/// takes it off the list.
///
/// ```
/// # use superstep_assistant::agents::AgentKind;
/// # use superstep_assistant::inbox::Inbox;
/// # use superstep_assistant::{AssistantConfig, AssistantState, BackgroundAgents, assistant};
/// # use superstep_core::{checkpoint::MemorySaver, store::MemoryStore};
/// # use superstep_nodes::{message::ToolCall, model::Scripted};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let call = serde_json::json!({ "kind": "explore", "task": "Find it.", "background": true });
/// # let model = Scripted::new().call("c1", "agent", call).say("It is on its way.").say("It is in lib.rs.").say("Found.");
/// let config = AssistantConfig::new(model)
///     .agents([AgentKind::reader("explore", "Finds places in the project.")])
///     .inbox(Inbox::new(MemoryStore::new()));
/// let saver = MemorySaver::new();
/// let background = BackgroundAgents::new(&config, |graph| graph.checkpointer(saver.clone()))?;
/// let session = assistant(config)?.checkpointer(saver.clone()).thread("session");
///
/// let state = session.run(AssistantState::ask("Find it, and tell me a joke.")).await?.finished()?;
/// for agent in &state.background {
///     background.run(session.id(), &state, agent).await?;
/// }
/// let state = session.run(AssistantState::ask("And?")).await?.finished()?;
/// assert_eq!((state.response().as_str(), state.background.len()), ("Found.", 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct BackgroundAgents {
    graphs: BTreeMap<String, Graph<AssistantState>>,
    config: AssistantConfig,
    inbox: Inbox,
}

/// The error of an agent in the background.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackgroundError {
    /// The configuration has no kind of this name any longer. Configure it, or stop the agent.
    #[error("the agent `{agent}` is of a kind that is not configured: `{kind}`")]
    UnknownKind {
        /// The agent.
        agent: String,
        /// Its kind.
        kind: String,
    },
    /// The run failed. The agent can be run again.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The answer could not be sent to the session. Run the agent again: its work is kept.
    #[error("the agent `{agent}` has ended, and its answer could not be sent to its session")]
    Send {
        /// The agent.
        agent: String,
        /// The error.
        source: AccessError,
    },
}

impl BackgroundAgents {
    /// Makes the graphs of the kinds of a session's configuration. Each is given its checkpointer by `prepare`: that of
    /// the session, or another one.
    ///
    /// # Errors
    /// Fails if the configuration has no inbox, or no agents can be made of its kinds.
    pub fn new(
        config: &AssistantConfig,
        prepare: impl Fn(Graph<AssistantState>) -> Graph<AssistantState>,
    ) -> Result<Self, AssistantError> {
        config.check_agents()?;
        let inbox = config.inbox.clone().ok_or(AgentError::NoInbox)?;
        let graph = |kind| Ok::<_, AssistantError>(prepare(compiled(config.of_agent(kind))?));
        let graphs = config.kinds.iter().map(|kind| Ok((kind.name.clone(), graph(kind)?)));
        Ok(Self { graphs: graphs.collect::<Result<_, AssistantError>>()?, config: config.clone(), inbox })
    }

    /// Returns the thread of an agent, to answer its questions, or to look at it while it works.
    ///
    /// # Errors
    /// Fails if the kind of the agent is not configured.
    pub fn thread(
        &self,
        session: &ThreadId,
        agent: &BackgroundAgent,
    ) -> Result<Thread<AssistantState>, BackgroundError> {
        let kind = &agent.delegation.agent;
        let unknown = || BackgroundError::UnknownKind { agent: agent.name.clone(), kind: kind.clone() };
        let graph = self.graphs.get(kind).ok_or_else(unknown)?;
        Ok(graph.thread(BackgroundAgent::thread(session, &agent.name)))
    }

    /// Runs an agent until it has ended or asks a question, wherever an earlier run of it stopped. After an answer, it
    /// is run again. `state` is that of the session.
    ///
    /// The end of the agent is sent to the session, once, however often this is called.
    ///
    /// # Errors
    /// Fails if the agent's run fails, or its end cannot be sent.
    pub async fn run(
        &self,
        session: &ThreadId,
        state: &AssistantState,
        agent: &BackgroundAgent,
    ) -> Result<Run<AssistantState>, BackgroundError> {
        let thread = self.thread(session, agent)?;
        let access = self.config.kind(&agent.delegation.agent).map(|kind| kind.access);
        let access = access.expect("a kind with a graph is configured");
        let input = AssistantState::delegated(agent.delegation.clone())
            .and(AssistantState::inherited(state, access))
            .grants(state.grants.clone());
        let run = thread.run_once("begin", input).await?;
        if matches!(run.status, Status::Finished) {
            let message = InboxMessage::steer(run.state.result().to_string())
                .with_id(thread.id().to_string())
                .from_agent(agent.name.clone())
                .ended(run.state.ledger.clone(), run.state.changes.iter().copied());
            let sent = self.inbox.send(session, message).await;
            sent.map_err(|source| BackgroundError::Send { agent: agent.name.clone(), source })?;
        }
        Ok(run)
    }

    /// Stops an agent that runs in this process, with the agents that it started. Its end is sent to the session like
    /// any other. Returns `false` if it does not run.
    pub fn stop(&self, session: &ThreadId, agent: &str) -> bool {
        self.config.interrupts.stop(&BackgroundAgent::thread(session, agent))
    }
}

impl fmt::Debug for BackgroundAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundAgents").field("kinds", &self.graphs.keys()).finish_non_exhaustive()
    }
}
