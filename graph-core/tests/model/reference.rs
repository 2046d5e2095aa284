//! The naive interpreter: one task after the other, nothing stored, nothing clever.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::{Kind, Said, Spec, Way, World, picks};

/// One checkpoint as it must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) step: i64,
    pub(crate) ran: Vec<String>,
    pub(crate) next: Vec<String>,
    pub(crate) world: World,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    Finished,
    LimitReached,
    Conflict { field: String, first: String, second: String },
}

type Task = (usize, Option<u32>);

struct Reference<'s> {
    spec: &'s Spec,
    world: World,
    arrived: Vec<BTreeSet<usize>>,
}

/// Runs a graph on the input `in`: what each checkpoint holds, and how it ends.
pub(crate) fn tell(spec: &Spec, limit: u64) -> (Vec<Told>, Ending) {
    let mut run =
        Reference { spec, world: World::default(), arrived: vec![BTreeSet::new(); spec.joins.len()] };
    let start = vec!["__start__".to_owned()];
    let mut told = vec![run.told(-1, Vec::new(), start.clone())];
    run.world.log.push("in".into());
    let mut tasks = run.plan(spec.start.iter().copied());
    told.push(run.told(0, start, run.names(&tasks)));
    for step in 1.. {
        if tasks.is_empty() {
            return (told, Ending::Finished);
        }
        if step as u64 > limit {
            return (told, Ending::LimitReached);
        }
        let ran = tasks;
        let snapshot = run.world.clone();
        let said: Vec<Vec<Said>> =
            ran.iter().map(|(node, item)| spec.nodes[*node].says(*item, &snapshot)).collect();
        if let Some(conflict) = run.merge(&ran, &said) {
            return (told, conflict);
        }
        let mut ways = Vec::new();
        for ((node, _), said) in ran.iter().zip(&said) {
            ways.push(run.ways(*node, &snapshot, said));
        }
        tasks = run.next(&ran, &ways);
        told.push(run.told(step, run.names(&ran), run.names(&tasks)));
    }
    unreachable!("the loop ends at the limit")
}

impl Reference<'_> {
    fn told(&self, step: i64, ran: Vec<String>, next: Vec<String>) -> Told {
        Told { step, ran, next, world: self.world.clone() }
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
        let mut tasks = self.plan(nodes.into_iter());
        for way in ways.iter().flatten() {
            if let Way::Each(worker, items) = way {
                tasks.extend((0..*items).map(|item| (*worker, Some(item))));
            }
        }
        tasks
    }

    /// Each node once, by name.
    fn plan(&self, nodes: impl Iterator<Item = usize>) -> Vec<Task> {
        let by_name: BTreeMap<&str, usize> = nodes.map(|node| (self.spec.nodes[node].name, node)).collect();
        by_name.into_values().map(|node| (node, None)).collect()
    }
}
