//! An effect in flight: its start, its intent in the store, its end.

use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::pin::pin;

use crate::checkpoint::{At, CheckpointerExt, EffectId, EffectOutcome, EffectRecord};
use crate::error::NodeError;
use crate::id::IdempotencyKey;
use crate::node::cell::TaskCell;
use crate::node::effect::{Effects, journal};
use crate::node::in_flight::{self, Taken};
use crate::node::intent::{LeftBehind, Storing};

/// An effect in flight, during which the task does not pause. It is dropped when the effect ends, or when the node
/// drops the effect's future.
pub(in crate::node) struct Flight {
    pub(super) cell: Arc<TaskCell>,
    pub(super) attempt: u32,
    pub(in crate::node) id: EffectId,
    /// The claim that keeps other runs of this process from running the same effect.
    taken: Option<Taken>,
}

/// The result of beginning an effect.
pub(super) enum Begun {
    /// The effect starts, with this idempotency key.
    Now(IdempotencyKey),
    /// The attempt or the run has ended in the meantime.
    Over,
    /// Another run has started the effect, and may have ended it.
    Before(EffectRecord),
}

impl Flight {
    /// Registers the start of an effect, and returns its journal entry.
    pub(in crate::node) fn start(
        fx: &Effects,
        name: &str,
        key: &str,
    ) -> Result<(Self, Option<EffectRecord>), NodeError> {
        fx.cell.beat(fx.attempt);
        let (id, known) = fx.cell.start_effect(name, key)?;
        Ok((Self { cell: Arc::clone(&fx.cell), attempt: fx.attempt, id, taken: None }, known))
    }

    /// Finishes storing the outcome that an abandoned attempt left behind. Returns the current journal entry.
    pub(super) async fn settle(
        &self,
        known: Option<EffectRecord>,
    ) -> Result<Option<EffectRecord>, NodeError> {
        let Some(left) = self.cell.take_left_behind(&self.id, LeftBehind::is_outcome) else {
            return Ok(known);
        };
        let (ended, said) = Storing::go_on(&self.cell, left).await;
        said.map_err(journal)?;
        self.cell.keep_effect(ended.clone());
        Ok(Some(ended))
    }

    /// Waits until no other run of this process has the effect in flight. Returns the current journal entry.
    pub(super) async fn take_off(
        &mut self,
        known: Option<EffectRecord>,
    ) -> Result<Option<EffectRecord>, NodeError> {
        let (Some(saver), Some(base)) = (&self.cell.run.saver, self.cell.facts.base) else {
            return Ok(known);
        };
        let is_known =
            known.as_ref().is_some_and(|known| matches!(known.outcome, Some(EffectOutcome::Ok(_))));
        // A replay starts no effects, and with a cassette none run live.
        if is_known || self.cell.run.tape.is_some() || self.cell.plays_effects() {
            return Ok(known);
        }
        // An effect without an outcome may have been in flight when this run read the journal, and may have ended
        // since.
        let mut old = known.as_ref().is_some_and(|known| known.outcome.is_none());
        loop {
            self.taken = in_flight::take(&self.id, self.cell.run.run);
            if self.taken.is_some() {
                break;
            }
            in_flight::free(&self.id).await;
            old = true;
        }
        if !old {
            return Ok(known);
        }
        let loaded = saver.read(&self.cell.run.thread, At::Id(base)).await.map_err(journal)?;
        let effects = loaded.into_iter().flat_map(|loaded| loaded.effects);
        let now = effects.into_iter().find(|effect| effect.id == self.id);
        if let Some(now) = &now {
            self.cell.keep_effect(now.clone());
        }
        Ok(now.or(known))
    }

    /// Returns the effect's idempotency key: that of the earlier start, if there was one.
    pub(super) fn token(&self, started: Option<&EffectRecord>) -> IdempotencyKey {
        let EffectId { task, name, key, occurrence } = &self.id;
        let new = || IdempotencyKey::derive(&self.cell.run.thread, *task, name, key, *occurrence);
        started.map_or_else(new, |started| started.token)
    }

    /// Returns the record of the effect as it starts now.
    pub(in crate::node) fn record(&self, started: Option<&EffectRecord>) -> EffectRecord {
        EffectRecord {
            id: self.id.clone(),
            attempt: self.attempt,
            starts: started.map_or(1, EffectRecord::next_start),
            token: self.token(started),
            outcome: None,
        }
    }

    /// Stores the intent, durably.
    pub(super) async fn begin(&self, started: Option<&EffectRecord>) -> Result<Begun, NodeError> {
        let mut intended = None;
        if let Some(left) = self.cell.take_left_behind(&self.id, |left| !left.is_outcome()) {
            let (intent, said) = Storing::go_on(&self.cell, left).await;
            if let Some(held) = said.map_err(journal)? {
                self.cell.keep_effect(held.clone());
                return Ok(Begun::Before(held));
            }
            // The effect did not run: the attempt was abandoned before it learned that its intent was stored.
            intended = Some(intent);
        }
        let intent = self.record(intended.as_ref().or(started));
        let token = intent.token;
        if let (Some(saver), Some(base)) = (&self.cell.run.saver, self.cell.facts.base) {
            let (_, said) = Storing::new(&self.cell, Arc::clone(saver), base, intent.clone()).await;
            if let Some(held) = said.map_err(journal)? {
                self.cell.keep_effect(held.clone());
                return Ok(Begun::Before(held));
            }
        }
        // Storing the intent took time; the attempt or the run may have ended meanwhile.
        if !self.cell.is_current(self.attempt) {
            self.cell.leave_behind(LeftBehind::stored(intent));
            return Ok(Begun::Over);
        }
        // The journal in memory is updated too, so that a retry in this process finds the same as a resume in
        // another one.
        self.cell.keep_effect(intent);
        Ok(Begun::Now(token))
    }

    /// Stores the outcome durably. The effect's caller continues only after that.
    pub(super) async fn end(&self, outcome: EffectOutcome) -> Result<(), NodeError> {
        // The heartbeat keeps the time that the store takes out of the idle time.
        self.cell.beat(self.attempt);
        if let (Some(saver), Some(base)) = (&self.cell.run.saver, self.cell.facts.base) {
            let begun = self.cell.known_effect(&self.id).expect("an effect that ends has begun");
            let ended = EffectRecord { outcome: Some(outcome.clone()), ..begun };
            let (_, said) = Storing::outcome(&self.cell, Arc::clone(saver), base, ended).await;
            said.map_err(journal)?;
        }
        self.cell.tape_effect(&self.id, &outcome);
        self.cell.end_effect(&self.id, outcome);
        Ok(())
    }

    /// Polls the effect's own code. Effects that the code starts belong to this effect.
    pub(super) async fn within<F: Future>(&self, code: F) -> F::Output {
        let scope = TaskCell::inside_of(&self.id);
        let mut code = pin!(code);
        poll_fn(|context| {
            let outer = self.cell.enter(Some(Arc::clone(&scope)));
            let polled = code.as_mut().poll(context);
            self.cell.enter(outer);
            polled
        })
        .await
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.cell.land_effect(self.attempt, &self.id);
    }
}
