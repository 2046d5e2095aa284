//! `why`: what made a task run.

use std::path::PathBuf;

use serde::Serialize;

use crate::inspect::{Via, Why as Reasons, why};

use crate::cli::answer::Answer;
use crate::cli::failure::Failure;
use crate::cli::lines::{Short, called};
use crate::cli::near::nearest;
use crate::cli::page::{DIM, NAME, Page, plain, span};
use crate::cli::source::Source;

/// Tell what made a node run, or be next, at a checkpoint: back to the input
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep why essays.db rust@5 review")]
pub(crate) struct Why {
    /// The checkpoint file
    file: PathBuf,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
    /// The node
    node: String,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Told(Reasons);

impl Why {
    pub(crate) fn answer(&self) -> Result<Told, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let node = if self.node == "START" { "__start__" } else { &self.node };
        let reasons = why(&source.past(&place)?, &node.into()).map_err(|none| {
            let near = nearest(&self.node, none.nodes.iter().map(|node| node.as_str()));
            let hint = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            Failure::nothing(format!("{none}{hint}"))
        })?;
        Ok(Told(reasons))
    }
}

/// The ways that led to a task, the same one only once.
fn ways(ways: &[Via]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for way in ways {
        let text = way.to_string().replace("__start__", "START").replace("__edit__", "EDIT");
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", and by ")
}

impl Answer for Told {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.0.steps.iter().map(|step| step.planned_on));
        for step in &self.0.steps {
            page.line([span(DIM, format!("step {}, planned on ", step.step)), short.span(step.planned_on)]);
            for reason in &step.tasks {
                let ways = format!(" by {}", ways(&reason.by));
                page.line([plain("  "), span(NAME, called(&reason.node)), plain(ways)]);
            }
        }
    }
}
