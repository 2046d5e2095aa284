//! Lays out the tree of checkpoints in parallel lanes.

use serde::Serialize;
use superstep_core::checkpoint::Summary;
use superstep_core::id::CheckpointId;

/// A row of the drawn tree: a checkpoint in its lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The index of the checkpoint in the input.
    pub checkpoint: usize,
    /// The lane of the checkpoint, from 0.
    pub lane: usize,
    /// The lanes of other branches that pass this row.
    pub passing: Vec<usize>,
    /// The lanes that end here: branches that begin at this checkpoint.
    pub branches: Vec<usize>,
    /// `true` if its lane continues below it.
    pub goes_on: bool,
}

/// Assigns lanes to checkpoints, which are ordered newest first. A branch has its own lane until the checkpoint at
/// which it begins. The branch that comes first in `checkpoints` has the first lane.
#[must_use]
pub fn lanes(checkpoints: &[Summary]) -> Vec<Row> {
    // The next checkpoint of each lane.
    let mut lanes: Vec<Option<CheckpointId>> = Vec::new();
    let known: std::collections::HashSet<CheckpointId> = checkpoints.iter().map(|held| held.id).collect();
    let place = |(position, held): (usize, &Summary)| {
        let mut waiting: Vec<usize> = (0..lanes.len()).filter(|lane| lanes[*lane] == Some(held.id)).collect();
        let lane = match waiting.is_empty() {
            false => waiting.remove(0),
            true => lanes.iter().position(Option::is_none).unwrap_or_else(|| {
                lanes.push(None);
                lanes.len() - 1
            }),
        };
        for ended in &waiting {
            lanes[*ended] = None;
        }
        lanes[lane] = held.parent.filter(|parent| known.contains(parent));
        let goes_on = lanes[lane].is_some();
        let passes = |other: &usize| *other != lane && lanes[*other].is_some();
        let passing = (0..lanes.len()).filter(passes).collect();
        while lanes.last().is_some_and(Option::is_none) {
            lanes.pop();
        }
        Row { checkpoint: position, lane, passing, branches: waiting, goes_on }
    };
    checkpoints.iter().enumerate().map(place).collect()
}

/// Compares two branches, each newest first: returns the number of checkpoints that only the first has, the number that
/// only the second has, and the newest common checkpoint, if there is one.
#[must_use]
pub fn parting(a: &[Summary], b: &[Summary]) -> (usize, usize, Option<CheckpointId>) {
    let common = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a.id == b.id).count();
    let newest = common.checked_sub(1).map(|last| a[a.len() - 1 - last].id);
    (a.len() - common, b.len() - common, newest)
}

impl Row {
    /// Returns the number of lanes in the row.
    #[must_use]
    pub fn width(&self) -> usize {
        let others = self.passing.iter().chain(&self.branches);
        others.copied().max().unwrap_or(0).max(self.lane) + 1
    }

    /// Draws the row as text: `●` for the checkpoint, `│` for lanes that pass, and `─╯` for branches that begin here.
    #[must_use]
    pub fn draw(&self) -> String {
        let last_branch = self.branches.iter().copied().max();
        let mut line = String::new();
        for lane in 0..self.width() {
            let crossed = last_branch.is_some_and(|last| lane > self.lane && lane <= last);
            if lane > 0 {
                line.push(if crossed { '─' } else { ' ' });
            }
            line.push(match (self.branches.contains(&lane), self.passing.contains(&lane)) {
                _ if lane == self.lane => '●',
                (true, _) if Some(lane) == last_branch => '╯',
                (true, _) => '┴',
                (_, true) if crossed => '┼',
                (_, true) => '│',
                _ if crossed => '─',
                _ => ' ',
            });
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::checkpoint::{Seq, Source};
    use superstep_core::id::RunId;
    use uuid::Uuid;

    use super::*;

    fn id(number: u64) -> CheckpointId {
        CheckpointId(Uuid::from_u128(u128::from(number)))
    }

    /// Returns checkpoints by number, each with its parent, newest first.
    fn checkpoints(parents: &[(u64, u64)]) -> Vec<Summary> {
        let checkpoint = |&(number, parent): &(u64, u64)| Summary {
            seq: Seq(number),
            id: id(number),
            parent: (parent > 0).then(|| id(parent)),
            thread: "t".into(),
            run: RunId(Uuid::nil()),
            step: 0,
            source: Source::Loop,
            created_ms: 0,
            ran: Vec::new(),
            next: Vec::new(),
            metadata: std::collections::BTreeMap::new(),
        };
        let mut checkpoints: Vec<Summary> = parents.iter().map(checkpoint).collect();
        checkpoints.sort_by_key(|held| std::cmp::Reverse(held.seq));
        checkpoints
    }

    fn drawn(parents: &[(u64, u64)]) -> Vec<String> {
        let checkpoints = checkpoints(parents);
        let line = |row: Row| format!("{} {}", row.draw(), checkpoints[row.checkpoint].seq.0);
        lanes(&checkpoints).into_iter().map(line).collect()
    }

    #[test]
    fn a_thread_without_branches_is_one_lane() {
        assert_eq!(drawn(&[(1, 0), (2, 1), (3, 2)]), ["● 3", "● 2", "● 1"]);
    }

    #[test]
    fn a_branch_has_a_lane_until_it_begins() {
        // 1 ◄─ 2 ◄─ 3 and 2 ◄─ 4 ◄─ 5
        assert_eq!(drawn(&[(1, 0), (2, 1), (3, 2), (4, 2), (5, 4)]), ["● 5", "● 4", "│ ● 3", "●─╯ 2", "● 1"]);
    }

    #[test]
    fn branches_that_begin_together_end_together_and_lanes_are_used_again() {
        // 1 ◄─ 2, 1 ◄─ 3, 1 ◄─ 4, then 5 and 6 on 4.
        let all = [(1, 0), (2, 1), (3, 1), (4, 1), (5, 4), (6, 4)];
        assert_eq!(drawn(&all), ["● 6", "│ ● 5", "●─╯ 4", "│ ● 3", "│ │ ● 2", "●─┴─╯ 1"]);
    }

    #[test]
    fn a_branch_crosses_those_that_continue() {
        // 2 and 3 on 1; 5 on 3, and 4 on 2, and 6 on 2.
        let all = [(1, 0), (2, 1), (3, 1), (4, 2), (5, 3), (6, 2)];
        assert_eq!(drawn(&all), ["● 6", "│ ● 5", "│ │ ● 4", "│ ● │ 3", "●─┼─╯ 2", "●─╯ 1"]);
    }

    #[test]
    fn two_branches_part_after_what_both_have() {
        let a = checkpoints(&[(1, 0), (2, 1), (3, 2), (5, 3)]);
        let b = checkpoints(&[(1, 0), (2, 1), (4, 2)]);
        assert_eq!(parting(&a, &b), (2, 1, Some(id(2))));
        assert_eq!(parting(&a, &a), (0, 0, Some(id(5))));
        assert_eq!(parting(&a, &checkpoints(&[(9, 0)])), (4, 1, None));
        assert_eq!(parting(&[], &a), (0, 4, None));
    }

    #[test]
    fn what_has_no_parent_here_ends_its_lane() {
        assert_eq!(drawn(&[(7, 6), (8, 7), (9, 0)]), ["● 9", "● 8", "● 7"]);
    }
}
