//! Agents that work beside the session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::Value;
use superstep_assistant::AssistantState;
use superstep_assistant::agents::BackgroundAgent;
use superstep_core::id::{InterruptId, ThreadId};
use superstep_core::run::{Status, Thread};
use tokio::runtime::Handle;

use super::front::{Front, Gone};
use crate::agent::work::{OpenQuestion, Start};
use crate::agent::workbench::Workbench;
use crate::page::{BAD, NOTE};

/// The agents of the session that run in this process.
pub(crate) struct Background {
    running: BTreeMap<String, BackgroundAgent>,
    send: Sender<Report>,
    reports: Receiver<Report>,
    wake: Arc<AtomicBool>,
}

/// News of an agent for the user.
pub(crate) enum News {
    /// Its answer is in the inbox of the session.
    Ended {
        agent: String,
    },
    Failed {
        agent: String,
        reason: String,
    },
    Asked {
        agent: String,
        question: Box<OpenQuestion>,
    },
}

enum Report {
    News(News),
    /// A state of the session, which lists agents.
    State(Arc<AssistantState>, Arc<Workbench>, ThreadId, Handle),
}

impl Background {
    /// Makes one. `wake` is set if there are news.
    pub(crate) fn new(wake: Arc<AtomicBool>) -> Self {
        let (send, reports) = channel();
        Self { running: BTreeMap::new(), send, reports, wake }
    }

    /// Returns the names of the agents that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &str> {
        self.running.keys().map(String::as_str)
    }

    /// Returns news, if there are some.
    pub(crate) fn news(&mut self) -> Option<News> {
        loop {
            match self.reports.try_recv().ok()? {
                Report::State(state, bench, session, runtime) => self.see(&runtime, &bench, &session, &state),
                Report::News(news) => {
                    if let News::Ended { agent } | News::Failed { agent, .. } = &news {
                        self.running.remove(agent);
                    }
                    return Some(news);
                }
            }
        }
    }

    /// Runs the agents of a state of the session that do not run yet.
    pub(crate) fn see(
        &mut self,
        runtime: &Handle,
        bench: &Arc<Workbench>,
        session: &ThreadId,
        state: &Arc<AssistantState>,
    ) {
        for agent in &state.background {
            if self.running.insert(agent.name.clone(), agent.clone()).is_none() {
                let run = run(Arc::clone(bench), session.clone(), Arc::clone(state), agent.clone());
                self.spawn(runtime, run);
            }
        }
    }

    /// Reads the latest state of the session, for new agents.
    pub(crate) fn look(&mut self, runtime: &Handle, bench: &Arc<Workbench>, thread: &Thread<AssistantState>) {
        let (send, bench, thread) = (self.send.clone(), Arc::clone(bench), thread.clone());
        let (wake, handle) = (Arc::clone(&self.wake), runtime.clone());
        runtime.spawn(async move {
            if let Ok(head) = thread.head().await
                && !head.state().background.is_empty()
            {
                let state = Arc::new(head.into_state());
                // Without a receiver the session is over.
                let _ = send.send(Report::State(state, bench, thread.id().clone(), handle));
                wake.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Answers a question of an agent, and runs it again.
    pub(crate) fn answer(
        &mut self,
        runtime: &Handle,
        bench: &Arc<Workbench>,
        session: &ThreadId,
        agent: &str,
        question: InterruptId,
        answer: Value,
    ) {
        let Some(agent) = self.running.get(agent).cloned() else { return };
        let (bench, session) = (Arc::clone(bench), session.clone());
        let run = async move {
            let failed = |reason: String| News::Failed { agent: agent.name.clone(), reason };
            let thread = match bench.background.thread(&session, &agent) {
                Ok(thread) => thread,
                Err(error) => return failed(error.to_string()),
            };
            if let Err(error) = thread.answer_to(question, &answer).await {
                return failed(error.to_string());
            }
            let state = bench.graph.thread(session.clone()).head().await;
            match state {
                Ok(head) => {
                    run(Arc::clone(&bench), session, Arc::new(head.into_state()), agent.clone()).await
                }
                Err(error) => failed(error.to_string()),
            }
        };
        self.spawn(runtime, run);
    }

    fn spawn(&self, runtime: &Handle, run: impl Future<Output = News> + Send + 'static) {
        let (send, wake) = (self.send.clone(), Arc::clone(&self.wake));
        runtime.spawn(async move {
            let news = run.await;
            // Without a receiver the session is over.
            let _ = send.send(Report::News(news));
            wake.store(true, Ordering::Relaxed);
        });
    }

    /// Stops all agents of a session. Their work is kept, and the next start of the session continues it.
    pub(crate) fn stop(&mut self, bench: &Workbench, session: &ThreadId) {
        for agent in std::mem::take(&mut self.running).into_keys() {
            bench.background.stop(session, &agent);
        }
    }
}

async fn run(
    bench: Arc<Workbench>,
    session: ThreadId,
    state: Arc<AssistantState>,
    agent: BackgroundAgent,
) -> News {
    let name = agent.name.clone();
    let run = match bench.background.run(&session, &state, &agent).await {
        Ok(run) => run,
        Err(error) => return News::Failed { agent: name, reason: error.to_string() },
    };
    let Status::Interrupted { interrupts } = run.status else { return News::Ended { agent: name } };
    let thread = match bench.background.thread(&session, &agent) {
        Ok(thread) => thread,
        Err(error) => return News::Failed { agent: name, reason: error.to_string() },
    };
    match OpenQuestion::all(&thread, &interrupts, bench.snapshots.as_ref()).await {
        Ok(open) => match open.into_iter().next() {
            Some(question) => News::Asked { agent: name, question: Box::new(question) },
            None => News::Ended { agent: name },
        },
        Err(failure) => News::Failed { agent: name, reason: failure.told_by("superstep") },
    }
}

impl Front {
    /// Shows news of agents in the background: their ends and questions.
    pub(super) fn news(&mut self) -> Result<(), Gone> {
        while let Some(news) = self.background.news() {
            match news {
                News::Ended { agent } => {
                    self.say(NOTE, &format!("The agent {agent} has ended."))?;
                    let state = self.state()?;
                    let has_mail = state.map_or(Ok(false), |state| self.has_mail(&state))?;
                    if has_mail && self.open.is_empty() {
                        self.carry_out(Start::Ask(String::new()))?;
                    }
                }
                News::Failed { agent, reason } => {
                    self.say(BAD, &format!("The agent {agent} failed: {reason}"))?;
                }
                News::Asked { agent, question } => {
                    self.say(NOTE, &format!("The agent {agent} asks:"))?;
                    let reply = self.ask_about(&question.question)?;
                    let Some(reply) = reply else { continue };
                    let Start::Answer(id, value) = self.bench.reply(&question, &reply)? else { continue };
                    let session = self.session.thread().id().clone();
                    self.background.answer(&self.runtime, &self.bench, &session, &agent, id, value);
                }
            }
        }
        Ok(())
    }
}
