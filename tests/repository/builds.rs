//! The builds of the two commands of the README: they share other people's packages, and the second links few programs.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::house_rules::{is_workspace, read, root};

/// Packages that the tests build again, with features that only they need. All are small, and to share them the first command would
/// have to build more packages.
const BUILT_AGAIN: [&str; 19] = [
    "bitflags",
    "bstr",
    "chacha20",
    "crossbeam-utils",
    "futures-util",
    "hyper",
    "hyper-util",
    "libc",
    "linux-raw-sys",
    "mio",
    "rustix",
    "schemars",
    "slab",
    "sync_wrapper",
    "tokio-util",
    "tower",
    "tracing",
    "tracing-core",
    "typenum",
];

/// The most programs with tests that the gate links.
const MOST_PROGRAMS: usize = 28;

/// Returns the output of a command of cargo.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output =
        Command::new(cargo).args(arguments).args(["--offline", "--locked"]).current_dir(root()).output();
    let output = output.expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints text")
}

/// Returns the packages that a command builds, by name and version, each with the sets of features that it is built with.
/// Members of the workspace are left out: the tests build them with features of their own.
fn packages(selected: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let tree =
        cargo(&[&["tree", "--no-dedupe", "--prefix", "none", "--format", "{p}|{f}"], selected].concat());
    let mut packages = BTreeMap::<_, BTreeSet<_>>::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, features) = line.split_once('|').expect("a package and its features");
        if !package.contains(" (/") {
            let package = package.trim_end_matches(" (proc-macro)");
            packages.entry(package.to_owned()).or_default().insert(features.to_owned());
        }
    }
    packages
}

#[test]
fn the_tests_take_over_what_the_first_command_has_built() {
    if !is_workspace() {
        return;
    }
    assert!(read("README.md").contains("\ncargo run --bin agent_loop "), "the first command is another one");
    let first = packages(&["--edges", "normal,build"]);
    let tests = packages(&["--workspace", "--edges", "normal,build,dev"]);
    let mut built_again = BTreeSet::new();
    let mut differences = String::new();
    for (package, features) in &first {
        let asked = tests.get(package).expect("the tests build the examples, too");
        if !features.is_subset(asked) {
            built_again.insert(package.split(' ').next().unwrap_or_default());
            differences += &format!("\n{package}\n  first command: {features:?}\n  tests: {asked:?}");
        }
    }
    assert_eq!(
        built_again,
        BUILT_AGAIN.into(),
        "let examples/Cargo.toml name these packages with the features that the tests ask for, or correct the list \
         of this test:{differences}"
    );
}

/// Each program with tests is linked with most of the workspace: there were 58.
#[test]
fn the_tests_are_few_programs() {
    if !is_workspace() {
        return;
    }
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let targets = list(&metadata["packages"]).into_iter().flat_map(|package| list(&package["targets"]));
    let programs: Vec<Value> =
        targets.filter(|target| target["test"] == true).map(|target| target["name"].clone()).collect();
    assert!(
        !programs.is_empty() && programs.len() <= MOST_PROGRAMS,
        "{} programs: {programs:?}",
        programs.len()
    );
}
