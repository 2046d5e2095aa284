//! `delete`: deletes a thread.

use serde::Serialize;

use superstep_core::id::{NodeName, ThreadId};

use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile};
use crate::page::{NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;

/// Delete a thread and the threads of its subgraphs
///
/// Checkpoints that other threads share stay. The file keeps its size until `vacuum`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep delete essays.db rust")]
pub(crate) struct Delete {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Deleted {
    deleted: ThreadId,
}

impl Delete {
    pub(crate) fn answer(&self) -> Result<Deleted, Failure> {
        let found = Source::open(&self.file)?.thread(&self.thread)?;
        let graph = NodeName::from(found.graph.as_str());
        let target = WritableFile::open(&self.file)?;
        target.wait(target.saver().delete(&graph, &found.thread))?;
        Ok(Deleted { deleted: found.thread })
    }
}

impl Answer for Deleted {
    fn show(&self, page: &mut Page) {
        page.line([plain("deleted "), span(NAME, self.deleted.as_str())]);
    }
}
