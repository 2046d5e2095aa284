//! `diff`: shows the differences between two checkpoints.

use serde::Serialize;

use superstep_core::checkpoint::{At, CheckpointName};
use superstep_core::id::CheckpointId;
use superstep_inspect::{Difference, Edit, diff, parting};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Effect;
use crate::lines::{Short, names};
use crate::page::{BAD, DIM, GOOD, NOTE, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::{Answer, Exit};
use crate::secret_fields;
use crate::source::{CheckpointRef, Source};
use crate::token_usage::TokenUsage;

/// Show the differences between the states of two checkpoints, or of one and its parent
///
/// Exits with 1 if the states differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep diff essays.db rust@3 rust@5")]
pub(crate) struct Diff {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    a: String,
    /// The checkpoint to compare it with; without it, A is compared with its parent
    b: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Differences {
    /// The older checkpoint, or the first argument; `None` if the checkpoint has no parent.
    from: Option<CheckpointId>,
    to: CheckpointId,
    /// The names of the checkpoints on their threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    from_names: Vec<CheckpointName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to_names: Vec<CheckpointName>,
    state: Vec<Difference>,
    /// The effects on the way to `to`, since the newest checkpoint that both share.
    effects: Vec<Effect>,
    /// The usage of the model calls among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<TokenUsage>,
}

impl Diff {
    pub(crate) fn answer(&self) -> Result<Differences, Failure> {
        let source = Source::open(&self.file)?;
        let a = source.place(&self.a)?;
        let (from, to) = match &self.b {
            Some(b) => (Some(a), source.place(b)?),
            None => (parent(&source, &a)?, a),
        };
        let state = states(&source, from.as_ref(), &to)?;
        let (effects, used) = effects(&source, from.as_ref(), &to)?;
        let named =
            |place: &CheckpointRef| Ok::<_, Failure>(names(&source, &place.thread)?.remove(&place.id));
        let from_names = from.as_ref().map(named).transpose()?.flatten().unwrap_or_default();
        let to_names = named(&to)?.unwrap_or_default();
        let (from, to) = (from.map(|from| from.id), to.id);
        Ok(Differences { from, to, from_names, to_names, state, effects, used })
    }
}

fn parent(source: &Source, of: &CheckpointRef) -> Result<Option<CheckpointRef>, Failure> {
    Ok(source.before(of, 1)?.ok())
}

/// Returns the differences between two states, with secrets redacted.
pub(super) fn states(
    source: &Source,
    from: Option<&CheckpointRef>,
    to: &CheckpointRef,
) -> Result<Vec<Difference>, Failure> {
    let old = match from {
        Some(from) => secret_fields::whole_state(&source.load(from)?)?,
        None => serde_json::json!({}),
    };
    let mut found = diff(&old, &secret_fields::whole_state(&source.load(to)?)?);
    for place in from.into_iter().chain([to]) {
        found = secret_fields::differences(found, &Redaction::fields_at(source, place)?);
    }
    Ok(found)
}

fn effects(
    source: &Source,
    from: Option<&CheckpointRef>,
    to: &CheckpointRef,
) -> Result<(Vec<Effect>, Option<TokenUsage>), Failure> {
    let own = match from {
        None => 1,
        // In the usual case, the two branches need not be read.
        Some(from) if parent(source, to)?.is_some_and(|parent| parent.id == from.id) => 1,
        Some(from) => {
            let line = |place: &CheckpointRef| source.reader.history(&place.thread, &place.at(), usize::MAX);
            parting(&line(from)?, &line(to)?).1
        }
    };
    let steps = source.reader.steps(&to.thread, &At::Id(to.id), own + 1)?;
    let redaction = match steps.iter().any(|step| !step.work.effects.is_empty()) {
        true => Redaction::at(source, to)?,
        false => Redaction::default(),
    };
    let mut all = Vec::new();
    // The effects that led to a checkpoint are stored with its parent.
    for base in steps.iter().skip(1).rev() {
        let checkpoint = &base.checkpoint;
        let tasks = checkpoint.frontier.tasks.iter();
        let nodes: Vec<_> =
            tasks.map(|task| (task.id(checkpoint.id, checkpoint.step), task.node.clone())).collect();
        for effect in &base.work.effects {
            let mut effect = effect.clone();
            redaction.in_effect(&mut effect);
            all.push(Effect::of(&effect, &nodes)?);
        }
    }
    let used = TokenUsage::sum(
        steps.iter().skip(1).filter_map(|base| TokenUsage::by(&base.work.effects, &source.prices)),
    );
    Ok((all, used))
}

impl Answer for Differences {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.from.into_iter().chain([self.to]));
        let from = self.from.map_or_else(|| span(DIM, "nothing"), |from| short.span(from));
        let called = |names: &[CheckpointName]| match names {
            [] => String::new(),
            names => {
                let names: Vec<&str> = names.iter().map(CheckpointName::as_str).collect();
                format!(" {}", names.join(", "))
            }
        };
        let (old, new) = (span(GOOD, called(&self.from_names)), span(GOOD, called(&self.to_names)));
        page.line([from, old, span(DIM, " → "), short.span(self.to), new]);
        if self.state.is_empty() {
            page.line([span(DIM, "the states are the same")]);
        }
        self.state.iter().for_each(|difference| show(page, difference));
        if !self.effects.is_empty() {
            page.title("effects");
        }
        self.effects.iter().for_each(|effect| effect.show(page, ""));
        if let Some(used) = self.used {
            used.show(page, "");
        }
    }

    fn exit(&self) -> Exit {
        if self.state.is_empty() { Exit::Fine } else { Exit::No }
    }
}

/// Shows one difference.
pub(super) fn show(page: &mut Page, difference: &Difference) {
    let path = &difference.path;
    match &difference.edit {
        Edit::Added { value, .. } => {
            page.line([span(GOOD, format!("+ {path}")), plain(format!(": {value}"))])
        }
        Edit::Removed { value } => page.line([span(BAD, format!("- {path}")), plain(format!(": {value}"))]),
        Edit::Changed { from, to } => {
            page.line([span(NOTE, format!("~ {path}"))]);
            page.line([span(BAD, format!("    - {from}"))]);
            page.line([span(GOOD, format!("    + {to}"))]);
        }
        Edit::Reordered { ids } => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            page.line([
                span(NOTE, format!("~ {path}")),
                plain(format!(": now in the order {}", ids.join(", "))),
            ]);
        }
        _ => page.line([span(NOTE, format!("~ {path}"))]),
    }
}
