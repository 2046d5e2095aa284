//! A receiver of webhooks on loopback.

use std::collections::VecDeque;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The answer to a call: a status. With 0 the call is not answered.
type Answer = u16;

/// A receiver of webhooks.
pub(crate) struct Receiver {
    address: SocketAddr,
    calls: UnboundedReceiver<Call>,
}

/// A call that was received.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    /// The method, the path and the type of the body.
    pub(crate) head: String,
    pub(crate) body: Value,
}

struct Answers {
    next: Mutex<VecDeque<Answer>>,
    calls: UnboundedSender<Call>,
}

impl Receiver {
    /// Starts a receiver with these answers, and 200 after them.
    pub(crate) async fn new(answers: &[Answer]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), answers)
    }

    pub(crate) fn on(listener: TcpListener, answers: &[Answer]) -> Self {
        let (calls, received) = unbounded_channel();
        let address = listener.local_addr().unwrap();
        let answers = Answers { next: Mutex::new(answers.iter().copied().collect()), calls };
        let router = Router::new().fallback(receive).with_state(Arc::new(answers));
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { address, calls: received }
    }

    /// Returns an address of the receiver, with a token in its query.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?token=t0ken", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Waits for the next call.
    pub(crate) async fn next(&mut self) -> Call {
        let next = tokio::time::timeout(Duration::from_secs(20), self.calls.recv()).await;
        next.expect("the webhook is called").expect("the receiver runs")
    }

    /// Returns a call that has arrived and was not read.
    pub(crate) fn rest(&mut self) -> Option<Call> {
        self.calls.try_recv().ok()
    }
}

async fn receive(
    State(answers): State<Arc<Answers>>,
    request: Request<axum::body::Body>,
) -> (StatusCode, [(&'static str, &'static str); 1]) {
    let (head, body) = request.into_parts();
    let kind = head.headers["content-type"].to_str().unwrap();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let head = format!("{} {} {kind}", head.method, head.uri);
    let body = serde_json::from_slice(&body).unwrap();
    let answer = answers.next.lock().unwrap().pop_front().unwrap_or(200);
    answers.calls.send(Call { head, body }).unwrap();
    match answer {
        0 => pending().await,
        status => (StatusCode::from_u16(status).unwrap(), [("location", "/other")]),
    }
}
