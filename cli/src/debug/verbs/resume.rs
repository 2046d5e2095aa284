//! `resume`: continues the unfinished work of a thread.

use crate::arguments::Output;
use crate::debug::progress::Progress;
use crate::debug::session::Session;
use crate::failure::Failure;
use crate::file::FileArgument;
use superstep_core::id::ThreadId;

use super::ending::drive;

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
