//! The usage messages of the examples.

use std::process::{Command, Stdio};

use super::Said;
use crate::example;

#[test]
fn unknown_arguments_are_answered_with_the_usage() {
    for name in ["dynamic", "flow", "hello", "opening_hours", "reducers", "review", "time_travel"] {
        let folder = tempfile::tempdir().unwrap();
        let says = |argument: &str| {
            let mut command = Command::new(example(name));
            command.current_dir(folder.path()).env("TMPDIR", folder.path()).arg(argument);
            Said::of(command.stdin(Stdio::null()).output().unwrap())
        };
        let usage = format!("usage: {name} [");
        for help in ["--help", "-h"] {
            let said = says(help);
            assert_eq!((said.code, &*said.err), (0, ""), "{name} {help}");
            assert!(said.out.starts_with(&usage) && said.out.lines().count() == 1, "{name}: {}", said.out);
        }
        let said = says("--nonsense");
        assert_eq!((said.code, &*said.out), (2, ""), "{name}");
        assert!(said.err.starts_with(&usage) && said.err.lines().count() == 1, "{name}: {}", said.err);
        let is_empty = std::fs::read_dir(folder.path()).unwrap().next().is_none();
        assert!(is_empty || name == "review", "{name} has run");
    }
}

#[test]
fn a_description_that_is_not_there_is_named() {
    let said = Said::of(Command::new(example("dynamic")).arg("nowhere.toml").output().unwrap());
    assert_eq!((said.code, &*said.out), (1, ""));
    assert!(said.err.starts_with("error: nowhere.toml cannot be read: "), "{}", said.err);
}
