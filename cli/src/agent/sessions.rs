//! Sessions from other terminals: their list, messages, and requests to stop.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use superstep_assistant::inbox::InboxMessage;
use superstep_assistant::{AssistantState, SessionSummary};
use superstep_checkpoint::{CheckpointReader, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{At, StoreError};
use superstep_core::id::ThreadId;
use superstep_core::nonprinting::escape_nonprinting;

use super::arguments::{Options, Which};
use super::hold::Hold;
use super::places::Places;
use super::work::StopRequest;
use super::workbench::{Trusting, Use, Workbench};
use crate::failure::Failure;
use crate::page::{BAD, DIM, NAME, NOTE, Page, plain, span};
use crate::screen::{Answer as Shown, Exit};
use crate::table::{Side, Table};
use crate::time::readable;

/// List the sessions of this folder, the latest first
#[derive(Debug, Args)]
pub(crate) struct Sessions {
    /// List those of all folders
    #[arg(long)]
    all: bool,
}

/// The sessions of folders.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    folders: Vec<Folder>,
}

#[derive(Debug, Serialize)]
struct Folder {
    folder: String,
    /// The checkpoint file, for the other verbs of the program.
    file: String,
    sessions: Vec<Row>,
    /// The reason for which the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    session: String,
    title: Option<String>,
    updated_ms: u64,
    status: Status,
    /// The number of questions that wait for an answer, with those of its agents in the background.
    questions: usize,
}

/// The number of checkpoints among which a title is looked for.
const EDITS: usize = 8;

/// The status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Done,
    Working,
    Asking,
    CutOff,
    Rewound,
}

impl Sessions {
    pub(crate) async fn answer(&self) -> Result<Listed, Failure> {
        let here = Places::here()?;
        let all = match self.all {
            true => here.workspaces().into_iter().map(|workspace| here.of(workspace)).collect(),
            false => vec![here],
        };
        let mut folders = Vec::new();
        for places in &all {
            folders.push(match Folder::read(places).await {
                // One damaged file does not hide the sessions of the other folders.
                Err(failure) if self.all => Folder::unread(places, &failure),
                read => read?,
            });
        }
        Ok(Listed { folders })
    }
}

impl Listed {
    /// Writes an error for each file that cannot be read.
    pub(crate) fn write_errors(&self, err: &mut dyn Write) {
        for Folder { file, error, .. } in &self.folders {
            if let Some(error) = error {
                // If it cannot be written, the exit code still reports it.
                let _ = writeln!(err, "error: {}", escape_nonprinting(&format!("{file}: {error}")));
            }
        }
    }
}

impl Folder {
    async fn read(places: &Places) -> Result<Self, Failure> {
        let file = places.checkpoints();
        let (mut sessions, mut rows) = (Vec::new(), Vec::new());
        if file.exists() {
            let reader: Box<dyn CheckpointReader> = match SqliteReader::open(&file) {
                Ok(reader) => Box::new(reader),
                // A program that was killed at its first start has left an empty file.
                Err(StoreError::Io(_)) => SqliteSaver::open(&file).await?.reader(),
                Err(error) => return Err(error.into()),
            };
            let mut of_agents = BTreeMap::<_, usize>::new();
            for thread in reader.list_threads()?.threads {
                // Agents that work beside a session have threads of their own.
                if let Some((session, _)) = thread.thread.as_str().split_once('/') {
                    *of_agents.entry(session.to_owned()).or_default() += thread.open_asks.len();
                } else {
                    let session = SessionSummary::from(thread);
                    sessions.push(match session.title {
                        Some(_) => session,
                        None => {
                            let earlier = reader.history(&session.session, &At::Head, EDITS)?;
                            session.or_title_of(earlier)
                        }
                    });
                }
            }
            sessions.sort_by(|a, b| (b.updated_ms, &a.session).cmp(&(a.updated_ms, &b.session)));
            for mut it in sessions {
                it.questions += of_agents.get(it.session.as_str()).unwrap_or(&0);
                rows.push(Row::new(places, &*reader, it)?);
            }
        }
        Ok(Self { sessions: rows, ..Self::empty(places) })
    }

    fn unread(places: &Places, failure: &Failure) -> Self {
        Self { error: Some(failure.told_by("superstep")), ..Self::empty(places) }
    }

    fn empty(places: &Places) -> Self {
        let (folder, file) =
            (places.workspace.display().to_string(), places.checkpoints().display().to_string());
        Self { folder, file, sessions: Vec::new(), error: None }
    }
}

impl Row {
    fn new(places: &Places, reader: &dyn CheckpointReader, it: SessionSummary) -> Result<Self, Failure> {
        let status = match (it.is_finished, it.questions) {
            _ if Hold::is_held(places, &it.session)? => Status::Working,
            (_, 1..) => Status::Asking,
            (true, 0) => Status::Done,
            (false, 0) if is_rewound(reader, &it.session)? => Status::Rewound,
            (false, 0) => Status::CutOff,
        };
        let SessionSummary { session, title, updated_ms, questions, .. } = it;
        Ok(Self { session: session.to_string(), title, updated_ms, status, questions })
    }
}

/// Returns `true` if a session was taken back and has not continued since.
fn is_rewound(reader: &dyn CheckpointReader, session: &ThreadId) -> Result<bool, StoreError> {
    let Some(loaded) = reader.load(session, &At::Head)? else { return Ok(false) };
    let is_rewind = |name: &str| name == AssistantState::REWOUND.name();
    let mut rewinds = loaded.values.iter().filter(|held| is_rewind(&loaded.schema.field(held.field).name));
    Ok(rewinds.any(|held| held.value.as_str() != "null"))
}

impl Shown for Listed {
    fn show(&self, page: &mut Page) {
        for Folder { folder, file, sessions, error } in &self.folders {
            page.line([span(NAME, folder), span(DIM, format!("  {file}"))]);
            if error.is_some() {
                page.line([span(BAD, "  the file cannot be read")]);
                continue;
            }
            if sessions.is_empty() {
                page.line([span(DIM, "  no sessions")]);
                continue;
            }
            let columns = [
                ("session", Side::Left),
                ("updated", Side::Left),
                ("status", Side::Left),
                ("title", Side::Left),
            ];
            let mut table = Table::new(columns).giving_way(["updated"]);
            for Row { session, title, updated_ms, status, questions } in sessions {
                let status = match status {
                    Status::Done => plain("done"),
                    Status::Working => span(NOTE, "working"),
                    Status::Asking => span(NOTE, format!("asks {questions}")),
                    Status::CutOff => span(NOTE, "cut off"),
                    Status::Rewound => span(NOTE, "rewound"),
                };
                let title = title.as_deref().unwrap_or_default();
                table.row([span(NAME, session), span(DIM, readable(*updated_ms)), status, plain(title)]);
            }
            table.show(page);
        }
    }

    fn exit(&self) -> Exit {
        if self.folders.iter().any(|it| it.error.is_some()) { Exit::No } else { Exit::Fine }
    }
}

/// Send a message to a session, also while it works
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The session
    session: String,
    /// The message
    #[arg(required = true)]
    message: Vec<String>,
    /// Deliver it after the present work, not before the next turn
    #[arg(long)]
    queue: bool,
}

/// A message that was sent.
#[derive(Debug, Serialize)]
pub(crate) struct Sent {
    session: String,
    message: String,
    is_working: bool,
}

impl Send {
    pub(crate) async fn answer(&self) -> Result<Sent, Failure> {
        let bench = past().await?;
        let session = bench.session(&Which::Named(self.session.clone())).await?;
        let id = session.thread().id();
        let text = self.message.join(" ");
        let message = if self.queue { InboxMessage::queue(text) } else { InboxMessage::steer(text) };
        let name = message.id.clone();
        let sent = bench.inbox.send(id, message).await;
        sent.map_err(Failure::of)?;
        Ok(Sent { session: id.to_string(), message: name, is_working: Hold::is_held(&bench.places, id)? })
    }
}

impl Shown for Sent {
    fn show(&self, page: &mut Page) {
        let Self { session, is_working, .. } = self;
        page.line([plain("sent to "), span(NAME, session)]);
        if !is_working {
            page.line([plain(format!(
                "it is not running: superstep agent -r {session} -p takes the message"
            ))]);
        }
    }
}

/// Stop the work of a session in another terminal; the session can be continued
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The session
    session: String,
}

/// A session that was asked to stop.
#[derive(Debug, Serialize)]
pub(crate) struct Stopped {
    session: String,
    /// `false` if it still works.
    stopped: bool,
}

/// The time for which the end of the work is awaited, and that between two looks.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

impl Stop {
    pub(crate) async fn answer(&self) -> Result<Stopped, Failure> {
        let bench = past().await?;
        let session = bench.session(&Which::Named(self.session.clone())).await?;
        let id = session.thread().id();
        if !Hold::is_held(&bench.places, id)? {
            return Err(Failure::nothing(format!("session {id} is not running")));
        }
        let sent = StopRequest::send(&bench.store, id).await;
        sent.map_err(Failure::of)?;
        let until = Instant::now() + PATIENCE;
        let mut stopped = false;
        while !stopped && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            let waits = StopRequest::is_waiting(&bench.store, id).await;
            // A turn that has just ended leaves the request, which the next one withdraws.
            stopped = !waits.map_err(Failure::of)? || !Hold::is_held(&bench.places, id)?;
        }
        Ok(Stopped { session: id.to_string(), stopped })
    }
}

impl Shown for Stopped {
    fn show(&self, page: &mut Page) {
        page.line(match self.stopped {
            true => [plain("stopped "), span(NAME, &self.session)],
            false => [plain("asked to stop, but still running: "), span(NAME, &self.session)],
        });
    }

    fn exit(&self) -> Exit {
        if self.stopped { Exit::Fine } else { Exit::No }
    }
}

/// Sets up the present folder for what is stored.
pub(crate) async fn past() -> Result<Workbench, Failure> {
    Workbench::open_for(Use::Past, Places::here()?, &Options::default(), Trusting::Nothing).await
}
