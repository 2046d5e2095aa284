//! A user with a home and a folder to work in.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A user's home and folder.
pub(crate) struct Desk {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

/// The output of the program.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A program that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Receiver<String>,
}

/// The time within which the program prints a line that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

impl Desk {
    /// Makes a home and a folder. Commands run in a sandbox if the machine has one.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        let desk = Self { dir, variables: Vec::new() };
        desk.settings("");
        desk
    }

    /// Makes a desk whose model has this script.
    pub(crate) fn with_script(turns: Value) -> Self {
        let mut desk = Self::new();
        desk.script(turns);
        desk
    }

    /// Gives the model a script of a whole session, whichever process asks for its next reply.
    pub(crate) fn script(&mut self, turns: Value) {
        self.set_script(&json!({ "turns": turns, "by_replies": true }));
    }

    /// Gives the model a script by the order of calls, which sub-agents share.
    pub(crate) fn script_of_calls(&mut self, turns: Value) {
        self.set_script(&json!({ "turns": turns }));
    }

    fn set_script(&mut self, script: &Value) {
        let file = self.home().join("script.json");
        fs::write(&file, script.to_string()).unwrap();
        self.set("SUPERSTEP_MODEL", &format!("script:{}", file.display()));
    }

    /// Sets a variable of the environment.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Writes the user's settings, behind those of all tests.
    pub(crate) fn settings(&self, text: &str) {
        let sandbox = "[agent.commands]\nsandbox = \"where_there_is_one\"\n";
        fs::write(self.home().join("settings.toml"), format!("{sandbox}{text}")).unwrap();
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file of the folder; `None` if there is none.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder().join(path)).ok()
    }

    /// The program with these arguments behind `agent`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.folder(), &[&["agent"], arguments].concat())
    }

    fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.args(arguments).current_dir(folder).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.home()).env("SUPERSTEP_HOME", self.home());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `superstep agent`.
    pub(crate) fn agent(&self, arguments: &[&str]) -> Said {
        said(&mut self.command(arguments))
    }

    /// Runs `superstep agent` in another folder.
    pub(crate) fn agent_in(&self, folder: &Path, arguments: &[&str]) -> Said {
        said(&mut self.command_in(folder, &[&["agent"], arguments].concat()))
    }

    /// Runs another verb of the program on the file of the sessions.
    pub(crate) fn superstep(&self, verb: &str, arguments: &[&str]) -> Said {
        let file = self.sessions()["folders"][0]["file"].as_str().unwrap().to_owned();
        said(&mut self.command_in(&self.folder(), &[&[verb, file.as_str()], arguments].concat()))
    }

    /// Starts `superstep agent --json`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut child =
            self.command(&[arguments, &["--json"]].concat()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Running { child, lines }
    }

    /// The answer of `superstep agent sessions --json`.
    pub(crate) fn sessions(&self) -> Value {
        self.agent(&["sessions", "--json"]).json()
    }

    /// The sessions of the folder, the latest first.
    pub(crate) fn rows(&self) -> Vec<Value> {
        self.sessions()["folders"][0]["sessions"].as_array().unwrap().clone()
    }

    /// The latest session.
    pub(crate) fn session(&self) -> String {
        self.rows()[0]["session"].as_str().unwrap().to_owned()
    }
}

fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Said {
    /// The output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The output as JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The types of the JSON lines.
    pub(crate) fn types(&self) -> Vec<String> {
        self.lines().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect()
    }
}

impl Running {
    /// Waits for a line of a type.
    pub(crate) fn until(&self, kind: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no line of type {kind}"));
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["type"] == kind {
                return line;
            }
        }
    }

    /// Waits for the call of a tool.
    pub(crate) fn until_call(&self, tool: &str) {
        while self.until("call")["tool"] != tool {}
    }

    pub(crate) fn end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Kills the program, as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The turn of a script that makes a call.
pub(crate) fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({ "call": [{ "id": id, "name": tool, "input": input }] })
}

/// The turn of a script that writes a file.
pub(crate) fn write(id: &str, path: &str, text: &str) -> Value {
    call(id, "write_file", json!({ "path": path, "content": text }))
}

/// The turn of a script that runs a command.
pub(crate) fn bash(id: &str, command: &str) -> Value {
    call(id, "bash", json!({ "command": command }))
}

/// The turn of a script that says a text.
pub(crate) fn say(text: &str) -> Value {
    json!({ "say": text })
}
