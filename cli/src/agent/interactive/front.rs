//! The loop of a session: messages of the user, work, questions.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use superstep_assistant::settings::TrustQuestion;
use superstep_assistant::{AssistantState, Session};
use superstep_core::id::ThreadId;
use superstep_core::run::ThreadError;
use tokio::runtime::Handle;

use super::asking::trusts;
use super::background::Background;
use super::commands::Entered;
use super::completion::Completions;
use super::composer::{Composer, Typed};
use super::keys::{Keys, Purpose};
use super::leaving::Leaving;
use super::orders::own_commands;
use super::terminal::{Kind, Terminal};
use crate::agent::arguments::{Options, Which};
use crate::agent::hold::{Held, Hold};
use crate::agent::screen::View;
use crate::agent::work::{OpenQuestion, Standing, Start, WorkEnd};
use crate::agent::workbench::{Trusting, Workbench};
use crate::failure::Failure;
use crate::page::{BAD, DIM, NAME, NOTE, PLAIN};
use crate::screen::{Exit, Look};

/// A session at a terminal.
pub(crate) struct Front {
    pub(super) runtime: Handle,
    pub(super) options: Options,
    pub(super) bench: Arc<Workbench>,
    pub(super) session: Session,
    pub(super) terminal: Terminal,
    composer: Option<Composer>,
    pub(super) keys: Keys,
    pub(super) view: View,
    pub(super) background: Background,
    /// The text with which the next message begins.
    pub(super) prefill: String,
    /// Messages that are worked on next.
    pub(super) next: VecDeque<String>,
    /// The questions that wait for an answer.
    pub(super) open: Vec<OpenQuestion>,
    /// `true` after a signal that ends the process.
    pub(super) leaving: Arc<Leaving>,
    /// The time of the latest Ctrl-C that stopped a turn.
    pub(super) interrupted: Option<Instant>,
    pub(super) is_over: bool,
    exit: Exit,
}

/// The time between two looks for a signal, while a key is waited for.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(40);

/// The time within which two Ctrl-C leave, although the turn ended with the first one.
const TWICE: Duration = Duration::from_secs(2);

/// Works on a session until the user leaves. It has to be called on the thread that owns the standard output.
///
/// # Errors
/// Fails if the session or its folder cannot be used.
pub(crate) fn run(
    first: Option<&str>,
    which: &Which,
    options: &Options,
    look: Look,
) -> Result<Exit, Failure> {
    let runtime = Handle::current();
    let mut terminal = Terminal::here(look, &runtime);
    let mut ask = |question: &TrustQuestion| trusts(&mut terminal, question);
    let bench = runtime.block_on(Workbench::open(options, Trusting::Ask(&mut ask)))?;
    let session = runtime.block_on(bench.session(which))?;
    let mut front = Front::new(runtime, terminal, bench, session, options.clone())?;
    match front.talk(first) {
        Ok(()) => {}
        // A terminal that is gone, or a closed pipe: the session can be resumed.
        Err(Gone::Terminal) => return Ok(Exit::Cancelled),
        Err(Gone::Failed(failure)) => return Err(failure),
    }
    Ok(if front.leaving.is_set() { Exit::Cancelled } else { front.exit })
}

/// The end of a session before the user leaves.
#[derive(Debug)]
pub(crate) enum Gone {
    /// The terminal cannot be read or written: it is closed, or the reader of a pipe is gone.
    Terminal,
    /// The work failed.
    Failed(Failure),
}

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Self::Terminal
    }
}

impl From<Failure> for Gone {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Front {
    fn new(
        runtime: Handle,
        terminal: Terminal,
        bench: Workbench,
        session: Session,
        options: Options,
    ) -> Result<Self, Failure> {
        let keys = Keys::new(&bench.settings.keys).map_err(Failure::unusable)?;
        let (wake, leaving) = (Arc::new(AtomicBool::new(false)), Arc::new(Leaving::default()));
        let look = terminal.look();
        let composer = (terminal.kind() == Kind::Full).then(|| {
            let completions = Completions::new(&bench.places.workspace, own_commands(&bench.places));
            let history = bench.places.data.join("history");
            Composer::new(
                &history,
                completions,
                (bench.settings.edit_mode, keys.clone()),
                look,
                Arc::clone(&wake),
            )
        });
        leaving.listen(&runtime, &wake)?;
        let mut view = View::new(look, bench.settings.prices.clone());
        view.status_mut().window =
            bench.settings.windows.of(bench.models.main.name()).map(|window| window.tokens);
        let background = Background::new(Arc::clone(&wake));
        Ok(Self {
            runtime,
            options,
            bench: Arc::new(bench),
            session,
            terminal,
            composer,
            keys,
            view,
            background,
            prefill: String::new(),
            next: VecDeque::new(),
            open: Vec::new(),
            leaving,
            interrupted: None,
            is_over: false,
            exit: Exit::Fine,
        })
    }

    /// Talks with the user until they leave.
    fn talk(&mut self, first: Option<&str>) -> Result<(), Gone> {
        self.greet()?;
        self.take_up()?;
        if let Some(first) = first {
            self.say(PLAIN, &format!("\n› {first}\n\n"))?;
            self.next.push_back(first.to_owned());
        }
        while !self.is_over {
            match self.next.pop_front() {
                Some(message) => self.entered(&message)?,
                None => self.listen()?,
            }
        }
        self.background.stop(&self.bench, self.session.thread().id());
        let id = self.session.thread().id().as_str().to_owned();
        if self.session.title().is_some() && !self.leaving.is_set() {
            self.say(DIM, &format!("Continue this session with: superstep agent -r {id}"))?;
        }
        Ok(())
    }

    /// Returns `true` if a question of the session waits for an answer.
    pub(super) fn waits_for_answer(&self) -> bool {
        !self.open.is_empty()
    }

    /// Forgets the open questions, as the session continues elsewhere.
    pub(super) fn forget_questions(&mut self) {
        self.open = Vec::new();
    }

    fn greet(&mut self) -> Result<(), Gone> {
        let state = self.state()?;
        let mode = self.options.mode.or(state.map(|state| state.mode)).unwrap_or(self.bench.mode());
        let (model, id) = (&self.bench.models.name, self.session.thread().id());
        self.say(NAME, &format!("superstep agent · {model} · mode {mode} · session {id}"))?;
        self.say(DIM, "Enter sends · Alt-Enter begins a line · /help lists commands · /quit leaves")?;
        for warning in &self.bench.warnings.clone() {
            self.say(NOTE, &format!("warning: {warning}"))?;
        }
        if let Some(title) = self.session.title().map(str::to_owned) {
            self.say(PLAIN, &format!("Continues: {title}"))?;
        }
        Ok(())
    }

    /// Takes up what is unfinished in the session: its questions, work that was cut off, agents in the background.
    pub(super) fn take_up(&mut self) -> Result<(), Gone> {
        let state = self.see_state()?;
        let claim = Hold::take(&self.bench.places, &self.bench.saver, self.session.thread().id());
        if let Err(Held { by }) = self.runtime.block_on(claim)? {
            return Ok(self.held(&by)?);
        }
        match self.runtime.block_on(self.bench.standing(&self.session))? {
            Standing::New | Standing::Done => Ok(()),
            Standing::Asks(open) => {
                let count = open.len();
                self.say(NOTE, &format!("This session waits for an answer ({count} open)."))?;
                let start = self.ask(open)?;
                start.map_or(Ok(()), |start| self.carry_out(start))
            }
            Standing::Rewound => {
                self.say(NOTE, "This session was rewound. The next message continues it.")?;
                self.prefill = state.and_then(|state| state.request.clone()).unwrap_or_default();
                Ok(())
            }
            Standing::CutOff => {
                self.say(NOTE, "This session was cut off. It continues; Esc stops.")?;
                self.carry_out(Start::Resume)
            }
        }
    }

    /// Reads the state of the session: the tokens and costs so far, and its agents in the background.
    pub(super) fn see_state(&mut self) -> Result<Option<Arc<AssistantState>>, Gone> {
        let Some(state) = self.state()? else { return Ok(None) };
        let cost = state.ledger.cost(&self.bench.settings.prices);
        let status = self.view.status_mut();
        status.micro_usd = (cost.micro_usd > 0).then_some(cost.micro_usd);
        status.tokens = state.anchor.as_ref().map_or(0, |anchor| anchor.tokens);
        let model = self.bench.models.main.name();
        status.window = [&state.windows, &self.bench.settings.windows]
            .iter()
            .find_map(|windows| windows.of(model))
            .map(|window| window.tokens);
        self.background.see(&self.runtime, &self.bench, self.session.thread().id(), &state);
        Ok(Some(state))
    }

    /// Returns the latest state of the session; `None` before its first message.
    pub(super) fn state(&self) -> Result<Option<Arc<AssistantState>>, Failure> {
        match self.runtime.block_on(self.session.thread().head()) {
            Ok(head) => Ok(Some(Arc::new(head.into_state()))),
            Err(ThreadError::NeverRan(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a message of the user, or for news of an agent.
    fn listen(&mut self) -> Result<(), Gone> {
        self.news()?;
        if self.is_over || !self.next.is_empty() {
            return Ok(());
        }
        let prefill = std::mem::take(&mut self.prefill);
        match self.read("", Purpose::Message, &prefill)? {
            Typed::Message(text) | Typed::Queue(text) | Typed::Stop(text) => self.entered(&text),
            Typed::Woken(text) => {
                self.prefill = text;
                Ok(())
            }
            Typed::Interrupt if self.interrupted.take().is_some_and(|first| first.elapsed() < TWICE) => {
                (self.is_over, self.exit) = (true, Exit::Cancelled);
                Ok(())
            }
            Typed::Interrupt => {
                if self.open.is_empty() && self.interrupted_twice()? {
                    self.is_over = true;
                }
                Ok(())
            }
            Typed::End => {
                self.is_over = true;
                Ok(())
            }
        }
    }

    /// Says how to leave, and reads on. Returns `true` if Ctrl-C comes again at once.
    fn interrupted_twice(&mut self) -> Result<bool, Gone> {
        self.say(DIM, "Press Ctrl-C again to leave.")?;
        match self.read("", Purpose::Message, "")? {
            Typed::Interrupt | Typed::End => Ok(true),
            Typed::Message(text) | Typed::Queue(text) | Typed::Stop(text) => {
                self.entered(&text)?;
                Ok(false)
            }
            Typed::Woken(text) => {
                self.prefill = text;
                Ok(false)
            }
        }
    }

    fn entered(&mut self, line: &str) -> Result<(), Gone> {
        let own = |name: &str| own_commands(&self.bench.places).contains_key(name);
        match Entered::read(line, own) {
            Entered::Nothing if self.open.is_empty() => Ok(()),
            Entered::Nothing => {
                let open = std::mem::take(&mut self.open);
                let start = self.ask(open)?;
                start.map_or(Ok(()), |start| self.carry_out(start))
            }
            Entered::Command(work, arguments) => Ok(self.order(work, &arguments)?),
            Entered::Unknown(name) => {
                self.say(BAD, &format!("There is no command /{name}. /help lists the commands."))?;
                Ok(())
            }
            Entered::Message(message) if self.open.is_empty() => self.carry_out(Start::Ask(message)),
            Entered::Message(message) => {
                // It is taken when the questions are answered.
                self.send(&message, false)?;
                self.say(DIM, "It is sent when the question is answered.")?;
                self.entered("")
            }
        }
    }

    /// Works until there is nothing left to do, and asks the questions in between.
    pub(super) fn carry_out(&mut self, start: Start) -> Result<(), Gone> {
        let mut next = Some(start);
        while let Some(start) = next.take() {
            let end = self.work(start)?;
            next = match end {
                WorkEnd::Exited { exit, state, .. } => {
                    if let Some(limit) = self.bench.settings.limit_reached(exit, &state) {
                        self.say(DIM, &limit)?;
                    }
                    self.background.see(&self.runtime, &self.bench, self.session.thread().id(), &state);
                    self.has_mail(&state)?.then(|| Start::Ask(String::new()))
                }
                WorkEnd::Asked(open) => self.ask(open)?,
                WorkEnd::Held { by } => {
                    self.held(&by)?;
                    None
                }
                WorkEnd::Left => {
                    (self.is_over, self.exit) = (true, Exit::Cancelled);
                    let id = self.session.thread().id().as_str().to_owned();
                    self.say(
                        NOTE,
                        &format!("The turn is unfinished. superstep agent -r {id} continues it."),
                    )?;
                    None
                }
                WorkEnd::Failed(error) => {
                    self.say(BAD, &format!("The run failed: {}", told(&error)))?;
                    self.say(DIM, "The next message or superstep agent -c continues the session.")?;
                    None
                }
            };
        }
        Ok(())
    }

    /// Says who works on the session, and leaves.
    fn held(&mut self, by: &str) -> io::Result<()> {
        let id = self.session.thread().id().clone();
        self.say_held(&id, by)?;
        (self.is_over, self.exit) = (true, Exit::No);
        Ok(())
    }

    /// Says who works on a session.
    pub(super) fn say_held(&mut self, id: &ThreadId, by: &str) -> io::Result<()> {
        self.say(BAD, &format!("Session {id} is in use by {by}."))?;
        self.say(
            DIM,
            &format!("superstep agent send {id} TEXT sends it a message; stop {id} stops its turn."),
        )
    }

    /// Returns `true` if messages have come that the session has not taken.
    pub(super) fn has_mail(&self, state: &AssistantState) -> Result<bool, Failure> {
        let waiting = self.runtime.block_on(self.bench.inbox.waiting(self.session.thread().id()));
        let waiting = waiting.map_err(Failure::of)?;
        Ok(waiting.iter().any(|message| !state.inbox_taken.contains(&message.id)))
    }

    /// Reads a line.
    pub(super) fn read(&mut self, label: &str, purpose: Purpose, prefill: &str) -> io::Result<Typed> {
        if self.leaving.is_set() {
            return Ok(Typed::End);
        }
        let label = if label.is_empty() { String::new() } else { format!("{label} ") };
        let typed = match &mut self.composer {
            Some(composer) => {
                let typed = composer.read(&label, purpose, prefill);
                self.terminal.hush()?;
                typed
            }
            None => self.terminal.line(&label, LOOK_EVERY, || self.leaving.is_set()),
        };
        if self.terminal.measure() {
            self.view.set_look(self.terminal.look());
        }
        if matches!(typed, Ok(Typed::Woken(_))) {
            self.terminal.clear_line()?;
        }
        match typed {
            Ok(Typed::Woken(_)) if self.leaving.is_set() => Ok(Typed::End),
            typed => typed,
        }
    }

    /// Prints a remark.
    pub(super) fn say(&mut self, style: anstyle::Style, text: &str) -> io::Result<()> {
        let lines = self.view.remark(style, text);
        self.terminal.print(&lines)
    }
}

/// Returns an error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
