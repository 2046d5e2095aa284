//! Selects the checkpoints to keep.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use superstep_core::id::{CheckpointId, ThreadId};

use super::{Policy, Retention, Standing};
use crate::history::rows::ThreadRow;

/// The rows that a pruning keeps.
pub(crate) struct Selection {
    pub(crate) rows: BTreeSet<i64>,
    /// The threads of subgraphs that are deleted.
    pub(crate) dead: HashMap<i64, ThreadRow>,
}

/// All checkpoints, by their positions in the store's order.
type Past = BTreeMap<i64, Standing>;

/// Selects the checkpoints to keep. `named` are those with names.
pub(crate) fn select(
    past: &Past,
    all: Vec<ThreadRow>,
    named: BTreeSet<i64>,
    policy: &Policy,
    now_ms: u64,
) -> Selection {
    let by_row: HashMap<i64, &ThreadRow> = all.iter().map(|thread| (thread.id, thread)).collect();
    let by_name: HashMap<&ThreadId, &ThreadRow> = all.iter().map(|thread| (&thread.name, thread)).collect();
    let by_id: HashMap<CheckpointId, i64> = past.iter().map(|(seq, row)| (row.id, *seq)).collect();
    let may_go = |name: &ThreadId| policy.may_take_from(name);
    // The threads of subgraphs, by the tasks that run them, if those are known.
    let owners: HashMap<String, i64> = past
        .iter()
        .flat_map(|(seq, row)| row.plan.tasks.iter().map(|task| (task.to_string(), *seq)))
        .collect();
    let owner = |thread: &ThreadRow| {
        let (_, task) = thread.name.as_str().rsplit_once('\u{1f}')?;
        owners.get(task).copied().filter(|_| may_go(&thread.name))
    };
    let owned: HashMap<i64, i64> =
        all.iter().filter_map(|thread| Some((thread.id, owner(thread)?))).collect();

    let mut rows: BTreeSet<i64> =
        all.iter().filter(|row| !owned.contains_key(&row.id)).map(|row| row.head).collect();
    rows.extend(named);
    rows.extend(chosen(past, policy, &by_row, &owned, now_ms));
    rows.extend(beginnings(past, &rows));
    let mut open: Vec<i64> = rows.iter().copied().collect();
    let mut of_thread: HashMap<i64, Vec<i64>> = HashMap::new();
    for (seq, row) in past {
        of_thread.entry(row.thread).or_default().push(*seq);
    }
    let mut of_owner: HashMap<i64, Vec<&ThreadRow>> = HashMap::new();
    for (thread, owner) in &owned {
        of_owner.entry(*owner).or_default().extend(by_row.get(thread));
    }
    let mut alive: HashSet<i64> = HashSet::new();
    while let Some(seq) = open.pop() {
        let Some(row) = past.get(&seq) else { continue };
        let mut needed = Vec::new();
        for thread in of_owner.get(&seq).into_iter().flatten() {
            alive.insert(thread.id);
            needed.push(thread.head);
            needed.extend(of_thread.get(&thread.id).into_iter().flatten());
        }
        for kept in &row.plan.kept {
            needed.extend(by_id.get(&kept.checkpoint));
            if let Some(thread) = by_name.get(&kept.thread) {
                alive.insert(thread.id);
                needed.push(thread.head);
            }
        }
        open.extend(needed.into_iter().filter(|seq| rows.insert(*seq)));
    }
    // What an earlier pruning has reduced to its state stays unchanged if newer checkpoints that stay continue it.
    for (seq, row) in past.iter().rev() {
        let parent = row.parent.filter(|parent| past.get(parent).is_some_and(|parent| parent.is_pruned));
        if rows.contains(seq) {
            rows.extend(parent);
        }
    }
    let dead = all.into_iter().filter(|thread| owned.contains_key(&thread.id) && !alive.contains(&thread.id));
    let dead = dead.map(|thread| (thread.id, thread)).collect();
    Selection { rows, dead }
}

/// Returns the checkpoints that the policy selects, without those of subgraphs.
fn chosen(
    past: &Past,
    policy: &Policy,
    threads: &HashMap<i64, &ThreadRow>,
    owned: &HashMap<i64, i64>,
    now_ms: u64,
) -> Vec<i64> {
    let rule = |thread: i64| threads.get(&thread).map(|thread| policy.rule(&thread.name));
    let mut children: HashMap<i64, usize> = HashMap::new();
    for row in past.values() {
        row.parent.into_iter().for_each(|parent| *children.entry(parent).or_default() += 1);
    }
    let mut chosen = Vec::new();
    for (seq, row) in past.iter().filter(|(_, row)| !row.is_pruned) {
        let thread = row.thread;
        if owned.contains_key(&thread) {
            continue;
        }
        let stays = threads.get(&thread).is_none_or(|thread| !policy.may_take_from(&thread.name));
        let since = rule(thread).and_then(|rule| rule.since_ms(now_ms));
        if stays || since.is_some_and(|since| row.id.unix_ms() >= since) {
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
            let own = |seq: &i64| past[seq].thread == *id;
            let is_young = |seq: &i64| past[seq].id.unix_ms() >= since;
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
    for (seq, row) in past.iter().rev() {
        let count = branches.get(seq).copied().unwrap_or(0);
        if count > 1 && !row.is_pruned {
            found.push(*seq);
        }
        if count > 0 || stays.contains(seq) {
            row.parent.into_iter().for_each(|parent| *branches.entry(parent).or_default() += 1);
        }
    }
    found
}

/// Returns the checkpoint and those that it continues, until the first one that is not complete.
fn line(past: &Past, from: i64) -> impl Iterator<Item = i64> {
    let whole = |seq: &i64| past.get(seq).is_some_and(|row| !row.is_pruned);
    std::iter::successors(Some(from), |seq| past.get(seq)?.parent).take_while(whole)
}
