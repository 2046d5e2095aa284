//! `name`: names checkpoints.

use serde::Serialize;

use superstep_core::checkpoint::{At, CheckpointName, NamedCheckpoint, Naming, rfc3339};
use superstep_core::id::{CheckpointId, ThreadId};

use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile};
use crate::lines::Short;
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::{CheckpointRef, Source};
use crate::table::{Side, Table};

/// Give a checkpoint a name on its thread, or list the names
///
/// Every verb then takes THREAD@NAME for the checkpoint. A checkpoint with a name is never pruned.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep name essays.db rust@3 before-release
          superstep name essays.db rust
          superstep name essays.db rust final --rename before-release
          superstep name essays.db rust --remove final")]
pub(crate) struct Name {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint, or its thread; see `superstep --help`
    checkpoint: String,
    /// The name; without it, the names of the thread are listed
    name: Option<String>,
    /// Replace this name, on any checkpoint of the thread
    #[arg(long, value_name = "OLD", requires = "name")]
    rename: Option<String>,
    /// Remove this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "rename"])]
    remove: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Names {
    thread: ThreadId,
    /// The names, sorted.
    names: Vec<Named>,
}

#[derive(Debug, Serialize)]
struct Named {
    name: CheckpointName,
    id: CheckpointId,
    step: i64,
    /// The time of the checkpoint, in RFC 3339.
    at: String,
}

impl Name {
    pub(crate) fn answer(&self) -> Result<Names, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let Some(naming) = self.naming(&place)? else { return listed(&source, place.thread) };
        drop(source);
        let target = WritableFile::open(&self.file)?;
        target.wait(target.saver().name(&place.thread, naming))?;
        drop(target);
        listed(&Source::open(&self.file)?, place.thread)
    }

    fn naming(&self, place: &CheckpointRef) -> Result<Option<Naming>, Failure> {
        Ok(match (&self.name, &self.rename, &self.remove) {
            (Some(to), Some(from), _) => Some(Naming::Rename { from: parsed(from)?, to: parsed(to)? }),
            (Some(name), None, _) => Some(Naming::Give { name: parsed(name)?, checkpoint: place.id }),
            (None, _, Some(name)) => Some(Naming::Remove { name: parsed(name)? }),
            (None, ..) => None,
        })
    }
}

fn parsed(name: &str) -> Result<CheckpointName, Failure> {
    name.parse().map_err(|error| Failure::unusable(format!("{error}")))
}

fn listed(source: &Source, thread: ThreadId) -> Result<Names, Failure> {
    let named = |NamedCheckpoint { name, checkpoint }| {
        let line = source.reader.history(&thread, &At::Id(checkpoint), 1)?;
        let line = line.first().ok_or_else(|| Failure::nothing(format!("{name} was just deleted")))?;
        Ok(Named { name, id: line.id, step: line.step, at: rfc3339(line.created_ms) })
    };
    let names = source.reader.names(&thread)?.into_iter().map(named).collect::<Result<_, Failure>>()?;
    Ok(Names { thread, names })
}

impl Answer for Names {
    fn show(&self, page: &mut Page) {
        if self.names.is_empty() {
            let thread = span(NAME, self.thread.as_str());
            return page.line([plain("no checkpoint of thread "), thread, plain(" has a name")]);
        }
        let short = Short::among(self.names.iter().map(|named| named.id));
        let columns =
            [("name", Side::Left), ("step", Side::Right), ("checkpoint", Side::Left), ("at", Side::Left)];
        let mut table = Table::new(columns);
        for named in &self.names {
            table.row([
                span(NAME, named.name.as_str()),
                plain(named.step.to_string()),
                short.span(named.id),
                span(DIM, &*named.at),
            ]);
        }
        table.show(page);
    }
}
