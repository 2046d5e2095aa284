//! Selects the checkpoints to keep.

use std::collections::{BTreeSet, HashMap, HashSet};

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;

use super::past::Past;
use super::retention::now_ms;
use super::{Policy, Retention};
use crate::connection::Connection;
use crate::history::rows::{CheckpointRow, ThreadRow};
use crate::read::named;

/// The rows that a pruning keeps.
pub(super) struct Selection {
    pub(super) rows: BTreeSet<i64>,
    /// The threads of subgraphs that are deleted.
    pub(super) dead: HashMap<i64, ThreadRow>,
}

pub(super) fn select(connection: &Connection, past: &Past, policy: &Policy) -> Result<Selection, StoreError> {
    let all = ThreadRow::all(connection)?;
    let by_row: HashMap<i64, &ThreadRow> = all.iter().map(|thread| (thread.id, thread)).collect();
    let may_go = |name: &ThreadId| policy.may_take_from(name);
    // The threads of subgraphs, by the tasks that run them, if those are known.
    let owners: HashMap<String, i64> = past
        .rows
        .iter()
        .flat_map(|(seq, row)| row.tasks.iter().map(|task| (task.to_string(), *seq)))
        .collect();
    let owner = |thread: &ThreadRow| {
        let (_, task) = thread.name.as_str().rsplit_once('\u{1f}')?;
        owners.get(task).copied().filter(|_| may_go(&thread.name))
    };
    let owned: HashMap<i64, i64> =
        all.iter().filter_map(|thread| Some((thread.id, owner(thread)?))).collect();

    let mut rows: BTreeSet<i64> =
        all.iter().filter(|row| !owned.contains_key(&row.id)).map(|row| row.head).collect();
    rows.extend(named::places(connection, |_| true)?);
    rows.extend(chosen(past, policy, &by_row, &owned));
    rows.extend(beginnings(past, &rows));
    let mut open: Vec<i64> = rows.iter().copied().collect();
    let mut of_thread: HashMap<i64, Vec<i64>> = HashMap::new();
    for (seq, row) in &past.rows {
        of_thread.entry(row.row.thread).or_default().push(*seq);
    }
    let mut of_owner: HashMap<i64, Vec<&ThreadRow>> = HashMap::new();
    for (thread, owner) in &owned {
        of_owner.entry(*owner).or_default().extend(by_row.get(thread));
    }
    let mut alive: HashSet<i64> = HashSet::new();
    while let Some(seq) = open.pop() {
        let Some(row) = past.rows.get(&seq) else { continue };
        let mut needed = Vec::new();
        for thread in of_owner.get(&seq).into_iter().flatten() {
            alive.insert(thread.id);
            needed.push(thread.head);
            needed.extend(of_thread.get(&thread.id).into_iter().flatten());
        }
        for kept in &row.kept {
            needed.extend(CheckpointRow::seq_of(connection, kept.checkpoint)?);
            if let Some(thread) = ThreadRow::find(connection, &kept.thread)? {
                alive.insert(thread.id);
                needed.push(thread.head);
            }
        }
        open.extend(needed.into_iter().filter(|seq| rows.insert(*seq)));
    }
    let dead = all.into_iter().filter(|thread| owned.contains_key(&thread.id) && !alive.contains(&thread.id));
    let dead = dead.map(|thread| (thread.id, thread)).collect();
    Ok(Selection { rows, dead })
}

/// Returns the checkpoints that the policy selects, without those of subgraphs.
fn chosen(
    past: &Past,
    policy: &Policy,
    threads: &HashMap<i64, &ThreadRow>,
    owned: &HashMap<i64, i64>,
) -> Vec<i64> {
    let now_ms = now_ms();
    let rule = |thread: i64| threads.get(&thread).map(|thread| policy.rule(&thread.name));
    let mut children: HashMap<i64, usize> = HashMap::new();
    for row in past.rows.values().filter(|row| row.is_checkpoint()) {
        row.row.parent.into_iter().for_each(|parent| *children.entry(parent).or_default() += 1);
    }
    let mut chosen = Vec::new();
    for (seq, row) in past.rows.iter().filter(|(_, row)| row.is_checkpoint() && !row.is_pruned()) {
        let thread = row.row.thread;
        if owned.contains_key(&thread) {
            continue;
        }
        let stays = threads.get(&thread).is_none_or(|thread| !policy.may_take_from(&thread.name));
        let since = rule(thread).and_then(|rule| rule.since_ms(now_ms));
        if stays || since.is_some_and(|since| row.row.id.unix_ms() >= since) {
            chosen.push(*seq);
        }
        if !children.contains_key(seq) {
            chosen.extend(line(past, *seq).take(rule(thread).map_or(0, Retention::last)));
        }
    }
    // A head that other threads continue also ends a line.
    for (id, thread) in threads.iter().filter(|(id, _)| !owned.contains_key(id)) {
        let rule = policy.rule(&thread.name);
        chosen.extend(line(past, thread.head).take(rule.last()));
        // A checkpoint that it shares with a thread that has another retention is also kept for its time.
        if policy.is_mixed()
            && let Some(since) = rule.since_ms(now_ms)
        {
            let own = |seq: &i64| past.rows[seq].row.thread == *id;
            let is_young = |seq: &i64| past.rows[seq].row.id.unix_ms() >= since;
            chosen.extend(line(past, thread.head).filter(|seq| !own(seq) && is_young(seq)));
        }
    }
    chosen
}

/// Returns the checkpoints at which branches begin that lead to kept checkpoints.
fn beginnings(past: &Past, stays: &BTreeSet<i64>) -> Vec<i64> {
    // From newer to older: the number of branches that lead from each checkpoint to kept ones.
    let mut branches: HashMap<i64, usize> = HashMap::new();
    let mut found = Vec::new();
    for (seq, row) in past.rows.iter().rev().filter(|(_, row)| row.is_checkpoint()) {
        let count = branches.get(seq).copied().unwrap_or(0);
        if count > 1 && !row.is_pruned() {
            found.push(*seq);
        }
        if count > 0 || stays.contains(seq) {
            row.row.parent.into_iter().for_each(|parent| *branches.entry(parent).or_default() += 1);
        }
    }
    found
}

/// Returns the checkpoint and those that it continues, until the first one that is not complete.
fn line(past: &Past, from: i64) -> impl Iterator<Item = i64> {
    let whole = |seq: &i64| past.rows.get(seq).is_some_and(|row| !row.is_pruned());
    std::iter::successors(Some(from), |seq| past.rows.get(seq)?.row.parent).take_while(whole)
}
