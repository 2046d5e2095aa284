//! The debugger of the bundled examples: every verb on their files.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod changed;
#[cfg(unix)]
mod ctrl_c;
mod databases;
mod drawings;
mod forbidden;
#[cfg(target_os = "linux")]
mod full_log;
mod guide;
mod pruned;
mod usage;
mod verbs;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::{documents, example};

/// An example in a folder of its own, in which it has run.
struct Recorded {
    name: &'static str,
    folder: TempDir,
    /// The file with its threads.
    file: PathBuf,
    /// The arguments before `debug`.
    options: &'static [&'static str],
    /// An input for another run, as JSON.
    input: &'static str,
    /// A field of its state, which may be a text.
    field: &'static str,
}

/// The output of a program.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let code = output.status.code().expect("it was not killed");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

impl Recorded {
    /// All of them.
    fn all() -> Vec<Self> {
        vec![
            Self::agent_loop(),
            Self::dynamic(),
            Self::flow(),
            Self::opening_hours(),
            Self::reducers(),
            Self::review(),
            Self::time_travel(),
        ]
    }

    fn agent_loop() -> Self {
        let options = &["--docs", "docs", "--db", "agent.db"];
        let mut recorded = Self::new(
            "agent_loop",
            "agent.db",
            r#"{"task": "What does a fork copy?", "turn": 1, "max_iterations": 5}"#,
            "task",
        );
        recorded.folder = documents();
        recorded.file = recorded.folder.path().join("agent.db");
        recorded.options = options;
        recorded.run(&[
            "--docs",
            "docs",
            "--db",
            "agent.db",
            "--thread",
            "t",
            "How many bytes does a fork copy?",
        ]);
        recorded
    }

    fn dynamic() -> Self {
        Self::new("dynamic", "superstep-dynamic.db", r#"{"errands": ["swim"]}"#, "mood").after(&[&[]])
    }

    fn flow() -> Self {
        Self::new("flow", "superstep-flow.db", "2", "saved").after(&[&[], &["1"], &["2"], &["3"]])
    }

    fn opening_hours() -> Self {
        Self::new("opening_hours", "museum.db", r#"{"question": "And on holidays?"}"#, "answer").after(&[&[]])
    }

    fn reducers() -> Self {
        let recorded = Self::new("reducers", "superstep-reducers.db", r#"{"files": []}"#, "report");
        for name in ["a.txt", "b.md"] {
            std::fs::write(recorded.folder.path().join(name), "some words\n").unwrap();
        }
        recorded.after(&[&["a.txt", "b.md"]])
    }

    fn review() -> Self {
        let turns: [&[&str]; 3] = [&[], &["answer", "revise"], &["answer", "accept"]];
        Self::new("review", "superstep-review.db", r#"{"title": "Forks"}"#, "title").after(&turns)
    }

    fn time_travel() -> Self {
        Self::new("time_travel", "superstep-time-travel.db", r#"{"budget": 400}"#, "hotel").after(&[&[]])
    }

    fn new(name: &'static str, file: &str, input: &'static str, field: &'static str) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join(file);
        Self { name, folder, file, options: &[], input, field }
    }

    fn after(self, runs: &[&[&str]]) -> Self {
        runs.iter().for_each(|arguments| drop(self.run(arguments)));
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(example(self.name));
        command.current_dir(self.folder.path()).env("TMPDIR", self.folder.path()).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// Runs it like its users.
    fn run(&self, arguments: &[&str]) -> Said {
        let said = Said::of(self.command(arguments).output().unwrap());
        assert_eq!((said.code, &*said.err), (0, ""), "{} {arguments:?}", self.name);
        said
    }

    /// Runs its debugger.
    fn debug(&self, arguments: &[&str]) -> Said {
        let arguments = [self.options, &["debug"], arguments].concat();
        Said::of(self.command(&arguments).output().unwrap())
    }

    fn threads(&self) -> Vec<String> {
        let threads = self.debug(&["threads", "--json"]).json();
        let threads = threads["threads"].as_array().unwrap().iter();
        let threads: Vec<String> = threads.map(|held| held["thread"].as_str().unwrap().to_owned()).collect();
        assert!(!threads.is_empty(), "{}", self.name);
        threads
    }
}
