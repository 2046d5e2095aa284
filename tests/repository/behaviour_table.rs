//! The table of behaviours names tests that exist, and lists the missing ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A row: an id, the comparison with LangGraph, and tests.
struct Row {
    id: String,
    outcome: String,
    why: String,
    tests: Vec<String>,
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok()
}

/// The table. The published package has none.
fn table() -> String {
    read("tests/BEHAVIOURS.md").unwrap_or_default()
}

fn rows() -> Vec<Row> {
    let table = table();
    let lines = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id "));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, id, outcome, why, tests, _] = cells.as_slice() else { panic!("four cells: {line}") };
            let tests = tests.split("<br>").filter(|test| !test.is_empty()).map(str::to_owned);
            Row { id: (*id).into(), outcome: (*outcome).into(), why: (*why).into(), tests: tests.collect() }
        })
        .collect()
}

/// Returns `true` if a file has a test with this name.
fn is_test(file: &str, name: &str) -> bool {
    let source = read(file).unwrap_or_default();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        if let Some(attribute) = line.strip_prefix("#[") {
            let path = attribute.split(['(', ']']).next().unwrap_or_default();
            marked |= path.rsplit("::").next() == Some("test");
        } else if let Some((_, signature)) = line.split_once("fn ") {
            if marked && signature.split(['(', '<']).next() == Some(name) {
                return true;
            }
            marked = false;
        }
    }
    false
}

#[test]
fn every_test_that_a_row_names_exists() {
    for row in rows() {
        for test in &row.tests {
            let (file, name) = test.split_once("::").unwrap();
            assert!(is_test(file, name), "{} names {test}, which is no test", row.id);
        }
    }
}

/// The ids at the beginning of a test's name: `e02_b25_the_first_task_to_fail` belongs to two rows.
fn ids(test: &str) -> impl Iterator<Item = &str> {
    let name = test.rsplit("::").next().unwrap_or_default();
    let is_id = |part: &&str| matches!(part.as_bytes(), [b'a'..=b'z', b'0'..=b'9', b'0'..=b'9']);
    name.split('_').take_while(is_id)
}

#[test]
fn every_row_has_a_test_that_is_named_after_it() {
    for Row { id, tests, .. } in rows() {
        let id = id.to_lowercase();
        let named = tests.iter().any(|test| ids(test).any(|of| of == id));
        assert!(named || tests.is_empty(), "none of the tests of {id} begins with its id");
    }
}

#[test]
fn every_row_says_whether_it_is_the_same_and_which_test_shows_it() {
    let mut ids = BTreeSet::new();
    for Row { id, outcome, why, tests } in rows() {
        assert!(ids.insert(id.clone()), "{id} has two rows");
        match outcome.as_str() {
            "equal" => assert!(!tests.is_empty(), "{id}: no test shows it"),
            "different" => {
                assert!(!tests.is_empty() && !why.is_empty(), "{id}: why, and which test shows it?")
            }
            "missing" => assert!(tests.is_empty(), "{id} has a test, so it is not missing"),
            other => panic!("{id}: {other:?} is none of equal, different, missing"),
        }
    }
}

#[test]
fn the_head_lists_the_rows_without_a_test() {
    let table = table();
    let Some((_, rest)) = table.split_once("Missing: ") else { return };
    let listed = rest.split_once('.').unwrap().0;
    let listed: Vec<&str> = listed.split(',').map(str::trim).filter(|id| *id != "none").collect();
    let missing: Vec<String> =
        rows().into_iter().filter(|row| row.outcome == "missing").map(|row| row.id).collect();
    assert_eq!(listed, missing, "update the head of tests/BEHAVIOURS.md: {}", missing.join(", "));
}
