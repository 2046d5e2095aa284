//! Assertions about the tasks that ran.

use alloc::string::ToString;
use std::collections::{BTreeMap, BTreeSet};
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;
use std::{fmt, format};

use serde::Deserialize;
use serde_json::Value;

use super::journal::Journal;
use crate::checkpoint::{At, CheckpointerExt};
use crate::graph::Program;
use crate::id::RunId;
use crate::run::{Graph, Thread, ThreadError, TraceLog, TraceRecord};
use crate::state::{LoggedWrite, StateForm};

/// The tasks that ran, for assertions in a test.
///
/// Nodes have their names in the graph; a node of a subgraph is preceded by the nodes that lead to it, as in
/// `"solve/draft"`. A failed assertion panics with the whole trace, in which the relevant tasks are marked.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use serde::{Deserialize, Serialize};
/// # use superstep::checkpoint::MemorySaver;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::state::{State, Update};
/// use superstep::testing::Trace;
/// # #[derive(State, Clone, Default, Serialize, Deserialize)]
/// # struct Essay { draft: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut g = StateGraph::<Essay>::new("essay");
/// # let plan = g.node("plan", || async {});
/// # let write = g.node("write", || async { Essay::update().draft("…") });
/// # g.edge(START, plan);
/// # g.edge(plan, write);
/// # g.edge(write, END);
/// # let essays = g.compile()?.checkpointer(MemorySaver::new());
/// let thread = essays.thread("rust");
/// thread.run(Essay::update()).await?.finished()?;
///
/// let trace = Trace::of(&thread).await?;
/// trace.ran(["plan", "write"]).ran_before("plan", "write").wrote("write", "draft");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) ran: Vec<Ran>,
    nodes: Nodes,
}

/// The nodes of a graph by name, each with the program to whose state it writes.
type Nodes = BTreeMap<String, Arc<Program>>;

/// A task that ran.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ran {
    /// The supersteps that contain it, from the graph at the top down.
    pub(super) at: Vec<i64>,
    pub(super) node: String,
    pub(super) case: Option<String>,
    pub(super) wrote: Vec<String>,
    pub(super) failed: Option<String>,
}

impl Trace {
    /// Reads the trace from the history of a thread: the finished tasks, including those of subgraphs, superstep by
    /// superstep.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or the checkpointer fails.
    pub async fn of<S: StateForm>(thread: &Thread<S>) -> Result<Self, ThreadError> {
        let saver = thread.saver()?;
        let mut journal = Journal::new(thread.id().clone(), At::Head);
        while let Some((thread, at)) = journal.wanted() {
            journal.add(saver.steps(&thread, at, usize::MAX).await?);
        }
        Ok(Self { ran: journal.ran(), nodes: nodes(&thread.runtime().program) })
    }

    /// Reads the trace of a run of `graph` from a log. Here each attempt of a task counts as a call of its own,
    /// even a failed one.
    #[must_use]
    pub fn of_run<S, C>(graph: &Graph<S, C>, log: &TraceLog, run: RunId) -> Self {
        let nodes = nodes(&graph.runtime().program);
        let calls = log.of(run);
        Self { ran: calls.iter().filter_map(|call| ran(call, &calls, &nodes)).collect(), nodes }
    }

    /// Asserts that exactly these nodes ran, in this order. The order is that of the supersteps, and within a
    /// superstep the merge order. A node that ran for several items is listed once per item.
    ///
    /// # Panics
    /// Panics if they did not.
    #[track_caller]
    pub fn ran<'n>(&self, nodes: impl IntoIterator<Item = &'n str>) -> &Self {
        let nodes: Vec<&str> = nodes.into_iter().collect();
        self.knows(&nodes);
        let first = (0..nodes.len().max(self.ran.len()))
            .find(|at| self.ran.get(*at).map(|ran| ran.node.as_str()) != nodes.get(*at).copied());
        if let Some(at) = first {
            let should =
                nodes.get(at).map_or_else(|| "nothing more".into(), |node| format!("{node} to be next"));
            let claim = format!("expected [{}] to have run: expected {should}", nodes.join(", "));
            match self.ran.get(at) {
                Some(ran) => self.fail(&format!("{claim}, and {} ran", ran.node), |index, _| index == at),
                None => self.fail(&format!("{claim}, and nothing more ran"), |_, _| false),
            }
        }
        self
    }

    /// Asserts that these nodes ran in this order, each in a later superstep than the previous one. Other nodes may
    /// have run as well.
    ///
    /// # Panics
    /// Panics if they did not.
    #[track_caller]
    pub fn ran_in_order<'n>(&self, nodes: impl IntoIterator<Item = &'n str>) -> &Self {
        let nodes: Vec<&str> = nodes.into_iter().collect();
        self.knows(&nodes);
        let mut after: Option<&Ran> = None;
        for node in &nodes {
            let later = |ran: &&Ran| ran.node == *node && after.is_none_or(|after| ran.at > after.at);
            let Some(found) = self.ran.iter().find(later) else {
                let behind = after.map(|after| format!(" after {}", Told::at(&after.at))).unwrap_or_default();
                let claim =
                    format!("expected [{}] to run in order: {node} did not run{behind}", nodes.join(", "));
                self.fail(&claim, |_, ran| nodes.contains(&ran.node.as_str()))
            };
            after = Some(found);
        }
        self
    }

    /// Asserts that both nodes ran, and that the first run of `node` was in an earlier superstep than the first run
    /// of `other`.
    ///
    /// # Panics
    /// Panics if that is not the case.
    #[track_caller]
    pub fn ran_before(&self, node: &str, other: &str) -> &Self {
        self.knows(&[node, other]);
        let first = |node: &str| self.ran.iter().find(|ran| ran.node == node).map(|ran| &ran.at);
        let why = match (first(node), first(other)) {
            (Some(one), Some(two)) if one < two => return self,
            (Some(one), Some(two)) => {
                format!("it ran at {}, and {other} at {}", Told::at(one), Told::at(two))
            }
            (None, _) => "it did not run".to_string(),
            (_, None) => format!("{other} did not run"),
        };
        let claim = format!("expected {node} to run before {other}, and {why}");
        self.fail(&claim, |_, ran| ran.node == node || ran.node == other)
    }

    /// Asserts that all of these nodes ran in one superstep.
    ///
    /// # Panics
    /// Panics if no superstep ran all of them.
    #[track_caller]
    pub fn ran_together<'n>(&self, nodes: impl IntoIterator<Item = &'n str>) -> &Self {
        let nodes: Vec<&str> = nodes.into_iter().collect();
        self.knows(&nodes);
        let ran_at = |node: &str, at: &[i64]| self.ran.iter().any(|ran| ran.node == node && ran.at == at);
        let is_one = self.ran.iter().any(|ran| nodes.iter().all(|node| ran_at(node, &ran.at)));
        if !is_one {
            let claim =
                format!("expected [{}] to run in one superstep, and none ran them all", nodes.join(", "));
            self.fail(&claim, |_, ran| nodes.contains(&ran.node.as_str()));
        }
        self
    }

    /// Asserts that the node ran this many times.
    ///
    /// # Panics
    /// Panics if it ran a different number of times.
    #[track_caller]
    pub fn ran_times(&self, node: &str, times: usize) -> &Self {
        self.knows(&[node]);
        let count = self.ran.iter().filter(|ran| ran.node == node).count();
        if count != times {
            let claim =
                format!("expected {node} to run {}, and it ran {}", Told::times(times), Told::times(count));
            self.fail(&claim, |_, ran| ran.node == node);
        }
        self
    }

    /// Asserts that the node never ran.
    ///
    /// # Panics
    /// Panics if it did.
    #[track_caller]
    pub fn never_ran(&self, node: &str) -> &Self {
        self.ran_times(node, 0)
    }

    /// Asserts that the node chose this case at least once.
    ///
    /// # Panics
    /// Panics if it did not.
    #[track_caller]
    pub fn took(&self, node: &str, case: &str) -> &Self {
        self.knows(&[node]);
        let cases: Vec<&str> =
            self.ran.iter().filter(|ran| ran.node == node).filter_map(|ran| ran.case.as_deref()).collect();
        if !cases.contains(&case) {
            let took = if cases.is_empty() { "nothing".into() } else { cases.join(", then ") };
            let claim = format!("expected {node} to take {case}, and it took {took}");
            self.fail(&claim, |_, ran| ran.node == node);
        }
        self
    }

    /// Asserts that the node wrote this field at least once.
    ///
    /// # Panics
    /// Panics if it did not.
    #[track_caller]
    pub fn wrote(&self, node: &str, field: &str) -> &Self {
        self.knows(&[node]);
        let own: Vec<&Ran> = self.ran.iter().filter(|ran| ran.node == node).collect();
        if !own.iter().any(|ran| ran.wrote.iter().any(|written| written == field)) {
            let fields: BTreeSet<&str> = own.iter().flat_map(|ran| &ran.wrote).map(String::as_str).collect();
            let wrote = match fields.is_empty() {
                true => "nothing".into(),
                false => fields.into_iter().collect::<Vec<_>>().join(", "),
            };
            let claim = format!("expected {node} to write {field}, and it wrote {wrote}");
            self.fail(&claim, |_, ran| ran.node == node);
        }
        self
    }

    /// Panics if the graph lacks one of the nodes, because the test then has a wrong name.
    #[track_caller]
    fn knows(&self, nodes: &[&str]) {
        if let Some(node) = nodes.iter().find(|node| !self.nodes.contains_key(**node)) {
            let known: Vec<&str> = self.nodes.keys().map(String::as_str).collect();
            panic!("the graph has no node {node}; it has {}", known.join(", "));
        }
    }

    #[track_caller]
    fn fail(&self, claim: &str, is_marked: impl Fn(usize, &Ran) -> bool) -> ! {
        panic!("{claim}\n{}", Told { ran: &self.ran, is_marked: &is_marked });
    }
}

/// Returns the nodes of a program and of its subgraphs.
fn nodes(program: &Arc<Program>) -> Nodes {
    fn gather(program: &Arc<Program>, above: &str, into: &mut Nodes) {
        for (name, node) in program.names.iter().zip(&program.nodes).filter(|(name, _)| !name.is_end()) {
            let path = format!("{above}{name}");
            if let Some(subgraph) = &node.subgraph {
                gather(subgraph, &format!("{path}/"), into);
            }
            if !name.is_start() {
                into.insert(path, Arc::clone(program));
            }
        }
    }
    let mut nodes = Nodes::new();
    gather(program, "", &mut nodes);
    nodes
}

/// Returns the call as a task that ran; `None` for a run itself.
fn ran(call: &TraceRecord, all: &[TraceRecord], nodes: &Nodes) -> Option<Ran> {
    let mut at = alloc::vec![call.step?];
    let name = |call: &TraceRecord| call.op_name.strip_suffix("_node").unwrap_or(&call.op_name).to_string();
    let mut node = name(call);
    let mut above = call.parent_id.as_deref();
    while let Some(caller) = above.and_then(|id| all.iter().find(|one| one.id == id)) {
        if let Some(step) = caller.step {
            at.insert(0, step);
            node = format!("{}/{node}", name(caller));
        }
        above = caller.parent_id.as_deref();
    }
    let given = |name: &str| call.output.as_ref().and_then(|output| output.get(name));
    let failed = given("error").map(|error| error.get("message").unwrap_or(error).clone());
    let writes = given("writes").and_then(|writes| Vec::<LoggedWrite>::deserialize(writes).ok());
    let schema = nodes.get(&node).map(|program| &program.schema);
    let field = |write: &LoggedWrite| Some(schema?.field(write.field).name.clone());
    let mut wrote: Vec<String> = writes.iter().flatten().filter_map(field).collect();
    wrote.dedup();
    Some(Ran {
        at,
        node,
        wrote,
        case: given("route").and_then(Value::as_str).map(ToString::to_string),
        failed: failed.map(|error| error.as_str().map_or_else(|| error.to_string(), ToString::to_string)),
    })
}

/// Displays a trace with one line per task, and marks some of the lines.
pub(super) struct Told<'t> {
    pub(super) ran: &'t [Ran],
    pub(super) is_marked: &'t dyn Fn(usize, &Ran) -> bool,
}

impl Told<'_> {
    /// Returns the supersteps of a place as text, from the graph at the top down.
    pub(super) fn at(at: &[i64]) -> String {
        format!("step {}", at.iter().map(ToString::to_string).collect::<Vec<_>>().join("."))
    }

    pub(super) fn times(times: usize) -> String {
        match times {
            0 => "never".into(),
            1 => "once".into(),
            times => format!("{times} times"),
        }
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ran.is_empty() {
            return f.write_str("  nothing ran");
        }
        let places: Vec<String> = self.ran.iter().map(|ran| Self::at(&ran.at)).collect();
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let place_width = widest(&mut places.iter().map(String::len));
        let node_width = widest(&mut self.ran.iter().map(|ran| ran.node.chars().count()));
        for (index, (ran, place)) in self.ran.iter().zip(&places).enumerate() {
            let mark = if (self.is_marked)(index, ran) { '>' } else { ' ' };
            let mut line = format!("{mark} {place:place_width$}  {:node_width$}", ran.node);
            if let Some(case) = &ran.case {
                line += &format!("  took {case}");
            }
            if !ran.wrote.is_empty() {
                line += &format!("  wrote {}", ran.wrote.join(", "));
            }
            if let Some(error) = &ran.failed {
                line += &format!("  failed: {error}");
            }
            let end = if index + 1 < self.ran.len() { "\n" } else { "" };
            write!(f, "{}{end}", line.trim_end())?;
        }
        Ok(())
    }
}
