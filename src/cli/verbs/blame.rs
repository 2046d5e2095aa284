//! `blame`: who last wrote each part of a value.

use serde::Serialize;

use crate::checkpoint::Source as Origin;
use crate::inspect::{Blame as Part, Path, blame};

use super::log::source_name;
use super::show::absent;
use crate::cli::answer::Answer;
use crate::cli::concealed::Concealed;
use crate::cli::failure::Failure;
use crate::cli::file::FileArgument;
use crate::cli::lines::{Short, called};
use crate::cli::page::{NAME, Page, plain, span};
use crate::cli::secrets;
use crate::cli::source::Source;
use crate::cli::table::{Side, Table};

/// Tell which checkpoint, node and task last wrote each part of a value
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep blame essays.db rust draft")]
pub(crate) struct Blame {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
    /// The path in its state; . for all of it
    path: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Parts {
    parts: Vec<Part>,
}

impl Blame {
    pub(crate) fn answer(&self) -> Result<Parts, Failure> {
        let path: Path = self.path.parse().map_err(|error| Failure::unusable(format!("{error}")))?;
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let loaded = source.load(&place)?;
        let concealed = Concealed::at(&source, &place)?;
        let secret = concealed.fields().clone();
        let state = secrets::state(&loaded, &secret)?;
        // What is secret is blamed as a whole.
        let path = secrets::field_of(&path, &secret).unwrap_or(path);
        if path.get(&state).is_none() {
            return Err(absent(&path, &state, &loaded));
        }
        let parts = blame(&source.past(&place)?, &path).map_err(Failure::damaged)?;
        let mut parts = secrets::blamed(parts, &secret);
        parts.iter_mut().for_each(|part| concealed.in_blame(part));
        Ok(Parts { parts })
    }
}

impl Answer for Parts {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.parts.iter().map(|part| part.author.checkpoint));
        let mut table = Table::new([
            ("step", Side::Right),
            ("checkpoint", Side::Left),
            ("by", Side::Left),
            ("path", Side::Left),
            ("value", Side::Left),
        ]);
        for Part { path, value, author, .. } in &self.parts {
            let tasks: Vec<String> = author.tasks.iter().map(|(_, node)| called(node).to_owned()).collect();
            let by = match (&*tasks, author.source) {
                ([], origin) => source_name(origin).to_owned(),
                (_, Origin::Input) => "input".into(),
                (tasks, _) => tasks.join(", "),
            };
            table.row([
                plain(author.step.to_string()),
                short.span(author.checkpoint),
                span(NAME, by),
                plain(path.to_string()),
                plain(value.to_string()),
            ]);
        }
        table.show(page);
    }
}
