//! Watches a file for changes, while a client listens.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep_cli::{FileVersion, FileWatcher};
use tokio::sync::Notify;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// The interval between two looks at the version of the file.
const PERIOD: Duration = Duration::from_millis(50);

/// The file, as of the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It has this version.
    At(FileVersion),
    /// It was deleted or cannot be read, with a text for people.
    Gone(String),
}

/// Looks at the version of a file. Nothing else is read, and no lock is held.
pub(super) struct Watcher {
    eye: Arc<Eye>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Eye {
    file: FileWatcher,
    seen: Sender<Seen>,
    /// Tells that a client listens.
    opened: Notify,
}

impl Watcher {
    pub(super) fn new(file: FileWatcher) -> Self {
        let (seen, _) = channel(look(&file));
        let eye = Arc::new(Eye { file, seen, opened: Notify::new() });
        Self { eye, task: Mutex::default() }
    }

    /// Returns what is seen from now on. The first call starts a task on the current tokio runtime.
    pub(super) fn subscribe(&self) -> Receiver<Seen> {
        let receiver = self.eye.seen.subscribe();
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.get_or_insert_with(|| tokio::spawn(watch(Arc::clone(&self.eye))));
        self.eye.opened.notify_one();
        receiver
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
        }
    }
}

/// Looks while a client listens.
async fn watch(eye: Arc<Eye>) {
    let mut interval = interval(PERIOD);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        while eye.seen.receiver_count() == 0 {
            eye.opened.notified().await;
        }
        interval.tick().await;
        let looking = Arc::clone(&eye);
        let Ok(now) = tokio::task::spawn_blocking(move || look(&looking.file)).await else { continue };
        eye.seen.send_if_modified(|before| {
            let is_other = *before != now;
            *before = now;
            is_other
        });
    }
}

fn look(file: &FileWatcher) -> Seen {
    match file.version() {
        Ok(version) => Seen::At(version),
        Err(refusal) => Seen::Gone(refusal.text),
    }
}
