//! One driver of the thread: a program that continues it, and may crash at any moment.

use superstep::id::ThreadId;
use superstep::node::{EffectAnswer, EffectQuestion};
use superstep::prelude::*;
use superstep::run::{Interrupt, RunRequest, ThreadError};
use superstep::state::Json;

use crate::facts::Returned;
use crate::graphs::{DECLINED, Ledger, STUMBLED};
use crate::world::{FAILURE, Fortune, World};

/// The thread that all drivers continue.
pub(crate) const THREAD: &str = "t";

/// The number of rounds of a driver.
const ROUNDS: usize = 4;

pub(crate) struct Driver {
    pub(crate) number: usize,
    pub(crate) graph: Graph<Ledger>,
    pub(crate) fortune: Fortune,
    /// `true` if it may give the thread another input: drivers of the same run have the input of that run.
    pub(crate) gives_inputs: bool,
    /// `true` if it is the only driver, and no failures happen.
    pub(crate) is_alone: bool,
}

/// The end of a driver's round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Finished,
    /// An effect has an unknown outcome, and no person may decide it.
    Stuck,
    /// A question of the thread is no longer open: a resume returns the open ones.
    Outdated,
    /// There is more to do.
    Open,
}

impl Driver {
    fn world(&self) -> &World {
        &self.fortune.world
    }

    /// Continues the thread for some rounds.
    pub(crate) async fn live(self) {
        let mut ended = Round::Open;
        for _ in 0..ROUNDS {
            ended = self.round(ended).await;
            let is_open = matches!(ended, Round::Open | Round::Outdated);
            if self.world().is_calm() || !is_open && self.world().one_in(2) {
                return;
            }
        }
    }

    /// Continues the thread until it has finished. For a single driver without failures.
    pub(crate) async fn finish(self) -> Result<Round, String> {
        const ENOUGH: usize = 40;
        let mut last = Round::Open;
        for _ in 0..ENOUGH {
            last = self.round(last).await;
            match last {
                Round::Open | Round::Outdated => {}
                ended => return Ok(ended),
            }
        }
        Err(format!("the thread does not end in {ENOUGH} rounds without trouble"))
    }

    /// Loads the thread, and takes the next action after the `last` round.
    async fn round(&self, last: Round) -> Round {
        let thread = self.graph.thread(ThreadId::from(THREAD));
        let head = match thread.head().await {
            Ok(head) => Some(head),
            Err(ThreadError::NeverRan(_)) => None,
            Err(error) => return self.failed(&error.into()),
        };
        let is_over = head.as_ref().is_some_and(|head| head.next().is_empty());
        if is_over && !self.gives_inputs {
            // Its run has ended, so no further failure is possible.
            self.world().lock().calm = true;
        }
        if is_over && (!self.gives_inputs || self.world().is_calm() || !self.world().one_in(2)) {
            return Round::Finished;
        }
        let asked = head.as_ref().map(|head| head.interrupts()).unwrap_or_default();
        // A new input, also with unfinished work, which it discards.
        let afresh = head.is_none()
            || is_over
            || (self.gives_inputs && !self.world().is_calm() && self.world().one_in(20));
        let request = if afresh {
            self.world().lock().facts.see("an input");
            thread.run(Ledger::update().log([format!("input#{}", self.world().word())]))
        } else if asked.is_empty()
            || last == Round::Outdated
            || (!self.world().is_calm() && self.world().one_in(6))
        {
            thread.resume()
        } else {
            self.answers(&thread, asked)
        };
        self.fortune.begins();
        match request.await {
            Ok(run) => {
                let ended = match &run.status {
                    Status::Finished => Round::Finished,
                    _ => Round::Open,
                };
                let Run { checkpoint, status, state, .. } = run;
                self.world().trace(self.number, "returns at", state.log.len());
                self.world().lock().facts.returned.push(Returned { checkpoint, status, state });
                ended
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Answers one question, or all of them.
    fn answers(&self, thread: &Thread<Ledger>, mut asked: Vec<Interrupt>) -> RunRequest<Ledger> {
        let world = self.world();
        if asked.len() > 1 && world.one_in(2) {
            let one = world.below(asked.len());
            asked = vec![asked.swap_remove(one)];
        }
        let answers = asked.into_iter().map(|ask| {
            let number = world.word();
            let answer = match ask.question::<EffectQuestion>() {
                Ok(_) if world.one_in(2) => Json::encode(&EffectAnswer::RunAgain),
                Ok(_) => Json::encode(&EffectAnswer::Happened(number.into())),
                Err(_) => Json::encode(&number),
            };
            (ask.id, answer.expect("an answer has a JSON form"))
        });
        thread.answers(answers.collect::<Vec<_>>())
    }

    /// Every error names its cause.
    fn failed(&self, error: &RunError) -> Round {
        let text = whole(error);
        self.world().trace(self.number, "fails", text.len());
        let mut inner = self.world().lock();
        let stuck = text.contains("its outcome is unknown");
        let outdated = is_lost_race(&text);
        match error {
            _ if stuck => inner.facts.see("an effect that is unknown"),
            _ if outdated => inner.facts.see("a question that others dealt with"),
            _ if self.is_alone => {
                inner.facts.violations.push(format!("driver {} fails without cause: {text}", self.number));
            }
            RunError::Superseded { .. } => inner.facts.see("a driver that was superseded"),
            _ if [FAILURE, STUMBLED, DECLINED, GONE].iter().any(|known| text.contains(known)) => {}
            _ => inner.facts.violations.push(format!("driver {} fails with {text}", self.number)),
        }
        match (stuck, outdated) {
            (true, _) => Round::Stuck,
            (_, true) => Round::Outdated,
            _ => Round::Open,
        }
    }
}

/// The journal holds more effects than the node has run this time.
const GONE: &str = "which the node no longer runs";

/// Returns `true` if another driver answered a question first.
fn is_lost_race(text: &str) -> bool {
    ["is already answered", "has no open question"].iter().any(|known| text.contains(known))
}

/// An error with its causes.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
