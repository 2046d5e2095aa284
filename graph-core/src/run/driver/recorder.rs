//! The recorder, which keeps emitted events until the checkpoint of their superstep stores them.
//!
//! ```text
//! Emit ─► Recorder ─► EventLog                                  observers, at once
//!            │
//!            ├─ a task finishes beside others ─► TaskResult     with its result, in case the superstep does not end
//!            └─ the superstep ends ────────────► Commit         with its checkpoint, in one transaction
//! ```
//!
//! Only the events of the attempt that finished a task are stored. Those of a failed or paused attempt are emitted
//! again by the next one.

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::vec::Vec;

use crate::checkpoint::{Emitted, EmittedEvent, TaskResult};
use crate::node::{CustomSink, TaskCell};
use crate::run::runtime::ambient::Ambient;
use crate::run::runtime::event::EventLog;
use crate::run::runtime::shared::Runtime;
use crate::state::Json;

/// The maximum number of bytes of emitted events kept for a superstep, unless the graph sets another one.
pub(crate) const EMITTED_BYTES: usize = 1 << 20;

/// The events that the tasks of the running superstep have emitted.
pub(crate) struct Recorder {
    ambient: Arc<dyn Ambient>,
    log: Option<Arc<EventLog>>,
    /// The size limit for one superstep, in bytes.
    bytes: usize,
    kept: Mutex<EmittedSoFar>,
}

#[derive(Default)]
struct EmittedSoFar {
    /// The current superstep. The first event of another superstep replaces it.
    step: i64,
    tasks: BTreeMap<u32, Buffer>,
}

#[derive(Default)]
struct Buffer {
    attempt: u32,
    size: usize,
    dropped: u64,
    events: VecDeque<EmittedEvent>,
}

impl Buffer {
    fn push(&mut self, event: EmittedEvent, bytes: usize) {
        self.size += event.size();
        self.events.push_back(event);
        while self.size > bytes
            && let Some(oldest) = self.events.pop_front()
        {
            self.size -= oldest.size();
            self.dropped += 1;
        }
    }

    fn emitted(&self) -> Emitted {
        Emitted { dropped: self.dropped, events: self.events.iter().cloned().collect() }
    }
}

impl From<&Emitted> for Buffer {
    fn from(emitted: &Emitted) -> Self {
        let Emitted { dropped, events } = emitted.clone();
        Self { attempt: 0, size: emitted.size(), dropped, events: events.into() }
    }
}

impl Recorder {
    /// Creates the recorder of a run, if its events are kept.
    pub(crate) fn of(
        runtime: &Runtime,
        log: Option<&Arc<EventLog>>,
        bytes: Option<usize>,
    ) -> Option<Arc<Self>> {
        let bytes = bytes.filter(|_| runtime.saver.is_some())?;
        Some(Arc::new(Self::new(runtime, log.cloned(), bytes)))
    }

    fn new(runtime: &Runtime, log: Option<Arc<EventLog>>, bytes: usize) -> Self {
        Self { ambient: Arc::clone(&runtime.ambient), log, bytes, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, EmittedSoFar> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, task: &TaskCell, attempt: u32, event: EmittedEvent) {
        let mut kept = self.kept();
        let Some(tasks) = kept.of_step(task.facts.step) else { return };
        let buffer = tasks.entry(task.facts.task).or_default();
        if buffer.attempt < attempt {
            *buffer = Buffer { attempt, ..Buffer::default() };
        }
        if buffer.attempt == attempt {
            buffer.push(event, self.bytes);
        }
    }

    /// Discards the events of a task that did not finish, because it will emit them again.
    pub(crate) fn forget(&self, task: u32) {
        self.kept().tasks.remove(&task);
    }

    /// Returns the events that a finished task has emitted; `None` if there are none.
    pub(crate) fn of_task(&self, task: u32) -> Option<Emitted> {
        let kept = self.kept();
        kept.tasks.get(&task).map(Buffer::emitted).filter(|emitted| !emitted.is_empty())
    }

    /// Takes the events that the tasks of a superstep emitted, by the tasks' positions. If they exceed the size
    /// limit, those that a rebuilt log would contain first are dropped.
    pub(crate) fn take(&self, step: i64) -> Vec<(u32, Emitted)> {
        let mut kept = self.kept();
        let tasks = kept.of_step(step).map(take).unwrap_or_default();
        drop(kept);
        let mut room = self.bytes;
        let mut all = Vec::with_capacity(tasks.len());
        for (task, buffer) in tasks.iter().rev() {
            let mut emitted = buffer.emitted();
            emitted.trim(room);
            room -= emitted.size();
            if !emitted.is_empty() {
                all.push((*task, emitted));
            }
        }
        all.reverse();
        all
    }
}

impl EmittedSoFar {
    /// Returns the events emitted in the superstep `step`, by task; `None` if that superstep is over.
    fn of_step(&mut self, step: i64) -> Option<&mut BTreeMap<u32, Buffer>> {
        if step > self.step {
            self.step = step;
            self.tasks.clear();
        }
        (step == self.step).then_some(&mut self.tasks)
    }
}

impl CustomSink for Recorder {
    fn custom(&self, task: &TaskCell, attempt: u32, name: &str, data: Json) {
        let at_ms = self.ambient.now_ms();
        self.keep(task, attempt, EmittedEvent::Custom { at_ms, name: name.into(), data: data.clone() });
        if let Some(log) = &self.log {
            log.custom(task, attempt, name, data);
        }
    }

    fn message(&self, task: &TaskCell, attempt: u32, chunk: Json) {
        let at_ms = self.ambient.now_ms();
        self.keep(task, attempt, EmittedEvent::Message { at_ms, chunk: chunk.clone() });
        if let Some(log) = &self.log {
            log.message(task, attempt, chunk);
        }
    }

    fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        self.log.as_ref().map_or(Poll::Ready(()), |log| log.poll_room(context))
    }
}

/// Restores the events of a task that was finished by another run, or by another driver of this one. They are kept
/// even if this run does not keep the events of its own tasks.
pub(crate) fn restore_emitted(
    recorder: &mut Option<Arc<Recorder>>,
    runtime: &Runtime,
    step: i64,
    task: u32,
    result: &TaskResult,
) {
    let Some(emitted) = &result.emitted else {
        if let Some(tasks) = recorder.as_ref().map(|recorder| recorder.kept()).as_mut() {
            tasks.tasks.remove(&task);
        }
        return;
    };
    let recorder = recorder
        .get_or_insert_with(|| Arc::new(Recorder::new(runtime, None, emitted.size().max(EMITTED_BYTES))));
    if let Some(tasks) = recorder.kept().of_step(step) {
        tasks.insert(task, Buffer::from(&**emitted));
    }
}
