//! The lock file of states and graphs reports changes, and their effect on stored threads.

use superstep::lock::{self, LockError};
use superstep::prelude::*;
use superstep::state::SizeLimits;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    text: String,
    gone: u32,
}

mod changed {
    use super::*;

    #[derive(State, Clone, Default)]
    pub(super) struct Essay {
        pub(super) topic: Option<String>,
        #[reducer(Append)]
        pub(super) facts: Vec<String>,
        #[serde(alias = "text")]
        pub(super) draft: String,
        #[state(secret)]
        pub(super) key: String,
    }
}

mod migrated {
    use super::*;

    #[derive(State, Clone, Default)]
    #[state(version = 2, migrate = from_v1)]
    pub(super) struct Essay {
        pub(super) topic: Vec<String>,
    }

    fn from_v1(old: super::Essay) -> Essay {
        Essay { topic: vec![old.topic, old.facts.concat(), old.text, old.gone.to_string()] }
    }
}

fn essays<S: State>(name: &str, nodes: &[&str]) -> Graph<S> {
    let mut g = StateGraph::<S>::new(name);
    let nodes: Vec<_> = nodes.iter().map(|name| g.node(*name, async || ())).collect();
    g.edge(START, nodes[0]);
    for pair in nodes.windows(2) {
        g.edge(pair[0], pair[1]);
    }
    g.edge(nodes[nodes.len() - 1], END);
    g.compile().expect("sound")
}

#[test]
fn a_graph_that_is_as_it_was_fits_and_the_file_is_stable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("superstep.lock");
    let (essay, notes) = (essays::<Essay>("essay", &["plan", "write"]), essays::<Essay>("notes", &["note"]));
    let missing = lock::check(&path, &[&essay]).expect_err("it is not there");
    assert!(missing.to_string().contains("SUPERSTEP_LOCK=update cargo test"), "{missing}");

    lock::write(&path, &[&essay, &notes]).expect("it is written");
    let written = std::fs::read_to_string(&path).expect("it is there");
    lock::check(&path, &[&notes, &essay]).expect("nothing changed");
    lock::write(&path, &[&notes, &essay]).expect("it is written");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), written, "in any order");

    std::fs::write(&path, "{}").expect("it is written");
    let broken = lock::check(&path, &[&essay]).expect_err("it is none");
    assert!(matches!(broken, LockError::NotALock { .. }), "{broken}");
}

#[test]
fn a_change_is_reported_with_what_it_is_to_old_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("superstep.lock");
    lock::write(&path, &[&essays::<Essay>("essay", &["plan", "write"])]).expect("it is written");
    let now = essays::<changed::Essay>("essay", &["plan", "draft"]);
    let error = lock::check(&path, &[&now]).expect_err("it changed");
    let LockError::Differs { differences, .. } = &error else { panic!("{error}") };
    assert_eq!(
        differences[0].changes,
        [
            r#"field "topic" retyped: String is now Option<String>; old values load only if they decode as the new type"#,
            r#"field "text" renamed to "draft""#,
            r#"field "gone" removed: its values are no longer read"#,
            r#"field "key" added: String"#,
            r#"edge "plan" -> "write" removed"#,
            r#"edge "plan" -> "draft" added"#,
            r#"node "write" removed: threads where it is next cannot continue"#,
            r#"node "draft" added"#,
        ]
    );
    assert!(!differences[0].loads);
    let text = format!("{error:?}");
    assert!(text.contains("graph \"essay\":\n  field \"topic\" retyped"), "{text}");
    assert!(text.ends_with("rewrite the file with `SUPERSTEP_LOCK=update cargo test`"), "{text}");
}

#[test]
fn a_migration_makes_a_change_of_types_fit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("superstep.lock");
    lock::write(&path, &[&essays::<Essay>("essay", &["plan"])]).expect("it is written");
    let now = essays::<migrated::Essay>("essay", &["plan"]);
    let error = lock::check(&path, &[&now]).expect_err("it changed");
    let LockError::Differs { differences, .. } = &error else { panic!("{error}") };
    assert_eq!(differences[0].changes[0], "state version 1 is now 2, with a migration from it");
    assert!(differences[0].loads, "{error}");
    lock::write(&path, &[&now]).expect("it is written");
    lock::check(&path, &[&now]).expect("it was updated");

    let back = lock::check(&path, &[&essays::<Essay>("essay", &["plan"])]).expect_err("it went back");
    let LockError::Differs { differences, .. } = &back else { panic!("{back}") };
    assert_eq!(differences[0].changes[0], "state version 2 is now 1, which rejects the stored values");
    assert!(!differences[0].loads);
}

#[test]
fn graphs_that_come_and_go_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("superstep.lock");
    lock::write(&path, &[&essays::<Essay>("old", &["plan"])]).expect("it is written");
    let error = lock::check(&path, &[&essays::<Essay>("new", &["plan"])]).expect_err("another graph");
    let LockError::Differs { differences, .. } = &error else { panic!("{error}") };
    let told: Vec<_> = differences.iter().map(|one| (one.graph.as_str(), one.loads)).collect();
    assert_eq!(told, [("new", true), ("old", false)]);
}

/// Run by the test below, in a process with another environment.
#[test]
#[ignore = "run by another test"]
fn checks_the_file_that_the_environment_names() {
    let path = std::env::var_os("LOCK_FILE").expect("the test around it names the file");
    lock::check(path, &[&essays::<Essay>("essay", &["plan"])]).expect("it fits, or is written");
}

#[test]
fn the_environment_variable_writes_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("superstep.lock");
    let succeeds = |update: Option<&str>| {
        let mut test = std::process::Command::new(std::env::current_exe().expect("this test"));
        test.args(["--exact", "--ignored", "lock::checks_the_file_that_the_environment_names"]);
        test.env("LOCK_FILE", &path)
            .env_remove(lock::VARIABLE)
            .envs(update.map(|value| (lock::VARIABLE, value)));
        test.output().expect("it runs").status.success()
    };
    assert!(!succeeds(None), "there is no file");
    assert!(!succeeds(Some("yes")), "only `update` writes");
    assert!(succeeds(Some("update")) && path.exists());
    assert!(succeeds(None), "it fits");
}

#[test]
fn a_lock_file_keeps_to_its_limits_when_it_is_written_and_when_it_is_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("superstep.lock");
    let essay = essays::<Essay>("essay", &["plan", "write"]);
    lock::write(&path, &[&essay]).expect("it is written");
    let written = std::fs::read_to_string(&path).expect("it is there");
    let small = SizeLimits::default().bytes(written.len() - 1);
    let exact = SizeLimits::default().bytes(written.len());
    for refused in [lock::write_within(&path, &[&essay], small), lock::check_within(&path, &[&essay], small)]
    {
        let refused = refused.expect_err("it is too large");
        assert!(matches!(&refused, LockError::TooLarge { .. }), "{refused}");
        let said = format!(
            "the lock file {} has more than {} bytes; lock::check_within or lock::write_within allows more",
            path.display(),
            written.len() - 1
        );
        assert_eq!(refused.to_string(), said);
    }
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), written, "what was there stays");
    lock::write_within(&path, &[&essay], exact).expect("it is no larger");
    lock::check_within(&path, &[&essay], exact).expect("nothing changed");
}
