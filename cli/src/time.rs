//! Times for people.

use std::time::Duration;

use superstep_core::checkpoint::{Source, StepRecord, Summary, rfc3339};
use superstep_core::id::{CheckpointId, RunId};

/// Formats milliseconds since the Unix epoch in UTC, to the second and with a space: short, for tables.
pub(super) fn readable(unix_ms: u64) -> String {
    rfc3339(unix_ms)[..19].replace('T', " ")
}

/// Returns the time at which the work on a superstep began, in milliseconds since the Unix epoch: the time of the
/// checkpoint `before`, or, if that belongs to another run, the time at which its own run began; `None` if it is not
/// stored. For an input, an edit or a branch it is the time of the checkpoint.
pub(super) fn began_ms(step: &StepRecord, before: Option<&StepRecord>) -> Option<u64> {
    let point = |step: &StepRecord| {
        let checkpoint = &step.checkpoint;
        Point { source: checkpoint.source, run: checkpoint.run, at_ms: checkpoint.id.unix_ms() }
    };
    point(step).began_ms(before.map(point))
}

/// A checkpoint as a point in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) source: Source,
    pub(super) run: RunId,
    pub(super) at_ms: u64,
}

impl Point {
    pub(super) fn of(summary: &Summary) -> Self {
        Self { source: summary.source, run: summary.run, at_ms: summary.id.unix_ms() }
    }

    /// Returns the time at which the work on it began.
    pub(super) fn began_ms(self, before: Option<Self>) -> Option<u64> {
        match (self.source, before) {
            (Source::Pruned, _) | (Source::Loop, None) => None,
            (Source::Loop, Some(before)) if before.run == self.run => Some(before.at_ms),
            (Source::Loop, Some(_)) => {
                // The ids of runs contain the time, like those of checkpoints.
                let run = self.run.0;
                (run.get_version_num() == 7).then(|| CheckpointId(run).unix_ms())
            }
            (Source::Input | Source::Update | Source::Fork, _) => Some(self.at_ms),
        }
    }
}

/// Formats a duration to about three digits.
pub(super) fn lasted(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{:.1} s", Duration::from_millis(ms).as_secs_f64()),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_a_table_ends_with_the_second() {
        assert_eq!(readable(1_735_689_599_999), "2024-12-31 23:59:59");
    }

    #[test]
    fn a_duration_is_as_exact_as_it_is_long() {
        let all = [7, 999, 1_000, 59_940, 61_000, 3_600_000 + 125_000].map(lasted);
        assert_eq!(all, ["7 ms", "999 ms", "1.0 s", "59.9 s", "1 min 1 s", "1 h 2 min"]);
    }
}
