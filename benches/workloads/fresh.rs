//! Figures of a process of their own: the first read after a start, and resident memory.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

#[cfg(feature = "assistant")]
use crate::{answers, sessions};
use crate::{asleep, engine, messages};

/// The first argument of such a process.
pub(crate) const WORD: &str = "--fresh";

/// A measurement in a process of its own: its name, and the code that receives the path of a file.
type Task = (&'static str, fn(&Path) -> Map<String, Value>);

const TASKS: &[Task] = &[
    ("head", messages::first_head),
    ("head by hand", messages::first_head_by_hand),
    ("fan", engine::stored_fan),
    #[cfg(feature = "assistant")]
    ("session", sessions::open_old),
    #[cfg(feature = "assistant")]
    ("answer", answers::answer_stored),
    #[cfg(all(feature = "assistant", feature = "tools-shell", unix))]
    ("long result", sessions::run_long),
    #[cfg(all(feature = "assistant", feature = "tools-shell", unix))]
    ("no result", sessions::run_silent),
    ("asleep by hand", asleep::by_hand),
    ("asleep", asleep::without_saver),
    ("asleep in memory", asleep::in_memory),
    ("asleep in a file", asleep::in_file),
];

/// Starts this program once more, to measure `task` with the file at `path`. Returns its figures.
pub(crate) fn measure(task: &str, path: &Path) -> Map<String, Value> {
    let program = std::env::current_exe().expect("a program has a path");
    let output = Command::new(program).args([WORD, task]).arg(path).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints its figures")
}

/// A figure of that process.
pub(crate) fn number(figures: &Map<String, Value>, name: &str) -> f64 {
    figures.get(name).and_then(Value::as_f64).unwrap_or_else(|| panic!("no figure `{name}`"))
}

/// Measures `task`, in the process that was started for it, and prints its figures.
pub(crate) fn run(task: &str, path: &Path) {
    let (_, measured) = TASKS.iter().find(|(name, _)| *name == task).expect("a known task");
    println!("{}", Value::Object(measured(path)));
}

/// A line of the status of this process, in KiB: `VmRSS` is what is resident, `VmHWM` the most that ever was.
pub(crate) fn kib(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|all| all.strip_prefix(line)?.strip_prefix(':'));
    value.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0.0)
}
