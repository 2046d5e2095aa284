//! The benchmark of the agent's program: from its start to its prompt.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Map, Value, json};
use superstep::nodes::assistant::Session;
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::report::Figure;
use crate::sessions::{Instantly, graph};

/// The variable that names the program: `superstep`, built with `--release` and the feature `agent`.
const PROGRAM: &str = "SUPERSTEP_PROGRAM";

/// The reason for which the workload cannot run; `None` if it can.
pub(crate) fn missing() -> Option<&'static str> {
    let is_named = std::env::var_os(PROGRAM).is_some();
    (!is_named)
        .then_some("SUPERSTEP_PROGRAM does not name a release build of the program with the feature `agent`")
}

const FOLDERS: u32 = 100;
const FILES_IN_EACH: u32 = 100;
const SESSIONS: u32 = 1_000;
const ROUNDS: usize = 9;

/// The beginning of the input line.
const PROMPT: &str = "›";

/// The question of a program for the place of the cursor, and the answer of a terminal.
const WHERE: &str = "\u{1b}[6n";
const HERE: &[u8] = b"\x1b[1;1R";

/// W23: the program shows its prompt in a folder of 10,000 files with 1,000 sessions, against its version. Both run on
/// a terminal that `script` makes, on Linux.
pub(crate) fn prompt() -> Figure {
    let folder = TempDir::new().expect("a folder");
    let desk = Desk::new(folder.path());
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        baselines.push(desk.time("--version", "\n"));
        values.push(desk.time("agent", PROMPT));
    }
    Figure { unit: "ms", values, baselines, extra: Map::new(), target: "`--version`; ≤ 100 ms" }
}

/// A user's home, and a folder with files and sessions.
struct Desk {
    program: PathBuf,
    work: PathBuf,
    home: PathBuf,
}

impl Desk {
    fn new(folder: &Path) -> Self {
        let program = PathBuf::from(std::env::var_os(PROGRAM).expect("`missing` has looked for it"));
        let desk = Self { program, work: folder.join("work"), home: folder.join("home") };
        for at in 0..FOLDERS {
            let folder = desk.work.join(format!("folder-{at}"));
            fs::create_dir_all(&folder).expect("the disk has room");
            for file in 0..FILES_IN_EACH {
                fs::write(folder.join(format!("file-{file}.txt")), format!("{at} {file}\n"))
                    .expect("it is written");
            }
        }
        fs::create_dir_all(&desk.home).expect("the disk has room");
        let script = json!({ "turns": [{ "say": "Hello." }], "by_replies": true });
        fs::write(desk.home.join("script.json"), script.to_string()).expect("it is written");
        let said =
            desk.command(&desk.program).args(["agent", "-p", "Hello."]).output().expect("the program starts");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        desk.add_sessions();
        desk
    }

    /// Adds sessions to the file that the program has made.
    fn add_sessions(&self) {
        let listed = self.command(&self.program).args(["agent", "sessions", "--json"]).output();
        let listed: Value = serde_json::from_slice(&listed.expect("it lists").stdout).expect("it is JSON");
        let file = PathBuf::from(listed["folders"][0]["file"].as_str().expect("a path"));
        on_worker(async move {
            let graph = graph(&file, Instantly::default()).await;
            for n in 1..SESSIONS {
                let mut session = Session::open(&graph, format!("s{n:08x}")).await.expect("it opens");
                let _run = session.ask(format!("Request {n} of many.")).await.expect("the turn runs");
            }
        });
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.work).env("SUPERSTEP_HOME", &self.home).env("TERM", "xterm-256color");
        command.env("SUPERSTEP_MODEL", format!("script:{}", self.home.join("script.json").display()));
        command
    }

    /// Returns the time from the start of the program until it has printed a text on a terminal, in milliseconds.
    fn time(&self, verb: &str, text: &str) -> f64 {
        let mut command = self.command(Path::new("script"));
        command.args(["-qec", &format!("{} {verb}", self.program.display()), "/dev/null"]);
        let begun = Instant::now();
        let mut terminal =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("`script` starts");
        let mut keys = terminal.stdin.take().expect("it is piped");
        let mut output = terminal.stdout.take().expect("it is piped");
        let (mut shown, mut bytes) = (String::new(), [0; 4096]);
        while !shown.contains(text) {
            let read = output.read(&mut bytes).expect("it reads");
            assert!(read > 0, "the program ended: {shown}");
            let new = String::from_utf8_lossy(&bytes[..read]);
            if new.contains(WHERE) {
                keys.write_all(HERE).and_then(|()| keys.flush()).expect("it is typed");
            }
            shown.push_str(&new);
        }
        let taken = begun.elapsed().as_secs_f64() * 1e3;
        terminal.kill().expect("it runs or has ended");
        terminal.wait().expect("it ends");
        taken
    }
}
