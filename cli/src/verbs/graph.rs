//! `graph`: shows the graph that a thread last ran with.

use std::collections::BTreeMap;

use serde::Serialize;

use superstep_core::checkpoint::{StoreError, Summary};
use superstep_core::id::NodeName;

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
    /// Its nodes and edges in a plane, in the order of `nodes`, and of the edges that `arrows` lists.
    drawing: superstep_inspect::Drawing,
    /// The number of runs of each node on the branch, by its name. Missing if a part of the past is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<Runs>>,
    #[serde(skip)]
    form: Form,
}

/// The runs of a node.
#[derive(Debug, Serialize)]
struct Runs {
    /// The nodes that lead to it, and the node itself.
    path: Vec<NodeName>,
    runs: usize,
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
        let graph: StoredGraph = stored.decode().map_err(Failure::damaged)?;
        let runs = match source.tree(&place.thread) {
            Ok(tree) => Some(counted(tree.past(place.id))),
            Err(StoreError::Corrupt { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Drawing { drawing: graph.drawing(), graph, runs, form })
    }
}

fn counted<'s>(past: impl Iterator<Item = &'s Summary>) -> Vec<Runs> {
    let mut counted: BTreeMap<&NodeName, usize> = BTreeMap::new();
    for node in past.flat_map(|step| &step.ran) {
        *counted.entry(node).or_default() += 1;
    }
    counted.into_iter().map(|(node, runs)| Runs { path: vec![node.clone()], runs }).collect()
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
