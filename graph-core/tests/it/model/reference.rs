//! A naive interpreter as the reference. It runs the tasks one by one and stores nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::spec::{Kind, Node, Said, Spec, Way, World, picks};

/// The maximum number of supersteps in a run of a subgraph.
pub(crate) const INNER_LIMIT: u64 = 8;

/// The expected content of a checkpoint.
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
    /// Two tasks of a superstep continued the same kept state.
    KeptTwice(String),
    /// A subgraph failed or reached its limit.
    Broken,
}

impl Ending {
    /// Returns `true` for an error, after which the thread cannot continue.
    pub(crate) fn is_error(&self) -> bool {
        !matches!(self, Self::Finished | Self::LimitReached)
    }
}

type Task = (usize, Option<u32>);

/// The state of a thread after its last run.
#[derive(Clone, Default)]
struct Thread {
    told: Vec<Told>,
    world: World,
    /// The threads of the subgraphs that keep their state, by key.
    kept: BTreeMap<String, Thread>,
}

/// The result of a run.
struct Ran {
    thread: Thread,
    ending: Ending,
    /// The writes of its nodes to the shared fields.
    delta: Vec<Said>,
    /// The decision with which it took an exit.
    left: Option<usize>,
}

struct Reference<'s> {
    spec: &'s Spec,
    thread: Thread,
    arrived: Vec<BTreeSet<usize>>,
    /// The deferred nodes that wait.
    waiting: BTreeSet<usize>,
    /// The writes to the shared fields so far.
    delta: Vec<Said>,
}

/// Runs a graph on the input `in`. Returns the content of each checkpoint, and the ending.
pub(crate) fn tell(spec: &Spec, limit: u64) -> (Vec<Told>, Ending) {
    let mut input = World::default();
    input.log.push("in".into());
    let ran = run(spec, Thread::default(), input, limit);
    (ran.thread.told, ran.ending)
}

/// Runs a graph on a thread.
fn run(spec: &Spec, mut thread: Thread, input: World, limit: u64) -> Ran {
    // The subgraphs of an earlier run belong to the thread that ran them.
    thread.told.iter_mut().for_each(|told| told.inside.clear());
    let first = thread.told.last().map_or(-1, |last| last.step + 1);
    let mut run = Reference {
        spec,
        thread,
        arrived: vec![BTreeSet::new(); spec.joins.len()],
        waiting: BTreeSet::new(),
        delta: Vec::new(),
    };
    let start = vec!["__start__".to_owned()];
    run.tell(first, Vec::new(), start.clone(), Vec::new());
    run.thread.world = input;
    let mut tasks = run.plan(spec.start.clone(), Vec::new());
    run.tell(first + 1, start, run.names(&tasks), Vec::new());
    for taken in 1.. {
        if tasks.is_empty() {
            return run.ended(Ending::Finished);
        }
        if taken as u64 > limit {
            return run.ended(Ending::LimitReached);
        }
        let ran = tasks;
        let snapshot = run.thread.world.clone();
        let (mut said, mut lefts) = (Vec::new(), Vec::new());
        let (mut inside, mut kept) = (Vec::new(), Vec::new());
        for (node, item) in &ran {
            let node = &spec.nodes[*node];
            let Some(inner) = &node.inner else {
                said.push(node.says(*item, &snapshot));
                lefts.push(None);
                continue;
            };
            let key = node.key(*item);
            let before = key.as_ref().and_then(|key| run.thread.kept.get(key)).cloned().unwrap_or_default();
            let input = inner_input(node, &snapshot, *item, &before.world);
            let below = self::run(inner, before, input, INNER_LIMIT);
            if below.ending != Ending::Finished {
                return run.ended(Ending::Broken);
            }
            inside.push(below.thread.told.clone());
            said.push(below.delta);
            lefts.push(below.left);
            kept.extend(key.map(|key| (key, below.thread)));
        }
        if let Some(conflict) = run.merge(&ran, &said) {
            return run.ended(conflict);
        }
        let again = (1..kept.len()).find(|at| kept[..*at].iter().any(|(key, _)| *key == kept[*at].0));
        if let Some(again) = again {
            return run.ended(Ending::KeptTwice(kept[again].0.clone()));
        }
        run.thread.kept.extend(kept);
        let mut ways = Vec::new();
        for (((node, _), said), left) in ran.iter().zip(&said).zip(lefts) {
            ways.push(run.ways(*node, &snapshot, said, left));
        }
        let left = ways.iter().flatten().find_map(|way| match way {
            Way::Leave(decision) => Some(*decision),
            Way::To(_) | Way::Each(..) => None,
        });
        tasks = if left.is_some() { Vec::new() } else { run.next(&ran, &ways) };
        run.tell(first + 1 + taken, run.names(&ran), run.names(&tasks), inside);
        if left.is_some() {
            return Ran { left, ..run.ended(Ending::Finished) };
        }
    }
    unreachable!("the loop ends at the limit")
}

/// Returns the input of a subgraph: the fields that it is shown, and the others from its kept state.
fn inner_input(node: &Node, snapshot: &World, item: Option<u32>, kept: &World) -> World {
    let mut input = snapshot.clone();
    if node.keeps {
        input.last.clone_from(&kept.last);
        input.one.clone_from(&kept.one);
    }
    if let Some(item) = item {
        input.one = one_of(item);
    }
    input
}

/// Returns the field `one` of the subgraph of an item.
pub(crate) fn one_of(item: u32) -> String {
    format!("item {item}")
}

impl Reference<'_> {
    fn tell(&mut self, step: i64, ran: Vec<String>, next: Vec<String>, inside: Vec<Vec<Told>>) {
        self.thread.told.push(Told { step, ran, next, world: self.thread.world.clone(), inside });
    }

    fn ended(self, ending: Ending) -> Ran {
        Ran { thread: self.thread, ending, delta: self.delta, left: None }
    }

    fn names(&self, tasks: &[Task]) -> Vec<String> {
        tasks.iter().map(|(node, _)| self.spec.nodes[*node].name.to_owned()).collect()
    }

    /// Applies the writes of a superstep, or returns the conflict of two tasks.
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
                    Said::Log(text) if counts => self.thread.world.log.push(text.clone()),
                    Said::SetLog(text) if counts => self.thread.world.log = vec![text.clone()],
                    Said::Log(_) | Said::SetLog(_) => {}
                    Said::Total(more) => self.thread.world.total += more,
                    Said::Last(text) => self.thread.world.last.clone_from(text),
                    Said::One(text) => self.thread.world.one.clone_from(text),
                    Said::Bell => bell = true,
                }
            }
        }
        self.thread.world.bell = bell;
        None
    }

    /// Returns the targets of a task's decisions.
    fn ways(&self, node: usize, snapshot: &World, said: &[Said], left: Option<usize>) -> Vec<Way> {
        let node = &self.spec.nodes[node];
        match &node.kind {
            // A subgraph's node decides by the subgraph's ending: finished, or the first or the second decision of
            // an exit.
            Kind::Routed { cases } if node.inner.is_some() => {
                cases[left.map_or(0, |decision| decision + 1)].clone()
            }
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
                Way::Each(..) | Way::Leave(_) => None,
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

    /// Returns each node once, ordered by name, and then the items. Deferred nodes wait until there are none of
    /// these.
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

    /// Returns `true` if `from` may lead to `to` in any number of supersteps.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let (mut reached, mut next) = (vec![from], 0);
        while next < reached.len() {
            let node = reached[next];
            let mut targets = self.spec.leads_to(node);
            if matches!(self.spec.nodes[node].kind, Kind::Routed { .. }) {
                // The exit that the graph declares.
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
