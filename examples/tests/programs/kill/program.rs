//! A program under test: its start, its end by a kill, and its output.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::fan_out;
use super::long;
use crate::{documents, example};

/// A mark that no point has: the run counts its points and ends by itself.
pub(crate) const NOWHERE: &str = "nowhere:1";

/// The end of a program that was to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Killed,
    /// It ended before the kill.
    ByItself,
}

/// A program that runs one thread to its end, or resumes it if it has begun.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Makes the command that runs on a file up to a mark.
    command: fn(folder: &TempDir, db: PathBuf, mark: &str) -> Command,
    folder: TempDir,
}

impl Program {
    pub(crate) fn agent_loop() -> Self {
        let command = |folder: &TempDir, db: PathBuf, mark: &str| {
            let mut command = Command::new(example("agent_loop"));
            command.args(["How many bytes does a fork copy?", "--json", "--thread", "t", "--resume"]);
            command
                .args(["--halt-at", mark])
                .arg("--docs")
                .arg(folder.path().join("docs"))
                .arg("--db")
                .arg(db);
            command
        };
        Self { name: "agent_loop", command, folder: documents() }
    }

    pub(crate) fn fan_out() -> Self {
        let command = |_: &TempDir, db: PathBuf, mark: &str| fan_out::command(db, mark);
        Self { name: "fan_out", command, folder: TempDir::new().expect("a folder") }
    }

    pub(crate) fn long() -> Self {
        let command = |_: &TempDir, db: PathBuf, mark: &str| long::command(db, mark);
        Self { name: "long", command, folder: TempDir::new().expect("a folder") }
    }

    pub(crate) fn path(&self, db: &str) -> PathBuf {
        self.folder.path().join(db)
    }

    pub(crate) fn start(&self, db: &str, mark: &str) -> Started {
        let printed = self.path(&format!("{db}.printed"));
        let mut child = (self.command)(&self.folder, self.path(db), mark)
            .stdout(std::fs::File::create(&printed).expect("a new file"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Started { child, lines, said: Vec::new(), printed }
    }
}

/// A program that runs.
pub(crate) struct Started {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    said: Vec<String>,
    printed: PathBuf,
}

impl Started {
    /// Reads the next line that it says on standard error.
    fn listen(&mut self) -> Option<&str> {
        self.said.push(self.lines.next()?.expect("the program says text"));
        self.said.last().map(String::as_str)
    }

    /// Kills it when it halts at its mark; if it does not reach the mark, it ends by itself.
    pub(crate) fn kill_at_mark(mut self) -> (Ended, End) {
        while let Some(line) = self.listen() {
            if line.starts_with("halted at") {
                break;
            }
        }
        self.kill()
    }

    /// Kills it after so many lines and a short pause.
    pub(crate) fn kill_after(mut self, lines: u64, spins: u64) -> (Ended, End) {
        for _ in 0..lines {
            if self.listen().is_none() {
                break;
            }
        }
        (0..spins).for_each(|_| std::hint::spin_loop());
        self.kill()
    }

    fn kill(mut self) -> (Ended, End) {
        let at_mark = self.said.last().is_some_and(|line| line.starts_with("halted at"));
        // After the last line, other than a halt, it is ending and is not killed.
        if self.lines_are_over() && !at_mark {
            return (self.finish(), End::ByItself);
        }
        self.child.kill().expect("a process that was not waited for can be killed");
        let status = self.child.wait().expect("it is dead");
        let end = if status.code().is_none() { End::Killed } else { End::ByItself };
        assert!(end == End::Killed || status.success(), "{:?}", self.said);
        (self.ended(), end)
    }

    fn lines_are_over(&self) -> bool {
        self.said.iter().any(|line| line.starts_with("passed "))
    }

    /// Lets it run to its end.
    pub(crate) fn finish(mut self) -> Ended {
        while self.listen().is_some() {}
        assert!(self.child.wait().expect("it ends").success(), "{:?}", self.said);
        self.ended()
    }

    fn ended(self) -> Ended {
        let printed = std::fs::read_to_string(&self.printed).expect("a file of text");
        Ended { said: self.said, printed }
    }
}

/// The output of a program, complete or until it was killed.
pub(crate) struct Ended {
    pub(crate) said: Vec<String>,
    pub(crate) printed: String,
}

impl Ended {
    /// The steps in lines such as `ran 3 agent` and `saved 3`.
    pub(crate) fn steps(&self, word: &str) -> Vec<i64> {
        let step = |line: &String| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok();
        self.said.iter().filter_map(step).collect()
    }

    /// The number of times that each point was reached.
    pub(crate) fn passed(&self) -> BTreeMap<String, u32> {
        let passed = self.said.iter().filter_map(|line| line.strip_prefix("passed ")?.split_once(' '));
        passed.map(|(point, count)| (point.to_owned(), count.parse().expect("a count"))).collect()
    }

    /// The result that must be the same with and without kills.
    pub(crate) fn result(&self) -> Value {
        let line = self.printed.lines().find(|line| line.starts_with('{'));
        let line = line.unwrap_or_else(|| panic!("no result in {:?}; {:?}", self.printed, self.said));
        let mut result: Value = serde_json::from_str(line).expect("one JSON object");
        for id in ["checkpoint_id", "db"] {
            result.as_object_mut().expect("an object").remove(id);
        }
        result
    }

    /// Fails if a superstep runs here that `before` had stored.
    pub(crate) fn assert_repeats_nothing_of(&self, before: &Self) {
        let stored = before.steps("saved ").into_iter().max().unwrap_or(-2);
        let again = self.steps("ran ");
        let repeated = again.iter().any(|step| *step <= stored);
        assert!(!repeated, "step {stored} was stored, yet {again:?} ran; before: {:?}", before.said);
    }
}
