//! A reply becomes what is sent to a client.

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::endpoint::{Endpoint, Vendor};
use super::reply::What;
use super::said::{BreakOff, Occasion, Said};
use super::sse::{self, Event};
use super::{HttpError, Quirk, Reply, Stop, anthropic, chat, responses};

/// A response to a client.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Unless the reply has a header for it.
    pub(super) content_type: &'static str,
    /// The events of a stream, or one piece.
    pub(super) pieces: Vec<Bytes>,
    pub(super) is_stream: bool,
    /// The output of the model, in the form in which a later request repeats it.
    pub(super) said: Vec<Value>,
    /// The id of the response.
    pub(super) id: String,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";

impl Answer {
    /// The answer to a request that was taken.
    pub(super) fn to(reply: &Reply, endpoint: Endpoint, request: &Value, number: usize, id: &str) -> Self {
        let occasion = Occasion { request, number };
        let is_stream = request.get("stream") == Some(&Value::Bool(true));
        match &reply.what {
            What::HttpError(error) => Self::error(error, endpoint.vendor(), id),
            What::VendorError(error) => Self::error(&error.at(endpoint), endpoint.vendor(), id),
            What::Raw { status, body } => Self::raw(*status, body, endpoint),
            What::Transcript(transcript) => Self::transcript(transcript, endpoint),
            What::Said(_) if !endpoint.generates() => {
                Self::error(&misplaced(endpoint), endpoint.vendor(), id)
            }
            What::Said(said) if is_stream => Self::stream(said, endpoint, &occasion),
            What::Said(said) => match failure(said, endpoint) {
                Some(failure) => Self::error(&failure, endpoint.vendor(), id),
                None => Self::json(200, &whole(said, endpoint, &occasion), endpoint),
            },
        }
    }

    pub(super) fn error(error: &HttpError, vendor: Vendor, request_id: &str) -> Self {
        let body = error.envelope(vendor, request_id).to_string();
        Self::plain(error.status(), JSON, vec![body.into()])
    }

    /// A body that is JSON.
    pub(super) fn json(status: u16, body: &Value, endpoint: Endpoint) -> Self {
        let (said, id) = said_in(body, endpoint);
        Self { said, id, ..Self::plain(status, JSON, vec![body.to_string().into()]) }
    }

    fn raw(status: u16, body: &Bytes, endpoint: Endpoint) -> Self {
        let (said, id) = serde_json::from_slice(body)
            .map_or_else(|_| Default::default(), |body: Value| said_in(&body, endpoint));
        Self { said, id, ..Self::plain(status, JSON, vec![body.clone()]) }
    }

    fn transcript(transcript: &Bytes, endpoint: Endpoint) -> Self {
        let events = sse::read(transcript);
        let (said, id) = match endpoint {
            Endpoint::Messages => (anthropic::heard(&events), String::new()),
            Endpoint::Responses => responses::heard(&events),
            _ => Default::default(),
        };
        Self { said, id, is_stream: true, ..Self::plain(200, EVENTS, sse::split(transcript)) }
    }

    fn stream(said: &Said, endpoint: Endpoint, occasion: &Occasion<'_>) -> Self {
        let mut events = match endpoint {
            Endpoint::Messages => anthropic::events(said, occasion),
            Endpoint::Responses => responses::events(said, occasion),
            _ => chat::events(said, occasion),
        };
        if let Some(error) = &said.breaks_off {
            events.truncate(error.events);
            events.push(error_event(error, endpoint, events.len()));
        }
        if said.has(Quirk::EmptyStream) {
            events.clear();
        }
        let (said, id) = said_in(&whole(said, endpoint, occasion), endpoint);
        let pieces = events.iter().map(Event::bytes).collect();
        Self { said, id, is_stream: true, ..Self::plain(200, EVENTS, pieces) }
    }

    fn plain(status: u16, content_type: &'static str, pieces: Vec<Bytes>) -> Self {
        Self { status, content_type, pieces, is_stream: false, said: Vec::new(), id: String::new() }
    }
}

fn whole(said: &Said, endpoint: Endpoint, occasion: &Occasion<'_>) -> Value {
    match endpoint {
        Endpoint::Messages => anthropic::message(said, occasion),
        Endpoint::Responses => responses::response(said, occasion),
        _ => chat::completion(said, occasion),
    }
}

/// Returns the output of a whole response, and its id.
fn said_in(answer: &Value, endpoint: Endpoint) -> (Vec<Value>, String) {
    let key = match endpoint {
        Endpoint::Messages => "content",
        Endpoint::Responses => "output",
        _ => return Default::default(),
    };
    let said = answer.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    (said, answer.get("id").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// The error of an answer that fails before its end and is not streamed. The Responses API has a body for it.
fn failure(said: &Said, endpoint: Endpoint) -> Option<HttpError> {
    match (&said.breaks_off, said.stop()) {
        (Some(error), _) => Some(HttpError::new(500, &error.kind, &error.message)),
        (None, Stop::Failed { code, message }) if endpoint != Endpoint::Responses => {
            Some(HttpError::new(500, code, message))
        }
        _ => None,
    }
}

fn error_event(error: &BreakOff, endpoint: Endpoint, number: usize) -> Event {
    let BreakOff { kind, message, .. } = error;
    match endpoint {
        Endpoint::Messages => {
            Event::typed(json!({"type": "error", "error": {"type": kind, "message": message}}))
        }
        Endpoint::Responses => Event::typed(json!({
            "type": "error",
            "code": kind,
            "message": message,
            "param": null,
            "sequence_number": number,
        })),
        _ => {
            Event::unnamed(json!({"error": {"message": message, "type": kind, "param": null, "code": null}}))
        }
    }
}

fn misplaced(endpoint: Endpoint) -> HttpError {
    let path = endpoint.path();
    HttpError::new(
        500,
        "server_error",
        format!("no model speaks at {path}: give the mock server an error or bytes to answer there"),
    )
}
