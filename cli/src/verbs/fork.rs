//! `fork`: begins a branch at a checkpoint.

use serde::Serialize;

use superstep_core::checkpoint::Carried;
use superstep_core::id::{CheckpointId, NodeName, ThreadId};

use crate::amend::{self, Destination};
use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile};
use crate::lines::{Short, nodes};
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;

/// Begin a branch at a checkpoint, or another thread with --name
///
/// A branch is on the same thread: a copy of the checkpoint becomes its latest, and the program's `resume` continues from
/// the copy. Existing checkpoints do not change. Both begin without unfinished work: the next nodes run, and ask, again.
/// A branch closes the open questions of the thread's old head.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep fork essays.db rust@3
          superstep fork essays.db rust@3 --name zig")]
pub(crate) struct Fork {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
    /// Begin a new thread of this name, which shares the past
    #[arg(long, value_name = "THREAD")]
    name: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Forked {
    thread: ThreadId,
    /// The latest checkpoint of the thread; a copy if `branch` is `true`.
    checkpoint: CheckpointId,
    /// The checkpoint at which it begins.
    from: CheckpointId,
    /// `true` for a branch of the same thread, `false` for a new thread.
    branch: bool,
    step: i64,
    next: Vec<NodeName>,
}

impl Fork {
    pub(crate) fn answer(&self) -> Result<Forked, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let loaded = source.load(&place)?;
        let to = Destination::of(&source, &place, self.name.as_deref())?;
        drop(source);
        let target = WritableFile::open(&self.file)?;
        let original = loaded.checkpoint;
        let (step, next) = (original.step, original.frontier.nodes().cloned().collect());
        let checkpoint = match self.name {
            Some(_) => {
                target.wait(target.saver().fork(&place.thread, place.id, &to.thread))?;
                place.id
            }
            None => {
                let copy = original.branched(amend::id(), &place.thread)?;
                let id = copy.id;
                to.commit(&target, loaded.graph, copy, Carried::default(), None)?;
                id
            }
        };
        let branch = self.name.is_none();
        Ok(Forked { thread: to.thread, checkpoint, from: place.id, branch, step, next })
    }
}

impl Answer for Forked {
    fn show(&self, page: &mut Page) {
        let Self { thread, checkpoint, from, branch, step, next } = self;
        let short = Short::among([*checkpoint, *from].into_iter());
        let begun = if *branch { "began a branch of " } else { "began thread " };
        page.line([
            plain(begun),
            span(NAME, thread.as_str()),
            plain(" at "),
            short.span(*from),
            span(DIM, format!(" (step {step})")),
        ]);
        if *branch {
            page.line([plain("its latest checkpoint is "), short.span(*checkpoint)]);
        }
        show_next(page, next);
    }
}

/// Shows the nodes that are next.
pub(super) fn show_next(page: &mut Page, next: &[NodeName]) {
    match next {
        [] => page.line([plain("nothing is next")]),
        next => page.line([plain("next "), plain(nodes(next))]),
    }
}
