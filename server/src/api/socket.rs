//! The thread protocol over a WebSocket: commands in, their responses and events out.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::request::Parts;
use futures_util::stream::{BoxStream, SelectAll, StreamExt};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::App;
use super::call::{Call, Reply};
use crate::guard::{self, OpenStream};
use crate::log::Frame;
use crate::protocol::{Code, EventFilter};
use crate::wire::{Failure, order};

/// The close code of an error is its HTTP status above this.
const CLOSE: u16 = 4000;

/// The time between two pings, which keep proxies from closing an idle connection.
const PING: Duration = Duration::from_secs(20);

/// The maximum number of subscriptions of a connection.
const SUBSCRIPTIONS: usize = 64;

/// A connection.
struct Socket {
    app: App,
    /// The head of the request, with which each command is authenticated.
    head: Parts,
    call: Call,
    thread: String,
    events: SelectAll<BoxStream<'static, Frame>>,
    /// Ends the subscription with this id.
    subscriptions: HashMap<String, CancellationToken>,
    /// Counts the stream until the client is gone.
    _open: OpenStream,
}

/// Upgrades a request to a WebSocket. An error closes it, as a browser shows a page no response to the upgrade.
pub(super) async fn connect(
    State(app): State<App>,
    head: Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    call: Call,
) -> Reply {
    let upgrade = upgrade.map_err(|error| Failure::new(error.status().as_u16(), error.body_text()))?;
    let upgrade = upgrade.max_message_size(app.guard.limits.body_bytes);
    Ok(upgrade.on_upgrade(move |mut socket| async move {
        let opened = call.thread().map(str::to_owned).and_then(|thread| Ok((thread, call.open(&app)?)));
        match opened {
            Ok((thread, open)) => {
                let (events, subscriptions) = (SelectAll::new(), HashMap::new());
                Socket { app, head, call, thread, events, subscriptions, _open: open }.serve(socket).await;
            }
            Err(failure) => {
                let frame = CloseFrame { code: CLOSE + failure.status, reason: failure.detail.into() };
                // The client may be gone.
                drop(socket.send(Message::Close(Some(frame))).await);
            }
        }
    }))
}

impl Socket {
    /// Serves a client until it goes away.
    async fn serve(mut self, mut socket: WebSocket) {
        let mut ping = interval(PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let message = tokio::select! {
                received = socket.recv() => match received {
                    Some(Ok(Message::Text(command))) => {
                        let response = self.answer(command.as_bytes()).await;
                        Message::Text(order::text(&response).into())
                    }
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
                Some(frame) = self.events.next(), if !self.events.is_empty() => {
                    Message::Text(order::text(&frame.data).into())
                }
                _ = ping.tick() => Message::Ping(Vec::new().into()),
            };
            if socket.send(message).await.is_err() {
                return;
            }
        }
    }

    /// Carries out a command; returns its response.
    async fn answer(&mut self, command: &[u8]) -> Value {
        let command = match guard::parse(command) {
            Ok(command) => command,
            Err(failure) => return refused(&Value::Null, &failure),
        };
        // A key may have expired since the connection was opened.
        if let Err(error) = self.app.guard.auth.authenticate(&self.head).await {
            return refused(&command["id"], &error.into());
        }
        let service = self.app.service.clone();
        let (_, mut response) = service.command(&self.call.scope, &self.thread, &command).await;
        if response["type"] == "success" {
            match command["method"].as_str() {
                Some("subscription.subscribe") => {
                    let id = response["result"]["subscription_id"].as_str().unwrap_or_default().to_owned();
                    if let Err(failure) = self.subscribe(id, &command["params"]).await {
                        response = refused(&command["id"], &failure);
                    }
                }
                Some("subscription.unsubscribe") => {
                    let id = command["params"]["subscription_id"].as_str().unwrap_or_default();
                    if let Some(end) = self.subscriptions.remove(id) {
                        end.cancel();
                    }
                }
                _ => {}
            }
        }
        response
    }

    async fn subscribe(&mut self, id: String, params: &Value) -> Result<(), Failure> {
        if self.subscriptions.len() >= SUBSCRIPTIONS {
            return Err(Failure::new(
                429,
                format!("the connection has {SUBSCRIPTIONS} subscriptions, the maximum"),
            ));
        }
        let filter = EventFilter::read(params)?;
        let events = self.app.service.protocol_events(&self.call.scope, &self.thread, filter).await?;
        let end = CancellationToken::new();
        self.events.push(events.take_until(end.clone().cancelled_owned()).boxed());
        self.subscriptions.insert(id, end);
        Ok(())
    }
}

/// Returns the response to a command that was refused.
fn refused(id: &Value, failure: &Failure) -> Value {
    json!({ "type": "error", "id": id, "error": Code::of(failure).name(), "message": failure.detail })
}
