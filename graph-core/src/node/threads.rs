//! Threads for blocking nodes: started on demand, and reused while they are idle for a short time.

use std::boxed::Box;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, ThreadId, current};
use std::time::Duration;
use std::vec::Vec;

pub(super) type Work = Box<dyn FnOnce() + Send>;

/// The time that an idle thread waits for more work.
const IDLE: Duration = Duration::from_secs(10);

/// The threads of one node.
///
/// Work never waits for a thread: if no thread is idle, another one is started. A bounded pool would deadlock as
/// soon as all of its threads wait for work that itself waits for a thread.
#[derive(Default)]
pub(super) struct Threads {
    idle: Mutex<Vec<(ThreadId, Sender<Work>)>>,
}

impl Threads {
    /// Runs `work` on a thread.
    ///
    /// # Errors
    /// Returns an error if the system cannot start another thread.
    pub(super) fn run(self: &Arc<Self>, work: Work) -> io::Result<()> {
        let idle = self.idle().pop();
        let work = match idle {
            // A sender in the list belongs to a thread that waits for work.
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

    /// Removes a thread from the list; `false` if it has already been given work.
    fn retire(&self, thread: ThreadId) -> bool {
        let mut idle = self.idle();
        let before = idle.len();
        idle.retain(|(other, _)| *other != thread);
        idle.len() < before
    }
}

/// Runs a thread: works until it has been idle for a while, or until all senders of work are gone.
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
            // The thread was given work just as its idle time ended.
            Err(RecvTimeoutError::Timeout) => work.recv().ok(),
            next => next.ok(),
        };
        match next {
            Some(next) => next(),
            None => return,
        }
    }
}
