//! The effects that are in flight in this process, across all runs.
//!
//! Two runs may continue one thread at the same time. While one of them runs an effect, the other one does not
//! start the same effect: it waits, and uses the outcome.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use spin::Mutex;

use crate::checkpoint::EffectId;
use crate::id::RunId;

static IN_FLIGHT: Mutex<Table> = Mutex::new(Table { held: BTreeMap::new(), tickets: 0 });

struct Table {
    held: BTreeMap<EffectId, Held>,
    tickets: u64,
}

struct Held {
    run: RunId,
    ticket: u64,
    waiting: Vec<Waker>,
}

/// A run's claim on an effect, until it is dropped.
pub(super) struct Taken {
    id: EffectId,
    ticket: u64,
}

/// Claims an effect for `run`; `None` while another run has it. An earlier claim of the same run is replaced.
pub(super) fn take(id: &EffectId, run: RunId) -> Option<Taken> {
    let mut table = IN_FLIGHT.lock();
    if table.held.get(id).is_some_and(|held| held.run != run) {
        return None;
    }
    table.tickets += 1;
    let ticket = table.tickets;
    let waiting = table.held.remove(id).map(|held| held.waiting).unwrap_or_default();
    table.held.insert(id.clone(), Held { run, ticket, waiting });
    Some(Taken { id: id.clone(), ticket })
}

/// Waits until no run has a claim on the effect.
pub(super) async fn free(id: &EffectId) {
    poll_fn(|context| match IN_FLIGHT.lock().held.get_mut(id) {
        None => Poll::Ready(()),
        Some(held) => {
            if !held.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                held.waiting.push(context.waker().clone());
            }
            Poll::Pending
        }
    })
    .await;
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut table = IN_FLIGHT.lock();
        if table.held.get(&self.id).is_none_or(|held| held.ticket != self.ticket) {
            return;
        }
        let held = table.held.remove(&self.id);
        drop(table);
        held.into_iter().flat_map(|held| held.waiting).for_each(Waker::wake);
    }
}
