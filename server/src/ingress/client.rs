//! The calls of a thread's handlers, which are repeated until Restate answers.
//!
//! The id of a run is the idempotency key of its call, so every server that calls waits for the same invocation.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_core::records::RunRow;
use superstep_core::run::Status;
use superstep_nodes::__private::tls;
use tokio::time::{Instant, sleep};

/// The time limit of a request. The next one waits for the same invocation.
const TIME: Duration = Duration::from_secs(30);

/// The first and the longest pause after a request that failed.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// The time for which a handler that does not exist is called: a node of Restate that has just begun knows none.
const UNKNOWN: Duration = Duration::from_secs(3);

/// The call of a run that is cancelled before it begins.
const LATER: &str = "drive/send?delay=30d";

/// Restate's ingress. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Ingress {
    address: Url,
    client: Client,
}

/// The end of a run that was handed over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Ended(Status),
    Failed {
        /// The code of the error in Restate.
        code: u16,
        message: String,
    },
    Cancelled,
    /// Restate does not know the handler, and says so in this text.
    Unknown(String),
}

impl Ingress {
    /// Creates the client of the ingress at this address.
    ///
    /// # Errors
    /// Returns the reason if the address is not one of HTTP, or TLS cannot be set up.
    pub(crate) fn new(address: &str) -> Result<Self, String> {
        let url = Url::parse(address).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
            return Err("write http://HOST:PORT, such as http://127.0.0.1:8080".to_owned());
        }
        let client = Client::builder()
            .timeout(TIME)
            .no_proxy()
            .redirect(Policy::none())
            .tls_backend_preconfigured(tls(&[]).map_err(|error| error.to_string())?);
        Ok(Self { address: url, client: client.build().map_err(|error| error.to_string())? })
    }

    /// Has Restate drive a run, and waits for its end. A run that Restate already has is not begun again.
    pub(crate) async fn drive(&self, run: &RunRow, order: &Value) -> Answer {
        let (status, body) = self.reply(UNKNOWN, || self.order(run, "drive", order)).await;
        answer(status, &body)
    }

    /// Returns `true` if Restate has this run.
    pub(crate) async fn has(&self, run: &RunRow) -> bool {
        self.reply(Duration::ZERO, || self.invocation(run, "output")).await.0 != 404
    }

    /// Waits for the end of a run that Restate has.
    pub(crate) async fn attach(&self, run: &RunRow) -> Answer {
        let (status, body) = self.reply(Duration::ZERO, || self.invocation(run, "attach")).await;
        answer(status, &body)
    }

    /// Cancels a run, and waits for its end. If Restate does not have it yet, a later call does not begin it.
    pub(crate) async fn cancel(&self, run: &RunRow) -> Answer {
        let nothing = json!({ "begins": [], "options": {} });
        let (status, sent) = self.reply(Duration::ZERO, || self.order(run, LATER, &nothing)).await;
        let Some(invocation) = sent.get("invocationId") else { return answer(status, &sent) };
        self.reply(Duration::ZERO, || self.post(run, "cancel", invocation)).await;
        self.attach(run).await
    }

    /// Cancels a run as soon as Restate answers.
    pub(crate) fn cancel_later(&self, run: RunRow) {
        let ingress = self.clone();
        tokio::spawn(async move { ingress.cancel(&run).await });
    }

    /// Returns the request that begins a run, or waits for it.
    fn order(&self, run: &RunRow, call: &str, order: &Value) -> RequestBuilder {
        self.post(run, call, order).header("idempotency-key", &run.id)
    }

    fn post(&self, run: &RunRow, call: &str, body: &Value) -> RequestBuilder {
        let (handler, query) = call.split_once('?').unwrap_or((call, ""));
        let path = [run.graph.as_str(), run.thread.as_str()].into_iter().chain(handler.split('/'));
        let request = self.request(Method::POST, path, query);
        request.header(CONTENT_TYPE, "application/json").body(body.to_string())
    }

    fn invocation(&self, run: &RunRow, what: &str) -> RequestBuilder {
        let path = ["restate", "invocation", run.graph.as_str(), run.thread.as_str(), "drive", &run.id, what];
        self.request(Method::GET, path, "")
    }

    fn request<'p>(
        &self,
        method: Method,
        path: impl IntoIterator<Item = &'p str>,
        query: &str,
    ) -> RequestBuilder {
        let mut url = self.address.clone();
        url.path_segments_mut().expect("an address of HTTP has a path").pop_if_empty().extend(path);
        url.set_query(Some(query).filter(|query| !query.is_empty()));
        self.client.request(method, url).header(ACCEPT, "application/json")
    }

    /// Repeats a request until Restate answers, and for this time while it does not know the handler. Returns the
    /// status and the body.
    async fn reply(&self, unknown: Duration, request: impl Fn() -> RequestBuilder) -> (u16, Value) {
        let begun = Instant::now();
        let mut pause = PAUSES[0];
        loop {
            let reason = match reply(request()).await {
                Ok((404, _)) if begun.elapsed() < unknown => "a handler is not known".to_owned(),
                Ok((status, body)) if !is_passing(status) => return (status, body),
                Ok((status, body)) => format!("status {status}: {}", message(&body)),
                Err(error) if error.is_timeout() && !error.is_connect() => continue,
                Err(error) => error.without_url().to_string(),
            };
            if pause == PAUSES[0] {
                tracing::warn!(reason, address = %self.address, "Restate does not answer; it is called again");
            }
            sleep(pause).await;
            pause = PAUSES[1].min(2 * pause);
        }
    }
}

async fn reply(request: RequestBuilder) -> reqwest::Result<(u16, Value)> {
    let reply = request.send().await?;
    let status = reply.status().as_u16();
    let body = reply.text().await?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::String(body))))
}

/// Returns `true` for the status of an error that may pass. A failed run is no error of its call.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// Reads the response to a call of the handler `drive`.
fn answer(status: u16, body: &Value) -> Answer {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Ended {
        Run(Status),
        Failed { code: u16, message: String },
    }
    match status {
        200 => match Ended::deserialize(body) {
            Ok(Ended::Run(status)) => Answer::Ended(status),
            Ok(Ended::Failed { code, message }) => Answer::Failed { code, message },
            Err(error) => Answer::Failed {
                code: 500,
                message: format!("the response of Restate cannot be read: {error}"),
            },
        },
        404 => Answer::Unknown(message(body)),
        409 => Answer::Cancelled,
        code => Answer::Failed { code, message: message(body) },
    }
}

/// Returns the text of an error.
fn message(body: &Value) -> String {
    body.get("message").or(Some(body)).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_status_of_the_run_its_error_or_one_of_restate() {
        let ended = |body: Value| answer(200, &body);
        assert_eq!(ended(json!({ "run": { "status": "finished" } })), Answer::Ended(Status::Finished));
        let asked = json!({ "run": { "status": "interrupted", "interrupts": [] } });
        assert_eq!(ended(asked), Answer::Ended(Status::Interrupted { interrupts: Vec::new() }));
        let limited = json!({ "run": { "status": "limit_reached", "limit": 7 } });
        assert_eq!(ended(limited), Answer::Ended(Status::LimitReached { limit: 7 }));
        let failed = Answer::Failed { code: 408, message: "too long".into() };
        assert_eq!(ended(json!({ "failed": { "code": 408, "message": "too long" } })), failed);
        let Answer::Failed { code: 500, message } = ended(json!({ "thread": "rust" })) else { panic!() };
        assert!(
            message.starts_with("the response of Restate cannot be read: unknown variant `thread`"),
            "{message}"
        );

        let refused = |status| answer(status, &json!({ "code": status, "message": "no" }));
        assert_eq!(refused(409), Answer::Cancelled);
        assert_eq!(refused(404), Answer::Unknown("no".into()));
        assert_eq!(refused(413), Answer::Failed { code: 413, message: "no".into() });
        assert_eq!(answer(404, &json!("no")), Answer::Unknown("no".into()));
    }

    #[test]
    fn an_address_is_one_of_http() {
        for address in ["http://127.0.0.1:8080", "https://restate.example.org/ingress/"] {
            assert!(Ingress::new(address).is_ok(), "{address}");
        }
        for address in ["127.0.0.1:8080", "", "file:///restate", "http://a/?b"] {
            assert!(Ingress::new(address).is_err(), "{address}");
        }
    }

    #[test]
    fn only_errors_that_may_pass_are_repeated() {
        assert!([408, 429, 500, 502, 503].into_iter().all(is_passing));
        assert!(![200, 202, 400, 404, 409, 413, 470].into_iter().any(is_passing));
    }
}
