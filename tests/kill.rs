//! `kill -9` of the agent loop at every point that matters, then `--resume`: the same result as a run that
//! nobody killed, and no superstep that was stored runs again.
//!
//! The example stands still at a marked point, where the test kills it: before and after every storage commit,
//! at the start and at the end of every node.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const QUESTION: &str = "How many bytes does a fork copy?";
const POINTS: [&str; 4] = ["before-commit", "after-commit", "node-start", "node-end"];
/// A mark that no point has: the run counts its points and goes to the end.
const NOWHERE: &str = "nowhere:1";

/// The example's program, built if it is not there yet.
fn agent_loop() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--example", "agent_loop", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the example builds");
    let deps = std::env::current_exe().expect("a test knows its program");
    let target = deps.parent().and_then(Path::parent).expect("a test runs in target/PROFILE/deps");
    target.join("examples").join("agent_loop")
}

struct Bench {
    program: PathBuf,
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder for the documents");
        let docs = folder.path().join("docs");
        std::fs::create_dir(&docs).expect("a new folder");
        let write = |name: &str, text: &str| std::fs::write(docs.join(name), text).expect("a new file");
        write("forks.md", "# Forks\n\nA fork copies no bytes: it shares its past with the trunk.\n");
        write("storage.md", "# Storage\n\nA checkpoint holds what changed in its superstep.\n");
        Self { program: agent_loop(), folder }
    }

    fn command(&self, db: &str, halt_at: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(QUESTION).args(["--json", "--thread", "t", "--halt-at", halt_at]);
        command.arg("--docs").arg(self.folder.path().join("docs"));
        command.arg("--db").arg(self.folder.path().join(db));
        command
    }

    /// Runs until the mark is reached, kills the process there, and returns what it had said.
    fn kill_at(&self, db: &str, mark: &str) -> Vec<String> {
        let mut child = self
            .command(db, mark)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let mut said = Vec::new();
        for line in BufReader::new(child.stderr.take().expect("a pipe")).lines() {
            let line = line.expect("the example prints text");
            if line.starts_with("halted at") {
                break;
            }
            said.push(line);
        }
        child.kill().expect("a process that stands still can be killed");
        assert!(child.wait().expect("it is dead").code().is_none(), "{mark} was reached: {said:?}");
        said
    }

    fn resume(&self, db: &str) -> Output {
        self.command(db, NOWHERE).arg("--resume").output().expect("the example runs")
    }
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect()
}

/// The steps in lines such as `ran 3 agent` and `saved 3`.
fn steps(lines: &[String], word: &str) -> Vec<i64> {
    let step = |line: &String| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok();
    lines.iter().filter_map(step).collect()
}

/// What must not depend on whether the run was killed.
fn result(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut answer: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    for id in ["checkpoint_id", "db"] {
        answer.as_object_mut().expect("an object").remove(id);
    }
    answer
}

#[test]
fn a_killed_run_resumes_to_the_same_result_and_repeats_nothing_that_was_stored() {
    let bench = Bench::new();
    let whole = bench.command("whole.db", NOWHERE).output().expect("the example runs");
    let expected = result(&whole);
    assert_eq!(expected["sources"][0]["path"], "forks.md");
    let passed: BTreeMap<String, u32> = lines(&whole)
        .iter()
        .filter_map(|line| line.strip_prefix("passed ")?.split_once(' '))
        .map(|(point, count)| (point.to_owned(), count.parse().expect("a count")))
        .collect();

    let mut hits = BTreeMap::new();
    for point in POINTS {
        for nth in 1..=passed.get(point).copied().unwrap_or(0) {
            let db = format!("{point}-{nth}.db");
            let before = bench.kill_at(&db, &format!("{point}:{nth}"));
            let resumed = bench.resume(&db);
            assert_eq!(result(&resumed), expected, "killed at {point}:{nth}");
            let stored = steps(&before, "saved ").into_iter().max().unwrap_or(-2);
            let ran_again = steps(&lines(&resumed), "ran ");
            assert!(
                ran_again.iter().all(|step| *step > stored),
                "killed at {point}:{nth}: step {stored} was stored, yet {ran_again:?} ran"
            );
            *hits.entry(point).or_insert(0) += 1;
        }
    }
    println!("killed at: {hits:?}");
    for point in POINTS {
        assert!(hits.contains_key(point), "{point} was never hit: {hits:?}");
    }
}

#[test]
fn a_finished_thread_is_resumed_to_its_stored_result() {
    let bench = Bench::new();
    let first = bench.command("done.db", NOWHERE).output().expect("the example runs");
    let again = bench.resume("done.db");
    assert_eq!(first.stdout, again.stdout);
    assert!(steps(&lines(&again), "ran ").is_empty(), "nothing runs again");
}
