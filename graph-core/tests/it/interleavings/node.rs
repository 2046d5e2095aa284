//! The sources of `node` that use synchronisation primitives, compiled with those of loom.

#[path = "../../../src/node/revoked.rs"]
pub(crate) mod revoked;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, Ordering};

    /// Loom's mutex, with the interface of the real one.
    #[derive(Default)]
    pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().expect("no holder of the lock panics")
        }
    }
}
