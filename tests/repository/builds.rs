//! The first command of the README shares its build of other people's packages with the second one, the tests.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::house_rules::{is_workspace, read, root};

/// Packages that the tests build again, with features that only they need. All are small, and to share them the first command would
/// have to build more packages.
const BUILT_AGAIN: [&str; 9] = [
    "bstr",
    "chacha20",
    "crossbeam-utils",
    "futures-util",
    "log",
    "schemars",
    "slab",
    "thiserror",
    "tokio-util",
];

/// Returns the packages that a command builds, by name and version, each with the sets of features that it is built with.
/// Members of the workspace are left out: the tests build them with features of their own.
fn packages(selected: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut tree = Command::new(cargo);
    tree.args(["tree", "--offline", "--locked", "--no-dedupe", "--prefix", "none", "--format", "{p}|{f}"]);
    let output = tree.args(selected).current_dir(root()).output().expect("cargo lists packages");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut packages = BTreeMap::<_, BTreeSet<_>>::new();
    let lines = String::from_utf8(output.stdout).expect("cargo prints text");
    for line in lines.lines().filter(|line| !line.is_empty()) {
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
