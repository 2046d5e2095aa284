//! `blame`: shows which node last wrote each part of a value.

use serde::Serialize;

use superstep_core::checkpoint::Source as Origin;
use superstep_inspect::{Author, Blame as Part, Overwritten, Path, blame};

use super::log::source_name;
use super::show::absent;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::lines::{Short, called};
use crate::page::{DIM, NAME, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::Answer;
use crate::secret_fields;
use crate::source::Source;
use crate::table::{Side, Table};

/// Show which checkpoint and node last wrote each part of a value
///
/// Also shows the item of a fan-out that wrote it, and the previous value.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep blame essays.db rust draft")]
pub(crate) struct Blame {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
    /// The path in its state; . for the whole state
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
        let redaction = Redaction::at(&source, &place)?;
        let secret = redaction.fields().clone();
        let state = secret_fields::state(&loaded, &secret)?;
        // A secret field is blamed as a whole.
        let path = secret_fields::field_of(&path, &secret).unwrap_or(path);
        if path.get(&state).is_none() {
            return Err(absent(&path, &state, &loaded));
        }
        let parts = blame(&source.past(&place)?, &path).map_err(Failure::damaged)?;
        let mut parts = secret_fields::blamed(parts, &secret);
        parts.iter_mut().for_each(|part| redaction.in_blame(part));
        Ok(Parts { parts })
    }
}

impl Answer for Parts {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.parts.iter().map(|part| part.author.checkpoint));
        let mut table = Table::new([
            ("step", Side::Right),
            ("id", Side::Left),
            ("by", Side::Left),
            ("path", Side::Left),
            ("value", Side::Left),
        ]);
        for Part { path, value, author, overwrote } in &self.parts {
            table.row([
                plain(author.step.to_string()).into(),
                short.cell(author.checkpoint),
                span(NAME, by(author)).into(),
                plain(path.to_string()).into(),
                plain(value.to_string()).into(),
            ]);
            if let Some(Overwritten { value, author }) = overwrote {
                let of = format!("overwrote what {} wrote at step {}: ", by(author), author.step);
                table.line([plain("      "), span(DIM, of), plain(value.to_string())]);
            }
        }
        table.show(page);
    }
}

/// Names the author of a value: its nodes, and the item that a node was given.
fn by(author: &Author) -> String {
    let nodes: Vec<&str> = author.tasks.iter().map(|(_, node)| called(node)).collect();
    match (&*nodes, &author.item, author.source) {
        ([], _, origin) => source_name(origin).to_owned(),
        (_, _, Origin::Input) => "input".into(),
        ([node], Some(item), _) => format!("{node} {item}"),
        (nodes, ..) => nodes.join(", "),
    }
}
