//! One run of a session: its events, its end, and the questions in between.
//!
//! ```text
//! Workbench::begin ──▶ Work ── next ──▶ AssistantEvent, …
//!                       │ ▲
//!                       │ └── stop, leave: from this process or from another one
//!                       └── end ──▶ WorkEnd: exited, asked, held, left, failed
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_assistant::exit::Exit;
use superstep_assistant::permission::{PermissionAnswer, PermissionQuestion};
use superstep_assistant::plan::{PlanAnswer, PlanQuestion, UserQuestion};
use superstep_assistant::snapshot::Snapshots;
use superstep_assistant::{AssistantEvent, AssistantState, CutOffAnswer, CutOffCall, Interrupts, Session};
use superstep_core::id::{InterruptId, NodeName, ThreadId};
use superstep_core::run::{
    CancellationToken, Interrupt, Run, RunError, RunStream, Status, Thread, ThreadError,
};
use superstep_core::state::Json;
use superstep_core::store::{AccessError, Store};
use tokio::task::JoinHandle;

use super::always;
use super::hold::{Hold, now_ms};
use super::workbench::Workbench;
use crate::failure::Failure;

/// The beginning of a run.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// Work on a message of the user. An empty one works on the messages of the inbox.
    Ask(String),
    /// Continue work that was cut off.
    Resume,
    /// Answer a question, and continue.
    Answer(InterruptId, Value),
}

/// A run of a session. If it is dropped, the session can be resumed.
pub(crate) struct Work {
    stream: RunStream<AssistantState>,
    ready: VecDeque<AssistantEvent>,
    reason: Option<String>,
    thread: Thread<AssistantState>,
    snapshots: Option<Snapshots>,
    interrupts: Interrupts,
    leave: CancellationToken,
    watch: Watch,
    _hold: Hold,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) enum WorkEnd {
    /// The work on the message ended.
    Exited {
        exit: Exit,
        /// The failure that ended it.
        reason: Option<String>,
        state: Arc<AssistantState>,
    },
    /// Questions wait for answers.
    Asked(Vec<OpenQuestion>),
    /// Another process works on the session.
    Held { by: String },
    /// The run was left, and the session can be resumed.
    Left,
    /// The run failed, and the session can be resumed.
    Failed(RunError),
}

/// The standing of a session that does not work now.
#[derive(Debug)]
pub(crate) enum Standing {
    /// It has not begun.
    New,
    /// The work on the last message has ended.
    Done,
    /// Work was cut off, and can be resumed.
    CutOff,
    /// It was taken back to a step from which work can be resumed, or another message can be given.
    Rewound,
    /// Questions wait for answers.
    Asks(Vec<OpenQuestion>),
}

/// A question that waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) id: InterruptId,
    pub(crate) question: Question,
}

/// A question, by its kind.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    Permission(Box<PermissionQuestion>),
    Plan(PlanQuestion),
    User(UserQuestion),
    CutOff(CutOffCall),
    /// A question of another program's version.
    Other(Json),
}

/// The answer to a question, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Permission(PermissionAnswer),
    Plan(PlanAnswer),
    User(String),
    CutOff(CutOffAnswer),
}

/// The time between two looks for a request to stop.
const WATCH: Duration = Duration::from_millis(200);

impl Workbench {
    /// Begins a run of a session.
    ///
    /// # Errors
    /// Returns the end if another process works on the session.
    pub(crate) async fn begin(
        &self,
        session: &mut Session,
        start: Start,
    ) -> Result<Result<Work, WorkEnd>, Failure> {
        let id = session.thread().id().clone();
        let hold = match Hold::take(&self.places, &self.saver, &id).await? {
            Ok(hold) => hold,
            Err(held) => return Ok(Err(WorkEnd::Held { by: held.by })),
        };
        StopRequest::withdraw(&self.store, &id).await?;
        let leave = CancellationToken::new();
        let request = match start {
            Start::Ask(message) => {
                let is_new = session.thread().history()?.next().await?.is_none();
                // A session keeps its mode, whatever the settings of the process that continues it.
                match self.take_given_mode().or_else(|| is_new.then(|| self.mode())) {
                    Some(mode) => session.ask_in_mode(message, mode),
                    None => session.ask(message),
                }
            }
            Start::Resume => session.resume(),
            Start::Answer(question, answer) => session.answer(question, answer),
        };
        let watch = Watch(tokio::spawn(watch(self.store.clone(), self.interrupts.clone(), id)));
        Ok(Ok(Work {
            stream: request.cancel_on(leave.clone()).stream(),
            ready: VecDeque::new(),
            reason: None,
            thread: session.thread().clone(),
            snapshots: self.snapshots.clone(),
            interrupts: self.interrupts.clone(),
            leave,
            watch,
            _hold: hold,
        }))
    }

    /// Returns the beginning of a run that answers a question. With `Always`, the rules that the question offers are
    /// written to the user's [file](super::places::Places::always) first.
    pub(crate) fn reply(&self, question: &OpenQuestion, reply: &Reply) -> Result<Start, Failure> {
        if let (Question::Permission(asked), Reply::Permission(PermissionAnswer::Always)) =
            (&question.question, reply)
        {
            always::add(&self.places.always(), &asked.offer)?;
        }
        question.answered(reply)
    }

    /// Returns what is to be done in a session.
    pub(crate) async fn standing(&self, session: &Session) -> Result<Standing, Failure> {
        let thread = session.thread();
        let head = match thread.head().await {
            Err(ThreadError::NeverRan(_)) => return Ok(Standing::New),
            head => head?,
        };
        let open = head.interrupts();
        Ok(if !open.is_empty() {
            Standing::Asks(OpenQuestion::all(thread, &open, self.snapshots.as_ref()).await?)
        } else if head.next().iter().all(NodeName::is_end) {
            Standing::Done
        } else if head.state().rewound.is_some() {
            Standing::Rewound
        } else {
            Standing::CutOff
        })
    }
}

impl Work {
    /// Returns the next event; `None` after the last one. A call that is dropped loses none.
    pub(crate) async fn next(&mut self) -> Option<AssistantEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let event = self.stream.next().await?;
            self.ready.extend(AssistantEvent::of(&event));
            if let Some(AssistantEvent::Exited { reason, .. }) = self.ready.back() {
                self.reason.clone_from(reason);
            }
        }
    }

    /// Stops the turn: open calls are answered, and the run ends. Returns `false` if no turn has begun.
    pub(crate) fn stop(&self) -> bool {
        self.interrupts.stop(self.thread.id())
    }

    /// Ends the run where it is; the session can be resumed.
    pub(crate) fn leave(&self) {
        self.leave.cancel();
    }

    /// Runs to the end, without the events that are left.
    pub(crate) async fn end(mut self) -> Result<WorkEnd, Failure> {
        while self.next().await.is_some() {}
        drop(self.watch);
        let run: Run<AssistantState> = match self.stream.finish().await {
            Ok(run) => run,
            Err(RunError::Leased { holder, .. }) => return Ok(WorkEnd::Held { by: holder }),
            Err(error) => return Ok(WorkEnd::Failed(error)),
        };
        Ok(match run.status {
            Status::Interrupted { interrupts } => {
                let open = OpenQuestion::all(&self.thread, &interrupts, self.snapshots.as_ref()).await?;
                WorkEnd::Asked(open)
            }
            Status::Finished => {
                let exit = run.state.exit.unwrap_or(Exit::Completed);
                WorkEnd::Exited { exit, reason: self.reason, state: run.state }
            }
            Status::LimitReached { .. } => {
                WorkEnd::Exited { exit: Exit::MaxTurns, reason: self.reason, state: run.state }
            }
            _ => WorkEnd::Left,
        })
    }
}

impl fmt::Display for OpenQuestion {
    /// Writes the question for a person, in a few lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = |agent: &Option<String>| {
            agent.as_ref().map(|agent| format!("agent {agent}: ")).unwrap_or_default()
        };
        match &self.question {
            Question::Permission(asked) => {
                let PermissionQuestion { call, reason, offer, agent: by, .. } = &**asked;
                write!(f, "{}allow {} with {}?\n  {reason}", agent(by), call.name, call.input)?;
                let offer: Vec<_> = offer.iter().map(ToString::to_string).collect();
                match offer.is_empty() {
                    true => Ok(()),
                    false => write!(f, "\n  calls like this one: {}", offer.join(", ")),
                }
            }
            Question::Plan(plan) => write!(f, "carry out this plan?\n{}", plan.plan),
            Question::User(asked) => {
                write!(f, "{}{}", agent(&asked.agent), asked.question)?;
                asked.options.iter().try_for_each(|option| write!(f, "\n  - {option}"))
            }
            Question::CutOff(CutOffCall { call, changed, .. }) => {
                write!(f, "{} with {} was cut off: did it happen?", call.name, call.input)?;
                let changed = changed.iter().flatten();
                changed.into_iter().try_for_each(|file| write!(f, "\n  changed since: {}", file.path))
            }
            Question::Other(question) => write!(f, "{question}"),
        }
    }
}

impl OpenQuestion {
    /// Reads the questions of a thread that wait for answers.
    pub(crate) async fn of_thread(
        thread: &Thread<AssistantState>,
        bench: &Workbench,
    ) -> Result<Vec<Self>, Failure> {
        let open = thread.head().await?.interrupts();
        Self::all(thread, &open, bench.snapshots.as_ref()).await
    }

    /// Returns `true` if an answer allows more than one call, and the question offers no rule for that.
    pub(crate) fn has_no_rule_for(&self, reply: &Reply) -> bool {
        let Question::Permission(asked) = &self.question else { return false };
        let is_for_more =
            matches!(reply, Reply::Permission(PermissionAnswer::Session | PermissionAnswer::Always));
        is_for_more && asked.offer.is_empty()
    }

    pub(crate) async fn all(
        thread: &Thread<AssistantState>,
        open: &[Interrupt],
        snapshots: Option<&Snapshots>,
    ) -> Result<Vec<Self>, Failure> {
        let mut questions = Vec::new();
        for interrupt in open {
            let cut_off = CutOffCall::of(thread, interrupt, snapshots).await;
            let cut_off = cut_off.map_err(|error| Failure::nothing(error.to_string()))?;
            let permission = || interrupt.question().ok().map(Box::new).map(Question::Permission);
            let plan = || interrupt.question().ok().map(Question::Plan);
            let user = || interrupt.question().ok().map(Question::User);
            let question = cut_off.map(Question::CutOff).or_else(permission).or_else(plan).or_else(user);
            let question = question.unwrap_or_else(|| Question::Other(interrupt.question.clone()));
            questions.push(Self { id: interrupt.id, question });
        }
        Ok(questions)
    }

    fn answered(&self, reply: &Reply) -> Result<Start, Failure> {
        let value = match (&self.question, reply) {
            (Question::Permission(_), Reply::Permission(answer)) => serde_json::to_value(answer),
            (Question::Plan(_), Reply::Plan(answer)) => serde_json::to_value(answer),
            (Question::User(_), Reply::User(answer)) => serde_json::to_value(answer),
            (Question::CutOff(call), Reply::CutOff(answer)) => serde_json::to_value(call.answer(answer)),
            _ => return Err(Failure::unusable("the answer does not fit this kind of question")),
        };
        Ok(Start::Answer(self.id, value.map_err(Failure::of)?))
    }
}

/// A request of another process to stop the turn of a session, in the store of the checkpoint file. The process that
/// works on the session looks for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StopRequest {
    at_ms: u64,
}

/// The namespace of requests to stop, by session.
const STOP: [&str; 1] = ["stop"];

impl StopRequest {
    /// Makes a request.
    pub(crate) async fn send(store: &Store, session: &ThreadId) -> Result<(), AccessError> {
        store.put(&STOP, session.as_str(), &Self { at_ms: now_ms() }).await
    }

    /// Returns `true` if there is a request that has not been carried out.
    pub(crate) async fn is_waiting(store: &Store, session: &ThreadId) -> Result<bool, AccessError> {
        Ok(store.entry(&STOP, session.as_str()).await?.is_some())
    }

    /// Waits for a request, and withdraws it.
    pub(crate) async fn wait(store: &Store, session: &ThreadId) {
        loop {
            tokio::time::sleep(WATCH).await;
            // A store that cannot be read or written now is asked again.
            if Self::is_waiting(store, session).await.unwrap_or(false)
                && Self::withdraw(store, session).await.is_ok()
            {
                return;
            }
        }
    }

    pub(crate) async fn withdraw(store: &Store, session: &ThreadId) -> Result<(), Failure> {
        let deleted = store.delete(&STOP, session.as_str()).await;
        deleted.map(drop).map_err(Failure::of)
    }
}

/// The task that looks for requests to stop. It ends with the work.
struct Watch(JoinHandle<()>);

/// Carries out requests to stop, until it is aborted. A turn that has not begun is stopped when it has.
async fn watch(store: Store, interrupts: Interrupts, session: ThreadId) {
    loop {
        tokio::time::sleep(WATCH).await;
        // A store that cannot be read now is asked again.
        let is_asked = StopRequest::is_waiting(&store, &session).await.unwrap_or(false);
        if is_asked && interrupts.stop(&session) {
            // What is left of a request is withdrawn at the begin of the next run.
            let _ = StopRequest::withdraw(&store, &session).await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}
