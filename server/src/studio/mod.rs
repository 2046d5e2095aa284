//! The studio: a page on a checkpoint file, and the JSON that it asks for.
//!
//! ```text
//! /studio        assets ── the files of the page
//! /studio/api    routes ──┬── read ──► Documents: a verb of `superstep`, its JSON
//!                         ├── events ◄── watch: the version of the file, every 50 ms
//!                         └── write ──► Documents, Service      only for a program that lends its graphs
//! ```
//!
//! Every route needs the token of the studio, and the guard's rules for hosts and origins hold.

mod assets;
mod command;
mod events;
mod read;
mod refused;
mod routes;
#[cfg(test)]
mod tests;
mod watch;
mod write;

use std::sync::Arc;

use axum::Router;
use superstep_cli::{Documents, Refusal};
use superstep_core::run::AnyGraph;
use uuid::Uuid;

use crate::counts::Counts;
use crate::guard::{Auth, Everyone, Guard, Hosts, Limits, Streams};
use crate::service::Service;
use crate::wire::Failure;
use crate::{Token, TokenError};

pub use self::command::StudioVerb;

use self::refused::Refused;
use self::watch::Watcher;

/// The state of the handlers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Studio(Arc<Shared>);

struct Shared {
    documents: Arc<Documents>,
    watcher: Watcher,
    /// The program that lends its graphs; without one the studio only reads.
    program: Option<Program>,
    guard: Arc<Guard>,
}

/// A program that lends its graphs.
pub(crate) struct Program {
    pub(crate) graphs: Vec<AnyGraph>,
    pub(crate) service: Service,
}

/// Builds the router of a studio: its page, and its API for requests with this token. Returns the guard of the API, too.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(crate) fn pages(
    documents: Documents,
    program: Option<Program>,
    token: Token,
) -> Result<(Router, Arc<Guard>), Refusal> {
    let (router, guard) = guarded(documents, program, token, Hosts::default(), Limits::default())?;
    Ok((router.fallback(async || Failure::not_found("Not Found; the studio is at /studio")), guard))
}

/// Builds the same for a server with these rules.
pub(crate) fn guarded(
    documents: Documents,
    program: Option<Program>,
    token: Token,
    hosts: Hosts,
    limits: Limits,
) -> Result<(Router, Arc<Guard>), Refusal> {
    let guard = |auth: Arc<dyn Auth>| {
        let (streams, counts) = (Streams::default(), Counts::default());
        // The routes that write exist only for a program that lends its graphs.
        Arc::new(Guard { hosts: hosts.clone(), auth, limits, streams, counts, is_read_only: false })
    };
    let guards = (guard(Arc::new(Everyone)), guard(Arc::new(token)));
    let watcher = Watcher::new(documents.watcher()?);
    let shared = Shared { documents: Arc::new(documents), watcher, program, guard: Arc::clone(&guards.1) };
    // The files of the page need no token: the page has it from the fragment of its address.
    let router = assets::router(&guards.0).merge(routes::router(Studio(Arc::new(shared))));
    Ok((router, guards.1))
}

impl Studio {
    fn limits(&self) -> &Limits {
        &self.0.guard.limits
    }

    fn program(&self) -> Result<&Program, Refused> {
        self.0.program.as_ref().ok_or_else(routes::only_reads)
    }

    /// Runs a reading verb, which blocks, on a thread for such work.
    async fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Documents) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refused> {
        let documents = Arc::clone(&self.0.documents);
        match tokio::task::spawn_blocking(move || read(&documents)).await {
            Ok(read) => Ok(read?),
            Err(error) => Err(Refused::of(error)),
        }
    }
}

/// Makes a token that cannot be guessed. Returns its text, too.
pub(crate) fn new_token() -> Result<(Token, String), TokenError> {
    // Each has 122 random bits.
    let text = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    Ok((Token::new(&text)?, text))
}
