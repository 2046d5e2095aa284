//! `graph`: shows the graph that a thread last ran with.

use serde::Serialize;

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::lines::called;
use crate::page::{DIM, NAME, NOTE, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;
use crate::topology::{How, StoredGraph};

/// Show the graph that a thread last ran with
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep graph essays.db rust --dot | dot -Tsvg > essay.svg")]
pub(crate) struct Graph {
    #[command(flatten)]
    file: FileArgument,
    /// The thread, or a checkpoint
    thread: String,
    /// Print a Mermaid flowchart
    #[arg(long, conflicts_with_all = ["dot", "svg"])]
    mermaid: bool,
    /// Print Graphviz's DOT language
    #[arg(long, conflicts_with = "svg")]
    dot: bool,
    /// Print an SVG picture
    #[arg(long)]
    svg: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Drawing {
    #[serde(flatten)]
    graph: StoredGraph,
    #[serde(skip)]
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Mermaid,
    Dot,
    Svg,
}

impl Graph {
    pub(crate) fn answer(&self) -> Result<Drawing, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.thread)?;
        let stored = source.reader.topology(&place.thread, &place.at())?;
        let stored = stored.ok_or_else(|| Failure::nothing("the thread has just been deleted"))?;
        let form = match (self.mermaid, self.dot, self.svg) {
            (true, _, _) => Form::Mermaid,
            (_, true, _) => Form::Dot,
            (_, _, true) => Form::Svg,
            _ => Form::Text,
        };
        Ok(Drawing { graph: stored.decode().map_err(Failure::damaged)?, form })
    }
}

impl Answer for Drawing {
    fn show(&self, page: &mut Page) {
        let drawing = match self.form {
            Form::Text => return show(page, &self.graph, ""),
            Form::Mermaid => self.graph.mermaid(),
            Form::Dot => self.graph.dot(),
            Form::Svg => self.graph.svg(),
        };
        // A drawing is for another program, so none of it is cut.
        page.look.width = None;
        drawing.lines().for_each(|line| page.line([plain(line)]));
    }
}

fn show(page: &mut Page, graph: &StoredGraph, indent: &str) {
    page.line([plain(indent), span(DIM, "graph "), span(NAME, &graph.name)]);
    let ways = graph.ways();
    for node in &graph.nodes {
        if !node.name.is_end() {
            let deferred = if node.defer { "  (deferred)" } else { "" };
            page.line([plain(format!("{indent}  ")), span(NAME, called(&node.name)), span(DIM, deferred)]);
        }
        for way in ways.iter().filter(|way| *way.from == node.name) {
            let to = way.to.map_or("END", called);
            let when = match way.how {
                How::Always => String::new(),
                How::Case(case) => format!("  if {case}"),
                How::Each(case) => format!("  for each item of {case}"),
                How::OnError(case) => format!("  on an error, if {case}"),
                How::Perhaps => "  perhaps".into(),
                How::Join => "  joined".into(),
            };
            page.line([plain(format!("{indent}    → {to}")), span(NOTE, when)]);
        }
        if let Some(inner) = &node.subgraph {
            show(page, inner, &format!("{indent}      "));
        }
    }
}
