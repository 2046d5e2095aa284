//! The rows of the in-memory saver.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::life::{self, Admitted, Beat, Cancelled, Decision, Ending, RunChange, Runs};
use super::{
    AssistantQuery, AssistantRow, CancelAction, CronQuery, CronRow, EventRow, Found, Heartbeat, Records,
    RunClaim, RunQuery, RunRow, ThreadChange, ThreadQuery, ThreadRow, ThreadStatus,
};
use crate::checkpoint::StoreError;
use crate::id::{NodeName, ThreadId};

/// The rows in memory.
#[derive(Default)]
pub(crate) struct MemoryRecords(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    threads: BTreeMap<ThreadId, Held>,
    /// The runs in the order of their creation.
    runs: BTreeMap<u64, RunRow>,
    last_run: u64,
    assistants: BTreeMap<String, Assistant>,
    crons: BTreeMap<String, CronRow>,
    /// The times at which events of runs expire.
    expiring: BTreeMap<(ThreadId, String), u64>,
}

struct Held {
    row: ThreadRow,
    /// The status without active runs.
    resting: ThreadStatus,
    /// The number of the next event to be reserved.
    next_event: u64,
    events: BTreeMap<u64, EventRow>,
}

struct Assistant {
    current: u32,
    versions: BTreeMap<u32, AssistantRow>,
}

impl MemoryRecords {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the rows of a thread.
    pub(crate) fn delete(&self, thread: &ThreadId) -> bool {
        let mut rows = self.rows();
        rows.runs.retain(|_, run| run.thread != *thread);
        rows.crons.retain(|_, cron| cron.thread.as_ref() != Some(thread));
        rows.expiring.retain(|(of, _), _| of != thread);
        rows.threads.remove(thread).is_some()
    }
}

impl Rows {
    fn held(&mut self, thread: &ThreadId) -> Result<&mut Held, StoreError> {
        self.threads.get_mut(thread).ok_or_else(|| StoreError::NoThread(thread.clone()))
    }

    fn run(&self, id: &str) -> Option<(u64, &RunRow)> {
        self.runs.iter().find(|(_, run)| run.id == id).map(|(number, run)| (*number, run))
    }

    /// Returns the runs of a thread that have not ended, oldest first.
    fn active<'r>(&'r self, thread: &'r ThreadId) -> impl Iterator<Item = &'r RunRow> {
        self.runs.values().filter(move |run| run.thread == *thread && !run.status.is_terminal())
    }

    fn change(&mut self, thread: &ThreadId, change: ThreadChange, now_ms: u64) -> Option<ThreadRow> {
        let runs = match self.active(thread).next() {
            Some(_) => Runs::Active,
            None => Runs::Over,
        };
        let held = self.threads.get_mut(thread)?;
        life::change(&mut held.row, &mut held.resting, change, runs, now_ms);
        Some(held.row.clone())
    }

    /// Stores a decision about runs of a thread, and returns its answer.
    fn carry_out<T>(&mut self, thread: &ThreadId, decision: Decision<T>, now_ms: u64) -> T {
        for change in decision.runs {
            match change {
                RunChange::Store(run) => {
                    if let Some((number, _)) = self.run(&run.id) {
                        self.runs.insert(number, run);
                    }
                }
                RunChange::Delete(id) => self.runs.retain(|_, run| run.id != id),
            }
        }
        if let Some(change) = decision.thread {
            self.change(thread, change, now_ms);
        }
        decision.answer
    }
}

impl Assistant {
    fn current(&self) -> Option<&AssistantRow> {
        self.versions.get(&self.current)
    }
}

#[async_trait]
impl Records for MemoryRecords {
    async fn insert_thread(&self, thread: ThreadRow) -> Result<(ThreadRow, bool), StoreError> {
        let mut rows = self.rows();
        if let Some(held) = rows.threads.get(&thread.id) {
            return Ok((held.row.clone(), false));
        }
        let held =
            Held { row: thread.clone(), resting: thread.status, next_event: 1, events: BTreeMap::new() };
        rows.threads.insert(thread.id.clone(), held);
        Ok((thread, true))
    }

    async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRow>, StoreError> {
        Ok(self.rows().threads.get(thread).map(|held| held.row.clone()))
    }

    async fn change_thread(
        &self,
        thread: &ThreadId,
        change: ThreadChange,
        now_ms: u64,
    ) -> Result<Option<ThreadRow>, StoreError> {
        Ok(self.rows().change(thread, change, now_ms))
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        Ok(self.delete(thread))
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
        Ok(query.page(self.rows().threads.values().map(|held| held.row.clone())))
    }

    async fn create_run(&self, run: RunRow) -> Result<Admitted, StoreError> {
        let now_ms = run.created_ms;
        let mut rows = self.rows();
        rows.held(&run.thread)?;
        if rows.run(&run.id).is_some() {
            return Ok(Admitted::Exists);
        }
        let active: Vec<RunRow> = rows.active(&run.thread).cloned().collect();
        let decision = life::admit(&run, &active, now_ms);
        if matches!(decision.answer, Admitted::Stored { .. }) {
            let number = rows.last_run + 1;
            rows.last_run = number;
            rows.runs.insert(number, life::pending(run.clone()));
        }
        Ok(rows.carry_out(&run.thread, decision, now_ms))
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        Ok(self.rows().run(id).map(|(_, run)| run.clone()))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
        Ok(query.page(self.rows().runs.values().rev()))
    }

    async fn claim_run(&self, claim: &RunClaim, now_ms: u64) -> Result<Option<RunRow>, StoreError> {
        let mut rows = self.rows();
        let mut active: BTreeMap<&ThreadId, Vec<&RunRow>> = BTreeMap::new();
        for run in rows.runs.values().filter(|run| !run.status.is_terminal()) {
            active.entry(&run.thread).or_default().push(run);
        }
        let next = |run: &&RunRow| {
            let of_thread = active.get(&run.thread).and_then(|active| life::next(active, now_ms));
            let is_wanted = claim.graphs.contains(&run.graph) && !claim.left.contains(&run.id);
            is_wanted && of_thread.is_some_and(|next| next.id == run.id)
        };
        let Some(number) = rows.runs.iter().find(|(_, run)| next(run)).map(|(number, _)| *number) else {
            return Ok(None);
        };
        let claimed = rows.runs.remove(&number).map(|run| life::claim(run, claim, now_ms));
        rows.runs.extend(claimed.clone().map(|run| (number, run)));
        Ok(claimed)
    }

    async fn beat(&self, heartbeats: &[Heartbeat], until_ms: u64) -> Result<Vec<Beat>, StoreError> {
        let mut rows = self.rows();
        let beat = |heartbeat: &Heartbeat| {
            let held = rows.runs.values_mut().find(|held| held.id == heartbeat.run);
            let answer = life::beat(held.as_deref(), heartbeat.attempt);
            if let Some(held) = held.filter(|_| answer != Beat::Lost) {
                *held = life::extended(held.clone(), heartbeat, until_ms);
            }
            answer
        };
        Ok(heartbeats.iter().map(beat).collect())
    }

    async fn finish_run(
        &self,
        run: &str,
        attempt: u32,
        ending: Ending,
        last: Option<EventRow>,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let Some(row) = rows.run(run).map(|(_, run)| run.clone()) else { return Ok(false) };
        let decision = life::finish(Some(&row), attempt, ending, now_ms);
        let is_finished = rows.carry_out(&row.thread, decision, now_ms);
        if let Some(event) = last.filter(|_| is_finished) {
            rows.held(&event.thread)?.events.insert(event.seq, event);
        }
        Ok(is_finished)
    }

    async fn cancel_run(
        &self,
        run: &str,
        action: CancelAction,
        now_ms: u64,
    ) -> Result<Cancelled, StoreError> {
        let mut rows = self.rows();
        let Some(row) = rows.run(run).map(|(_, run)| run.clone()) else { return Ok(Cancelled::Over) };
        let decision = life::cancel(Some(&row), action, now_ms);
        Ok(rows.carry_out(&row.thread, decision, now_ms))
    }

    async fn delete_run(&self, run: &str) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let ended = rows.run(run).filter(|(_, run)| run.status.is_terminal());
        let Some((number, thread)) = ended.map(|(number, run)| (number, run.thread.clone())) else {
            return Ok(false);
        };
        rows.runs.remove(&number);
        if let Ok(held) = rows.held(&thread) {
            held.events.retain(|_, event| event.run != run);
        }
        rows.expiring.remove(&(thread, run.to_string()));
        Ok(true)
    }

    async fn claim_call(
        &self,
        graphs: &[NodeName],
        until_ms: u64,
        now_ms: u64,
    ) -> Result<Option<RunRow>, StoreError> {
        let mut rows = self.rows();
        let due = |run: &&mut RunRow| graphs.contains(&run.graph) && life::is_call_due(run, now_ms);
        let next = rows.runs.values_mut().filter(due).min_by_key(|run| run.calls.map(|calls| calls.next_ms));
        Ok(next.map(|run| {
            *run = life::claim_call(run.clone(), until_ms);
            run.clone()
        }))
    }

    async fn finish_call(&self, run: &str, call: u32, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let held = rows.runs.values_mut().find(|held| held.id == run);
        let changed = held.and_then(|held| Some((life::finish_call(held, call, next_ms)?, held)));
        Ok(changed.map(|(row, held)| *held = row).is_some())
    }

    async fn put_assistant(&self, assistant: AssistantRow) -> Result<(AssistantRow, bool), StoreError> {
        let mut rows = self.rows();
        let held = rows.assistants.get(&assistant.id);
        let newest = held.and_then(|held| held.versions.keys().next_back().copied()).unwrap_or(0);
        match held.and_then(Assistant::current) {
            _ if assistant.version == newest + 1 => {}
            Some(current) => return Ok((current.clone(), false)),
            None => return Err(StoreError::NoAssistant(assistant.id)),
        }
        let held = rows.assistants.entry(assistant.id.clone());
        let held = held.or_insert_with(|| Assistant { current: 1, versions: BTreeMap::new() });
        held.current = assistant.version;
        held.versions.insert(assistant.version, assistant.clone());
        Ok((assistant, true))
    }

    async fn assistant(&self, id: &str) -> Result<Option<AssistantRow>, StoreError> {
        Ok(self.rows().assistants.get(id).and_then(|held| held.current().cloned()))
    }

    async fn assistants(&self, query: &AssistantQuery) -> Result<Found<AssistantRow>, StoreError> {
        Ok(query.page(self.rows().assistants.values().filter_map(|held| held.current().cloned())))
    }

    async fn versions(&self, assistant: &str) -> Result<Vec<AssistantRow>, StoreError> {
        let rows = self.rows();
        let versions = rows.assistants.get(assistant).map(|held| held.versions.values().rev().cloned());
        Ok(versions.map(Iterator::collect).unwrap_or_default())
    }

    async fn set_version(
        &self,
        assistant: &str,
        version: u32,
        now_ms: u64,
    ) -> Result<Option<AssistantRow>, StoreError> {
        let mut rows = self.rows();
        let Some(held) = rows.assistants.get_mut(assistant) else { return Ok(None) };
        let Some(row) = held.versions.get_mut(&version) else { return Ok(None) };
        row.updated_ms = now_ms;
        held.current = version;
        Ok(Some(row.clone()))
    }

    async fn delete_assistant(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.rows().assistants.remove(id).is_some())
    }

    async fn put_cron(&self, cron: CronRow) -> Result<(), StoreError> {
        let mut rows = self.rows();
        if let Some(thread) = &cron.thread {
            rows.held(thread)?;
        }
        rows.crons.insert(cron.id.clone(), cron);
        Ok(())
    }

    async fn cron(&self, id: &str) -> Result<Option<CronRow>, StoreError> {
        Ok(self.rows().crons.get(id).cloned())
    }

    async fn crons(&self, query: &CronQuery) -> Result<Found<CronRow>, StoreError> {
        Ok(query.page(self.rows().crons.values().cloned()))
    }

    async fn advance_cron(&self, id: &str, due_ms: u64, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        match rows.crons.get_mut(id) {
            Some(cron) if cron.next_ms == Some(due_ms) => {
                cron.next_ms = next_ms;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    async fn delete_cron(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.rows().crons.remove(id).is_some())
    }

    async fn reserve_events(&self, thread: &ThreadId, count: u64) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let held = rows.held(thread)?;
        let first = held.next_event;
        held.next_event += count;
        Ok(first)
    }

    async fn release_events(&self, thread: &ThreadId, next: u64, reserved_to: u64) -> Result<(), StoreError> {
        let mut rows = self.rows();
        let held = rows.held(thread)?;
        let stored = held.events.keys().next_back().copied();
        held.next_event = life::release(held.next_event, next, reserved_to, stored);
        Ok(())
    }

    async fn append_events(&self, attempt: u32, events: Vec<EventRow>) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        events.iter().try_for_each(|event| rows.held(&event.thread).map(drop))?;
        let is_held = |event: &EventRow| {
            let run = rows.run(&event.run);
            run.is_some_and(|(_, run)| life::is_held(run, attempt))
        };
        if !events.iter().all(is_held) {
            return Ok(false);
        }
        for event in events {
            rows.held(&event.thread)?.events.insert(event.seq, event);
        }
        Ok(true)
    }

    async fn events(
        &self,
        thread: &ThreadId,
        run: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let rows = self.rows();
        let Some(held) = rows.threads.get(thread) else { return Ok(Vec::new()) };
        let later = held.events.range(after.map_or(0, |after| after.saturating_add(1))..);
        let events = later.map(|(_, event)| event).filter(|event| run.is_none_or(|run| run == event.run));
        Ok(events.take(limit).cloned().collect())
    }

    async fn expire_events(&self, thread: &ThreadId, run: &str, at_ms: u64) -> Result<(), StoreError> {
        let mut rows = self.rows();
        rows.held(thread)?;
        rows.expiring.insert((thread.clone(), run.to_string()), at_ms);
        Ok(())
    }

    async fn sweep(&self, now_ms: u64, limit: usize) -> Result<Vec<ThreadRow>, StoreError> {
        let mut rows = self.rows();
        let Rows { expiring, threads, runs, .. } = &mut *rows;
        expiring.retain(|(thread, run), at_ms| {
            let held = threads.get_mut(thread).filter(|_| *at_ms <= now_ms);
            held.map(|held| held.events.retain(|_, event| event.run != *run)).is_none()
        });
        let called =
            |thread: &ThreadId| runs.values().all(|run| run.thread != *thread || run.calls.is_none());
        let is_over = |row: &&ThreadRow| {
            row.status != ThreadStatus::Busy
                && row.expiry.is_some_and(|expiry| expiry.at_ms <= now_ms)
                && called(&row.id)
        };
        let mut over: Vec<ThreadRow> =
            threads.values().map(|held| &held.row).filter(is_over).cloned().collect();
        over.sort_by_key(|row| row.expiry.map(|expiry| expiry.at_ms));
        over.truncate(limit);
        Ok(over)
    }
}
