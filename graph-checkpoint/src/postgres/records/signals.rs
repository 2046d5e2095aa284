//! Signals to the servers of other processes: `NOTIFY`, on a connection of its own.
//!
//! A transaction with `NOTIFY` holds a lock of the whole server while it commits. So none of them stores anything else: the
//! changes of a process are gathered, and told by a statement of their own, at most twenty times a second.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use serde::{Deserialize, Serialize};
use superstep_core::id::ThreadId;
use superstep_core::records::{Hear, Signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::AsyncMessage;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::super::database::Database;

/// The shortest time between two notifications.
const INTERVAL: Duration = Duration::from_millis(50);

/// The time after which a connection is opened again.
const AGAIN: Duration = Duration::from_millis(500);

/// The largest text of a notification, in bytes; Postgres allows a little more.
const LARGEST: usize = 7_500;

/// A change that other processes hear of.
pub(super) enum Change {
    /// The runs or the events of a thread.
    Thread(ThreadId),
    /// The same, and a run may be claimed.
    Queue(ThreadId),
    /// No change: answers when the earlier ones were told.
    Told(oneshot::Sender<()>),
}

/// The sender of the changes of a process.
#[derive(Default)]
pub(super) struct Signals(OnceLock<UnboundedSender<Change>>);

/// The text of a notification.
#[derive(Default, Serialize, Deserialize)]
struct Notification {
    /// The process that sends it.
    by: Uuid,
    #[serde(default)]
    is_queue: bool,
    /// The threads that have changed; `None` for too many of them.
    threads: Option<BTreeSet<String>>,
}

impl Notification {
    fn new(by: Uuid) -> Self {
        Self { by, is_queue: false, threads: Some(BTreeSet::new()) }
    }

    fn is_empty(&self) -> bool {
        !self.is_queue && self.threads.as_ref().is_some_and(BTreeSet::is_empty)
    }

    fn add(&mut self, change: Change) {
        let thread = match change {
            Change::Thread(thread) => thread,
            Change::Queue(thread) => {
                self.is_queue = true;
                thread
            }
            Change::Told(_) => return,
        };
        if let Some(threads) = &mut self.threads {
            threads.insert(thread.as_str().to_owned());
        }
    }

    fn text(mut self) -> Option<String> {
        let text = serde_json::to_string(&self).ok()?;
        if text.len() <= LARGEST {
            return Some(text);
        }
        self.threads = None;
        serde_json::to_string(&self).ok()
    }

    /// Hands the signals over. Returns `false` if none are wanted any more.
    fn heard(self, hear: &Hear) -> bool {
        let queue = self.is_queue.then_some(Signal::Queue);
        let threads: Vec<Signal> = match self.threads {
            Some(threads) => threads.into_iter().map(|thread| Signal::Thread(thread.into())).collect(),
            None => vec![Signal::Open],
        };
        queue.into_iter().chain(threads).all(hear)
    }
}

impl Signals {
    /// Tells other processes of a change, if this one listens to theirs.
    pub(super) fn tell(&self, change: Change) {
        if let Some(sender) = self.0.get() {
            // The task ends with the process, or when no signals are wanted any more.
            drop(sender.send(change));
        }
    }

    /// Waits until other processes were told of the earlier changes, but not for long: a lost signal only costs the time
    /// until they look again.
    pub(super) async fn told(&self) {
        let Some(sender) = self.0.get() else { return };
        let (answer, told) = oneshot::channel();
        drop(sender.send(Change::Told(answer)));
        drop(timeout(INTERVAL * 4, told).await);
    }

    /// Listens until `hear` returns `false`. Returns `false` if something else listens already.
    pub(super) fn listen(&self, database: &Arc<Database>, hear: Hear) -> bool {
        let (sender, changes) = unbounded_channel();
        let is_first = self.0.set(sender).is_ok();
        if is_first {
            tokio::spawn(signals(Arc::downgrade(database), changes, hear));
        }
        is_first
    }
}

/// Opens the connection, again and again.
async fn signals(database: Weak<Database>, mut changes: UnboundedReceiver<Change>, hear: Hear) {
    loop {
        let Some(database) = database.upgrade() else { return };
        // After an error the process polls until the connection is open again.
        drop(connected(&database, &mut changes, &hear).await);
        drop(database);
        // Changes that no connection could tell of are found by polls.
        while changes.try_recv().is_ok() {}
        if changes.is_closed() || !hear(Signal::Closed) {
            return;
        }
        sleep(AGAIN).await;
    }
}

/// Listens and notifies until the connection breaks, or nobody listens.
async fn connected(
    database: &Database,
    changes: &mut UnboundedReceiver<Change>,
    hear: &Hear,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = database.separate().await?;
    let mut messages = poll_fn(move |context| connection.poll_message(context));
    let (sender, mut received) = unbounded_channel();
    let pump = async move {
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notification(notification)) => {
                    if sender.send(notification.payload().to_owned()).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    };
    // It ends with the client.
    tokio::spawn(pump);
    let channel = channel(&database.schema);
    client.batch_execute(&format!("LISTEN {channel}")).await?;
    let by = Uuid::new_v4();
    let (mut gathered, mut next, mut waiting) = (Notification::new(by), Instant::now(), Vec::new());
    let mut is_wanted = hear(Signal::Open);
    while is_wanted {
        tokio::select! {
            received = received.recv() => {
                let Some(text) = received else { return Ok(()) };
                // Other programs may use the channel.
                if let Ok(heard) = serde_json::from_str::<Notification>(&text) && heard.by != by {
                    is_wanted = heard.heard(hear);
                }
            }
            change = changes.recv() => match change {
                // Without other changes it is dropped at once.
                Some(Change::Told(answer)) => waiting.extend((!gathered.is_empty()).then_some(answer)),
                Some(change) => gathered.add(change),
                None => return Ok(()),
            },
            () = sleep_until(next), if !gathered.is_empty() => {
                next = Instant::now() + INTERVAL;
                if let Some(text) = std::mem::replace(&mut gathered, Notification::new(by)).text() {
                    // A signal need not survive a crash.
                    let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
                    client.query_typed(sql, &[(&channel, Type::TEXT), (&text, Type::TEXT)]).await?;
                }
                // A dropped answer is one, too.
                waiting.clear();
            }
        }
    }
    changes.close();
    Ok(())
}

/// Returns the name of a schema's channel, which fits where names end after 63 bytes.
fn channel(schema: &str) -> String {
    format!("superstep_{}", &blake3::hash(schema.as_bytes()).to_hex()[..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_changes_are_one_short_notification() {
        let mut gathered = Notification::new(Uuid::nil());
        assert!(gathered.is_empty());
        for name in ["a\0b", "ä", "a\0b"] {
            gathered.add(Change::Thread(name.into()));
        }
        gathered.add(Change::Queue("c".into()));
        let heard = |gathered: Notification| {
            let text = gathered.text().expect("it has a text");
            assert!(text.len() <= LARGEST && !text.contains('\0'), "{text}");
            let all = Arc::new(std::sync::Mutex::new(Vec::new()));
            let heard = Arc::clone(&all);
            let hear: Hear = Box::new(move |signal| {
                heard.lock().expect("nothing panics").push(signal);
                true
            });
            assert!(serde_json::from_str::<Notification>(&text).expect("a notification").heard(&hear));
            all.lock().expect("nothing panics").clone()
        };
        let threads = ["a\0b", "c", "ä"].map(|name| Signal::Thread(name.into()));
        assert_eq!(heard(gathered), [&[Signal::Queue], &threads[..]].concat());
        let mut gathered = Notification::new(Uuid::nil());
        for thread in 0..1_000 {
            gathered.add(Change::Thread(format!("thread {thread}").into()));
        }
        assert_eq!(heard(gathered), [Signal::Open], "all threads may have changed");
    }
}
