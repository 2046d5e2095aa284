//! Signals that end the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

use super::working::Order;
use crate::failure::Failure;
use crate::screen::Exit;

/// The end of the process by a signal: `SIGTERM`, or `SIGHUP` of a terminal that was closed.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    is_set: AtomicBool,
    /// The present run.
    run: Mutex<Option<UnboundedSender<Order>>>,
}

/// The time that the thread of the terminal has to end the session after a signal.
const GRACE: Duration = Duration::from_secs(1);

impl Leaving {
    /// Returns `true` after a signal.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Takes the orders of a run that begins.
    pub(crate) fn begin(&self, run: UnboundedSender<Order>) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// Leaves the present run at a signal, and ends the process. `wake` ends the input line.
    pub(crate) fn listen(self: &Arc<Self>, runtime: &Handle, wake: &Arc<AtomicBool>) -> Result<(), Failure> {
        let _entered = runtime.enter();
        let listen = |kind: SignalKind| -> Result<Signal, Failure> { signal(kind).map_err(Failure::of) };
        let (mut terminate, mut hangup) = (listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
        let (leaving, wake) = (Arc::clone(self), Arc::clone(wake));
        runtime.spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            leaving.is_set.store(true, Ordering::Relaxed);
            wake.store(true, Ordering::Relaxed);
            let run = leaving.run.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(run) = run {
                // A run that has ended takes no orders.
                let _ = run.send(Order::Leave);
                run.closed().await;
            }
            tokio::time::sleep(GRACE).await;
            // The thread that reads a terminal does not come back from a read after the terminal is closed.
            std::process::exit(Exit::Cancelled as i32);
        });
        Ok(())
    }
}
