//! The state that drivers, nodes and store share: randomness, waiting events, and the record of events.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use superstep::checkpoint::StoreError;
use superstep::run::Ambient;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::dice::Dice;
use crate::facts::Facts;

/// The world of one seed.
#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<Inner>>);

pub(crate) struct Inner {
    pub(crate) dice: Dice,
    /// `true` when failures are disabled.
    pub(crate) calm: bool,
    /// The waiting nodes.
    pub(crate) gates: Vec<Gate>,
    /// Calls on their way to the store, in the order in which they were sent.
    pub(crate) parcels: Vec<Parcel>,
    /// Replies on their way back.
    pub(crate) replies: Vec<(usize, &'static str, Reply)>,
    pub(crate) facts: Facts,
    /// The events in order: the driver, the event, and its number.
    trace: Vec<(usize, &'static str, usize)>,
    seed: u64,
    /// Distinguishes the worlds of one process: concurrent worlds must not have the same ids.
    place: u16,
    ids: u64,
    words: usize,
}

/// A node that waits to continue.
pub(crate) struct Gate {
    pub(crate) driver: usize,
    pub(crate) open: oneshot::Sender<()>,
}

/// The fate of a call to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    /// Not done, and an error.
    Refused,
    /// Done, and an error.
    Unacknowledged,
    /// Done twice, because the first acknowledgement was lost.
    Repeated,
}

/// Delivers the result of a call to its driver.
pub(crate) type Reply = Box<dyn FnOnce() + Send>;

/// A call on its way to the store.
pub(crate) struct Parcel {
    pub(crate) driver: usize,
    pub(crate) what: &'static str,
    /// `true` if it may be sent again when its reply was lost.
    pub(crate) may_repeat: bool,
    pub(crate) work: Box<dyn FnOnce(Fate) -> BoxFuture<'static, Reply> + Send>,
}

/// The error text of a call that the simulation lets fail.
pub(crate) const FAILURE: &str = "the simulation lets the store fail";

pub(crate) fn failure() -> StoreError {
    StoreError::Io(FAILURE.into())
}

impl World {
    pub(crate) fn new(seed: u64, place: u16) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            dice: Dice::new(seed),
            calm: false,
            gates: Vec::new(),
            parcels: Vec::new(),
            replies: Vec::new(),
            facts: Facts::default(),
            trace: Vec::new(),
            seed,
            place,
            ids: 0,
            words: 0,
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the scheduler lets the driver continue.
    pub(crate) async fn pause(&self, driver: usize) {
        let (open, opened) = oneshot::channel();
        self.lock().gates.push(Gate { driver, open });
        if opened.await.is_err() {
            // The driver has crashed; the task that waits here is about to be dropped.
            pending::<()>().await;
        }
    }

    /// A unique number.
    pub(crate) fn word(&self) -> usize {
        let mut inner = self.lock();
        inner.words += 1;
        inner.words
    }

    pub(crate) fn one_in(&self, times: usize) -> bool {
        self.lock().dice.one_in(times)
    }

    pub(crate) fn below(&self, sides: usize) -> usize {
        self.lock().dice.below(sides)
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.lock().calm
    }

    pub(crate) fn trace(&self, driver: usize, what: &'static str, number: usize) {
        self.lock().trace.push((driver, what, number));
    }

    pub(crate) fn take_trace(&self) -> Vec<(usize, &'static str, usize)> {
        std::mem::take(&mut self.lock().trace)
    }

    fn id(&self) -> Uuid {
        let mut inner = self.lock();
        inner.ids += 1;
        let (high, low) = (0x0194_3d4e_7c00_7000 + (inner.ids << 16), 0x8000_0000_0000_0000);
        Uuid::from_u64_pair(high, low | u64::from(inner.place) << 44 | (inner.seed & 0xfff_ffff_ffff))
    }
}

/// The end of a trace, one line per moment.
pub(crate) fn last_of(trace: &[(usize, &'static str, usize)], moments: usize) -> String {
    let mut text = String::new();
    for (driver, what, number) in &trace[trace.len().saturating_sub(moments)..] {
        writeln!(text, "  driver {driver}: {what} {number}").expect("a string takes everything");
    }
    text
}

/// The randomness and ids of one driver. Every request of a driver that continues a given run has that run's id.
#[derive(Clone)]
pub(crate) struct Fortune {
    pub(crate) world: World,
    run: Option<Arc<Mutex<Given>>>,
}

struct Given {
    run: Uuid,
    /// `true` if the next id is the run's.
    due: bool,
}

impl Fortune {
    /// A new run id for each request, or always the id `run`.
    pub(crate) fn new(world: &World, run: Option<Uuid>) -> Self {
        let run = run.map(|run| Arc::new(Mutex::new(Given { run, due: false })));
        Self { world: world.clone(), run }
    }

    /// A request is about to begin.
    pub(crate) fn begins(&self) {
        if let Some(given) = &self.run {
            given.lock().unwrap_or_else(PoisonError::into_inner).due = true;
        }
    }
}

impl Ambient for Fortune {
    fn id(&self) -> Uuid {
        if let Some(given) = &self.run {
            let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::take(&mut given.due) {
                return given.run;
            }
        }
        self.world.id()
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn roll(&self) -> f64 {
        self.world.lock().dice.fraction()
    }
}

/// The number of events, by their kind.
pub(crate) type Counts<T> = BTreeMap<T, usize>;
