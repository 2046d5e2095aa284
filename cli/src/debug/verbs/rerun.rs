//! `rerun`: runs everything after a checkpoint again, on a new branch.

use crate::arguments::Output;
use crate::debug::progress::Progress;
use crate::debug::session::Session;
use crate::failure::Failure;
use crate::file::FileArgument;

use super::ending::drive;

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
