//! A runtime for calls that block.

use std::future::Future;
use std::{panic, thread};

use superstep_core::checkpoint::StoreError;
use tokio::runtime::{Builder, Runtime};

/// A runtime of its own, on which the connections of a blocking caller are.
pub(crate) struct Blocking {
    /// Set until it is dropped.
    runtime: Option<Runtime>,
}

impl Blocking {
    pub(crate) fn new() -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self { runtime: Some(runtime.map_err(|error| StoreError::Io(Box::new(error)))?) })
    }

    /// Waits for `work` on a separate thread, because the caller may be inside another runtime.
    pub(crate) fn wait<T: Send, F: Future<Output = T>>(&self, work: impl FnOnce() -> F + Send) -> T {
        let runtime = self.runtime.as_ref().expect("it is there until it is dropped");
        let wait = || runtime.block_on(work());
        thread::scope(|scope| scope.spawn(wait).join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        // To wait for its end would panic inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
