//! Views, which select events of a run's log.

use std::fmt;
use std::ops::BitOr;

use serde::{Deserialize, Serialize};

use crate::run::runtime::event::{EventKind, Observer, RunEvent};

/// A view of a run's event log. Views are combined with `|`.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::run::View;
///
/// let views = View::Updates | View::Custom;
/// assert!(views.has(View::Custom));
/// assert!(!views.has(View::Values));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum View {
    /// The whole state after each superstep, questions and breakpoints. The state is built only if an observer or
    /// the caller asks for it.
    Values,
    /// The writes of each task by field name, questions and breakpoints. The writes are built only if an observer
    /// or the caller asks for them.
    Updates,
    /// Parts of messages, as models generate them.
    Messages,
    /// Custom events that nodes emit.
    Custom,
    /// The start and the end of each attempt of a task, questions and breakpoints.
    Tasks,
    /// The checkpoints that are stored.
    Checkpoints,
    /// The whole log. This view requests no additional events.
    Debug,
}

/// A set of [`View`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Views(u8);

impl View {
    const ALL: [Self; 7] = [
        Self::Values,
        Self::Updates,
        Self::Messages,
        Self::Custom,
        Self::Tasks,
        Self::Checkpoints,
        Self::Debug,
    ];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Views {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Returns `true` if the set contains `view`.
    #[must_use]
    pub fn has(self, view: View) -> bool {
        self.0 & view.bit() != 0
    }

    /// Returns `true` if one of the views shows events of this kind.
    #[must_use]
    pub fn shows(self, kind: &EventKind) -> bool {
        let shown = match kind {
            EventKind::Values { .. } => View::Values.into(),
            EventKind::Update { .. } => View::Updates.into(),
            EventKind::Interrupted { .. } | EventKind::BreakpointReached { .. } => {
                View::Values | View::Updates | View::Tasks
            }
            EventKind::MessageChunk { .. } => View::Messages.into(),
            EventKind::Custom { .. } => View::Custom.into(),
            EventKind::EmittedDropped { .. } => View::Custom | View::Messages,
            EventKind::TaskStarted { .. }
            | EventKind::TaskFinished { .. }
            | EventKind::TaskPaused { .. }
            | EventKind::TaskFailed { .. } => View::Tasks.into(),
            EventKind::CheckpointSaved { .. } => View::Checkpoints.into(),
            EventKind::RunStarted { .. }
            | EventKind::SuperstepStarted { .. }
            | EventKind::JoinUnfinished { .. }
            | EventKind::RunFinished { .. }
            | EventKind::RunFailed { .. } => Self::NONE,
        };
        self.has(View::Debug) || self.0 & shown.0 != 0
    }
}

impl From<View> for Views {
    fn from(view: View) -> Self {
        Self(view.bit())
    }
}

impl FromIterator<View> for Views {
    fn from_iter<I: IntoIterator<Item = View>>(views: I) -> Self {
        views.into_iter().fold(Self::NONE, Self::bitor)
    }
}

impl<V: Into<Views>> BitOr<V> for View {
    type Output = Views;

    fn bitor(self, other: V) -> Views {
        Views(self.bit() | other.into().0)
    }
}

impl<V: Into<Self>> BitOr<V> for Views {
    type Output = Self;

    fn bitor(self, other: V) -> Self {
        Self(self.0 | other.into().0)
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(View::ALL.into_iter().filter(|view| self.has(*view))).finish()
    }
}

/// Requests views without reading any events.
pub(in crate::run) struct Wants(pub(in crate::run) Views);

impl Observer for Wants {
    fn on_event(&self, _event: &RunEvent) {}

    fn views(&self) -> Views {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_sets() {
        let views = View::Updates | View::Custom | View::Updates;
        assert_eq!(std::format!("{views:?}"), "{Updates, Custom}");
        assert_eq!(views, [View::Custom, View::Updates].into_iter().collect());
        assert_eq!(View::ALL.into_iter().filter(|view| views.has(*view)).count(), 2);
        let all = View::ALL.into_iter().collect::<Views>() | Views::NONE;
        assert_eq!(std::format!("{all:?}"), "{Values, Updates, Messages, Custom, Tasks, Checkpoints, Debug}");
    }
}
