//! The naive interpreter: one task after the other, nothing stored, nothing clever.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::{Kind, Said, Spec, Way, World, picks};

/// Supersteps of a subgraph, each time its node runs.
pub(crate) const INNER_LIMIT: u64 = 8;

/// One checkpoint as it must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) step: i64,
    pub(crate) ran: Vec<String>,
    pub(crate) next: Vec<String>,
    pub(crate) world: World,
    /// The checkpoints of the subgraphs that ran in the superstep, in merge order.
    pub(crate) inside: Vec<Vec<Told>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    Finished,
    LimitReached,
    Conflict {
        field: String,
        first: String,
        second: String,
    },
    /// A subgraph came to a conflict or its limit.
    Broken,
}

type Task = (usize, Option<u32>);

struct Reference<'s> {
    spec: &'s Spec,
    world: World,
    arrived: Vec<BTreeSet<usize>>,
    /// Deferred nodes that wait.
    waiting: BTreeSet<usize>,
    /// What was written to the shared fields.
    delta: Vec<Said>,
}

/// Runs a graph on the input `in`: what each checkpoint holds, and how it ends.
pub(crate) fn tell(spec: &Spec, limit: u64) -> (Vec<Told>, Ending) {
    let mut input = World::default();
    input.log.push("in".into());
    let (told, ending, _) = tell_on(spec, input, limit);
    (told, ending)
}

/// The same on any input; and what its nodes wrote to the shared fields.
fn tell_on(spec: &Spec, input: World, limit: u64) -> (Vec<Told>, Ending, Vec<Said>) {
    let mut run = Reference {
        spec,
        world: World::default(),
        arrived: vec![BTreeSet::new(); spec.joins.len()],
        waiting: BTreeSet::new(),
        delta: Vec::new(),
    };
    let start = vec!["__start__".to_owned()];
    let mut told = vec![run.told(-1, Vec::new(), start.clone(), Vec::new())];
    run.world = input;
    let mut tasks = run.plan(spec.start.clone(), Vec::new());
    told.push(run.told(0, start, run.names(&tasks), Vec::new()));
    for step in 1.. {
        if tasks.is_empty() {
            return (told, Ending::Finished, run.delta);
        }
        if step as u64 > limit {
            return (told, Ending::LimitReached, run.delta);
        }
        let ran = tasks;
        let snapshot = run.world.clone();
        let (mut said, mut inside) = (Vec::new(), Vec::new());
        for (node, item) in &ran {
            let node = &spec.nodes[*node];
            match &node.inner {
                None => said.push(node.says(*item, &snapshot)),
                Some(inner) => {
                    let input = inner_input(&snapshot, *item);
                    let (told_inside, ending, delta) = tell_on(inner, input, INNER_LIMIT);
                    if ending != Ending::Finished {
                        return (told, Ending::Broken, run.delta);
                    }
                    inside.push(told_inside);
                    said.push(delta);
                }
            }
        }
        if let Some(conflict) = run.merge(&ran, &said) {
            return (told, conflict, run.delta);
        }
        let mut ways = Vec::new();
        for ((node, _), said) in ran.iter().zip(&said) {
            ways.push(run.ways(*node, &snapshot, said));
        }
        tasks = run.next(&ran, &ways);
        told.push(run.told(step, run.names(&ran), run.names(&tasks), inside));
    }
    unreachable!("the loop ends at the limit")
}

/// What a subgraph begins with.
fn inner_input(snapshot: &World, item: Option<u32>) -> World {
    let mut input = snapshot.clone();
    if let Some(item) = item {
        input.one = one_of(item);
    }
    input
}

/// What the subgraph of an item is told of it.
pub(crate) fn one_of(item: u32) -> String {
    format!("item {item}")
}

impl Reference<'_> {
    fn told(&self, step: i64, ran: Vec<String>, next: Vec<String>, inside: Vec<Vec<Told>>) -> Told {
        Told { step, ran, next, world: self.world.clone(), inside }
    }

    fn names(&self, tasks: &[Task]) -> Vec<String> {
        tasks.iter().map(|(node, _)| self.spec.nodes[*node].name.to_owned()).collect()
    }

    /// Applies the writes of a superstep, unless two of its tasks disagree.
    fn merge(&mut self, ran: &[Task], said: &[Vec<Said>]) -> Option<Ending> {
        let mut writer: BTreeMap<&str, usize> = BTreeMap::new();
        let mut overwriter = None;
        for (task, said) in said.iter().enumerate() {
            let conflict = |field: &str, first: usize| {
                let name = |task: usize| self.spec.nodes[ran[task].0].name.to_owned();
                Some(Ending::Conflict { field: field.to_owned(), first: name(first), second: name(task) })
            };
            for write in said {
                let field = match write {
                    Said::One(_) => "one",
                    Said::Bell => "bell",
                    Said::SetLog(_) => "log",
                    _ => continue,
                };
                match writer.get(field) {
                    Some(first) if *first != task => return conflict(field, *first),
                    _ => drop(writer.insert(field, task)),
                }
                if field == "log" {
                    overwriter = Some(task);
                }
            }
        }
        let mut bell = false;
        for (task, said) in said.iter().enumerate() {
            for write in said {
                let counts = overwriter.is_none_or(|by| by == task);
                let shared = match write {
                    Said::Log(_) | Said::SetLog(_) => counts,
                    Said::Total(_) => true,
                    _ => false,
                };
                if shared {
                    self.delta.push(write.clone());
                }
                match write {
                    Said::Log(text) if counts => self.world.log.push(text.clone()),
                    Said::SetLog(text) if counts => self.world.log = vec![text.clone()],
                    Said::Log(_) | Said::SetLog(_) => {}
                    Said::Total(more) => self.world.total += more,
                    Said::Last(text) => self.world.last.clone_from(text),
                    Said::One(text) => self.world.one.clone_from(text),
                    Said::Bell => bell = true,
                }
            }
        }
        self.world.bell = bell;
        None
    }

    /// Where the decisions of a task lead.
    fn ways(&self, node: usize, snapshot: &World, said: &[Said]) -> Vec<Way> {
        match &self.spec.nodes[node].kind {
            Kind::Routed { cases } => cases[picks(snapshot, cases.len())].clone(),
            Kind::Plain { branch: Some(cases), .. } => {
                let mut own = snapshot.clone();
                for write in said {
                    match write {
                        Said::Log(text) => own.log.push(text.clone()),
                        Said::SetLog(text) => own.log = vec![text.clone()],
                        Said::Total(more) => own.total += more,
                        _ => {}
                    }
                }
                cases[picks(&own, cases.len())].clone()
            }
            _ => Vec::new(),
        }
    }

    fn next(&mut self, ran: &[Task], ways: &[Vec<Way>]) -> Vec<Task> {
        let mut nodes = Vec::new();
        for ((node, _), ways) in ran.iter().zip(ways) {
            match &self.spec.nodes[*node].kind {
                Kind::Plain { edges, .. } | Kind::Worker { edges } => nodes.extend(edges),
                Kind::Routed { .. } => {}
            }
            nodes.extend(ways.iter().filter_map(|way| match way {
                Way::To(node) => Some(*node),
                Way::Each(..) => None,
            }));
        }
        for (join, (sources, target)) in self.spec.joins.iter().enumerate() {
            let here = ran.iter().map(|(node, _)| *node).filter(|node| sources.contains(node));
            self.arrived[join].extend(here);
            if self.arrived[join].len() == sources.len() {
                self.arrived[join].clear();
                nodes.push(*target);
            }
        }
        let mut items = Vec::new();
        for way in ways.iter().flatten() {
            if let Way::Each(worker, count) = way {
                items.extend((0..*count).map(|item| (*worker, Some(item))));
            }
        }
        self.plan(nodes, items)
    }

    /// Each node once, by name, then the items. Deferred nodes wait until that is nothing.
    fn plan(&mut self, nodes: Vec<usize>, items: Vec<Task>) -> Vec<Task> {
        let (late, mut now): (Vec<usize>, Vec<usize>) =
            nodes.into_iter().partition(|node| self.spec.nodes[*node].deferred);
        self.waiting.extend(late);
        if now.is_empty() && items.is_empty() {
            let all = self.waiting.clone();
            let after = |node: usize, other: usize| {
                other != node && self.reaches(other, node) && !self.reaches(node, other)
            };
            now = all.iter().copied().filter(|node| !all.iter().any(|other| after(*node, *other))).collect();
            self.waiting.retain(|node| !now.contains(node));
        }
        let by_name: BTreeMap<&str, usize> =
            now.into_iter().map(|node| (self.spec.nodes[node].name, node)).collect();
        by_name.into_values().map(|node| (node, None)).chain(items).collect()
    }

    /// Whether `from` may lead to `to`, in however many supersteps.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let (mut reached, mut next) = (vec![from], 0);
        while next < reached.len() {
            let node = reached[next];
            let mut targets = self.spec.leads_to(node);
            if matches!(self.spec.nodes[node].kind, Kind::Routed { .. }) {
                // The way out that the graph declares.
                targets.push(0);
            }
            let joins = self.spec.joins.iter().filter(|(sources, _)| sources.contains(&node));
            targets.extend(joins.map(|(_, target)| *target));
            for target in targets {
                if !reached.contains(&target) {
                    reached.push(target);
                }
            }
            next += 1;
        }
        reached.contains(&to)
    }
}
