//! Points at which a test can halt the process, to kill it there or to press Ctrl-C.
#![expect(clippy::print_stderr, reason = "the test reads there which points are passed")]

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use superstep::checkpoint::Stage;
use superstep::run::{EventKind, RunEvent};

/// The Nth time that a point is passed, such as `node-start:3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    point: String,
    nth: u32,
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (point, nth) = text.split_once(':').ok_or("expected POINT:N")?;
        let nth = nth.parse().map_err(|_| "N is a number")?;
        Ok(Self { point: point.to_owned(), nth })
    }
}

/// Counts how often each point is passed, and halts at the marked one.
#[derive(Clone, Debug, Default)]
pub struct Halt {
    mark: Option<Mark>,
    passed: Arc<Mutex<BTreeMap<&'static str, u32>>>,
    released: Arc<(Mutex<bool>, Condvar)>,
}

impl Halt {
    /// Makes one that halts at this mark, if there is one.
    #[must_use]
    pub fn new(mark: Option<&Mark>) -> Self {
        Self { mark: mark.cloned(), ..Self::default() }
    }

    /// Returns an observer of commits.
    pub fn at_commits(&self) -> impl Fn(Stage) + Send + Sync + 'static {
        let halt = self.clone();
        move |stage| {
            halt.pass(match stage {
                Stage::Before => "before-commit",
                Stage::After => "after-commit",
            });
        }
    }

    /// Returns an observer of runs.
    pub fn at_nodes(&self) -> impl Fn(&RunEvent) + Send + Sync + 'static {
        let halt = self.clone();
        move |event| match &event.kind {
            EventKind::TaskStarted { step, node, .. } if *step > 0 && halt.mark.is_some() => {
                eprintln!("ran {step} {node}");
                halt.pass("node-start");
            }
            EventKind::TaskFinished { step, .. } if *step > 0 && halt.mark.is_some() => halt.pass("node-end"),
            EventKind::CheckpointSaved { step, .. } if halt.mark.is_some() => eprintln!("saved {step}"),
            _ => {}
        }
    }

    /// Continues from where it stopped.
    pub fn release(&self) {
        *self.released.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.released.1.notify_all();
    }

    fn pass(&self, point: &'static str) {
        let Some(mark) = &self.mark else { return };
        let nth = {
            let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
            let nth = passed.entry(point).or_default();
            *nth += 1;
            *nth
        };
        if mark.point == point && mark.nth == nth {
            eprintln!("halted at {point}:{nth}");
            let mut released = self.released.0.lock().unwrap_or_else(PoisonError::into_inner);
            while !*released {
                released = self.released.1.wait(released).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Prints how often each point was passed, if a test asks for it.
    pub fn report(&self) {
        if self.mark.is_some() {
            for (point, count) in &*self.passed.lock().unwrap_or_else(PoisonError::into_inner) {
                eprintln!("passed {point} {count}");
            }
        }
    }
}
