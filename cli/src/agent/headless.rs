//! Work without a person: text or JSON lines, and an exit code.

use std::io::Read;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;
use superstep_assistant::exit::{Exit as AgentExit, Resource};
use superstep_assistant::{AssistantEvent, AssistantState, Session};
use superstep_core::nonprinting::escape_nonprinting;
use superstep_core::run::{Run, Status, Thread};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::arguments::Which;
use super::hold::Hold;
use super::past::claim;
use super::work::{OpenQuestion, Question, Standing, Start, StopRequest, Work, WorkEnd};
use super::workbench::Workbench;
use crate::failure::Failure;
use crate::screen::{Exit, Screen, escape_json};

/// The output of work: the response as text, or all events as JSON lines.
struct Output<'o, 'w> {
    json: bool,
    screen: &'o mut Screen<'w>,
    /// `true` if the reader has closed the output.
    is_closed: bool,
}

/// A line that is not an event of the assistant.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'l> {
    /// The first line.
    Session {
        session: &'l str,
        folder: &'l str,
        file: &'l str,
    },
    Warning {
        text: &'l str,
    },
    /// The last line, unless it is an event `exited` or `asked`.
    Error {
        text: &'l str,
    },
}

/// Works on a message in a session, after the work that was cut off there. Without a message it only does the latter.
pub(crate) async fn print(
    bench: &Workbench,
    which: &Which,
    message: Option<&str>,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let message = message.map(read).transpose()?;
    if message.as_deref().is_some_and(|message| message.trim().is_empty()) {
        return Err(Failure::unusable("the message is empty"));
    }
    let mut session = bench.session(which).await?;
    let output = Output::begin(bench, &session, json, screen);
    work_on(output, bench, &mut session, message).await
}

async fn work_on(
    mut output: Output<'_, '_>,
    bench: &Workbench,
    session: &mut Session,
    message: Option<String>,
) -> Result<Exit, Failure> {
    let json = output.json;
    let message = match (bench.standing(session).await?, message) {
        (Standing::Asks(open), message) => {
            if json {
                open.iter().for_each(|question| output.warn(&question.to_string()));
            }
            if message.is_some() {
                output.warn("the message was not taken: answer the question first");
            }
            return Ok(output.asked(session, &open));
        }
        (Standing::New, None) => {
            return Err(Failure::unusable(
                "there is no message: give one with -p TEXT, or with -p - from the standard input",
            ));
        }
        (Standing::CutOff | Standing::Rewound, None) => {
            return output.work(bench, session, Start::Resume).await;
        }
        (Standing::Done, None) => {
            let waits = bench.inbox.waiting(session.thread().id()).await;
            let waits = waits.map_err(Failure::of)?;
            let start = if waits.is_empty() { Start::Resume } else { Start::Ask(String::new()) };
            return output.work(bench, session, start).await;
        }
        (Standing::CutOff, Some(message)) => {
            let exit = output.work(bench, session, Start::Resume).await?;
            if matches!(exit, Exit::Unfinished | Exit::Cancelled | Exit::No) {
                output.warn("the message was not taken: continue the session first");
                return Ok(exit);
            }
            message
        }
        (Standing::New | Standing::Done | Standing::Rewound, Some(message)) => message,
    };
    output.work(bench, session, Start::Ask(message)).await
}

/// An answer to a question.
pub(crate) struct Answered<'a> {
    /// The run that begins with the answer.
    pub(crate) start: Start,
    /// The thread of the agent in the background that asked; `None` for a question of the session.
    pub(crate) agent: Option<&'a Thread<AssistantState>>,
    /// A warning about the answer.
    pub(crate) note: Option<&'a str>,
}

/// Answers a question, and works on the session.
pub(crate) async fn answer(
    bench: &Workbench,
    session: &mut Session,
    answered: Answered<'_>,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let mut output = Output::begin(bench, session, json, screen);
    if let Some(note) = answered.note {
        output.warn(note);
    }
    let (Some(agent), Start::Answer(question, value)) = (answered.agent, &answered.start) else {
        return output.work(bench, session, answered.start).await;
    };
    let hold = claim(bench, session).await?;
    let run = tokio::select! {
        run = agent.answer_to(*question, value) => run,
        _ = tokio::signal::ctrl_c() => return Ok(Exit::Cancelled),
    };
    run.map_err(Failure::of).map(drop)?;
    drop(hold);
    // The session takes the end of the agent, or shows its next question.
    work_on(output, bench, session, None).await
}

/// Prints a failure.
pub(crate) fn failed(failure: &Failure, json: bool, screen: &mut Screen<'_>) -> Exit {
    let text = failure.told_by("superstep");
    if json {
        Output { json, screen, is_closed: false }.line(&Line::Error { text: &text });
    } else {
        // If it cannot be written, the exit code still reports it.
        let _ = writeln!(screen.err, "error: {}", escape_nonprinting(&text));
    }
    failure.exit
}

/// Returns a message; `-` stands for the standard input.
fn read(message: &str) -> Result<String, Failure> {
    if message != "-" {
        return Ok(message.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::unusable(format!("the message cannot be read: {error}")))?;
    Ok(text)
}

impl<'o, 'w> Output<'o, 'w> {
    fn begin(bench: &Workbench, session: &Session, json: bool, screen: &'o mut Screen<'w>) -> Self {
        let mut output = Self { json, screen, is_closed: false };
        let (folder, file) = (bench.places.workspace.display(), bench.places.checkpoints());
        if json {
            output.line(&Line::Session {
                session: session.thread().id().as_str(),
                folder: &folder.to_string(),
                file: &file.display().to_string(),
            });
        }
        bench.warnings.iter().for_each(|warning| output.warn(warning));
        output
    }

    /// Runs a session to the end of the run, and prints it.
    async fn work(
        &mut self,
        bench: &Workbench,
        session: &mut Session,
        start: Start,
    ) -> Result<Exit, Failure> {
        let mut start = start;
        loop {
            let end = match bench.begin(session, start).await? {
                Ok(work) => self.events(bench, work).await?,
                Err(end) => end,
            };
            if self.json
                && let WorkEnd::Exited { exit, reason, .. } = &end
            {
                self.line(&AssistantEvent::Exited { exit: *exit, reason: reason.clone() });
            }
            match end {
                WorkEnd::Exited { exit: AgentExit::Completed, state, .. } if !state.background.is_empty() => {
                    if let Some(exit) = self.background(bench, session, &state).await? {
                        return Ok(exit);
                    }
                    // Their answers are in the inbox.
                    start = Start::Ask(String::new());
                }
                end => return Ok(self.end(session, end)),
            }
        }
    }

    /// Runs the agents that work beside a session. Returns the exit code if they did not all end.
    async fn background(
        &mut self,
        bench: &Workbench,
        session: &Session,
        state: &AssistantState,
    ) -> Result<Option<Exit>, Failure> {
        let id = session.thread().id();
        let _hold = match Hold::take(&bench.places, &bench.saver, id).await? {
            Ok(hold) => hold,
            Err(held) => return Ok(Some(self.end(session, WorkEnd::Held { by: held.by }))),
        };
        StopRequest::withdraw(&bench.store, id).await?;
        let runs = state
            .background
            .iter()
            .map(|agent| async move { (&agent.name, bench.background.run(id, state, agent).await) });
        let ended = tokio::select! {
            ended = join_all(runs) => ended,
            () = StopRequest::wait(&bench.store, id) => return Ok(Some(Exit::Cancelled)),
            _ = tokio::signal::ctrl_c() => return Ok(Some(Exit::Cancelled)),
        };
        let mut exit = None;
        for (name, run) in ended {
            match run {
                Ok(Run { status: Status::Finished, .. }) => {}
                Ok(Run { status: Status::Interrupted { .. }, .. }) => {
                    let thread = bench.background_agent(session, name).await?;
                    self.asked_by(name, &thread, &OpenQuestion::of_thread(&thread, bench).await?);
                    exit = exit.or(Some(Exit::Unfinished));
                }
                Ok(_) => {
                    self.error(&format!("the agent {name} was cut off"));
                    exit = Some(Exit::No);
                }
                Err(error) => {
                    self.error(&format!("the agent {name} failed: {error}"));
                    exit = Some(Exit::No);
                }
            }
        }
        Ok(exit)
    }

    /// Prints the events of a run, until it ends or the reader closes the output. The first Ctrl-C stops the turn, and a
    /// second one, or SIGTERM, leaves the run. A limit of time stops the turn, too.
    async fn events(&mut self, bench: &Workbench, mut work: Work) -> Result<WorkEnd, Failure> {
        let no_signals = |error: std::io::Error| Failure::unusable(error.to_string());
        let listen = |kind: SignalKind| -> Result<Signal, Failure> { signal(kind).map_err(no_signals) };
        let (mut interrupt, mut end) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        let limit = bench.settings.time.map_or(Duration::MAX, |time| Duration::from_secs(time.0));
        let mut late = pin!(tokio::time::sleep(limit));
        let (mut is_stopped, mut is_late) = (false, false);
        loop {
            tokio::select! {
                event = work.next() => match event {
                    Some(event) => self.event(&event),
                    None => break,
                },
                () = &mut late, if !is_late => is_late = work.stop(),
                _ = interrupt.recv() => match is_stopped {
                    false => is_stopped = work.stop(),
                    true => work.leave(),
                },
                _ = end.recv() => work.leave(),
            }
            if self.is_closed {
                work.leave();
                return work.end().await.map(|_| WorkEnd::Left);
            }
        }
        Ok(match work.end().await? {
            WorkEnd::Exited { exit, reason, state } => {
                let exit = match exit {
                    AgentExit::AbortedStreaming | AgentExit::AbortedTools if is_late => {
                        AgentExit::BudgetExceeded(Resource::Time)
                    }
                    exit => exit,
                };
                let reason = reason.or_else(|| bench.settings.limit_reached(exit, &state));
                WorkEnd::Exited { exit, reason, state }
            }
            end => end,
        })
    }

    fn event(&mut self, event: &AssistantEvent) {
        // The end is printed with its reason, which is known when the run has ended.
        if self.json && !matches!(event, AssistantEvent::Exited { .. }) {
            self.line(event);
        }
    }

    fn end(&mut self, session: &Session, end: WorkEnd) -> Exit {
        match end {
            WorkEnd::Exited { exit, reason, state } => {
                if !self.json {
                    let response = state.response();
                    let text = escape_nonprinting(response.trim_end()).into_owned();
                    if !text.is_empty() {
                        self.write(&format!("{text}\n"));
                    }
                    if exit != AgentExit::Completed {
                        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                        self.tell(&format!("the work ended with {exit}{reason}"));
                    }
                }
                code(exit)
            }
            WorkEnd::Asked(open) => self.asked(session, &open),
            WorkEnd::Held { by } => {
                self.error(&format!("session {} is in use by {by}", session.thread().id()));
                Exit::No
            }
            WorkEnd::Left => Exit::Cancelled,
            WorkEnd::Failed(error) => {
                self.error(&error.to_string());
                Exit::No
            }
        }
    }

    /// Prints the questions that wait for an answer, and the way to answer them.
    fn asked(&mut self, session: &Session, open: &[OpenQuestion]) -> Exit {
        if !self.json {
            let id = session.thread().id();
            for question in open {
                let text = question.to_string();
                self.tell(&text);
            }
            let answers = open.first().map_or("", |first| first.question.answers());
            self.tell(&format!("answer with: superstep agent answer {id} {answers}"));
        }
        Exit::Unfinished
    }

    /// Prints the questions of an agent in the background, and the way to answer them.
    fn asked_by(&mut self, name: &str, thread: &Thread<AssistantState>, open: &[OpenQuestion]) {
        for question in open {
            self.warn(&format!("{name} asks: {question}"));
        }
        let answers = open.first().map_or("", |first| first.question.answers());
        self.warn(&format!("answer with: superstep agent answer {} {answers}", thread.id()));
    }

    fn warn(&mut self, text: &str) {
        match self.json {
            true => self.line(&Line::Warning { text }),
            false => self.tell(&format!("warning: {text}")),
        }
    }

    fn error(&mut self, text: &str) {
        match self.json {
            true => self.line(&Line::Error { text }),
            false => self.tell(&format!("error: {text}")),
        }
    }

    /// Writes a text for people beside the answer.
    fn tell(&mut self, text: &str) {
        // Without a reader, the exit code still reports the end.
        let _ = writeln!(self.screen.err, "{}", escape_nonprinting(text));
    }

    fn line(&mut self, line: &impl Serialize) {
        let text = serde_json::to_string(line);
        let text =
            text.unwrap_or_else(|error| json!({ "type": "error", "text": error.to_string() }).to_string());
        self.write(&format!("{}\n", escape_json(&text)));
    }

    fn write(&mut self, text: &str) {
        let written = self.screen.out.write_all(text.as_bytes()).and_then(|()| self.screen.out.flush());
        self.is_closed |= written.is_err();
    }
}

/// Returns the exit code of a run that ended.
pub(crate) const fn code(exit: AgentExit) -> Exit {
    match exit {
        AgentExit::Completed => Exit::Fine,
        AgentExit::BlockingLimit
        | AgentExit::PromptTooLong
        | AgentExit::MaxTurns
        | AgentExit::BudgetExceeded(_) => Exit::Limit,
        AgentExit::ImageError | AgentExit::ModelError => Exit::Model,
        AgentExit::StopHookPrevented | AgentExit::HookStopped => Exit::Hook,
        AgentExit::AbortedStreaming | AgentExit::AbortedTools => Exit::Cancelled,
    }
}

impl Question {
    /// Returns the answers to a question, as on the command line.
    pub(crate) const fn answers(&self) -> &'static str {
        match self {
            Self::Permission(_) => "allow|session|always|deny [REASON]",
            Self::Plan(_) => "approve [MODE]|revise TEXT",
            Self::User(_) => "TEXT",
            Self::CutOff(_) => "happened [NOTE]|again|give-up",
            Self::Other(_) => "JSON",
        }
    }
}
