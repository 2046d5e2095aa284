//! The stream of a reply, whatever the protocol.

use futures_util::TryStreamExt;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use superstep_nodes::model::{ModelError, ModelEvent, StreamFault};

use super::ApiKey;
use super::http_error::{HttpError, request_id};
use super::sse::{SseDecoder, SseEvent};
use super::transport::{Call, Transport, text, unreachable};

/// Reads the events of one protocol's stream.
pub(super) trait ReplyReader: Send + 'static {
    /// Takes in an event of the stream, and adds what it says to `said`.
    ///
    /// # Errors
    /// When the provider gives the call up, and when the event cannot come here.
    fn read(&mut self, event: &SseEvent, said: &mut Vec<ModelEvent>) -> Result<(), Unreadable>;

    /// Returns `true` if no more events follow. A stream that is over and whose reply is not complete has broken off.
    fn is_over(&self) -> bool;

    /// Returns `true` if the reply is complete, so that a stream that ends here has not broken off.
    fn is_complete(&self) -> bool {
        self.is_over()
    }
}

/// The error of an event that is no part of a reply.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The provider gives the call up.
    Refused(Box<HttpError>),
    /// It is not in the form of its protocol.
    Malformed(String),
}

impl Unreadable {
    pub(super) fn refused(json: &Value) -> Self {
        Self::Refused(Box::new(HttpError::of_json(json)))
    }

    fn into_error(self, key: Option<&ApiKey>) -> ModelError {
        match self {
            Self::Refused(error) => error.into_error(key),
            Self::Malformed(reason) => ModelError::ServerFailed {
                reason: format!("its stream is not in the form of its protocol: {reason}"),
            },
        }
    }
}

/// Reads an event's data as JSON.
pub(super) fn json(event: &SseEvent) -> Result<Value, Unreadable> {
    serde_json::from_str(&event.data).map_err(|error| Unreadable::Malformed(error.to_string()))
}

/// Folds a whole transcript: what is tested without a server.
#[cfg(test)]
pub(super) fn read_all(
    mut reader: impl ReplyReader,
    pieces: &[&[u8]],
) -> Result<superstep_nodes::model::ModelReply, ModelError> {
    let mut decoder = SseDecoder::default();
    let mut reply = superstep_nodes::model::Accumulator::new("asked");
    for piece in pieces {
        for event in decoder.push(piece)? {
            let mut said = Vec::new();
            reader.read(&event, &mut said).map_err(|unreadable| unreadable.into_error(None))?;
            said.into_iter().try_for_each(|event| reply.push(event))?;
        }
    }
    if !reader.is_complete() {
        return Err(StreamFault::EndedEarly.into());
    }
    Ok(reply.finish()?)
}

/// A reply that is being read.
struct Reading<R> {
    answer: reqwest::Response,
    decoder: SseDecoder,
    reader: R,
    key: Option<ApiKey>,
    /// The error to return after all events that came before it.
    failure: Option<ModelError>,
}

/// Makes a call when the stream is first asked, and reads its answer. Dropping the stream cancels the call.
pub(super) fn reply_stream<R: ReplyReader>(
    transport: Transport,
    call: Call,
    reader: impl FnOnce(Option<String>) -> R + Send + 'static,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let called = async move {
        let key = call.key.clone();
        let answer = transport.post(call).await?;
        let reader = reader(request_id(answer.headers()));
        let answer = event_stream(answer, key.as_ref()).await?;
        Ok::<_, ModelError>(Reading { answer, decoder: SseDecoder::default(), reader, key, failure: None })
    };
    stream::once(called)
        .map_ok(|reading| stream::try_unfold(Some(reading), more))
        .try_flatten()
        .map_ok(|said| stream::iter(said.into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

/// Reads on to the next events.
async fn more<R: ReplyReader>(
    reading: Option<Reading<R>>,
) -> Result<Option<(Vec<ModelEvent>, Option<Reading<R>>)>, ModelError> {
    let Some(mut reading) = reading else {
        return Ok(None);
    };
    if let Some(failure) = reading.failure {
        return Err(failure);
    }
    if reading.reader.is_over() {
        return if reading.reader.is_complete() { Ok(None) } else { Err(StreamFault::EndedEarly.into()) };
    }
    let bytes = match reading.answer.chunk().await {
        Ok(Some(bytes)) => bytes,
        // Nothing after a complete reply is needed.
        Ok(None) | Err(_) if reading.reader.is_complete() => return Ok(None),
        Ok(None) => return Err(StreamFault::EndedEarly.into()),
        Err(error) => return Err(unreachable(error)),
    };
    let mut said = Vec::new();
    for event in reading.decoder.push(&bytes)? {
        if reading.reader.is_over() {
            break;
        }
        if let Err(unreadable) = reading.reader.read(&event, &mut said) {
            reading.failure = Some(unreadable.into_error(reading.key.as_ref()));
            break;
        }
    }
    Ok(Some((said, Some(reading))))
}

/// The answer, if it is a stream of events. Servers are known to say with a 200 that something is wrong.
async fn event_stream(
    answer: reqwest::Response,
    key: Option<&ApiKey>,
) -> Result<reqwest::Response, ModelError> {
    let kind =
        answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    if kind.is_empty() || kind.starts_with("text/event-stream") {
        return Ok(answer);
    }
    let text = text(answer).await?;
    let said = serde_json::from_str(&text).ok().and_then(|json| HttpError::of_success(&json));
    Err(match said {
        Some(error) => error.into_error(key),
        None => ModelError::ServerFailed {
            reason: format!("it answered with {kind} where a stream of events was asked for"),
        },
    })
}
