//! Serves the tutor in a browser: a page, and each step as a server-sent event.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use superstep::nodes::node::AgentEvent;
use superstep::run::RunStream;
use superstep_examples::callback::CallbackState;
use superstep_examples::print;
use tokio::net::TcpListener;

use crate::Tutor;

const PAGE: &str = include_str!("page.html");

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// Serves the page on this machine, until the process ends.
pub(crate) async fn serve(port: u16, tutor: Tutor) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    print(format_args!("http://{}", listener.local_addr()?))?;
    loop {
        // A connection that closes before it is accepted does not stop the server.
        let Ok((connection, _)) = listener.accept().await else { continue };
        let tutor = tutor.clone();
        tokio::spawn(async move {
            let service = service_fn(async |request| Ok::<_, Infallible>(answer(&request, &tutor)));
            // A browser that disconnects ends its connection, and with it the lesson.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

fn answer(request: &Request<Incoming>, tutor: &Tutor) -> Response<Body> {
    if !is_of_this_page(request) {
        return response(StatusCode::FORBIDDEN, "text/plain", once("open the page of this server itself"));
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => response(StatusCode::OK, "text/html; charset=utf-8", once(PAGE)),
        (&Method::GET, "/events") => {
            let query = request.uri().query().unwrap_or_default();
            let question = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "question");
            let question = question.map(|(_, value)| value.into_owned()).unwrap_or_default();
            response(StatusCode::OK, "text/event-stream", lesson(tutor, question))
        }
        _ => response(StatusCode::NOT_FOUND, "text/plain", once("there is / and /events")),
    }
}

/// Returns `true` if a request comes from the page, or from no page at all. Other pages could spend the user's money.
fn is_of_this_page(request: &Request<Incoming>) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let host = header(HOST.as_str()).map(|host| host.rsplit_once(':').map_or(host, |(host, _)| host));
    let is_own = matches!(header("sec-fetch-site"), None | Some("same-origin" | "none"));
    matches!(host, Some("127.0.0.1" | "localhost")) && is_own
}

fn response(status: StatusCode, kind: &'static str, frames: BoxStream<'static, String>) -> Response<Body> {
    let frames = frames.map(|frame| Ok(Frame::data(Bytes::from(frame))));
    let mut response = Response::new(StreamBody::new(frames.boxed()));
    *response.status_mut() = status;
    for (name, value) in [(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")] {
        response.headers_mut().insert(name, value.parse().expect("a constant is a header's value"));
    }
    response
}

fn once(text: &'static str) -> BoxStream<'static, String> {
    stream::once(async { text.to_owned() }).boxed()
}

/// Returns the events of a lesson, frame by frame as they occur.
fn lesson(tutor: &Tutor, question: String) -> BoxStream<'static, String> {
    match tutor.graph() {
        Ok(graph) => {
            let run = graph.run(CallbackState::ask(question)).stream();
            stream::unfold(Some(Lesson { run, said: None }), async |lesson| next(lesson?).await).boxed()
        }
        Err(error) => {
            let failed = frame("failed", &json!({ "text": error.to_string() }));
            stream::once(async { failed }).boxed()
        }
    }
}

/// A lesson in progress.
struct Lesson {
    run: RunStream<CallbackState>,
    /// The last text of the tutor. It is sent with the next event; without one, it is the answer.
    said: Option<AgentEvent>,
}

/// Returns the next frames, and the lesson if it continues.
async fn next(mut lesson: Lesson) -> Option<(String, Option<Lesson>)> {
    while let Some(event) = lesson.run.next().await {
        let mut frames = String::new();
        for told in AgentEvent::of(&event) {
            frames.extend(lesson.said.take().map(|said| said.to_sse()));
            match told {
                AgentEvent::AgentReasoning { .. } => lesson.said = Some(told),
                told => frames.push_str(&told.to_sse()),
            }
        }
        if !frames.is_empty() {
            return Some((frames, Some(lesson)));
        }
    }
    let ended = match lesson.run.finish().await {
        Ok(run) => run.finished().map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let (answer, last) = match ended {
        Ok(state) => {
            let answer = state.final_text();
            let last = frame("answer", &json!({ "text": answer, "exit": state.exit() }));
            (Some(answer), last)
        }
        Err(error) => (None, frame("failed", &json!({ "text": error }))),
    };
    let said = lesson.said.filter(
        |said| !matches!(said, AgentEvent::AgentReasoning { text, .. } if Some(text) == answer.as_ref()),
    );
    let before = said.map(|said| said.to_sse()).unwrap_or_default();
    Some((before + &last, None))
}

fn frame(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
