//! One seed: the order of drivers, and the failures.
//!
//! Everything runs on one OS thread. When nothing can continue by itself, the scheduler draws the next event: a call
//! reaches the store, a reply reaches its driver, a node continues, or a driver begins, crashes, or pauses for long.

use std::panic::resume_unwind;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, CheckpointerExt};
use superstep::prelude::*;
use tokio::task::{JoinHandle, yield_now};
use uuid::Uuid;

use crate::check::Check;
use crate::driver::{Driver, Round};
use crate::graphs::{Actor, Ledger, Stage, Workload};
use crate::mutants::{Flaw, Flawed};
use crate::wire::Wire;
use crate::world::{Counts, Fate, Fortune, World, last_of};

/// The number of concurrent drivers.
const DRIVERS: usize = 3;

/// The minimum and maximum number of moments after which failures are disabled.
const TROUBLED: (usize, usize) = (20, 140);

/// The number of moments after which unfinished work counts as endless.
const FOREVER: usize = 20_000;

/// The graphs of all workloads, compiled once.
pub(crate) struct Graphs(Vec<Graph<Ledger, Stage>>);

impl Graphs {
    pub(crate) fn new() -> Self {
        Self(Workload::ALL.iter().map(|workload| workload.graph()).collect())
    }

    /// Returns the graph that a seed runs.
    fn of(&self, seed: u64) -> &Graph<Ledger, Stage> {
        &self.0[usize::try_from(seed).expect("a small number") % self.0.len()]
    }
}

/// A seed with everything that it depends on.
#[derive(Clone, Copy)]
pub(crate) struct Seed {
    pub(crate) number: u64,
    /// The number of this world among concurrent worlds.
    pub(crate) place: u16,
    pub(crate) flaw: Option<Flaw>,
    /// `true` if the store queues some calls without waiting for them.
    pub(crate) defers: bool,
}

/// The result of a seed.
pub(crate) struct Played {
    pub(crate) verdict: Result<(), String>,
    pub(crate) trace: Vec<(usize, &'static str, usize)>,
    pub(crate) seen: Counts<&'static str>,
    /// The history of the thread, from the store.
    pub(crate) history: String,
}

impl Played {
    /// The violation, and how to reproduce it.
    pub(crate) fn complaint(&self, seed: Seed) -> Option<String> {
        let wrong = self.verdict.as_ref().err()?;
        Some(format!(
            "seed {}: {wrong}\n{}again: SUPERSTEP_SEED={} cargo test --test simulation",
            seed.number,
            last_of(&self.trace, 60),
            seed.number
        ))
    }
}

struct Living {
    number: usize,
    /// Pauses until this moment.
    frozen: usize,
    life: JoinHandle<()>,
}

struct Play<'g> {
    seed: Seed,
    world: World,
    graph: &'g Graph<Ledger, Stage>,
    savers: Vec<Arc<dyn Checkpointer>>,
    flawed: Option<Arc<Flawed>>,
    /// The run that all drivers continue, if they do.
    run: Option<Uuid>,
    living: Vec<Living>,
    born: usize,
}

/// The next event.
enum Move {
    Deliver(usize),
    Reply(usize),
    Open(usize),
}

impl Seed {
    /// Runs it on an empty store. Each driver uses its own saver of `savers`, in turn, like several programs that use
    /// one file.
    pub(crate) async fn play(self, graphs: &Graphs, savers: &[Arc<dyn Checkpointer>]) -> Played {
        let world = World::new(self.number, self.place);
        let store = Arc::clone(&savers[0]);
        let flawed = self.flaw.map(|flaw| Arc::new(Flawed::new(Arc::clone(&store), flaw)));
        // In half of the worlds all drivers continue one run, like a program that is started again elsewhere.
        let run = world.one_in(2).then(|| Uuid::from_u64_pair(self.number | 1 << 60, u64::from(self.place)));
        let savers = match &flawed {
            Some(flawed) => vec![Arc::clone(flawed) as Arc<dyn Checkpointer>],
            None => savers.to_vec(),
        };
        let graph = graphs.of(self.number);
        let (living, born) = (Vec::new(), 0);
        let mut play = Play { seed: self, world, graph, savers, flawed, run, living, born };
        let ended = play.through_all_trouble().await;
        let world = play.world;
        let facts = std::mem::take(&mut world.lock().facts);
        let verdict = match ended {
            Ok(()) => Check { store: Arc::clone(&store), facts: &facts }.run().await,
            Err(hangs) => Err(hangs),
        };
        let steps =
            store.steps(&crate::driver::THREAD.into(), superstep::checkpoint::At::Head, usize::MAX).await;
        let history = format!(
            "{:?}",
            steps.map(|steps| steps.into_iter().map(|step| step.checkpoint).collect::<Vec<_>>())
        );
        let trace = world.take_trace();
        Played { verdict, trace, seen: facts.seen, history }
    }
}

impl Play<'_> {
    async fn through_all_trouble(&mut self) -> Result<(), String> {
        let (least, most) = TROUBLED;
        let calm_from = least + self.world.below(most - least);
        for moment in 0..FOREVER {
            let is_calm = moment >= calm_from || self.world.is_calm();
            self.world.lock().calm = is_calm;
            if !is_calm {
                self.befall(moment);
            }
            settle().await;
            self.bury().await;
            let moves = self.moves(moment);
            if !moves.is_empty() {
                let drawn = self.world.below(moves.len());
                self.make(moves.into_iter().nth(drawn).expect("it was drawn of them"), is_calm).await;
            } else if self.living.iter().any(|living| living.frozen > moment) {
                // No driver has anything to do: time passes.
                self.living.iter_mut().for_each(|living| living.frozen = 0);
            } else if !self.living.is_empty() {
                let waits = self.living.iter().map(|living| living.number).collect::<Vec<_>>();
                return Err(format!("drivers {waits:?} wait for what never comes"));
            } else if is_calm {
                return self.finish().await;
            } else {
                self.begin();
            }
        }
        Err(format!("drivers are still at it after {FOREVER} moments"))
    }

    /// A possible random event.
    fn befall(&mut self, moment: usize) {
        let many = self.living.len();
        if many < DRIVERS && self.world.one_in(8) {
            self.begin();
        }
        if many > 0 && self.world.one_in(30) {
            let victim = self.world.below(many);
            self.crash(victim);
        } else if many > 0 && self.world.one_in(30) {
            let sleeper = self.world.below(many);
            let long = 10 + self.world.below(60);
            self.world.trace(self.living[sleeper].number, "stands still for", long);
            self.world.lock().facts.see("a driver that stood still");
            self.living[sleeper].frozen = moment + long;
        }
    }

    fn driver(&mut self, is_alone: bool) -> Driver {
        let number = self.born;
        self.born += 1;
        let fortune = Fortune::new(&self.world, self.run);
        let store = Arc::clone(&self.savers[number % self.savers.len()]);
        let wire = Wire { world: self.world.clone(), driver: number, store, defers: self.seed.defers };
        let actor = Actor { world: self.world.clone(), driver: number };
        let graph = self.graph.clone().with_context(Stage { actor }).checkpointer(wire);
        let graph = graph.ambient(fortune.clone());
        Driver { number, graph, fortune, gives_inputs: self.run.is_none(), is_alone }
    }

    fn begin(&mut self) {
        let driver = self.driver(false);
        let number = driver.number;
        self.world.trace(number, "begins", self.living.len());
        self.living.push(Living { number, frozen: 0, life: tokio::spawn(driver.live()) });
    }

    /// A driver crashes at once. Its sent calls may still arrive.
    fn crash(&mut self, victim: usize) {
        let Living { number, life, .. } = self.living.swap_remove(victim);
        life.abort();
        let mut inner = self.world.lock();
        let mut parcels = std::mem::take(&mut inner.parcels);
        parcels.retain(|parcel| parcel.driver != number || inner.dice.one_in(2));
        inner.parcels = parcels;
        inner.gates.retain(|gate| gate.driver != number);
        inner.replies.retain(|(driver, ..)| *driver != number);
        inner.facts.see("a crash");
        drop(inner);
        self.world.trace(number, "crashes", victim);
        if let Some(flawed) = &self.flawed {
            flawed.crash();
        }
    }

    /// Removes drivers that have finished.
    async fn bury(&mut self) {
        while let Some(dead) = self.living.iter().position(|living| living.life.is_finished()) {
            let Living { number, life, .. } = self.living.swap_remove(dead);
            self.world.trace(number, "is done", dead);
            if let Err(error) = life.await {
                resume_unwind(error.into_panic());
            }
        }
    }

    fn moves(&self, moment: usize) -> Vec<Move> {
        let is_awake = |number: usize| {
            self.living.iter().all(|living| living.number != number || living.frozen <= moment)
        };
        let mut inner = self.world.lock();
        inner.gates.retain(|gate| !gate.open.is_closed());
        let mut moves = Vec::new();
        for (place, parcel) in inner.parcels.iter().enumerate() {
            // Calls of one driver arrive in order.
            if inner.parcels[..place].iter().all(|earlier| earlier.driver != parcel.driver) {
                moves.push(Move::Deliver(place));
            }
        }
        let replies = inner.replies.iter().enumerate().filter(|(_, (driver, ..))| is_awake(*driver));
        moves.extend(replies.map(|(place, _)| Move::Reply(place)));
        let gates = inner.gates.iter().enumerate().filter(|(_, gate)| is_awake(gate.driver));
        moves.extend(gates.map(|(place, _)| Move::Open(place)));
        moves
    }

    async fn make(&self, next: Move, is_calm: bool) {
        match next {
            Move::Deliver(place) => {
                let parcel = self.world.lock().parcels.remove(place);
                let fate = if is_calm { Fate::Done } else { self.fate(parcel.may_repeat) };
                let what = if fate == Fate::Done { parcel.what } else { told_otherwise(fate) };
                self.world.trace(parcel.driver, what, parcel.what.len());
                let reply = (parcel.work)(fate).await;
                if self.world.one_in(2) {
                    reply();
                } else {
                    self.world.lock().replies.push((parcel.driver, parcel.what, reply));
                }
            }
            Move::Reply(place) => {
                let (driver, what, reply) = self.world.lock().replies.remove(place);
                self.world.trace(driver, "hears of", what.len());
                reply();
            }
            Move::Open(place) => {
                let gate = self.world.lock().gates.remove(place);
                self.world.trace(gate.driver, "goes on", place);
                // The waiting driver may have been dropped meanwhile.
                let _given_up = gate.open.send(());
            }
        }
    }

    fn fate(&self, may_repeat: bool) -> Fate {
        let mut inner = self.world.lock();
        let fate = match inner.dice.below(60) {
            0 => Fate::Refused,
            1 => Fate::Unacknowledged,
            2 | 3 if may_repeat => Fate::Repeated,
            _ => Fate::Done,
        };
        if fate != Fate::Done {
            inner.facts.see(told_otherwise(fate));
        }
        fate
    }

    /// Failures are disabled, and no driver is left: one driver runs the thread to its end.
    async fn finish(&mut self) -> Result<(), String> {
        let driver = self.driver(true);
        self.world.trace(driver.number, "finishes alone", self.born);
        let mut life = tokio::spawn(driver.finish());
        for moment in 0..FOREVER {
            settle().await;
            if life.is_finished() {
                let ended = (&mut life).await.unwrap_or_else(|error| resume_unwind(error.into_panic()))?;
                let seen = if ended == Round::Stuck {
                    "a thread that needs a person"
                } else {
                    "a thread that ended"
                };
                self.world.lock().facts.see(seen);
                return Ok(());
            }
            match self.moves(moment).into_iter().next() {
                Some(next) => self.make(next, true).await,
                None => return Err("the last driver waits for what never comes".into()),
            }
        }
        Err(format!("the last driver is still at it after {FOREVER} moments (seed {})", self.seed.number))
    }
}

fn told_otherwise(fate: Fate) -> &'static str {
    match fate {
        Fate::Done => "a call that was done",
        Fate::Refused => "a call that was not done",
        Fate::Unacknowledged => "a call that was done, and said to have failed",
        Fate::Repeated => "a call that was done twice",
    }
}

/// Lets every task continue that can. The runtime wakes a yielding task when no other task can run.
async fn settle() {
    yield_now().await;
    yield_now().await;
}
