//! One driver of the thread: a program that carries it on, and may crash at any moment.

use superstep::id::ThreadId;
use superstep::node::{EffectAnswer, EffectQuestion};
use superstep::prelude::*;
use superstep::run::{Interrupt, RunRequest, ThreadError};
use superstep::state::Json;

use crate::facts::Returned;
use crate::graphs::{DECLINED, Ledger, STUMBLED};
use crate::world::{FAILURE, Fortune, World};

/// The thread that all drivers carry on.
pub(crate) const THREAD: &str = "t";

/// Rounds after which a driver has done its part.
const ROUNDS: usize = 4;

pub(crate) struct Driver {
    pub(crate) number: usize,
    pub(crate) graph: Graph<Ledger>,
    pub(crate) fortune: Fortune,
    /// Whether it may give the thread another input: all that carry on one run have that run's.
    pub(crate) gives_inputs: bool,
    /// Whether nobody else is there, and nothing befalls it.
    pub(crate) is_alone: bool,
}

/// How a driver's round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Finished,
    /// An effect is unknown, and nobody may say what became of it.
    Stuck,
    /// A question that the thread shows is not open any more: resuming it shows those that are.
    Outdated,
    /// There is more to do.
    Open,
}

impl Driver {
    fn world(&self) -> &World {
        &self.fortune.world
    }

    /// Carries the thread on for some rounds.
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

    /// Carries the thread on until nothing is left to do. For one that is alone and whom nothing befalls.
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

    /// Looks at the thread, and does what it needs after the `last` round.
    async fn round(&self, last: Round) -> Round {
        let thread = self.graph.thread(ThreadId::from(THREAD));
        let head = match thread.head().await {
            Ok(head) => Some(head),
            Err(ThreadError::NeverRan(_)) => None,
            Err(error) => return self.failed(&error.into()),
        };
        let is_over = head.as_ref().is_some_and(|head| head.next().is_empty());
        if is_over && !self.gives_inputs {
            // Its run has ended: nothing is left that could go wrong.
            self.world().lock().calm = true;
        }
        if is_over && (!self.gives_inputs || self.world().is_calm() || !self.world().one_in(2)) {
            return Round::Finished;
        }
        let asked = head.as_ref().map(|head| head.interrupts()).unwrap_or_default();
        // New input also where work is unfinished, which it discards.
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

    /// Every error is one that says what happened.
    fn failed(&self, error: &RunError) -> Round {
        let text = whole(error);
        self.world().trace(self.number, "fails", text.len());
        let mut inner = self.world().lock();
        let stuck = text.contains("whether it happened is not known");
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

/// Whether somebody else was faster with a question.
fn is_lost_race(text: &str) -> bool {
    ["is already answered", "has no open question"].iter().any(|known| text.contains(known))
}

/// An error with its causes.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
