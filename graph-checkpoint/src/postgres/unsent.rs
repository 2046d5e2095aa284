//! Results that the holder of a lease records without waiting.
//!
//! Only the holder's runs write to its threads, so it need not know at once which result of a task counts. Its results are
//! sent in the background, all that have gathered in one statement, and a commit carries the numbers of those that are not
//! stored yet. It compares them with what is stored, so a result that another program recorded first is found then.
//! [`flush`](Session::flush) waits until all are stored.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::{LeaseRecord, Recorded, StoreError, TaskResult};
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use tokio_postgres::types::Type;

use super::database::Repeat;
use super::session::Session;
use super::stored::Texts;
use super::work::Onto;

/// The holder of a lease, with its results that are not stored yet.
pub(crate) struct Holder {
    pub(crate) lease: LeaseRecord,
    threads: Mutex<HashMap<ThreadId, Unsent>>,
}

/// The results of a superstep.
struct Unsent {
    base: CheckpointId,
    results: Vec<Stored>,
    /// `true` while a task sends them.
    is_sending: bool,
}

/// A result in its stored form.
#[derive(Clone)]
struct Stored {
    result: TaskResult,
    text: String,
    number: String,
    /// The stored form of the same result without targets, which this one completes.
    without: Option<String>,
    /// `true` if this one replaces a result that may be stored.
    completes: bool,
    is_stored: bool,
}

impl Stored {
    fn of(texts: &Texts, result: &TaskResult) -> Result<Self, StoreError> {
        let bare = TaskResult { targets: None, handled: None, ..result.clone() };
        Ok(Self {
            text: texts.result(result)?,
            number: texts.number(Recorded::of(std::slice::from_ref(result), &[]))?,
            without: result.targets.is_some().then(|| texts.result(&bare)).transpose()?,
            result: result.clone(),
            completes: false,
            is_stored: false,
        })
    }
}

impl Holder {
    pub(crate) fn new(lease: LeaseRecord) -> Self {
        Self { lease, threads: Mutex::default() }
    }

    fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, Unsent>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a result, or completes the one of the same task. Returns the result that counts here, and `true` if a task has
    /// to send it.
    fn add(
        &self,
        texts: &Texts,
        onto: Onto<'_>,
        result: &TaskResult,
    ) -> Result<(TaskResult, bool), StoreError> {
        let mut threads = self.threads();
        let new = || Unsent { base: onto.base, results: Vec::new(), is_sending: false };
        let unsent = threads.entry(onto.thread.clone()).or_insert_with(new);
        if unsent.base != onto.base {
            *unsent = new();
        }
        let counts = match unsent.results.iter_mut().find(|held| held.result.task == result.task) {
            None => {
                unsent.results.push(Stored::of(texts, result)?);
                result.clone()
            }
            Some(held) if held.result.targets.is_some() || result.targets.is_none() => {
                return Ok((held.result.clone(), false));
            }
            Some(held) => {
                let (targets, handled) = (result.targets.clone(), result.handled.clone());
                let completed = TaskResult { targets, handled, ..held.result.clone() };
                let without = Some(held.text.clone());
                *held = Stored { without, completes: true, ..Stored::of(texts, &completed)? };
                completed
            }
        };
        Ok((counts, !std::mem::replace(&mut unsent.is_sending, true)))
    }

    /// Returns the results of a thread that are not stored, with their checkpoint. Without any, nothing is sent any longer.
    fn unstored(&self, thread: &ThreadId) -> Option<(CheckpointId, Vec<Stored>)> {
        let mut threads = self.threads();
        let unsent = threads.get_mut(thread)?;
        let results: Vec<Stored> =
            unsent.results.iter().filter(|result| !result.is_stored).cloned().collect();
        if results.is_empty() {
            unsent.is_sending = false;
            return None;
        }
        Some((unsent.base, results))
    }

    fn stored(&self, thread: &ThreadId, base: CheckpointId, stored: &[Stored]) {
        let mut threads = self.threads();
        let unsent = threads.get_mut(thread).filter(|unsent| unsent.base == base);
        for held in unsent.into_iter().flat_map(|unsent| &mut unsent.results) {
            held.is_stored |= stored.iter().any(|stored| stored.text == held.text);
        }
    }

    fn stopped(&self, thread: &ThreadId) {
        if let Some(unsent) = self.threads().get_mut(thread) {
            unsent.is_sending = false;
        }
    }

    /// Forgets the results of a thread, because its head has moved.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        self.threads().remove(thread);
    }
}

impl Session {
    /// Records a result of the holder of a lease, without waiting.
    pub(crate) fn record_later(
        &self,
        holder: &Arc<Holder>,
        onto: Onto<'_>,
        result: &TaskResult,
    ) -> Result<TaskResult, StoreError> {
        let (counts, starts) = holder.add(self.texts(), onto, result)?;
        if starts {
            let (session, holder, thread) = (self.clone(), Arc::clone(holder), onto.thread.clone());
            tokio::spawn(async move {
                while let Some((base, results)) = holder.unstored(&thread) {
                    if session.send_results(&thread, base, &results).await.is_err() {
                        // The commit or the flush, for which the caller waits, returns the error.
                        return holder.stopped(&thread);
                    }
                    holder.stored(&thread, base, &results);
                }
            });
        }
        Ok(counts)
    }

    async fn send_results(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        results: &[Stored],
    ) -> Result<(), StoreError> {
        let onto = self.onto(thread, base);
        let tasks: Vec<&[u8]> = results.iter().map(|stored| &stored.result.task.as_bytes()[..]).collect();
        let texts: Vec<&str> = results.iter().map(|stored| &*stored.text).collect();
        let numbers: Vec<&str> = results.iter().map(|stored| &*stored.number).collect();
        let without: Vec<Option<&str>> = results.iter().map(|stored| stored.without.as_deref()).collect();
        let call = onto.call("record_all").argument(tasks, Type::BYTEA_ARRAY);
        let call = call.argument(texts, Type::TEXT_ARRAY).argument(numbers, Type::TEXT_ARRAY);
        self.write(onto, &call.argument(without, Type::TEXT_ARRAY), Repeat::Always).await.map(drop)
    }

    /// Waits until all results of a thread are stored. Returns `false` if there was none to store.
    pub(crate) async fn flush(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        let Some(holder) = self.holder() else { return Ok(false) };
        let Some((base, results)) = holder.unstored(thread) else { return Ok(false) };
        // Those that are being sent are stored once.
        self.send_results(thread, base, &results).await?;
        holder.stored(thread, base, &results);
        Ok(true)
    }

    /// Returns the tasks and the numbers of the results on `base` that are not stored, for the commit that continues it.
    pub(crate) async fn unstored(
        &self,
        thread: &ThreadId,
        base: Option<CheckpointId>,
    ) -> Result<(Vec<TaskId>, Vec<String>), StoreError> {
        let unstored = self.holder().and_then(|holder| holder.unstored(thread));
        let Some((_, results)) = unstored.filter(|(on, _)| Some(*on) == base) else {
            return Ok(Default::default());
        };
        // What is stored of these has another number.
        if self.texts().encryption.is_some() || results.iter().any(|result| result.completes) {
            self.flush(thread).await?;
            return Ok(Default::default());
        }
        Ok(results.into_iter().map(|stored| (stored.result.task, stored.number)).unzip())
    }
}
