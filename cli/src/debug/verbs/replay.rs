//! `replay`: checks that the code still does what the journal records.

use serde::Serialize;

use crate::debug::session::Session;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{BAD, DIM, GOOD, NAME, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::{Answer, Exit};
use crate::source::{CheckpointRef, Source};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::run::{self, AnyGraph, ThreadError, Unverified, WhyUnverified};

/// Repeat the steps up to a checkpoint from the journal, and compare the results
///
/// Nothing is called live and nothing is written: effects have their recorded outcomes, questions their recorded
/// answers. If a superstep differs, prints the first difference and exits with 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep replay essays.db rust --after rust@2")]
pub(crate) struct Replay {
    #[command(flatten)]
    file: FileArgument,
    /// The last checkpoint to replay
    checkpoint: String,
    /// Replay only the steps after this earlier checkpoint
    #[arg(long, value_name = "CHECKPOINT")]
    after: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Replayed {
    pub(crate) thread: ThreadId,
    pub(crate) checkpoint: CheckpointId,
    #[serde(flatten)]
    pub(crate) replay: run::Replay,
}

impl Replay {
    pub(crate) async fn answer(&self, session: &Session) -> Result<Replayed, Failure> {
        let place = Session::place(&self.file, &self.checkpoint)?;
        let after = match &self.after {
            Some(after) => Some(Session::place(&self.file, after)?.id),
            None => None,
        };
        let chosen = session.graph_of(&self.file, &place.thread).await?;
        let replay = replay(chosen.graph(), &place, after).await;
        let mut replay = replay.map_err(|error| match error {
            ThreadError::Store(StoreError::NoCheckpoint { .. }) => Failure::from(error).before_the_run(),
            error => error.into(),
        })?;
        if let Some(first) = &mut replay.first {
            Redaction::at(&Source::open(&self.file)?, &place)?.in_difference(&mut first.difference);
        }
        Ok(Replayed { thread: place.thread, checkpoint: place.id, replay })
    }
}

/// Returns the document of a replay with the code of these graphs, in one line.
pub(crate) async fn replayed(
    graphs: &[AnyGraph],
    file: FileArgument,
    checkpoint: &str,
    after: Option<&str>,
) -> Result<String, Failure> {
    let session =
        Session { graphs: graphs.to_vec(), added: Vec::new(), behind: None, program: "superstep".into() };
    let replay = Replay { file, checkpoint: checkpoint.into(), after: after.map(Into::into) };
    serde_json::to_string(&replay.answer(&session).await?).map_err(Failure::damaged)
}

/// Replays and verifies the steps that led to a checkpoint.
async fn replay(
    graph: &AnyGraph,
    place: &CheckpointRef,
    after: Option<CheckpointId>,
) -> Result<run::Replay, ThreadError> {
    let replay = graph.thread(place.thread.clone()).at(place.id).await?.replay();
    match after {
        Some(after) => replay.after(after).await,
        None => replay.await,
    }
}

fn steps(count: u64) -> String {
    if count == 1 { "1 superstep".to_owned() } else { format!("{count} supersteps") }
}

impl Answer for Replayed {
    fn show(&self, page: &mut Page) {
        let run::Replay { supersteps, divergent, first, unverified, other_topology, .. } = &self.replay;
        match first {
            None if *supersteps == 0 && unverified.is_empty() => {
                page.line([span(GOOD, "nothing to replay"), plain(": no superstep lies there")]);
            }
            None => page
                .line([span(GOOD, "equal"), plain(format!(": {} came out as recorded", steps(*supersteps)))]),
            Some(first) => {
                page.line([
                    span(BAD, "different"),
                    plain(format!(": {divergent} of {} came out otherwise", steps(supersteps + divergent))),
                ]);
                page.line([plain("the first: "), plain(first.to_string())]);
            }
        }
        if *other_topology {
            page.line([span(DIM, "some were recorded with another wiring of the graph")]);
        }
        for Unverified { step, node, why, .. } in unverified {
            let why = match why {
                WhyUnverified::Cached => "its outcome came from the cache".to_owned(),
                WhyUnverified::Edited => "an edit came before it".to_owned(),
                WhyUnverified::Error { effect } => {
                    format!("effect {effect:?} failed, with an error that cannot be made again")
                }
                WhyUnverified::Pruned => "what it began with was pruned".to_owned(),
                WhyUnverified::Subgraph => "the thread of its subgraph was deleted".to_owned(),
                _ => "for an unknown reason".to_owned(),
            };
            page.line([
                span(DIM, "not verified: "),
                plain(format!("step {step}, ")),
                span(NAME, node.as_str()),
                plain(format!(": {why}")),
            ]);
        }
    }

    fn exit(&self) -> Exit {
        if self.replay.is_equal() { Exit::Fine } else { Exit::No }
    }
}
