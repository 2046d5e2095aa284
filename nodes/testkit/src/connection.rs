//! A connection of a client: requests come in, answers go out.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::answer::Answer;
use super::desk::{Desk, own_answer};
use super::endpoint::{Endpoint, Vendor};
use super::pacing::{Head, Pacing};
use super::playback::{Body, Outcome, Severed, play};
use super::received::{self, Delivery, Received};
use super::{HttpError, Reply};

/// The time to wait for another connection to end, when the program has as many open files as it may.
const OUT_OF_FILES: Duration = Duration::from_millis(10);

/// Serves all connections of a listener, for ever. When this is dropped, so are they.
pub(super) async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, desk.clone()));
                }
                Err(_) => tokio::time::sleep(OUT_OF_FILES).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(stream: TcpStream, desk: Arc<Desk>) {
    // Chunks leave as they are made, also small ones. Where that is not to be had, they leave later.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| respond(request, desk.clone()));
    let connection =
        http1::Builder::new().auto_date_header(false).serve_connection(TokioIo::new(stream), service);
    // A connection ends in an error when the client goes away or the server closes it: both are reported by the
    // delivery of the answer.
    let _ = connection.await;
}

/// A response with its own headers and its pacing.
struct Paced {
    answer: Answer,
    headers: HeaderMap,
    pacing: Pacing,
}

async fn respond(request: Request<Incoming>, desk: Arc<Desk>) -> Result<Response<Body>, Severed> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Err(Severed);
    };
    let (bytes, path) = (body.to_bytes(), head.uri.path().to_owned());
    let taken = desk.admission.check_head(head.method.as_str(), &path, &head.headers).and_then(|endpoint| {
        let body = desk.admission.check_body(endpoint, &bytes)?;
        desk.check_memory(endpoint, &body)?;
        Ok((endpoint, body))
    });
    let received = Received::new(received::Request {
        method: head.method.to_string(),
        endpoint: Endpoint::at(&path),
        headers: head.headers,
        json: serde_json::from_slice(&bytes).ok(),
        bytes,
        came: tokio::time::Instant::now().into_std(),
        error: taken.as_ref().err().cloned(),
        path,
        query: head.uri.query().map(str::to_owned),
    });
    let number = desk.enter(&received);
    let outcome = Outcome::of(received.clone(), desk.is_stopping.clone());
    let vendor = Vendor::of(received.path());
    let reply = reply_to(taken, &received, number, &desk);

    match reply.pacing.head {
        Head::After(wait) => tokio::time::sleep(wait).await,
        Head::Never => std::future::pending().await,
        Head::HangUp => {
            outcome.is(Delivery::Cut);
            return Err(Severed);
        }
    }
    Ok(response(reply, outcome, vendor, number))
}

fn request_id(number: usize) -> String {
    format!("req_mock{number:04}")
}

fn reply_to(
    taken: Result<(Endpoint, Value), HttpError>,
    received: &Received,
    number: usize,
    desk: &Desk,
) -> Paced {
    let id = request_id(number);
    let (endpoint, body) = match taken {
        Ok(taken) => taken,
        Err(error) => {
            let answer = Answer::error(&error, Vendor::of(received.path()), &id);
            return Paced { answer, headers: HeaderMap::new(), pacing: Pacing::new() };
        }
    };
    let Some(reply) = desk.next_reply(endpoint, received) else {
        let answer = own_answer(endpoint, &body);
        return Paced { answer, headers: HeaderMap::new(), pacing: Pacing::new() };
    };
    let answer = Answer::to(&reply, endpoint, &body, number, &id);
    desk.remember(endpoint, &answer.id, &answer.said);
    let Reply { headers, pacing, .. } = reply;
    Paced { answer, headers: HeaderMap::from_iter(headers), pacing }
}

fn response(reply: Paced, outcome: Outcome, vendor: Vendor, number: usize) -> Response<Body> {
    let Paced { answer, headers, pacing } = reply;
    let steps = pacing.steps(&answer.pieces);
    let mut response = Response::new(play(steps, outcome));
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("a status has three digits");
    let told = response.headers_mut();
    told.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    let id = HeaderValue::try_from(request_id(number)).expect("an id is visible text");
    told.insert(vendor.request_id_header(), id);
    if !answer.is_stream {
        let length: usize = answer.pieces.iter().map(hyper::body::Bytes::len).sum();
        told.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    told.extend(headers);
    response
}
