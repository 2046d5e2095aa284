//! Checks that the ends of branches exist and are complete.

use std::collections::HashSet;

use super::known::{Outlined, read};
use super::{Check, Finding, problem};
use crate::history::rows::ThreadRow;
use crate::sqlite::history::branch;

impl Check<'_> {
    pub(super) fn branches(&mut self) {
        let mut rows = Vec::new();
        self.findings.guard("branch", || branch::check(self.connection, |end| rows.push(end)));
        let mut led_to: HashSet<i64> = HashSet::new();
        for end in rows {
            let (thread, problem) = match end {
                Err(error) => (None, problem(error)),
                Ok(end) => {
                    led_to.insert(end.seq);
                    let thread = self.known.threads.get(&end.thread).cloned();
                    match self.known.checkpoints.get(&end.seq) {
                        _ if thread.is_none() => {
                            (None, format!("it belongs to thread row {}, which is missing", end.thread))
                        }
                        Some(known) if known.thread == end.thread => continue,
                        Some(_) => (thread, format!("it names checkpoint row {} of another thread", end.seq)),
                        None => (thread, format!("it names checkpoint row {}, which is missing", end.seq)),
                    }
                }
            };
            self.findings.0.push(Finding { table: "branch", row: None, thread, checkpoint: None, problem });
        }
        // A parent or a head that is missing or unknown was already reported.
        let is_there = |seq: i64| self.known.checkpoints.contains_key(&seq);
        let torn =
            self.known.checkpoints.values().filter(|known| known.parent.is_some_and(|seq| !is_there(seq)));
        let mut torn: HashSet<i64> = torn.map(|known| known.thread).collect();
        for thread in self.known.threads.keys() {
            match ThreadRow::get(self.connection, *thread) {
                Ok(row) if is_there(row.head) => drop(led_to.insert(row.head)),
                _ => drop(torn.insert(*thread)),
            }
        }
        let names = "SELECT checkpoint FROM named";
        led_to.extend(
            self.findings.guard("named", || read(self.connection, names, |row| row.get::<_, i64>(0))),
        );
        led_to.extend(self.known.checkpoints.values().filter_map(|known| known.parent));
        let is_lost = |seq: i64, known: &Outlined| {
            let thread = &known.thread;
            !led_to.contains(&seq) && self.known.threads.contains_key(thread) && !torn.contains(thread)
        };
        let all = self.known.checkpoints.iter().filter(|(seq, known)| is_lost(**seq, known));
        let lost: Vec<i64> = all.map(|(seq, _)| *seq).collect();
        for seq in lost {
            self.found(
                "checkpoint",
                seq,
                seq,
                "nothing leads to it: a newer checkpoint or a row of branch is missing",
            );
        }
    }
}
