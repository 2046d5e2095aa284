//! The table of requirements is complete and names tests that exist.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of the table: id, and names of tests.
fn rows() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(root().join("tests/REQUIREMENTS.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| S")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let tests = cells[2].split(',').map(|test| test.trim().to_owned()).collect();
        let twice = rows.insert(cells[1].to_owned(), tests);
        assert!(twice.is_none(), "{} has two rows", cells[1]);
    }
    rows
}

/// The names of all functions marked as tests, in all crates.
fn tests() -> BTreeSet<String> {
    let mut folders = vec![root().to_owned()];
    let mut names = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
            if path.is_dir() && !path.ends_with("target") && !hidden(&path) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                names.extend(tests_of(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    names
}

/// The names of the functions with an attribute that ends in `test` or `test(..)`.
fn tests_of(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        let attribute = line.strip_prefix("#[").map(|line| line.split(['(', ']']).next());
        if let Some(Some(path)) = attribute {
            marked |= path.rsplit("::").next() == Some("test");
        } else if let Some((_, signature)) = line.split_once("fn ") {
            if marked {
                names.extend(signature.split(['(', '<']).next().map(str::to_owned));
            }
            marked = false;
        }
    }
    names
}

/// The ids of the workloads of the benchmarks.
fn workloads() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("benches/workloads/main.rs")).unwrap();
    let ids = text.lines().filter_map(|line| line.trim().strip_prefix("(\"W")?.split_once('"'));
    ids.map(|(number, _)| format!("W{number}")).collect()
}

/// The ids of a family that have these numbers.
fn family(name: &str, numbers: RangeInclusive<u32>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("{name}-{number:03}"))
}

#[test]
fn every_requirement_has_a_row() {
    let rows = rows();
    let all = family("S0", 1..=149)
        .chain(family("S1", 1..=48))
        .chain(family("S2", 1..=168))
        .chain(family("S2", 170..=170))
        .chain(family("S2", 172..=207))
        .chain(family("S3", 1..=74));
    let all = all.chain(family("S4", 1..=59));
    let missing: Vec<_> = all.filter(|id| !rows.contains_key(id)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[test]
fn every_test_and_workload_that_a_row_names_exists() {
    let (tests, workloads) = (tests(), workloads());
    for (id, named) in rows() {
        for name in named {
            let exists = tests.contains(&name) || workloads.contains(&name);
            assert!(exists, "{id} names `{name}`, which is no test and no workload");
        }
    }
}

#[test]
fn tests_are_found_by_their_attribute() {
    let source = "#[test]\nfn one() {}\nfn two() {}\n#[tokio::test(start_paused = true)]\n\
        #[cfg(unix)]\nasync fn three() {}\n";
    assert_eq!(tests_of(source), ["one", "three"]);
}
