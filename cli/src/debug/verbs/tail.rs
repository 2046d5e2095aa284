//! `tail`: prints the events of a thread as they are stored, whichever process runs it.

use std::collections::HashMap;

use clap::ValueEnum;
use serde_json::Value;

use crate::arguments::Output;
use crate::debug::known_secrets::KnownSecrets;
use crate::debug::progress::{Progress, page};
use crate::debug::session::{Chosen, Session};
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::screen::Exit;
use crate::source::Source;
use superstep_core::checkpoint::{At, CheckpointerExt, Mark, Watch};
use superstep_core::id::ThreadId;
use superstep_core::run::{EventKind, EventPosition, RunEvent, Status};

use super::ending::{exit, show};

/// Follow a thread while it runs, in this process or another
///
/// Prints stored events: a task appears when it has finished, failed or asked. Ends with the run, with the exit code of
/// the run, or at an edit or a branch after which nothing is next. The end of a run that was killed or cancelled is not
/// stored: `tail` waits for the run that continues it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep tail essays.db rust --from start")]
pub(crate) struct Tail {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
    /// The events to print first
    #[arg(long, value_enum, default_value_t = From::Now)]
    from: From,
    /// Continue with later runs, until Ctrl-C
    #[arg(long)]
    forever: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    /// Events since the latest checkpoint
    Now,
    /// All events of the thread
    Start,
}

impl Tail {
    pub(crate) async fn carry_out(
        &self,
        session: &Session,
        screen: &mut Progress<'_>,
    ) -> Result<Output, Failure> {
        let thread = ThreadId::from(self.thread.as_str());
        let chosen = session.graph_of(&self.file, &thread).await?;
        let position = match self.from {
            From::Start => None,
            From::Now => Some(Source::open(&self.file)?.thread(&self.thread)?.head.id.into()),
        };
        let secrets = KnownSecrets::of(chosen.graph().saver(), &thread);
        let mut tail = Reading { position, told: HashMap::new(), secrets };
        let mut watch = Watch::thread(thread.clone());
        loop {
            // Taken before reading, so that the next wait notices changes made meanwhile.
            watch.since = tokio::select! {
                mark = changed(&chosen, &watch) => mark?,
                Ok(()) = tokio::signal::ctrl_c() => return Ok((String::new(), Exit::Cancelled)),
            };
            let read = tokio::select! {
                read = tail.read_on(&chosen, &thread, screen) => read?,
                Ok(()) = tokio::signal::ctrl_c() => return Ok((String::new(), Exit::Cancelled)),
            };
            match read {
                Some(End::Failed(why)) if !self.forever => return Err(Failure::nothing(why)),
                Some(End::Other(status)) if !self.forever => {
                    let text = page(screen, |page| show(page, &chosen, &thread, None, &status));
                    return Ok((text, exit(&status)));
                }
                _ => {}
            }
        }
    }
}

/// Waits until something has changed since the mark of the watch.
async fn changed(chosen: &Chosen<'_>, watch: &Watch) -> Result<Option<Mark>, Failure> {
    match chosen.graph().saver() {
        Some(saver) => Ok(Some(saver.watch(watch.clone()).await?)),
        None => Ok(None),
    }
}

/// The end of the latest run.
enum End {
    Failed(String),
    Other(Status),
}

/// The events printed so far.
struct Reading {
    position: Option<EventPosition>,
    /// The printed events of the unfinished superstep, with counts: they are listed again once it has finished.
    told: HashMap<String, usize>,
    secrets: KnownSecrets,
}

impl Reading {
    /// Prints new events, and returns the end of the run if they contain it.
    async fn read_on(
        &mut self,
        chosen: &Chosen<'_>,
        thread: &ThreadId,
        screen: &mut Progress<'_>,
    ) -> Result<Option<End>, Failure> {
        let mut events = chosen.graph().thread(thread.clone()).events()?;
        if let Some(position) = self.position {
            events = events.after(position);
        }
        let mut before = std::mem::take(&mut self.told);
        let mut end = None;
        self.secrets.expect_more();
        while let Some(past) = events.next().await? {
            let key = key(&past.event);
            let event = self.secrets.out_of(past.event).await;
            if self.position != Some(past.position) {
                self.position = Some(past.position);
                self.told.clear();
            }
            *self.told.entry(key.clone()).or_default() += 1;
            match &event.kind {
                _ if !event.path.is_empty() => {}
                EventKind::RunFinished { status } => end = Some(End::Other(status.clone())),
                EventKind::RunFailed { message } => end = Some(End::Failed(message.clone())),
                _ => end = None,
            }
            match before.get_mut(&key).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => screen.tell(&event),
            }
        }
        match end {
            None if self.has_nothing_left(chosen, thread).await? => Ok(Some(End::Other(Status::Finished))),
            end => Ok(end),
        }
    }

    /// Returns `true` if the last printed event is of the thread's latest checkpoint, and nothing is next there. An
    /// edit or a branch of a finished thread has no run that could end.
    async fn has_nothing_left(&self, chosen: &Chosen<'_>, thread: &ThreadId) -> Result<bool, Failure> {
        let Some(saver) = chosen.graph().saver() else { return Ok(false) };
        let head = saver.history(thread, At::Head, 1).await?.pop();
        let told = self.position.map(|position| position.checkpoint);
        Ok(head.is_some_and(|head| head.next.is_empty() && Some(head.id) == told))
    }
}

/// Identifies an event, without the members that may become known only later.
fn key(event: &RunEvent) -> String {
    let mut event = serde_json::to_value(event).unwrap_or_default();
    for name in ["seq", "at_ms", "attempt", "recorded"] {
        event.as_object_mut().map(|members| members.remove(name));
    }
    for segment in event.get_mut("path").and_then(Value::as_array_mut).into_iter().flatten() {
        segment.as_object_mut().map(|members| members.remove("attempt"));
    }
    event.to_string()
}
