//! `compare`: shows two branches side by side.

use serde::Serialize;

use superstep_core::checkpoint::Summary;
use superstep_core::id::ThreadId;
use superstep_inspect::{Difference, parting};

use super::diff;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Line;
use crate::lines::{Known, Short, nodes};
use crate::page::{DIM, NAME, NOTE, Page, plain, span};
use crate::screen::{Answer, Exit};
use crate::source::{CheckpointRef, Source};
use crate::table::{Cell, Side, Table};
use crate::token_usage::TokenUsage;

/// Compare two branches: the steps of each, and their states
///
/// Shows their newest common checkpoint, the steps of each since then, and the differences of their states. Exits with
/// 1 if the states differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep compare essays.db rust zig")]
pub(crate) struct Compare {
    #[command(flatten)]
    file: FileArgument,
    /// The last checkpoint of one branch; see `superstep --help`
    a: String,
    /// The last checkpoint of the other branch
    b: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// The newest checkpoint that both branches share.
    #[serde(skip_serializing_if = "Option::is_none")]
    common: Option<Line>,
    a: Branch,
    b: Branch,
    /// The differences from the state of A to that of B.
    state: Vec<Difference>,
}

#[derive(Debug, Serialize)]
struct Branch {
    thread: ThreadId,
    /// Its own checkpoints, oldest first; the first one is where the branches part.
    own: Vec<Line>,
    /// The usage of the model calls of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<TokenUsage>,
}

impl Compare {
    pub(crate) fn answer(&self) -> Result<Comparison, Failure> {
        let source = Source::open(&self.file)?;
        let (a, b) = (source.place(&self.a)?, source.place(&self.b)?);
        let past = |place: &CheckpointRef| source.reader.history(&place.thread, &place.at(), usize::MAX);
        let (past_of_a, past_of_b) = (past(&a)?, past(&b)?);
        let (own_of_a, own_of_b, _) = parting(&past_of_a, &past_of_b);
        let common = match past_of_a.get(own_of_a) {
            Some(common) => {
                let common = source.in_past(&a, common.id, &common.thread)?;
                source.reader.steps(&common.thread, &common.at(), 1)?
            }
            None => Vec::new(),
        };
        Ok(Comparison {
            common: common.first().map(|step| Line::of_step(step, &Known::default()).with_name(&source)),
            state: diff::states(&source, Some(&a), &b)?,
            a: branch(&source, a, own_of_a, past_of_a)?,
            b: branch(&source, b, own_of_b, past_of_b)?,
        })
    }
}

fn branch(source: &Source, place: CheckpointRef, own: usize, past: Vec<Summary>) -> Result<Branch, Failure> {
    debug_assert!(own <= past.len(), "a branch has no more of its own than it has");
    let steps = match own {
        0 => Vec::new(),
        own => source.reader.steps(&place.thread, &place.at(), own.saturating_add(1))?,
    };
    let known = Known::default();
    let lines = Line::of_steps(&steps, own, &known);
    let own: Vec<Line> = lines.map(|line| line.with_name(source)).rev().collect();
    let used = TokenUsage::sum(own.iter().filter_map(|line| line.used));
    Ok(Branch { thread: place.thread, own, used })
}

impl Answer for Comparison {
    fn show(&self, page: &mut Page) {
        let all = self.a.own.iter().chain(&self.b.own).chain(&self.common);
        let short = Short::among(all.map(|line| line.id));
        match &self.common {
            Some(line) => page.line([
                span(DIM, "both have "),
                span(NAME, format!("{}@{}", line.called(), line.step)),
                plain("  "),
                short.span(line.id),
            ]),
            None => page.line([span(DIM, "they have nothing in common")]),
        }
        let rows = self.a.own.len().max(self.b.own.len());
        if rows > 0 {
            page.gap();
            let mut table = Table::new([
                ("a", Side::Left),
                ("", Side::Left),
                ("", Side::Left),
                ("b", Side::Left),
                ("", Side::Left),
                ("", Side::Left),
            ]);
            for row in 0..rows {
                let [a, b] = [&self.a, &self.b].map(|branch| cells(branch.own.get(row), short));
                let ([a1, a2, a3], [b1, b2, b3]) = (a, b);
                table.row([a1, a2, a3, b1, b2, b3]);
            }
            table.show(page);
        }
        for (name, branch) in [("a", &self.a), ("b", &self.b)] {
            if let Some(used) = branch.used {
                used.show(page, &format!("{name}: "));
            }
        }
        page.title("state");
        if self.state.is_empty() {
            page.line([span(DIM, "the states are the same")]);
        }
        self.state.iter().for_each(|difference| diff::show(page, difference));
    }

    fn exit(&self) -> Exit {
        if self.state.is_empty() { Exit::Fine } else { Exit::No }
    }
}

fn cells(line: Option<&Line>, short: Short) -> [Cell; 3] {
    match line {
        None => [plain("").into(), plain("").into(), plain("").into()],
        Some(line) => {
            let changed = if line.changed.is_empty() { "nothing".into() } else { line.changed.join(", ") };
            let ran = if line.ran.is_empty() {
                super::log::source_name(line.source).into()
            } else {
                nodes(&line.ran)
            };
            [
                short.cell(line.id),
                span(NAME, format!("{}@{} {ran}", line.called(), line.step)).into(),
                span(NOTE, changed).into(),
            ]
        }
    }
}
