//! The stream of events: the file has changed, or is gone.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::stream::unfold;
use superstep_cli::FileVersion;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::guard::{Client, OpenStream};

use super::Studio;
use super::refused::Refused;
use super::watch::Seen;

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// An open stream.
struct Stream {
    seen: Receiver<Seen>,
    replaced: u64,
    heartbeat: Interval,
    /// Counts the stream until the client is gone.
    _open: OpenStream,
}

/// Streams the changes of the file.
pub(super) async fn events(
    State(studio): State<Studio>,
    Extension(Client(client)): Extension<Client>,
) -> Result<Response, Refused> {
    let guard = &studio.0.guard;
    let open = guard.streams.open(&client, &guard.limits)?;
    let mut seen = studio.0.watcher.subscribe();
    // The first bytes tell the client that the stream is open.
    let mut first = ": open\n\n".to_owned();
    let replaced = match &*seen.borrow_and_update() {
        Seen::At(FileVersion { replaced, .. }) => *replaced,
        Seen::Gone(text) => {
            first.push_str(&gone(text));
            0
        }
    };
    let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stream = Stream { seen, replaced, heartbeat, _open: open };
    let body = unfold((stream, Some(first)), |(mut stream, first)| async move {
        let text = match first {
            Some(first) => first,
            None => stream.next().await?,
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), (stream, None)))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

impl Stream {
    /// Returns the next part of the body; `None` at the end of the studio.
    async fn next(&mut self) -> Option<String> {
        tokio::select! {
            biased;
            changed = self.seen.changed() => changed.ok()?,
            _ = self.heartbeat.tick() => return Some(": heartbeat\n\n".to_owned()),
        }
        let seen = self.seen.borrow_and_update().clone();
        Some(match seen {
            Seen::At(FileVersion { replaced, .. }) if replaced != self.replaced => {
                self.replaced = replaced;
                gone("another file was put in the place of the one that was open")
            }
            Seen::At(FileVersion { number, .. }) => {
                format!("event: changed\ndata: {{\"version\":{number}}}\n\n")
            }
            Seen::Gone(text) => gone(&text),
        })
    }
}

fn gone(text: &str) -> String {
    // A line break would end the field.
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    format!("event: gone\ndata: {text}\n\n")
}
