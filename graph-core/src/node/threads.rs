//! Threads for nodes that block: as many as there is work, used again for a while.

use std::boxed::Box;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, ThreadId, current};
use std::time::Duration;
use std::vec::Vec;

pub(super) type Work = Box<dyn FnOnce() + Send>;

/// The time that a thread waits for more work.
const IDLE: Duration = Duration::from_secs(10);

/// Threads of one node.
///
/// Work never waits for a thread: when none is idle, another one is started. A bounded pool would come to a stop as
/// soon as all of its threads waited for work that waits for a thread.
#[derive(Default)]
pub(super) struct Threads {
    idle: Mutex<Vec<(ThreadId, Sender<Work>)>>,
}

impl Threads {
    /// Runs `work` on a thread.
    ///
    /// # Errors
    /// When the system gives no more threads.
    pub(super) fn run(self: &Arc<Self>, work: Work) -> io::Result<()> {
        let idle = self.idle().pop();
        let work = match idle {
            // A thread that is taken from the list waits for work.
            Some((_, thread)) => match thread.send(work) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0,
            },
            None => work,
        };
        let threads = Arc::downgrade(self);
        Builder::new().name("superstep-blocking".into()).spawn(move || serve(&threads, work)).map(drop)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(ThreadId, Sender<Work>)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a thread from the list; `false` when it has been given work.
    fn retire(&self, thread: ThreadId) -> bool {
        let mut idle = self.idle();
        let before = idle.len();
        idle.retain(|(other, _)| *other != thread);
        idle.len() < before
    }
}

/// The body of a thread: works until it has been idle for a while, or until all senders of work are gone.
fn serve(threads: &Weak<Threads>, first: Work) {
    first();
    let me = current().id();
    loop {
        let (sender, work): (Sender<Work>, Receiver<Work>) = channel();
        match threads.upgrade() {
            Some(threads) => threads.idle().push((me, sender)),
            None => return,
        }
        let next = match work.recv_timeout(IDLE) {
            Err(RecvTimeoutError::Timeout) if threads.upgrade().is_none_or(|threads| threads.retire(me)) => {
                return;
            }
            // Taken in the moment in which it was about to leave.
            Err(RecvTimeoutError::Timeout) => work.recv().ok(),
            next => next.ok(),
        };
        match next {
            Some(next) => next(),
            None => return,
        }
    }
}
