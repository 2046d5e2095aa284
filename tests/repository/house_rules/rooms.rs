//! The rooms of graph-core's `run`, and dependency cycles of its files.

use std::collections::BTreeSet;

use super::{code, files, is_workspace, report, words};

/// The rooms of `run`: each may name those before it.
const ROOMS: [&str; 4] = ["runtime", "driver", "past", "handles"];

/// The maximum number of files of `run` in one dependency cycle.
const LARGEST_CIRCLE: usize = 4;

/// The files of `run` used to be one cycle of 31: to understand one of them a reader opened all.
#[test]
fn rooms_of_run_depend_one_way() {
    if !is_workspace() {
        return;
    }
    let mut broken = Vec::new();
    for (position, room) in ROOMS.iter().enumerate() {
        for path in files(&format!("graph-core/src/run/{room}"), ".rs") {
            for named in code(&path).iter().flat_map(|line| line.split("crate::run::").skip(1)) {
                let named = words(named).next().unwrap_or_default();
                if !ROOMS[..=position].contains(&named) {
                    broken.push(format!("{path} names `{named}`, which is not below `{room}`"));
                }
            }
        }
    }
    report(&broken);
}

#[test]
fn circles_of_files_in_run_are_small() {
    if !is_workspace() {
        return;
    }
    let sources = files("graph-core/src/run", ".rs");
    let modules: Vec<String> = sources.iter().map(|path| module(path)).collect();
    let leads: Vec<BTreeSet<usize>> = sources.iter().map(|path| named_files(path, &modules)).collect();
    let reached: Vec<BTreeSet<usize>> = (0..sources.len()).map(|from| reachable(from, &leads)).collect();
    let mut broken = Vec::new();
    for (from, path) in sources.iter().enumerate() {
        let circle: Vec<&String> =
            reached[from].iter().filter(|to| reached[**to].contains(&from)).map(|to| &sources[*to]).collect();
        if circle.len() > LARGEST_CIRCLE {
            broken.push(format!("{path} is in a circle of {}: {circle:?}", circle.len()));
        }
    }
    report(&broken);
}

/// The path of a file's module inside `run`.
fn module(path: &str) -> String {
    let inside = path.trim_start_matches("graph-core/src/run/").trim_end_matches(".rs");
    inside.trim_end_matches("/mod").replace('/', "::")
}

/// The files whose modules a file of `run` names with `crate::run::`, `super::` or `self::`.
fn named_files(path: &str, modules: &[String]) -> BTreeSet<usize> {
    let own = module(path);
    let parent = own.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut named = BTreeSet::new();
    for line in code(path) {
        for (prefix, base) in [("crate::run::", ""), ("super::", parent), ("self::", &own)] {
            for rest in line.split(prefix).skip(1) {
                let path = rest.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
                let full = format!("{base}::{}", path.into_iter().next().unwrap_or_default());
                let full = full.trim_matches(':');
                let is_it = |module: &&String| full == **module || full.starts_with(&format!("{module}::"));
                let longest = modules.iter().filter(is_it).max_by_key(|module| module.len());
                named.extend(longest.and_then(|found| modules.iter().position(|module| module == found)));
            }
        }
    }
    named
}

/// Everything that can be reached from here, in any number of steps.
fn reachable(from: usize, leads: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(leads[at].iter().filter(|to| reached.insert(**to)));
    }
    reached
}
