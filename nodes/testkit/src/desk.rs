//! The shared state of a server's connections: the queued replies, the received requests, the memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::admission::Admission;
use super::answer::Answer;
use super::received::Received;
use super::{Endpoint, HttpError, Reply, anthropic, embeddings, images, responses};

/// Answers requests that no queued reply is for.
pub(super) type Responder = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

/// The shared state of a server's connections.
pub(super) struct Desk {
    pub(super) admission: Admission,
    pub(super) is_stopping: Arc<AtomicBool>,
    state: Mutex<State>,
    /// The number of received requests.
    pub(super) count: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    /// Replies for one endpoint only.
    reserved: BTreeMap<Endpoint, VecDeque<Reply>>,
    responder: Option<Responder>,
    received: Vec<Received>,
    anthropic: anthropic::Memory,
    responses: responses::Memory,
}

impl Desk {
    pub(super) fn new(admission: Admission) -> Self {
        let count = watch::Sender::new(0);
        Self { admission, is_stopping: Arc::default(), state: Mutex::default(), count }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is a single push or pop, so a panic elsewhere leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn queue(&self, reply: Reply) {
        self.state().replies.push_back(reply);
    }

    pub(super) fn reserve(&self, endpoint: Endpoint, reply: Reply) {
        self.state().reserved.entry(endpoint).or_default().push_back(reply);
    }

    pub(super) fn respond_with(&self, responder: Responder) {
        self.state().responder = Some(responder);
    }

    pub(super) fn waiting(&self) -> usize {
        let state = self.state();
        state.replies.len() + state.reserved.values().map(VecDeque::len).sum::<usize>()
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// Enters a request and returns its number, from 1.
    pub(super) fn enter(&self, received: &Received) -> usize {
        let mut state = self.state();
        state.received.push(received.clone());
        let number = state.received.len();
        drop(state);
        self.count.send_replace(number);
        number
    }

    /// Checks a request against what was sent before.
    pub(super) fn check_memory(&self, endpoint: Endpoint, body: &Value) -> Result<(), HttpError> {
        if !self.admission.is_strict {
            return Ok(());
        }
        match endpoint {
            Endpoint::Messages | Endpoint::CountTokens => self.state().anthropic.check(body),
            Endpoint::Responses | Endpoint::InputTokens => self.state().responses.check(body),
            Endpoint::ChatCompletions
            | Endpoint::Embeddings
            | Endpoint::ImageGenerations
            | Endpoint::ImageEdits => Ok(()),
        }
    }

    /// Keeps what is said at an endpoint.
    pub(super) fn remember(&self, endpoint: Endpoint, id: &str, said: &[Value]) {
        match endpoint {
            Endpoint::Messages if !said.is_empty() => self.state().anthropic.learn(said),
            Endpoint::Responses if !id.is_empty() || !said.is_empty() => {
                self.state().responses.learn(id, said)
            }
            _ => {}
        }
    }

    /// The reply to a request that was taken, unless the server answers it by itself.
    pub(super) fn next_reply(&self, endpoint: Endpoint, received: &Received) -> Option<Reply> {
        let mut state = self.state();
        let reserved = state.reserved.get_mut(&endpoint).and_then(VecDeque::pop_front);
        if reserved.is_some() || !endpoint.generates() {
            return reserved;
        }
        if let Some(reply) = state.replies.pop_front() {
            return Some(reply);
        }
        let responder = state.responder.clone();
        drop(state);
        Some(responder.map_or_else(empty_queue, |responder| responder(received)))
    }
}

/// The answer to a request that needs no reply: something is counted, embedded or drawn.
pub(super) fn own_answer(endpoint: Endpoint, request: &Value) -> Answer {
    let body = match endpoint {
        Endpoint::CountTokens => json!({"input_tokens": embeddings::tokens(request)}),
        Endpoint::InputTokens => {
            json!({"object": "response.input_tokens", "input_tokens": embeddings::tokens(request)})
        }
        Endpoint::ImageGenerations | Endpoint::ImageEdits => images::answer(request),
        _ => embeddings::answer(request),
    };
    Answer::json(200, &body, endpoint)
}

fn empty_queue() -> Reply {
    let message = "the mock server's queue of replies is empty: give it one reply for each request with \
                   `server.reply(..)`, or answer with `server.answer_with(..)`";
    Reply::error(500, "api_error", message).header("x-should-retry", "false")
}
