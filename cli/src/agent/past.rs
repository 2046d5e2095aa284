//! The past of sessions: rewind, redo, fork, transcripts and replays.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use superstep_assistant::rewind::{Rewind as Plan, RewindError, RewindScope, fork, redo};
use superstep_assistant::snapshot::{ChangeKind, ChangedFile, LeftReason, Restored, Snapshots};
use superstep_assistant::{AssistantState, Session, Transcript as TranscriptFile};
use superstep_checkpoint::{SqliteReader, SqliteSaver, portable};
use superstep_core::checkpoint::{Source, Summary};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::run::{Ambient, System, Thread};

use super::arguments::{Options, Which};
use super::hold::Hold;
use super::sessions::past;
use super::workbench::{Trusting, Use, Workbench};
use crate::debug::Replayed;
use crate::failure::Failure;
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, Page, plain, span};
use crate::screen::Answer;

/// Take a session back to a step, with its files
///
/// Without a step it is taken back to before the last message of the user. Only files that the session changed are
/// written; those that another program has changed since are named, and stay.
#[derive(Debug, Args)]
#[command(after_help = "Example: superstep agent rewind s60cba29e@4 --dry-run")]
pub(crate) struct Rewind {
    /// The session, and the step; the latest session without one
    #[arg(value_name = "SESSION[@STEP]")]
    place: Option<String>,
    /// Show what would change
    #[arg(long)]
    dry_run: bool,
    /// Take only the files back
    #[arg(long, conflicts_with = "talk")]
    files: bool,
    /// Take only the conversation back
    #[arg(long)]
    talk: bool,
    /// Restore the files that another program has changed, too
    #[arg(long)]
    foreign: bool,
}

/// Files that were restored, or would be.
#[derive(Debug, Serialize)]
pub(crate) struct Rewound {
    session: String,
    /// The step that the session continues from.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<i64>,
    done: bool,
    files: Vec<ChangedFile>,
    /// Files that stay, each with the reason.
    left: Vec<(String, String)>,
}

impl Rewind {
    pub(crate) async fn answer(&self) -> Result<Rewound, Failure> {
        let bench = past().await?;
        let (session, step) = session_at(&bench, self.place.as_deref()).await?;
        let _hold = claim(&bench, &session).await?;
        let (thread, snapshots) = (session.thread(), snapshots(&bench)?);
        let scope = match (self.files, self.talk) {
            (true, _) => RewindScope::Files,
            (false, true) => RewindScope::Talk,
            (false, false) => RewindScope::Both,
        };
        let to = step_of(thread, step).await?;
        let plan = Plan::plan(thread, to.id, snapshots).await?.only(scope);
        let plan = if self.foreign { plan.include_foreign(|_| true) } else { plan };
        let not_covered =
            plan.not_covered().iter().map(|it| (it.path.clone(), "it is not covered".to_owned()));
        let foreign = plan.foreign().map(|it| (it.path, "another program has changed it".to_owned()));
        let (mut left, mut files): (Vec<_>, Vec<_>) =
            (foreign.chain(not_covered).collect(), plan.changes().collect());
        if scope == RewindScope::Talk {
            files.clear();
        }
        if !self.dry_run
            && let Some(restored) = plan.apply().await?
        {
            (files, left) = told(restored, left);
        }
        let (session, step) = (thread.id().to_string(), (!self.files).then_some(to.step));
        Ok(Rewound { session, step, done: !self.dry_run, files, left })
    }
}

/// Take the last rewind of a session back
#[derive(Debug, Args)]
pub(crate) struct Redo {
    /// The session; the latest one without it
    session: Option<String>,
}

impl Redo {
    pub(crate) async fn answer(&self) -> Result<Rewound, Failure> {
        let bench = past().await?;
        let session = bench.session(&which(self.session.as_deref())).await?;
        let _hold = claim(&bench, &session).await?;
        let restored = redo(session.thread(), snapshots(&bench)?).await?;
        let (files, left) = restored.map_or_else(Default::default, |restored| told(restored, Vec::new()));
        Ok(Rewound { session: session.thread().id().to_string(), step: None, done: true, files, left })
    }
}

/// Returns the files that were restored, and those that stay.
fn told(restored: Restored, mut left: Vec<(String, String)>) -> (Vec<ChangedFile>, Vec<(String, String)>) {
    left.extend(restored.left.into_iter().map(|it| (it.path, reason_of(it.reason))));
    (restored.restored, left)
}

/// Returns the reason for which a file was left.
pub(crate) fn reason_of(reason: LeftReason) -> String {
    match reason {
        LeftReason::Changed => "it has changed meanwhile".to_owned(),
        LeftReason::NotEmpty => "other files are in it".to_owned(),
        LeftReason::Damaged => "its content is not stored, or damaged".to_owned(),
        LeftReason::Failed(error) => error,
        _ => "it could not be restored".to_owned(),
    }
}

impl Answer for Rewound {
    fn show(&self, page: &mut Page) {
        let Self { session, step, done, files, left } = self;
        let step = step.map(|step| format!(" continues from step {step}")).unwrap_or_default();
        page.line([
            span(NAME, session),
            plain(if *done { step } else { format!("{step}, if you rewind it") }),
        ]);
        for ChangedFile { path, kind, .. } in files {
            let (style, sign) = match kind {
                ChangeKind::Created => (GOOD, "+"),
                ChangeKind::Deleted => (BAD, "-"),
                _ => (NOTE, "~"),
            };
            page.line([span(style, format!("  {sign} ")), plain(path)]);
        }
        for (path, reason) in left {
            page.line([span(DIM, "  stays: "), plain(path), span(DIM, format!(" ({reason})"))]);
        }
        if files.is_empty() && left.is_empty() {
            page.line([span(DIM, "  no files change")]);
        }
    }
}

/// Continue a session at a step in another folder, with the files of then
#[derive(Debug, Args)]
#[command(after_help = "Example: superstep agent fork s60cba29e@4 --into ../other-way")]
pub(crate) struct Fork {
    /// The session, and the step; the latest ones without them
    #[arg(value_name = "SESSION[@STEP]")]
    place: Option<String>,
    /// The folder, which is made unless it is there and empty
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

/// A session in another folder.
#[derive(Debug, Serialize)]
pub(crate) struct Forked {
    session: String,
    folder: String,
    file: String,
    /// Files that the snapshots do not cover.
    not_covered: Vec<String>,
}

impl Fork {
    pub(crate) async fn answer(&self) -> Result<Forked, Failure> {
        let bench = past().await?;
        let (session, step) = session_at(&bench, self.place.as_deref()).await?;
        let thread = session.thread();
        let at = match step {
            Some(step) => step_of(thread, Some(step)).await?.id,
            None => thread.head().await?.id(),
        };
        Forked::make(&bench, thread, at, &self.into).await
    }
}

impl Forked {
    /// Makes a session of a checkpoint of another one, in a folder of its own.
    pub(crate) async fn make(
        bench: &Workbench,
        thread: &Thread<AssistantState>,
        at: CheckpointId,
        into: &Path,
    ) -> Result<Self, Failure> {
        let name = ThreadId::from(new_name());
        let (forked, not_covered) = fork(thread, at, name.clone(), snapshots(bench)?, into).await?;
        let unusable = |error: std::io::Error| Failure::unusable(format!("{}: {error}", into.display()));
        let places = bench.places.of(into.canonicalize().map_err(unusable)?);
        // The file of a folder has its sessions, so the new one moves there.
        let export = portable::export(&SqliteReader::open(bench.places.checkpoints())?, &name)?;
        let export =
            export.ok_or_else(|| Failure::nothing(format!("session {name} has just been deleted")))?;
        places.make()?;
        let head = forked.head().await?;
        let changes = head.state().changes.iter().flat_map(|change| [change.before, change.after]);
        let taken = changes.chain(head.state().snapshot);
        snapshots(bench)?.copy_to(taken, &places.snapshots()).await.map_err(RewindError::from)?;
        portable::import(&SqliteSaver::open(places.checkpoints()).await?, export, &name).await?;
        forked.delete().await?;
        let there = Workbench::open_for(Use::Past, places, &Options::default(), Trusting::Nothing).await?;
        // A rewind of the other session is not to be redone here.
        there.graph.thread(name.clone()).edit(AssistantState::update().set_rewound(None)).await?;
        Ok(Forked {
            session: name.to_string(),
            folder: there.places.workspace.display().to_string(),
            file: there.places.checkpoints().display().to_string(),
            not_covered: not_covered.into_iter().map(|it| it.path).collect(),
        })
    }
}

impl Answer for Forked {
    fn show(&self, page: &mut Page) {
        let Self { session, folder, not_covered, .. } = self;
        page.line([plain("session "), span(NAME, session), plain(format!(" in {folder}"))]);
        for path in not_covered {
            page.line([span(DIM, "  not covered: "), plain(path)]);
        }
        page.line([plain(format!("  continue with: cd {folder} && superstep agent -c"))]);
    }
}

/// Print a session as JSON lines, one for each checkpoint
#[derive(Debug, Args)]
pub(crate) struct Transcript {
    /// The session; the latest one without it
    session: Option<String>,
    /// Append the lines that a file does not have instead
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

/// A transcript.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Transcribed {
    Lines(Vec<serde_json::Value>),
    File { session: String, file: String, added: usize },
}

impl Transcript {
    pub(crate) async fn answer(&self) -> Result<Transcribed, Failure> {
        let bench = past().await?;
        let session = bench.session(&which(self.session.as_deref())).await?;
        let id = session.thread().id();
        let failed = |error: superstep_assistant::TranscriptError| Failure::unusable(error.to_string());
        let own = bench.places.sessions().join(format!("{id}.jsonl"));
        let path = self.file.as_deref().unwrap_or(&own);
        let mut transcript = TranscriptFile::open(path).map_err(failed)?;
        let added = transcript.record(&bench.saver, id).await.map_err(failed)?;
        if let Some(file) = &self.file {
            return Ok(Transcribed::File {
                session: id.to_string(),
                file: file.display().to_string(),
                added,
            });
        }
        let text = fs::read_to_string(path).map_err(Failure::of)?;
        let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        lines.map(Transcribed::Lines).map_err(Failure::damaged)
    }
}

impl Answer for Transcribed {
    fn show(&self, page: &mut Page) {
        match self {
            Self::Lines(lines) => lines.iter().for_each(|line| page.document(&line.to_string())),
            Self::File { session, file, added } => {
                page.line([
                    plain(format!("{added} lines of ")),
                    span(NAME, session),
                    plain(format!(" added to {file}")),
                ]);
            }
        }
    }
}

/// Repeat a session from its record, without a model and without tools, and compare the results
///
/// Rules and settings are those of now: a call that they decide otherwise is a difference.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The session; the latest one without it
    session: Option<String>,
}

impl Replay {
    pub(crate) async fn answer(&self) -> Result<Replayed, Failure> {
        let bench = past().await?;
        let session = bench.session(&which(self.session.as_deref())).await?;
        let thread = session.thread();
        let checkpoint = thread.head().await?.id();
        Ok(Replayed { thread: thread.id().clone(), checkpoint, replay: thread.replay().await? })
    }
}

fn which(session: Option<&str>) -> Which {
    session.map_or(Which::Latest, |name| Which::Named(name.to_owned()))
}

/// The first letter of the names of sessions, with which no id of a checkpoint begins, and the number of digits behind it.
const FORM: (char, usize) = ('s', 8);

/// Returns a name that no session has.
pub(crate) fn new_name() -> String {
    let random = System.id().simple().to_string();
    format!("{}{}", FORM.0, &random[random.len() - FORM.1..])
}

/// Returns `true` if a text has the form of a session's name.
pub(crate) fn is_name(text: &str) -> bool {
    let digits = text.strip_prefix(FORM.0);
    digits.is_some_and(|it| it.len() == FORM.1 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

pub(crate) fn snapshots(bench: &Workbench) -> Result<&Snapshots, Failure> {
    bench.snapshots.as_ref().ok_or_else(|| Failure::unusable(bench.warnings.join("; ")))
}

/// Claims a session that is to be changed.
pub(crate) async fn claim(bench: &Workbench, session: &Session) -> Result<Hold, Failure> {
    let id = session.thread().id();
    let held = Hold::take(&bench.places, &bench.saver, id).await?;
    held.map_err(|held| Failure::nothing(format!("session {id} is in use by {}: stop it first", held.by)))
}

/// Reads `SESSION@STEP`, of which both parts may be missing.
async fn session_at(bench: &Workbench, place: Option<&str>) -> Result<(Session, Option<i64>), Failure> {
    let (name, step) = match place.map(|place| place.split_once('@').ok_or(place)) {
        None => ("", None),
        Some(Err(name)) => (name, None),
        Some(Ok((name, step))) => {
            let wrong = |error| Failure::unusable(format!("`{step}` is not a step: {error}"));
            (name, Some(crate::arguments::count(step).map_err(wrong)?))
        }
    };
    Ok((bench.session(&which(Some(name).filter(|name| !name.is_empty()))).await?, step))
}

/// Finds the checkpoint of a step; without one, that before the last message of the user. Before the first message that
/// is the input itself, which waits to be worked on.
async fn step_of(thread: &Thread<AssistantState>, step: Option<i64>) -> Result<Summary, Failure> {
    let mut history = thread.history()?;
    let mut input = None;
    while let Some(summary) = history.next().await? {
        if step.map_or(input.is_some(), |step| summary.step == step) {
            return Ok(summary);
        }
        if step.is_none() && summary.source == Source::Input {
            input = Some(summary);
        }
    }
    let step = step.map(|step| format!("step {step}"));
    let step = step.unwrap_or_else(|| "message".to_owned());
    input.ok_or_else(|| Failure::nothing(format!("session {} has no {step}", thread.id())))
}

impl From<RewindError> for Failure {
    fn from(error: RewindError) -> Self {
        match error {
            RewindError::Thread(error) => error.into(),
            RewindError::NothingToRedo(_) | RewindError::OtherBranch(_) | RewindError::Moved(_) => {
                Self::nothing(error.to_string())
            }
            error => Self::unusable(error.to_string()),
        }
    }
}
