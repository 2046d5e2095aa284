//! The output of the program, one line each: acknowledgements of the store, and actions of its tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The beginning of a line; other lines are from the test harness.
const MARK: &str = "said ";

/// One line of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Line {
    /// The file is open.
    Opened,
    /// A task starts.
    Start { task: String, thread: String, step: i64 },
    /// An effect happens: its start was acknowledged before.
    Effect { task: String, name: String },
    /// A checkpoint was acknowledged.
    Saved { id: String, step: i64 },
    /// Questions were acknowledged.
    Asked { ids: Vec<String> },
    /// A thread has ended.
    End { thread: String, state: Value },
    /// An error reached the caller.
    Failed { error: String },
    /// The program waits for a line to continue.
    Waits,
}

impl Line {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // Output of the harness may precede it in the same line.
        let (_, line) = text.split_once(MARK)?;
        Some(serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
    }
}

/// The target of the output.
#[derive(Clone)]
pub(crate) enum Voice {
    /// On its standard output, with one write per line, so that a kill leaves no half line.
    Aloud,
    /// The caller in the same process.
    Kept(Arc<Mutex<Vec<Line>>>),
}

impl Voice {
    pub(crate) fn kept() -> (Self, Arc<Mutex<Vec<Line>>>) {
        let lines = Arc::new(Mutex::default());
        (Self::Kept(Arc::clone(&lines)), lines)
    }

    pub(crate) fn say(&self, line: Line) {
        match self {
            Self::Aloud => {
                let text = serde_json::to_string(&line).expect("a line has a JSON form");
                let mut out = std::io::stdout().lock();
                // The receiver may be gone; then the line is lost.
                let _unheard = out.write_all(format!("{MARK}{text}\n").as_bytes());
            }
            Self::Kept(lines) => lines.lock().unwrap_or_else(PoisonError::into_inner).push(line),
        }
    }
}

/// The acknowledged content, which the file must have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Checkpoints, by id, with their steps.
    pub(crate) saved: BTreeMap<String, i64>,
    pub(crate) asked: BTreeSet<String>,
    /// Starts of effects: task and name.
    pub(crate) begun: BTreeSet<(String, String)>,
}

impl Told {
    pub(crate) fn add(&mut self, line: &Line) {
        match line {
            Line::Saved { id, step } => drop(self.saved.insert(id.clone(), *step)),
            Line::Asked { ids } => self.asked.extend(ids.iter().cloned()),
            Line::Effect { task, name } => drop(self.begun.insert((task.clone(), name.clone()))),
            _ => {}
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.saved.is_empty() && self.asked.is_empty() && self.begun.is_empty()
    }
}
