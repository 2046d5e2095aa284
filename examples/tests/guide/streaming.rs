//! Snippets of `docs/streaming.md`.

use std::convert::Infallible;
use std::error::Error;
use std::future::IntoFuture;
use std::io::{self, Write};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http_body_util::StreamBody;
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;
use superstep::nodes::graphs::{AgentState, EvaluatorConfig, evaluator};
use superstep::nodes::model::{ModelEvent, Purpose};
use superstep::nodes::node::ModelChunk;
use superstep::prelude::*;
use superstep::run::{Feed, Received, RunEvent, RunRequest, View};

use superstep::nodes::model::Scripted;

/// Returns the text of an event that is a piece of an agent's reply.
fn token(event: &RunEvent) -> Option<String> {
    match ModelChunk::of(event)? {
        ModelChunk { purpose: Purpose::Agent, event: ModelEvent::TextDelta { text }, .. } => Some(text),
        _ => None,
    }
}

/// Prints the tokens of a run as they come, and returns how the run ended.
async fn print<S: State>(request: RunRequest<S>) -> Result<Run<S>, Box<dyn Error>> {
    let mut run = request.stream().view(View::Messages);
    while let Some(event) = run.next().await {
        if let Some(text) = token(&event) {
            print!("{text}");
            io::stdout().flush()?;
        }
    }
    println!();
    Ok(run.finish().await?)
}

/// Returns the tokens of a run as server-sent events, and how the run ended as the last one.
fn frames<S: State>(request: RunRequest<S>) -> BoxStream<'static, String> {
    let run = request.stream().view(View::Messages);
    let frames = stream::unfold(Some(run), async |run| {
        let mut run = run?;
        while let Some(event) = run.next().await {
            if let Some(text) = token(&event) {
                return Some((format!("event: token\ndata: {}\n\n", json!(text)), Some(run)));
            }
        }
        let end = match run.finish().await {
            Ok(run) => json!(run.status.name()),
            Err(error) => json!(error.to_string()),
        };
        Some((format!("event: end\ndata: {end}\n\n"), None))
    });
    frames.boxed()
}

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// Answers an HTTP request with the tokens of a run.
fn answer(agent: &Graph<AgentState>, question: &str) -> Response<Body> {
    let frames = frames(agent.run(AgentState::ask(question)));
    let body = frames.map(|frame| Ok(Frame::data(Bytes::from(frame))));
    let mut response = Response::new(StreamBody::new(body.boxed()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Returns the tokens after the last event that a browser has seen, which it names in the header `Last-Event-ID`.
fn frames_after(feed: &Feed, seen: Option<u64>) -> BoxStream<'static, String> {
    let events = feed.subscribe_from(seen.map_or(0, |seq| seq + 1)).view(View::Messages);
    let frames = stream::unfold(events, async |mut events| {
        loop {
            match events.next().await? {
                Received::Event(event) => {
                    if let Some(text) = token(&event) {
                        let frame = format!("id: {}\nevent: token\ndata: {}\n\n", event.seq, json!(text));
                        return Some((frame, events));
                    }
                }
                Received::Missed { .. } => return Some(("event: missed\ndata: null\n\n".to_owned(), events)),
            }
        }
    });
    frames.boxed()
}

/// Returns a model that answers once, and is content with its answer.
fn scripted(answer: &str) -> Scripted {
    Scripted::new()
        .say(answer)
        .on(Purpose::Evaluator, [r#"{ "iteration": 1, "score": 1.0, "complete": true, "feedback": "" }"#])
        .on(Purpose::Ranker, [r#"{ "iteration": 1, "order": [1], "best": 1, "reason": "the only one" }"#])
}

#[tokio::test]
async fn tokens_are_printed() -> super::Result {
    let model = scripted("A fork copies nothing.");
    let agent = evaluator(EvaluatorConfig::new(model))?;
    let run = print(agent.run(AgentState::ask("What does a fork copy?"))).await?;
    assert_eq!(run.finished()?.response.as_deref(), Some("A fork copies nothing."));
    Ok(())
}

/// The texts of frames, one after the other.
fn texts(frames: &str) -> String {
    let lines = frames.split("event: token\ndata: ").skip(1).filter_map(|frame| frame.lines().next());
    lines.map(|line| serde_json::from_str::<String>(line).expect("a frame holds JSON")).collect()
}

#[tokio::test]
async fn tokens_are_sent_to_a_browser() -> super::Result {
    let model = scripted("A fork\ncopies nothing.");
    let agent = evaluator(EvaluatorConfig::new(model))?;
    let response = answer(&agent, "What does a fork copy?");
    let body = http_body_util::BodyExt::collect(response.into_body()).await?.to_bytes();
    let body = String::from_utf8(body.to_vec())?;
    assert_eq!(texts(&body), "A fork\ncopies nothing.");
    assert!(body.ends_with("event: end\ndata: \"finished\"\n\n"), "{body}");
    Ok(())
}

#[tokio::test]
async fn a_browser_comes_back() -> super::Result {
    let model = scripted("A fork copies nothing.");
    let agent = evaluator(EvaluatorConfig::new(model))?;

    let mut request = agent.run(AgentState::ask("What does a fork copy?"));
    let feed = request.feed(1024);
    let run = tokio::spawn(request.into_future());
    let all: Vec<String> = frames_after(&feed, None).collect().await;
    run.await??.finished()?;
    assert_eq!(texts(&all.concat()), "A fork copies nothing.");

    let seen = all[0].lines().next().and_then(|line| line.strip_prefix("id: ")).unwrap().parse()?;
    let rest: Vec<String> = frames_after(&feed, Some(seen)).collect().await;
    assert_eq!(rest, all[1..]);
    Ok(())
}
