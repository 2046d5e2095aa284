//! Authentication and authorization by the program.

use async_trait::async_trait;
use axum::http::request::Parts;
use serde_json::{Map, Value};

/// Decides who a client is, and which threads, assistants and schedules it may use.
///
/// [`Token`](super::Token) is the implementation for one token that all clients share. A program with several users
/// implements this trait: each request is authenticated first, and then each route asks for a [`Filter`]. Entries of
/// the filter are written into the metadata of everything that the client creates, and a client finds only objects
/// whose metadata contains them; others do not exist for it (404).
///
/// ```
/// use superstep_server::axum::http::request::Parts;
/// use superstep_server::{Auth, AuthError, Identity};
///
/// struct Users;
///
/// #[async_trait::async_trait]
/// impl Auth for Users {
///     async fn authenticate(&self, request: &Parts) -> Result<Identity, AuthError> {
///         match request.headers.get("x-api-key").map(|key| key.as_bytes()) {
///             // A real program looks digests of keys up.
///             Some(b"key-of-ada") => Ok(Identity::new("ada")),
///             Some(b"key-of-bob") => Ok(Identity::new("bob")),
///             _ => Err(AuthError::Unauthenticated { reason: "unknown key".into() }),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Auth: Send + Sync + 'static {
    /// Returns the client that sent a request with this head. It is asked for each request, and for each command over
    /// a WebSocket. A stream that was opened with a valid key stays open when the key expires.
    ///
    /// # Errors
    /// Fails if the client is unknown (401) or the check cannot be made now (503).
    async fn authenticate(&self, request: &Parts) -> Result<Identity, AuthError>;

    /// Returns the filter for an access of a client. The default gives each client its own threads, schedules and
    /// items of the store, and lets all of them use all assistants: [`Filter::by_owner`].
    ///
    /// # Errors
    /// Fails if the client may not do this at all (403).
    async fn filter(&self, identity: &Identity, access: Access) -> Result<Filter, AuthError> {
        Ok(Filter::by_owner(identity, access))
    }
}

/// A client that was authenticated.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The id of the client, by which its open streams are counted.
    pub id: String,
    /// Further facts about the client, for the [filter](Auth::filter).
    pub claims: Map<String, Value>,
}

impl Identity {
    /// Creates a client without claims.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), claims: Map::new() }
    }

    /// Creates the client that stands for all clients. Their streams are counted by their addresses.
    pub(crate) fn shared() -> Self {
        Self::new("")
    }
}

/// An access: an action on a kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The kind of object.
    pub resource: Resource,
    /// The action.
    pub action: Action,
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Threads, with their states and runs.
    Threads,
    /// Assistants.
    Assistants,
    /// Schedules.
    Crons,
    /// Items of the store.
    Store,
    /// The server: its description and its numbers, and MCP.
    Server,
}

/// The actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Creates an object.
    Create,
    /// Starts, cancels or deletes runs of a thread, or creates the thread with its first run.
    Run,
    /// Reads, counts or lists objects.
    Read,
    /// Changes an object.
    Update,
    /// Deletes an object.
    Delete,
}

/// The part of the objects that a client may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub(crate) metadata: Map<String, Value>,
    pub(crate) namespace: Vec<String>,
}

impl Filter {
    /// Admits every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Admits objects whose metadata contains these entries, and writes them into what is created.
    #[must_use]
    pub fn metadata(entries: Map<String, Value>) -> Self {
        Self { metadata: entries, namespace: Vec::new() }
    }

    /// Admits the part of the store below a namespace. Clients see namespaces without this prefix.
    #[must_use]
    pub fn below(mut self, namespace: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.namespace = namespace.into_iter().map(Into::into).collect();
        self
    }

    /// Admits the objects whose metadata names this client as `owner`, the items of the store below its id, and all
    /// assistants for reading.
    #[must_use]
    pub fn by_owner(identity: &Identity, access: Access) -> Self {
        match access {
            Access { resource: Resource::Store, .. } => Self::everything().below([&identity.id]),
            Access { resource: Resource::Server, .. }
            | Access { resource: Resource::Assistants, action: Action::Read } => Self::everything(),
            _ => Self::metadata(Map::from_iter([("owner".to_owned(), Value::from(identity.id.as_str()))])),
        }
    }
}

/// An error of authentication or authorization.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The client is unknown: 401.
    #[error("{reason}")]
    Unauthenticated {
        /// The text for the client.
        reason: String,
    },
    /// The client may not do this: 403.
    #[error("{reason}")]
    Forbidden {
        /// The text for the client.
        reason: String,
    },
    /// The check cannot be made now, such as when a server of keys cannot be reached: 503.
    #[error("{reason}")]
    Unavailable {
        /// The text for the client.
        reason: String,
    },
}

/// Admits all clients as one. For a server that only users of this machine reach.
pub(crate) struct Everyone;

#[async_trait]
impl Auth for Everyone {
    async fn authenticate(&self, _: &Parts) -> Result<Identity, AuthError> {
        Ok(Identity::shared())
    }

    async fn filter(&self, _: &Identity, _: Access) -> Result<Filter, AuthError> {
        Ok(Filter::everything())
    }
}
