//! Tests of the derives, one topic per file.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod flatten;
mod from_ref;
mod generics;
mod ids;
mod names;
mod route;
mod schema;
mod setters;
mod shapes;
mod storage;
mod wide;

use superstep::state::{FieldWrite, LoggedWrite, State, StateUpdate, Update};

/// Applies an update, as a superstep does.
fn apply<S: State>(state: &mut S, update: Update<S>) {
    for write in update.into_writes() {
        write.apply(state);
    }
}

/// Returns the update in its stored form.
fn log<S: State>(update: &Update<S>) -> Vec<LoggedWrite> {
    let writes = update.writes().iter();
    writes.filter_map(|write| write.encode().unwrap()).collect()
}

/// Decodes a stored update.
fn read<S: State>(logged: &[LoggedWrite]) -> Update<S> {
    let writes = logged.iter().map(|write| S::Write::decode(write).unwrap());
    StateUpdate::from_writes(writes.collect())
}

/// Returns the state after `update`, and checks that it is the same if the update is stored in between.
fn after<S: State + PartialEq + std::fmt::Debug>(mut state: S, update: Update<S>) -> S {
    let mut stored = state.clone();
    apply(&mut stored, read::<S>(&log::<S>(&update)));
    apply(&mut state, update);
    assert_eq!(state, stored, "an update does the same after it was stored");
    state
}
