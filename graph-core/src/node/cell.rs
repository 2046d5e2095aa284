//! The data that a task's extractors share with the driver that polls the task.

mod effects;
mod replayed;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Waker;
use core::time::Duration;

use spin::Mutex;

pub(crate) use self::replayed::{Note, Tape};
use super::intent::LeftBehind;
use super::own_name::{HANDLER, own_name};
use super::policy::{OnMismatch, OnUnknown};
use super::run_cell::RunCell;
use crate::checkpoint::{
    AnsweredBy, AskRecord, Deadline, EffectId, EffectOutcome, EffectRecord, FailureRecord, Recorded,
};
use crate::error::NodeError;
use crate::id::{CheckpointId, InterruptId, NodeName, TaskId};
use crate::state::Json;

/// The data that the extractors of one task share through all attempts.
pub(crate) struct TaskCell {
    pub(crate) run: Arc<RunCell>,
    pub(crate) facts: TaskFacts,
    attempt: AtomicU32,
    /// Heartbeats, counted only if the node has an idle timeout.
    beats: AtomicU32,
    /// The data that changes. It is created on first use, because most tasks neither ask nor run effects.
    live: Mutex<Option<Box<Live>>>,
}

/// The data of a task that does not change while the task runs.
pub(crate) struct TaskFacts {
    /// The checkpoint on which the task was planned; `None` without a saver.
    pub(crate) base: Option<CheckpointId>,
    /// The task's position in its superstep.
    pub(crate) task: u32,
    /// The node's position in the graph.
    pub(crate) node: usize,
    pub(crate) step: i64,
    /// For an item of `each`: the position of the task that sent it, and the item's index.
    pub(crate) each: Option<(u32, u32)>,
    pub(crate) remaining_steps: u64,
    /// The number of attempts that the policy allows.
    pub(crate) attempts: u32,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) on_mismatch: OnMismatch,
    /// `true` if some of the task's questions or effects are stored.
    pub(crate) is_resumed: bool,
    /// `true` if heartbeats are counted.
    pub(crate) has_pulse: bool,
}

/// The attempt number while no attempt may act. The first attempt is 1.
#[cfg(feature = "tokio")]
const NO_ATTEMPT: u32 = 0;

/// The stored questions and effects of a task.
pub(crate) type Known = Option<(Vec<AskRecord>, Vec<EffectRecord>)>;

#[derive(Default)]
struct Live {
    /// Questions known from storage, with their answers if there are any.
    asks: Vec<AskRecord>,
    /// Questions asked in this attempt and not answered.
    open: Vec<AskRecord>,
    /// Keys asked in this attempt, one entry per ask.
    asked: Vec<String>,
    /// The journal: entries from storage, and those added by this process.
    effects: Vec<EffectRecord>,
    /// Journal entries added since the last read.
    recorded: Recorded,
    /// Names of effects that earlier runs performed; empty if an earlier attempt may have taken another path.
    promised: Vec<String>,
    /// The effect whose closure is being polled. Effects started meanwhile belong to it.
    inside: Option<Arc<str>>,
    /// Names and keys of effects started in this attempt, one entry per start.
    started: Vec<(String, String)>,
    /// Effects in flight.
    flying: Vec<EffectId>,
    /// Intents and outcomes of abandoned attempts.
    left_behind: Vec<LeftBehind>,
    /// The error that fails the task, whatever its code returns.
    fault: Option<NodeError>,
    /// The failure of the node, while its error handler runs.
    failure: Option<Arc<FailureRecord>>,
    /// The waker for the next heartbeat, while the task is not being polled.
    listener: Option<Waker>,
    /// `true` if the task's subgraph has stopped at a point from which it can be resumed.
    halted: bool,
}

impl Live {
    fn knowing(known: Known) -> Option<Box<Self>> {
        known.map(|(asks, effects)| {
            let happened = |effect: &EffectRecord| matches!(effect.outcome, Some(EffectOutcome::Ok(_)));
            let promised = match effects.iter().all(happened) {
                true => effects.iter().map(|effect| effect.id.name.clone()).collect(),
                false => Vec::new(),
            };
            Box::new(Self { asks, effects, promised, ..Self::default() })
        })
    }
}

/// A question about to be asked.
pub(crate) struct Asking<'a> {
    pub(crate) key: &'a str,
    /// The position of the `Ask` among the node's arguments.
    pub(crate) argument: Option<u32>,
    pub(crate) question: Json,
    /// The time to wait for an answer, and the default answer that applies after that.
    pub(crate) deadline: Option<(Duration, &'a Json)>,
}

/// The separator between the name of an effect and the name of an effect started inside its closure.
pub(crate) const INSIDE: &str = " \u{25b8} ";

impl Live {
    /// Returns the name of an effect in the journal, prefixed with the effect in whose closure it is started, if
    /// any.
    fn effect_name(&self, name: &str) -> String {
        match &self.inside {
            None => {
                let is_stored = |name: &str| self.effects.iter().any(|effect| effect.id.name == name);
                self.scoped(name, is_stored).into_owned()
            }
            Some(outer) => alloc::format!("{outer}{INSIDE}{name}"),
        }
    }

    /// Returns the stored key of a question or name of an effect, which distinguishes the error handler's from the
    /// node's.
    fn scoped<'t>(&self, text: &'t str, is_stored: impl Fn(&str) -> bool) -> Cow<'t, str> {
        match self.failure {
            None => own_name(text, is_stored),
            Some(_) => Cow::Owned(alloc::format!("{HANDLER}{text}")),
        }
    }
}

/// The state of a question that a task asks.
pub(crate) enum Asked {
    /// The question was answered before.
    Answered(Json),
    /// The question is open.
    Open(InterruptId),
}

impl TaskCell {
    pub(crate) fn new(run: Arc<RunCell>, facts: TaskFacts, known: Known) -> Self {
        let live = Mutex::new(Live::knowing(known));
        Self { run, facts, attempt: AtomicU32::new(1), beats: AtomicU32::new(0), live }
    }

    /// Turns it into the cell of another task of the same run.
    pub(crate) fn renew(&mut self, facts: TaskFacts, known: Known) {
        self.facts = facts;
        *self.attempt.get_mut() = 1;
        *self.beats.get_mut() = 0;
        *self.live.get_mut() = Live::knowing(known);
    }

    /// Returns the name of the task's node.
    pub(crate) fn node(&self) -> &NodeName {
        &self.run.nodes[self.facts.node]
    }

    /// Returns the place of the task: see [`TaskInfo::place`](super::TaskInfo::place).
    pub(crate) fn task_place(&self) -> String {
        let place = |cell: &Self| {
            let TaskFacts { step, each, .. } = cell.facts;
            match each {
                Some((sender, item)) => alloc::format!("{}.{step}#{sender}.{item}", cell.node()),
                None => alloc::format!("{}.{step}", cell.node()),
            }
        };
        let mut places: Vec<String> = self.outwards().map(place).collect();
        places.reverse();
        places.join("/")
    }

    /// Iterates over this task and the tasks whose subgraphs contain it, up to the graph at the top.
    pub(crate) fn outwards(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |cell| cell.run.around.as_ref().map(|around| around.cell()))
    }

    /// Returns the task's id. It is derived from the base checkpoint, so a task without a saver has none.
    pub(crate) fn task_id(&self) -> Option<TaskId> {
        let TaskFacts { base, step, each, .. } = self.facts;
        base.map(|base| TaskId::derive(base, "", step, self.node(), each))
    }

    /// Returns the task's id, or, without a saver, an id that differs from those of other runs.
    pub(crate) fn any_task_id(&self) -> TaskId {
        let TaskFacts { step, each, .. } = self.facts;
        self.task_id().unwrap_or_else(|| {
            let run = CheckpointId(self.run.run.0);
            TaskId::derive(run, "", step, self.node(), each)
        })
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt.load(Ordering::Acquire)
    }

    /// Ends the attempt early: it starts no further effects.
    #[cfg(feature = "tokio")]
    pub(crate) fn retire(&self) {
        self.attempt.store(NO_ATTEMPT, Ordering::Release);
        self.run.revoked.wake();
    }

    /// Starts another attempt and clears the data of the previous one, except the journal.
    pub(crate) fn restart(&self, attempt: u32) {
        self.attempt.store(attempt, Ordering::Release);
        self.run.revoked.wake();
        if let Some(live) = self.live.lock().as_mut() {
            live.open.clear();
            live.asked.clear();
            live.started.clear();
            live.flying.clear();
            live.fault = None;
            live.inside = None;
            live.listener = None;
            live.halted = false;
        }
    }

    /// Hands the task over to the node's error handler.
    pub(crate) fn hand_over(&self, failure: Arc<FailureRecord>) {
        self.live.lock().get_or_insert_default().failure = Some(failure);
    }

    /// Returns the failure, while the error handler runs.
    pub(crate) fn failure(&self) -> Option<Arc<FailureRecord>> {
        self.live.lock().as_ref()?.failure.clone()
    }

    /// Records a heartbeat of `attempt`.
    pub(crate) fn beat(&self, attempt: u32) {
        if !self.facts.has_pulse || attempt != self.attempt() {
            return;
        }
        self.beats.fetch_add(1, Ordering::AcqRel);
        let listener = self.live.lock().as_mut().and_then(|live| live.listener.take());
        if let Some(listener) = listener {
            listener.wake();
        }
    }

    /// Returns the number of heartbeats.
    pub(crate) fn beats(&self) -> u32 {
        self.beats.load(Ordering::Acquire)
    }

    /// Sets the waker for the next heartbeat; `None` while the task is polled and checks the count itself.
    pub(crate) fn listen(&self, listener: Option<Waker>) {
        self.live.lock().get_or_insert_default().listener = listener;
    }

    /// Returns `true` if `attempt` may still act.
    pub(crate) fn is_current(&self, attempt: u32) -> bool {
        attempt == self.attempt() && !self.run.is_revoked()
    }

    /// Makes the task fail at the end of this poll.
    pub(crate) fn fault(&self, error: NodeError) {
        self.live.lock().get_or_insert_default().fault.get_or_insert(error);
    }

    /// Takes the error that fails the task, whatever its code returns.
    pub(crate) fn take_fault(&self) -> Option<NodeError> {
        self.live.lock().as_mut()?.fault.take()
    }

    /// Takes the open questions of a pending task that only waits for answers; `None` while an effect is in flight.
    pub(crate) fn take_open(&self) -> Option<Vec<AskRecord>> {
        let mut live = self.live.lock();
        let live = live.as_mut()?;
        if (live.open.is_empty() && !live.halted) || !live.flying.is_empty() {
            return None;
        }
        Some(core::mem::take(&mut live.open))
    }

    /// Returns the known effects of the task, for a task that runs a subgraph and has no effects of its own.
    #[cfg(feature = "tokio")]
    pub(crate) fn journal(&self) -> Vec<EffectRecord> {
        let mut live = self.live.lock();
        let Some(live) = live.as_mut() else { return Vec::new() };
        live.promised.clear();
        live.effects.clone()
    }

    /// Returns the answered questions of this task's subgraph.
    pub(crate) fn answered_below(&self) -> Vec<AskRecord> {
        let live = self.live.lock();
        let asks = live.iter().flat_map(|live| &live.asks);
        asks.filter(|ask| !ask.path.is_empty() && !ask.is_open()).cloned().collect()
    }

    /// Ends this attempt once it is pending: the task waits for `asks` of its subgraph, or only for a resume.
    pub(crate) fn halt(&self, asks: Vec<AskRecord>) {
        let mut live = self.live.lock();
        let live = live.get_or_insert_default();
        live.halted = true;
        live.open = asks;
    }

    /// Asks a question of the task `task`: returns the answer if there is one, otherwise opens the question.
    pub(crate) fn ask(&self, task: TaskId, asking: Asking<'_>) -> Asked {
        let Asking { key, argument, question, deadline } = asking;
        let mut live = self.live.lock();
        let live = live.get_or_insert_default();
        let is_stored = |key: &str| live.asks.iter().any(|ask| ask.key == key);
        let key = &*live.scoped(key, is_stored);
        let occurrence = count(live.asked.iter().filter(|asked| *asked == key));
        live.asked.push(key.to_string());
        let id = InterruptId::derive(task, key, occurrence, question.as_str());
        if let Some(answer) = self.play_answer(argument, key, occurrence) {
            return Asked::Answered(answer);
        }
        match live.asks.iter().find(|ask| ask.id == id) {
            Some(AskRecord { answer: Some(answer), .. }) => {
                self.tape_answer(key, occurrence, &question, answer);
                return Asked::Answered(answer.clone());
            }
            // The deadline that was stored when the question was first asked applies.
            Some(asked) => live.open.push(asked.clone()),
            None => live.open.push(AskRecord {
                id,
                task,
                node: self.node().clone(),
                path: Vec::new(),
                key: key.to_string(),
                argument,
                question,
                deadline: deadline.map(|(limit, default)| Deadline {
                    at_ms: self.run.ambient.now_ms().saturating_add(millis(limit)),
                    default: default.clone(),
                }),
                answer: None,
                answered_by: AnsweredBy::default(),
            }),
        }
        Asked::Open(id)
    }

    /// Withdraws a question of `attempt` that is no longer awaited.
    pub(crate) fn withdraw(&self, attempt: u32, id: InterruptId) {
        if attempt == self.attempt() {
            self.live.lock().get_or_insert_default().open.retain(|ask| ask.id != id);
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
