//! The sources of `node` that name primitives, with those of loom.

#[path = "../../../src/node/revoked.rs"]
pub(crate) mod revoked;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, Ordering};

    /// Loom's, with the interface of the one that is used.
    #[derive(Default)]
    pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().expect("nobody panics who has it")
        }
    }
}
