//! `release`: revokes the lease of a thread.

use serde::Serialize;

use superstep_core::checkpoint::CheckpointerExt;
use superstep_core::id::ThreadId;

use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile};
use crate::json_shapes::Lease;
use crate::page::{NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;

/// Break the lease of the run that holds a thread
///
/// The run stores nothing more, starts no effect, and fails as soon as it detects this. An expired lease need not be
/// broken: the next run takes the thread.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep release essays.db rust")]
pub(crate) struct Release {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Released {
    released: ThreadId,
    lease: Lease,
}

impl Release {
    pub(crate) fn answer(&self) -> Result<Released, Failure> {
        let source = Source::open(&self.file)?;
        let held = source.reader.leases()?.into_iter().find(|lease| lease.thread.as_str() == self.thread);
        let thread = match held {
            // The thread may not have a checkpoint yet.
            Some(lease) => lease.thread,
            None => source.thread(&self.thread)?.thread,
        };
        let target = WritableFile::open(&self.file)?;
        let broken = target.wait(target.saver().break_lease(&thread))?;
        let lease = broken.ok_or_else(|| Failure::nothing(format!("no run holds thread {thread}")))?;
        Ok(Released { released: thread, lease: Lease::of(&lease) })
    }
}

impl Answer for Released {
    fn show(&self, page: &mut Page) {
        page.line([
            plain("released "),
            span(NAME, self.released.as_str()),
            plain(format!(", held by {}", self.lease.told())),
        ]);
    }
}
