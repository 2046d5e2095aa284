//! Builds a graph from a description.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::cases::{Cases, Way};
use super::code::{Basis, Outcome, branch, checked, given, router};
use super::description::Description;
use super::policies;
use super::registry::{Registered, Registry};
use crate::graph::check::Problem;
use crate::graph::handle::{END, END_INDEX, NodeRef, START_INDEX};
use crate::graph::program::Handler;
use crate::graph::{NodeProgram, StateGraph};
use crate::node::{NoInput, short_type_name};
use crate::state::{FieldId, JsonFields, JsonState, Place, Problems, suggestion};

const GRAPH: [&str; 6] = ["graph", "description", "state", "nodes", "start", "joins"];
const NODE: [&str; 13] = [
    "run",
    "description",
    "to",
    "cases",
    "branches",
    "retry",
    "timeout_ms",
    "idle_timeout_ms",
    "defer",
    "on_unknown",
    "on_mismatch",
    "cache",
    "on_error",
];
/// The target that ends a run.
const END_NAME: &str = "END";

/// Reads one description.
pub(super) struct Reader<'r, C> {
    registry: &'r Registry<C>,
    root: Place<'r>,
    fields: Arc<JsonFields>,
    graph: StateGraph<JsonState, C>,
    nodes: BTreeMap<&'r str, Known<'r>>,
    problems: Problems,
}

/// A node that the description names.
#[derive(Clone)]
struct Known<'r> {
    index: u32,
    place: Place<'r>,
    function: Option<&'r Registered>,
}

impl Known<'_> {
    /// Returns `true` if the node takes an item of `each`; `None` if its function is unknown.
    fn takes(&self) -> Option<bool> {
        self.function.map(|function| function.description.input.is_some())
    }

    fn decides(&self) -> bool {
        self.place.member("cases").is_some()
    }
}

impl<'r, C: Send + Sync + 'static> Reader<'r, C> {
    pub(super) fn new(registry: &'r Registry<C>, description: &'r Description) -> Self {
        let mut problems = Problems::default();
        let root = Place::root(description.as_value());
        root.known(&GRAPH, &mut problems);
        let name = root.required("graph", &mut problems).and_then(|name| name.text(&mut problems));
        let name = name.unwrap_or("described");
        let fields = match root.required("state", &mut problems) {
            Some(state) => JsonFields::read(name, &state, &mut problems),
            None => JsonFields::default(),
        };
        let fields = Arc::new(fields);
        let initial = JsonState::new(Arc::clone(&fields));
        let graph = StateGraph::with_schema(name, fields.schema().clone(), initial);
        Self { registry, root, fields, graph, nodes: BTreeMap::new(), problems }
    }

    pub(super) fn read(mut self) -> StateGraph<JsonState, C> {
        let nodes = self.root.required("nodes", &mut self.problems);
        for (name, place) in nodes.map(|nodes| nodes.members(&mut self.problems)).unwrap_or_default() {
            self.register(name, place);
        }
        for known in self.nodes.values().cloned().collect::<Vec<_>>() {
            self.wire(&known);
        }
        self.start();
        for place in self.root.member("joins").iter().flat_map(Place::items) {
            self.join(&place);
        }
        for found in self.problems.0 {
            self.graph.problem(Problem::Described(found));
        }
        self.graph
    }

    /// Registers a node, so that others can lead to it.
    fn register(&mut self, name: &'r str, place: Place<'r>) {
        if ["", "START", END_NAME].contains(&name) {
            self.problems.add(&place, format!("a node cannot be called {name:?}"));
            return;
        }
        place.known(&NODE, &mut self.problems);
        let run = place.member("run");
        let registered = match &run {
            Some(run) => self.function(run),
            None => self.registered(name, &place),
        };
        let decides = place.member("cases").is_some();
        let description = registered.map(|registered| registered.description.clone()).unwrap_or_default();
        let program = NodeProgram { description, ..NodeProgram::default() };
        let index = self.graph.add(name.into(), decides, program);
        self.nodes.insert(name, Known { index, place, function: registered });
    }

    /// Reads the targets of a node, and its policies.
    fn wire(&mut self, known: &Known<'r>) {
        let Known { index, place, function } = known;
        let cases = place.member("cases").map(|cases| Arc::new(self.cases(&cases, None, true)));
        if let (Some(to), true) = (place.member("to"), known.decides()) {
            self.problems.add(&to, "a node with cases has no plain edges; put the targets into its cases");
        } else if let Some(to) = place.member("to") {
            self.edges(*index, &to);
        }
        let outcome = Outcome { fields: Arc::clone(&self.fields), cases: cases.clone() };
        let program = self.graph.program(*index);
        program.code = function.map(|function| checked(function.code.clone(), outcome.clone()));
        program.given = Some(given(outcome));
        program.policy = policies::read(place, self.fields.schema(), &mut self.problems);
        if let Some(on_error) = place.member("on_error") {
            self.handler(known, cases.as_ref(), &on_error);
        }
        if let Some(cases) = cases {
            self.graph.decision(*index, cases.described());
            let graph = self.graph.number();
            self.graph.program(*index).router = Some(router(graph, cases));
        }
        for place in place.member("branches").iter().flat_map(Place::items) {
            self.branch(*index, &place);
        }
    }

    fn start(&mut self) {
        let Some(start) = self.root.required("start", &mut self.problems) else { return };
        if !start.value.is_object() {
            return self.edges(START_INDEX, &start);
        }
        start.known(&["to", "branches"], &mut self.problems);
        if let Some(to) = start.member("to") {
            self.edges(START_INDEX, &to);
        }
        for place in start.member("branches").iter().flat_map(Place::items) {
            self.branch(START_INDEX, &place);
        }
    }

    fn edges(&mut self, from: u32, to: &Place<'r>) {
        let from = self.handle(from);
        for place in to.items() {
            match self.target(&place) {
                Some(END_INDEX) => self.graph.edge(from, END),
                Some(node) => self.graph.edge(from, self.handle(node)),
                None => {}
            }
        }
    }

    fn join(&mut self, place: &Place<'r>) {
        place.known(&["of", "to"], &mut self.problems);
        let of = place.required("of", &mut self.problems);
        let to = place.required("to", &mut self.problems);
        let mut sources = Vec::new();
        for source in of.iter().flat_map(Place::items) {
            let Some(known) = self.find(&source) else { continue };
            if known.decides() {
                self.problems.add(&source, "a join waits for nodes without cases");
            }
            sources.push(self.handle(known.index));
        }
        let target = to.as_ref().and_then(|to| self.target(to));
        match target {
            Some(END_INDEX) => self.problems.add(place, "a join leads to a node, not to END"),
            Some(target) => self.graph.join(sources, self.handle(target)),
            None => {}
        }
    }

    fn branch(&mut self, from: u32, place: &Place<'r>) {
        place.known(&["on", "by", "cases", "else"], &mut self.problems);
        let basis = match (place.member("on"), place.member("by")) {
            (Some(on), None) => self.field(&on).map(Basis::Field),
            (None, Some(by)) => by.text(&mut self.problems).and_then(|name| {
                let decide = self.registry.branches.get(name).cloned();
                if decide.is_none() {
                    let meant = suggestion(name, self.registry.branches.keys().map(String::as_str));
                    self.problems.add(&by, format!("no decision {name:?} is registered{meant}"));
                }
                decide.map(Basis::Function)
            }),
            _ => {
                self.problems
                    .add(place, "a branch decides either \"on\" a field or \"by\" a registered decision");
                None
            }
        };
        let cases = place.required("cases", &mut self.problems);
        let otherwise = place.member("else");
        let cases = cases.map(|cases| self.cases(&cases, otherwise.as_ref(), false)).unwrap_or_default();
        if let Some(Basis::Field(field)) = basis {
            self.fits(place, field, &cases);
        }
        self.graph.decision(from, cases.described());
        if let Some(basis) = basis {
            let graph = self.graph.number();
            self.graph.program(from).branches.push(branch(graph, basis, cases));
        }
    }

    /// Reads cases. `gives` is `true` if a node returns the items for `each` targets without a field.
    fn cases(&mut self, place: &Place<'r>, otherwise: Option<&Place<'r>>, gives: bool) -> Cases {
        let mut cases = Cases::default();
        for (case, place) in place.members(&mut self.problems) {
            cases.ways.insert(case.to_string(), self.ways(&place, gives));
        }
        cases.otherwise = otherwise.map(|place| self.ways(place, gives));
        if cases.ways.is_empty() && place.value.is_object() {
            self.problems.add(place, "there is no case");
        }
        cases
    }

    fn ways(&mut self, place: &Place<'r>, gives: bool) -> Vec<Way> {
        let mut ways = Vec::new();
        for place in place.items() {
            if place.value.is_object() {
                ways.extend(self.each(&place, gives));
            } else if let Some(node) = self.target(&place).filter(|node| *node != END_INDEX) {
                ways.push(Way::To(node));
            }
        }
        ways
    }

    fn each(&mut self, place: &Place<'r>, gives: bool) -> Option<Way> {
        place.known(&["each", "items"], &mut self.problems);
        let each = place.required("each", &mut self.problems)?;
        let known = self.find(&each)?;
        let items = match place.member("items") {
            Some(items) => Some(self.list(&items)?),
            None if gives => None,
            None => {
                self.problems.add(place, "\"items\" is missing; name the field with the items");
                return None;
            }
        };
        let Some(input) = known.function?.description.input else {
            let name = each.text(&mut self.problems)?;
            self.problems.add(&each, format!("the function of node {name:?} takes no `Input`"));
            return None;
        };
        Some(Way::Each { node: known.index, input, items })
    }

    /// Reads a target that takes no item: a node or END.
    fn target(&mut self, place: &Place<'r>) -> Option<u32> {
        if place.value == END_NAME {
            return Some(END_INDEX);
        }
        let known = self.find(place)?;
        if known.takes() == Some(true) {
            let reason = format!(
                "the function of this node takes an `Input`; reach it with {{\"each\": {}}}",
                place.value
            );
            self.problems.add(place, reason);
            return None;
        }
        Some(known.index)
    }

    fn find(&mut self, place: &Place<'r>) -> Option<Known<'r>> {
        let name = place.text(&mut self.problems)?;
        let known = self.nodes.get(name).cloned();
        if known.is_none() {
            let meant = suggestion(name, self.nodes.keys().copied().chain([END_NAME]));
            self.problems.add(place, format!("there is no node {name:?}{meant}"));
        }
        known
    }

    fn field(&mut self, place: &Place<'r>) -> Option<FieldId> {
        let name = place.text(&mut self.problems)?;
        self.fields.find(name).map_err(|error| self.problems.add(place, error.to_string())).ok()
    }

    /// Reads the name of a field that contains items.
    fn list(&mut self, place: &Place<'r>) -> Option<FieldId> {
        let field = self.field(place)?;
        if !self.fields.may_hold_items(field) {
            let held = &self.fields.schema().field(field).rust_type;
            self.problems.add(place, format!("the field is of type {held}; only an array holds items"));
        }
        Some(field)
    }

    /// Compares the cases of a branch with the listed values of its field, if there are any.
    fn fits(&mut self, place: &Place<'r>, field: FieldId, cases: &Cases) {
        let Some(values) = self.fields.listed(field) else { return };
        let name = self.fields.schema().field(field).name.clone();
        let ways = place.member("cases").map(|cases| cases.members(&mut self.problems));
        for (case, way) in ways.into_iter().flatten() {
            if !values.iter().any(|value| value == case) {
                let meant = suggestion(case, values.iter().map(String::as_str));
                self.problems.add(&way, format!("field {name:?} is never {case:?}{meant}"));
            }
        }
        let missing: Vec<&str> =
            values.iter().filter(|value| cases.find(value).is_err()).map(String::as_str).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            self.problems.add(place, format!("there is no case, and no \"else\", for {missing}"));
        }
    }

    /// Reads the error handler, which continues the node's task after the node's last retry has failed.
    fn handler(&mut self, of: &Known<'r>, of_node: Option<&Arc<Cases>>, place: &Place<'r>) {
        let run = match place.value.is_object() {
            true => {
                place.known(&["run", "cases"], &mut self.problems);
                place.required("run", &mut self.problems)
            }
            false => Some(place.clone()),
        };
        let own = place.member("cases").map(|cases| Arc::new(self.cases(&cases, None, true)));
        let Some((run, handler)) = run.and_then(|run| Some((run.clone(), self.function(&run)?))) else {
            return;
        };
        if let Some(takes) = &handler.description.input
            && let Some(function) = of.function
        {
            let given = function.description.input.as_ref().map(|input| input.type_name);
            if given != Some(takes.type_name) {
                let takes = short_type_name(takes.type_name);
                let given = given.map_or_else(
                    || "no `Input`".to_string(),
                    |given| format!("an `Input<{}>`", short_type_name(given)),
                );
                let reason =
                    format!("the function takes an `Input<{takes}>`, but that of its node takes {given}");
                self.problems.add(&run, reason);
            }
        }
        let outcome = Outcome { fields: Arc::clone(&self.fields), cases: own.as_ref().or(of_node).cloned() };
        let (code, description) = (checked(handler.code.clone(), outcome), handler.description.clone());
        let graph = self.graph.number();
        if let Some(own) = &own {
            self.graph.decide_on_error(of.index, own.described());
        }
        let router = own.map(|cases| router(graph, cases));
        self.graph.program(of.index).handler = Some(Handler { code, description, router });
    }

    /// Returns the registered function with the given name.
    fn function(&mut self, place: &Place<'r>) -> Option<&'r Registered> {
        let name = place.text(&mut self.problems)?;
        self.registered(name, place)
    }

    fn registered(&mut self, name: &str, place: &Place<'r>) -> Option<&'r Registered> {
        let registered = self.registry.nodes.get(name);
        if registered.is_none() {
            let meant = suggestion(name, self.registry.nodes.keys().map(String::as_str));
            self.problems.add(place, format!("no function {name:?} is registered{meant}"));
        }
        registered
    }

    /// Returns a handle with unchecked types; the reader has checked them.
    fn handle(&self, node: u32) -> NodeRef<NoInput, ()> {
        NodeRef::new(self.graph.number(), node)
    }
}
