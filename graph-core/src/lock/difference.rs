//! The changes between a lock file and a program, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::String;
use std::vec::Vec;

use alloc::string::ToString;

use serde_json::Value;

use super::{GraphDifference, LockedGraph};
use crate::state::{FieldSchema, Lifetime, Schema};

/// Returns the differences of all graphs, by name.
pub(super) fn all(
    old: &BTreeMap<String, LockedGraph>,
    new: &BTreeMap<String, LockedGraph>,
) -> Vec<GraphDifference> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differences = names.into_iter().filter_map(|name| {
        let mut told = Told::default();
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => told.graph(old, new),
            (None, Some(_)) => told.fine("the graph is new".into()),
            (Some(_), None) => told.risky("the graph was removed: its threads belong to no graph".into()),
            (None, None) => {}
        }
        let Told { changes, risky } = told;
        (!changes.is_empty()).then(|| GraphDifference { graph: name.clone(), changes, loads: !risky })
    });
    differences.collect()
}

/// The changes of one graph so far.
#[derive(Default)]
struct Told {
    changes: Vec<String>,
    risky: bool,
}

impl Told {
    fn fine(&mut self, change: String) {
        self.changes.push(change);
    }

    fn risky(&mut self, change: String) {
        self.changes.push(change);
        self.risky = true;
    }

    fn graph(&mut self, old: &LockedGraph, new: &LockedGraph) {
        let (before, after) = (&old.schema, &new.schema);
        let migrated = self.version(old, new);
        if before.name != after.name {
            self.fine(format!("state {} is now called {}", before.name, after.name));
        }
        if let Some((path, from, to)) = after.embeds_otherwise(before) {
            let change = format!("embedded state {path:?}: version {from} is now {to}");
            if migrated { self.fine(change) } else { self.risky(change) }
        }
        self.fields(before, after, migrated);
        self.nodes(&old.topology, &new.topology);
        let told = self.changes.is_empty();
        if told && before != after {
            self.fine("the order of the state's fields changed".into());
        }
        if told && old.topology != new.topology {
            self.fine("the order of the nodes changed".into());
        }
        if old.migrates_from != new.migrates_from && before.version == after.version {
            let lost = old.migrates_from.iter().any(|version| !new.migrates_from.contains(version));
            let change = format!(
                "migrations led from versions {:?}, and now from {:?}",
                old.migrates_from, new.migrates_from
            );
            if lost { self.risky(change) } else { self.fine(change) }
        }
    }

    /// Reports a change of the state's version, and returns `true` if older states are migrated.
    fn version(&mut self, old: &LockedGraph, new: &LockedGraph) -> bool {
        let (from, to) = (old.schema.version, new.schema.version);
        let migrated = new.migrates_from.contains(&from);
        if from < to && migrated {
            self.fine(format!("state version {from} is now {to}, with a migration from it"));
        } else if from < to {
            self.risky(format!("state version {from} is now {to}, and no migration leads from it"));
        } else if from > to {
            self.risky(format!("state version {from} is now {to}, which rejects the stored values"));
        }
        from < to && migrated
    }

    fn fields(&mut self, old: &Schema, new: &Schema, migrated: bool) {
        let carried = new.carried_from(old);
        for (before, now) in old.fields.iter().zip(&carried) {
            let Some(now) = now else {
                self.fine(match migrated {
                    true => format!("field {:?} removed", before.name),
                    false => format!("field {:?} removed: its values are no longer read", before.name),
                });
                continue;
            };
            self.field(before, new.field(*now), migrated);
        }
        for id in new.ids().filter(|id| !carried.contains(&Some(*id))) {
            let FieldSchema { name, rust_type, .. } = new.field(id);
            self.fine(format!("field {name:?} added: {rust_type}"));
        }
    }

    fn field(&mut self, before: &FieldSchema, now: &FieldSchema, migrated: bool) {
        let name = &before.name;
        if now.name != *name {
            self.fine(format!("field {name:?} renamed to {:?}", now.name));
        }
        if before.rust_type != now.rust_type {
            let change = format!("field {name:?} retyped: {} is now {}", before.rust_type, now.rust_type);
            if migrated {
                self.fine(change);
            } else {
                self.risky(format!("{change}; old values load only if they decode as the new type"));
            }
        }
        if before.reducer != now.reducer {
            self.fine(format!("field {name:?}: reducer {} is now {}", before.reducer, now.reducer));
        }
        if (before.lifetime == Lifetime::Unstored) != (now.lifetime == Lifetime::Unstored) {
            let stored = if now.lifetime == Lifetime::Unstored { "no longer stored" } else { "stored now" };
            self.fine(format!("field {name:?} is {stored}"));
        }
        if before.secret != now.secret {
            self.fine(format!(
                "field {name:?} is {}",
                if now.secret { "secret now" } else { "no longer secret" }
            ));
        }
        if before.aliases != now.aliases && now.name == *name {
            self.fine(format!("field {name:?}: its former names are now {:?}", now.aliases));
        }
    }

    fn nodes(&mut self, old: &Value, new: &Value) {
        let (before, after) = (named(old), named(new));
        for (name, node) in &before {
            match after.get(name) {
                None => {
                    self.risky(format!("node {name:?} removed: threads where it is next cannot continue"))
                }
                Some(now) if now != node => self.node(name, node, now),
                Some(_) => {}
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            self.fine(format!("node {name:?} added"));
        }
        let joins = |topology: &Value| -> BTreeSet<String> {
            topology["joins"].as_array().into_iter().flatten().map(ToString::to_string).collect()
        };
        let (before, after) = (joins(old), joins(new));
        for join in before.difference(&after) {
            self.risky(format!("join removed: {join}: threads that wait for it cannot continue"));
        }
        for join in after.difference(&before) {
            self.fine(format!("join added: {join}"));
        }
    }

    fn node(&mut self, name: &str, old: &Value, new: &Value) {
        let edges = |node: &Value| -> BTreeSet<String> {
            node["edges"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(String::from)
                .collect()
        };
        let (before, after) = (edges(old), edges(new));
        for target in before.difference(&after) {
            self.fine(format!("edge {name:?} -> {target:?} removed"));
        }
        for target in after.difference(&before) {
            self.fine(format!("edge {name:?} -> {target:?} added"));
        }
        if old["takes"] != new["takes"] {
            let (before, now) = (&old["takes"], &new["takes"]);
            self.risky(format!(
                "node {name:?} takes {now} instead of {before}: waiting items may not decode"
            ));
        }
        for (part, what) in [
            ("decisions", "has other decisions"),
            ("asks", "has other questions"),
            ("handler_asks", "has other questions in its error handler"),
            ("defer", "has another deferral"),
            ("subgraph", "runs another subgraph"),
        ] {
            if old[part] != new[part] {
                self.fine(format!("node {name:?} {what}"));
            }
        }
    }
}

fn named(topology: &Value) -> BTreeMap<&str, &Value> {
    let nodes = topology["nodes"].as_array().into_iter().flatten();
    nodes.filter_map(|node| Some((node["name"].as_str()?, node))).collect()
}
