//! What the program says, a line each: whatever it was told of the store, and what its tasks did.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// With this a line begins; others are the test harness's.
const MARK: &str = "said ";

/// One thing that the program says.
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
    /// A thread has come to its end.
    End { thread: String, state: Value },
    /// An error reached the caller.
    Failed { error: String },
    /// The program waits until it is told to go on.
    Waits,
}

impl Line {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // What the harness prints may stand before it in the same line.
        let (_, line) = text.split_once(MARK)?;
        Some(serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
    }
}

/// Where the program says it.
#[derive(Clone)]
pub(crate) enum Voice {
    /// On its standard output: one write, which a kill finds done or not begun.
    Aloud,
    /// To who runs it in the same process.
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
                // Who listens may have gone; then nobody was told.
                let _unheard = out.write_all(format!("{MARK}{text}\n").as_bytes());
            }
            Self::Kept(lines) => lines.lock().unwrap_or_else(PoisonError::into_inner).push(line),
        }
    }
}

/// What the file must have because the program was told so.
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
