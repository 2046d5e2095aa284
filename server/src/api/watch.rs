//! Runs that end when their client goes away.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;

/// The time in which a client that went away may be back.
const ABSENCE: Duration = Duration::from_millis(500);

/// The number of clients that watch each run.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<HashMap<String, usize>>>);

/// A client that watches a run, until this is dropped.
pub(crate) struct Watch {
    watchers: Watchers,
    run: String,
    /// Cancels the run.
    cancel: Option<BoxFuture<'static, ()>>,
}

impl Watchers {
    /// Counts a client that watches a run. If it goes away before [`finish`](Watch::finish), and no client watches the
    /// run half a second later, `cancel` is awaited.
    pub(crate) fn watch(&self, run: &str, cancel: Option<BoxFuture<'static, ()>>) -> Watch {
        *self.counts().entry(run.to_owned()).or_default() += 1;
        Watch { watchers: self.clone(), run: run.to_owned(), cancel }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_watched(&self, run: &str) -> bool {
        self.counts().contains_key(run)
    }
}

impl Watch {
    /// Ends the watch of a run that needs no cancel any more.
    pub(crate) fn finish(&mut self) {
        self.cancel = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut counts = self.watchers.counts();
        if let Some(count) = counts.get_mut(&self.run) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.run);
            }
        }
        drop(counts);
        let (Some(cancel), Ok(runtime)) = (self.cancel.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (watchers, run) = (self.watchers.clone(), std::mem::take(&mut self.run));
        runtime.spawn(async move {
            tokio::time::sleep(ABSENCE).await;
            if !watchers.is_watched(&run) {
                cancel.await;
            }
        });
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.run).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::sync::oneshot::{Receiver, channel};

    /// Watches a run; the receiver gets a value when the run is cancelled, and an error if it never is.
    fn watch(watchers: &Watchers) -> (Watch, Receiver<()>) {
        let (sender, receiver) = channel();
        let cancel = async move { sender.send(()).unwrap() };
        (watchers.watch("run", Some(cancel.boxed())), receiver)
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_cancelled_half_a_second_after_its_client_went_away() {
        let (watch, cancelled) = watch(&Watchers::default());
        let begin = tokio::time::Instant::now();
        drop(watch);
        cancelled.await.unwrap();
        assert_eq!(begin.elapsed().as_millis() / 10, 50);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_not_cancelled_if_its_client_is_back_in_time() {
        let watchers = Watchers::default();
        let (first, cancelled) = watch(&watchers);
        drop(first);
        let _back = watchers.watch("run", None);
        assert!(cancelled.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_whose_stream_has_ended_is_not_cancelled() {
        let (mut watch, cancelled) = watch(&Watchers::default());
        watch.finish();
        drop(watch);
        assert!(cancelled.await.is_err());
    }
}
