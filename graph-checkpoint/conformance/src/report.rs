//! The report of a run of the suite.

use std::fmt;

use super::item::Item;
use super::verdict::Outcome;

/// The outcome of each item, in the suite's order.
#[derive(Debug)]
pub struct Report {
    pub(super) items: Vec<(&'static Item, Outcome)>,
}

impl Report {
    /// Returns the items that ran, each with its outcome.
    pub fn items(&self) -> impl Iterator<Item = (&'static Item, &Outcome)> {
        self.items.iter().map(|(item, outcome)| (*item, outcome))
    }

    /// Returns the names of the items that failed.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> {
        let failed = self.items().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
        failed.map(|(item, _)| item.name)
    }

    /// Returns `true` if no item failed. Items that are not applicable do not count as failed.
    #[must_use]
    pub fn is_conformant(&self) -> bool {
        self.failed().next().is_none()
    }

    /// Panics with the report if the store is not conformant.
    ///
    /// # Panics
    /// Panics if an item failed, or if no item ran.
    #[track_caller]
    pub fn assert(&self) {
        assert!(!self.items.is_empty(), "no item of the suite has this name");
        assert!(self.is_conformant(), "\n{self}");
    }
}

/// Prints the number of items that passed, then those that failed and those that were not applicable.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is: fn(&Outcome) -> bool| self.items().filter(|(_, outcome)| is(outcome)).count();
        let passed = count(|outcome| matches!(outcome, Outcome::Passed));
        let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let inapplicable = self.items.len() - passed - failed;
        write!(f, "{passed} items passed, {failed} failed, {inapplicable} were not applicable")?;
        for (item, outcome) in self.items() {
            match outcome {
                Outcome::Failed(failure) => {
                    write!(f, "\n\nFAILED {}\n  {}\n  {failure}", item.name, item.checks)?;
                }
                Outcome::NotApplicable(why) => write!(f, "\n\nnot applicable {}\n  {why}", item.name)?,
                Outcome::Passed => {}
            }
        }
        Ok(())
    }
}
