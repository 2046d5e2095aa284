//! `run`, `resume`, `rerun`: begin, continue and repeat the work of a thread.

use std::io::Read;

use serde_json::{Map, Value};
use superstep_core::id::ThreadId;
use superstep_core::state::SizeLimits;

use super::ending::drive;
use crate::arguments::Output;
use crate::debug::progress::Progress;
use crate::debug::session::Session;
use crate::failure::Failure;
use crate::file::FileArgument;

/// Run a thread on an input
///
/// The input is an object of fields of the state, each of which goes through its reducer; for a flow, its input. Without
/// an input nothing is written before the graph runs. The thread is created if it does not exist; otherwise its
/// unfinished work is discarded.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep run essays.db rust '{\"topic\": \"Rust\"}'")]
pub(crate) struct Run {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
    /// The input as JSON; `-` reads it from the standard input
    input: Option<String>,
    /// The graph of a new thread, if the program has several
    #[arg(long)]
    graph: Option<String>,
}

impl Run {
    pub(crate) async fn carry_out(
        &self,
        session: &Session,
        screen: &mut Progress<'_>,
    ) -> Result<Output, Failure> {
        let input = self.input()?;
        let thread = ThreadId::from(self.thread.as_str());
        let chosen = session.graph_for(&self.file, &thread, self.graph.as_deref()).await?;
        let request = chosen.graph().thread(thread.clone()).run(input);
        drive(&chosen, thread, request, screen).await
    }

    fn input(&self) -> Result<Value, Failure> {
        let text = match self.input.as_deref() {
            None => return Ok(Value::Object(Map::new())),
            Some("-") => {
                let mut text = String::new();
                let most = SizeLimits::default().most_bytes() as u64;
                let read = std::io::stdin().lock().take(most + 1).read_to_string(&mut text);
                read.map_err(|error| Failure::unusable(format!("the input cannot be read: {error}")))?;
                text
            }
            Some(text) => text.to_owned(),
        };
        SizeLimits::default()
            .check(&text)
            .map_err(|excess| Failure::unusable(format!("the input has {excess}")))?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::unusable(format!("the input is not JSON: {error}")))
    }
}

/// Continue the unfinished work of a thread
///
/// Continues after a crash, a failure, a breakpoint, a limit or a cancellation. Finished tasks do not run again, and
/// effects that succeeded are not repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep resume essays.db rust")]
pub(crate) struct Resume {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
}

impl Resume {
    pub(crate) async fn carry_out(
        &self,
        session: &Session,
        screen: &mut Progress<'_>,
    ) -> Result<Output, Failure> {
        let thread = ThreadId::from(self.thread.as_str());
        let chosen = session.graph_of(&self.file, &thread).await?;
        let request = chosen.graph().thread(thread.clone()).resume();
        drive(&chosen, thread, request, screen).await
    }
}

/// Run again from a checkpoint, on a new branch of its thread
///
/// All effects happen again, and all questions are asked again. Later checkpoints do not change.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep rerun essays.db rust@3")]
pub(crate) struct Rerun {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint
    checkpoint: String,
}

impl Rerun {
    pub(crate) async fn carry_out(
        &self,
        session: &Session,
        screen: &mut Progress<'_>,
    ) -> Result<Output, Failure> {
        let place = Session::place(&self.file, &self.checkpoint)?;
        let chosen = session.graph_of(&self.file, &place.thread).await?;
        let checkpoint = chosen.graph().thread(place.thread.clone()).at(place.id).await;
        let checkpoint = checkpoint.map_err(|error| Failure::from(error).before_the_run())?;
        drive(&chosen, place.thread, checkpoint.rerun(), screen).await
    }
}
