//! Responses as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::watch::Watch;
use crate::guard::OpenStream;
use crate::log::Frame;
use crate::wire::order;

/// The time between two heartbeats. Clients take a stream for dead after three of them.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The size at which waiting events are sent before further ones are collected, in bytes.
const CHUNK: usize = 16 << 10;

/// An open stream.
struct Writer {
    frames: BoxStream<'static, Frame>,
    heartbeat: Interval,
    watch: Option<Watch>,
    has_ended: bool,
    /// Counts the stream until the client is gone.
    _open: OpenStream,
}

/// Makes a response of these events. `watch` is a watch of the run that the stream belongs to.
pub(super) fn respond(frames: BoxStream<'static, Frame>, open: OpenStream, watch: Option<Watch>) -> Response {
    let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let writer = Writer { frames, heartbeat, watch, has_ended: false, _open: open };
    let mut response = Response::new(Body::from_stream(unfold(writer, Writer::next)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Writer {
    /// Returns the next part of the body: the events that are ready, or a heartbeat.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.has_ended {
            return None;
        }
        let mut text = String::new();
        tokio::select! {
            biased;
            frame = self.frames.next() => self.write(frame, &mut text),
            _ = self.heartbeat.tick() => text.push_str(": heartbeat\n\n"),
        }
        while !self.has_ended && text.len() < CHUNK {
            let Some(frame) = self.frames.next().now_or_never() else { break };
            self.write(frame, &mut text);
        }
        Some((Ok(text.into()), self))
    }

    fn write(&mut self, frame: Option<Frame>, text: &mut String) {
        match frame {
            Some(frame) => push(&frame, text),
            None => {
                self.has_ended = true;
                if let Some(watch) = &mut self.watch {
                    watch.finish();
                }
            }
        }
    }
}

/// Writes an event.
pub(crate) fn push(frame: &Frame, text: &mut String) {
    let field = |text: &mut String, name: &str, value: &str| {
        text.push_str(name);
        // A line break would end the field.
        text.extend(value.chars().filter(|letter| !matches!(letter, '\n' | '\r' | '\0')));
        text.push('\n');
    };
    field(text, "event: ", &frame.event);
    field(text, "data: ", &order::text(&frame.data));
    if let Some(id) = &frame.id {
        field(text, "id: ", id);
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Limits, Streams};
    use axum::http::StatusCode;
    use futures_util::stream;
    use serde_json::{Value, json};

    fn frame(event: &str, data: Value, id: Option<&str>) -> Frame {
        Frame { event: event.into(), data, id: id.map(str::to_owned) }
    }

    fn open() -> OpenStream {
        Streams::default().open("", &Limits::default()).unwrap()
    }

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn each_event_has_one_line_a_field_whatever_is_in_it() {
        let frames = vec![
            frame("metadata", json!({ "run_id": "r" }), Some("1-2")),
            frame("up\ndates|a\r:b", json!("two\nlines"), None),
        ];
        let response = respond(stream::iter(frames).boxed(), open(), None);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        assert_eq!(
            text(response).await,
            "event: metadata\ndata: {\"run_id\":\"r\"}\nid: 1-2\n\n\
             event: updates|a:b\ndata: \"two\\nlines\"\n\n"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_events_has_a_heartbeat_every_five_seconds() {
        let late = async {
            tokio::time::sleep(Duration::from_secs(12)).await;
            frame("values", json!({}), None)
        };
        let begin = Instant::now();
        let mut body = respond(stream::once(late).boxed(), open(), None).into_body().into_data_stream();
        let mut parts = Vec::new();
        while let Some(part) = body.next().await {
            let part = String::from_utf8(part.unwrap().to_vec()).unwrap();
            parts.push((begin.elapsed().as_secs(), part.lines().next().unwrap_or_default().to_owned()));
        }
        let parts: Vec<_> = parts.iter().map(|(second, line)| (*second, line.as_str())).collect();
        assert_eq!(parts, [(5, ": heartbeat"), (10, ": heartbeat"), (12, "event: values")]);
    }
}
