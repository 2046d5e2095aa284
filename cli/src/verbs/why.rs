//! `why`: shows why a task ran.

use serde::Serialize;

use superstep_inspect::{Via, Why as Reasons, why};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::lines::{Short, called};
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;
use crate::suggestion::did_you_mean;
use superstep_core::checkpoint::Source as Origin;

/// Show why a node ran, or is next, at a checkpoint, back to the input
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep why essays.db rust@5 review")]
pub(crate) struct Why {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
    /// The node
    node: String,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Output(
    Reasons,
    /// `true` if earlier steps were pruned.
    #[serde(skip)]
    bool,
);

impl Why {
    pub(crate) fn answer(&self) -> Result<Output, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let node = if self.node == "START" { "__start__" } else { &self.node };
        let past = source.past(&place)?;
        // Only the state of a pruned checkpoint is left.
        let is_cut = |at: usize| past.get(at).is_some_and(|step| step.checkpoint.source == Origin::Pruned);
        let reasons = why(&past, &node.into()).map_err(|none| {
            if is_cut(1) && none.nodes.iter().any(|ran| ran.as_str() == node) {
                return Failure::nothing(format!(
                    "the checkpoint that planned {} was pruned: the past ends there",
                    self.node
                ));
            }
            let hint = did_you_mean(&self.node, none.nodes.iter().map(|node| node.as_str()));
            Failure::nothing(format!("{none}{hint}"))
        })?;
        let oldest = reasons.steps.last().map(|step| step.planned_on);
        let oldest = past.iter().position(|step| Some(step.checkpoint.id) == oldest);
        let cut = oldest.is_some_and(|oldest| is_cut(oldest + 1));
        Ok(Output(reasons, cut))
    }
}

/// Joins the edges that led to a task; a repeated one is listed once.
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

impl Answer for Output {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.0.steps.iter().map(|step| step.planned_on));
        for step in &self.0.steps {
            page.line([span(DIM, format!("step {}, planned on ", step.step)), short.span(step.planned_on)]);
            for reason in &step.tasks {
                let ways = format!(" by {}", ways(&reason.by));
                page.line([plain("  "), span(NAME, called(&reason.node)), plain(ways)]);
            }
        }
        if self.1 {
            page.line([span(DIM, "what led there was pruned")]);
        }
    }
}
