//! Messages for sessions while they work.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::id::ThreadId;
use superstep_core::run::{Ambient, System};
use superstep_core::store::{AccessError, Store};
use superstep_nodes::model::Ledger;

use crate::snapshot::Change;

/// Messages for sessions while they work, from this or from another process.
///
/// A message is kept in a [`Store`] until a checkpoint of its session has it, so it is neither lost nor taken twice,
/// whenever a process ends. With the store of the saver's file, it is in the file of the session; the store of an
/// encrypted saver needs a file of its own, as stores are not encrypted. Clones share the messages.
///
/// ```
/// use superstep_assistant::inbox::{Inbox, InboxMessage};
/// use superstep_core::store::MemoryStore;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let inbox = Inbox::new(MemoryStore::new());
/// inbox.send(&"session".into(), InboxMessage::steer("Leave the tests as they are.")).await?;
/// assert_eq!(inbox.waiting(&"session".into()).await?[0].text, "Leave the tests as they are.");
/// # Ok::<(), superstep_core::store::AccessError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Inbox {
    store: Store,
}

/// A message for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxMessage {
    /// The id, which no other message of the session has. A message that is sent again with its id counts once.
    pub id: String,
    /// The text.
    pub text: String,
    /// The moment at which the session takes it.
    pub delivery: Delivery,
    /// The agent that sent it; `None` for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The model calls of an agent in the background that has ended, which are settled with the budget that was reserved
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ledger>,
    /// The changes of files by calls of an agent in the background that has ended. They become the session's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// The moment at which a working session takes a message. A session that does not work takes all of them when it is
/// run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// After the tool calls of the present turn, before the next one.
    Steer,
    /// After the response to the present request. The session then continues with the message.
    Queue,
}

/// The first name of the namespaces of messages; the second one is the session.
const NAMESPACE: &str = "inbox";

impl InboxMessage {
    /// Makes a message that the session takes between two turns.
    pub fn steer(text: impl Into<String>) -> Self {
        Self::new(Delivery::Steer, text.into())
    }

    /// Makes a message that the session takes when it has responded.
    pub fn queue(text: impl Into<String>) -> Self {
        Self::new(Delivery::Queue, text.into())
    }

    fn new(delivery: Delivery, text: String) -> Self {
        // Ids of one process sort in the order in which they were made.
        Self { id: System.id().to_string(), text, delivery, from: None, ended: None, changes: Vec::new() }
    }

    /// Sets the id, so that the message can be sent again after a crash.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Names the agent that sends the message. Messages of agents do not extend the limit of turns.
    #[must_use]
    pub fn from_agent(mut self, name: impl Into<String>) -> Self {
        self.from = Some(name.into());
        self
    }

    /// Says that the agent that sends the message has ended, after these model calls and changes of files.
    #[must_use]
    pub fn ended(mut self, ledger: Ledger, changes: impl IntoIterator<Item = Change>) -> Self {
        self.ended = Some(ledger);
        self.changes = changes.into_iter().collect();
        self
    }
}

impl Inbox {
    /// Keeps the messages in this store.
    pub fn new(store: impl Into<Store>) -> Self {
        Self { store: store.into() }
    }

    /// Sends a message to a session, which need not run.
    ///
    /// # Errors
    /// Fails if the id is empty, or if the store cannot be written.
    pub async fn send(&self, session: &ThreadId, message: InboxMessage) -> Result<(), AccessError> {
        self.store.put(&[NAMESPACE, session.as_str()], &message.id, &message).await
    }

    /// Returns the messages that are in the inbox of a session, in the order in which they were sent: by the senders'
    /// clocks, to the millisecond. A message that the session took last may still be among them.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn waiting(&self, session: &ThreadId) -> Result<Vec<InboxMessage>, AccessError> {
        let mut entries = self.store.list(&[NAMESPACE, session.as_str()]).await?;
        entries.sort_by(|a, b| (a.created_ms, &a.key).cmp(&(b.created_ms, &b.key)));
        entries.iter().map(|entry| entry.decode()).collect()
    }

    /// Removes messages that a checkpoint of the session has.
    pub(crate) async fn remove(&self, session: &ThreadId, taken: &[String]) -> Result<(), AccessError> {
        for id in taken {
            self.store.delete(&[NAMESPACE, session.as_str()], id).await?;
        }
        Ok(())
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}
