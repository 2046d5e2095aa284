//! Snippets of `docs/events-and-tracing.md`.

use std::future::IntoFuture;
use std::io::{self, Write};

use superstep::run::{EventKind, Received, RunEvent, TraceLog, View};

use super::story::{Verdict, stories, topic};

#[tokio::test]
async fn a_run_is_seen_through_views() -> super::Result {
    let (stories, _) = stories();
    let mut run = stories.thread("c").run(topic("Rust")).stream().view(View::Updates | View::Values);
    while let Some(event) = run.next().await {
        match &event.kind {
            EventKind::Update { node, writes, .. } => println!("{node} {} {}", writes[0].op, writes[0].field),
            EventKind::Values { step, values } => println!("after step {step} the state is {values}"),
            _ => {}
        }
    }
    run.finish().await?.interrupted()?;
    Ok(())
}

#[tokio::test]
async fn a_run_has_subscribers() -> super::Result {
    let (stories, _) = stories();
    let mut request = stories.thread("d").run(topic("Rust"));
    let feed = request.feed(1024);
    let run = tokio::spawn(request.into_future());
    let mut events = feed.subscribe_from(0);
    while let Some(received) = events.next().await {
        match received {
            Received::Event(event) => println!("{}", event.seq),
            Received::Missed { from, to } => println!("{from} to {to} are gone"),
        }
    }
    run.await??.interrupted()?;
    Ok(())
}

#[tokio::test]
async fn the_past_is_reported_and_followed() -> super::Result {
    let (stories, _) = stories();
    let stories = stories.record_events();
    stories.thread("a").run(topic("Rust")).await?.interrupted()?;
    let mut events = stories.thread("a").events()?;
    let mut last = None;
    while let Some(past) = events.next().await? {
        println!("{}", serde_json::to_string(&past.event)?);
        last = Some(past.position);
    }
    let last = last.expect("something happened");

    let mut request = stories.thread("a").answer(&Verdict::Accept);
    let feed = request.feed(64);
    let mut followed = stories.thread("a").events()?.after(last).follow(&feed);
    let run = tokio::spawn(request.into_future());
    while let Some(told) = followed.next().await? {
        println!("{:?}", told.event.kind);
    }
    run.await??.finished()?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_watched() -> super::Result {
    let (stories, _) = stories();
    let mut run = stories.thread("a").run(topic("Rust")).stream();
    while let Some(event) = run.next().await {
        match &event.kind {
            EventKind::TaskFinished { node, writes, .. } => println!("{node} wrote {} fields", writes.len()),
            EventKind::CheckpointSaved { id, step, .. } => println!("step {step} is checkpoint {id}"),
            _ => {}
        }
    }
    let asked = run.finish().await?.interrupted()?;
    assert_eq!(asked.len(), 1);

    let traces = TraceLog::new();
    let stories = stories.observe(traces.clone()).observe(|event: &RunEvent| {
        let line = serde_json::to_string(event).expect("events are JSON");
        // Unlike println!, it does not panic if the reader is gone or the disk is full.
        let _lost = writeln!(io::stdout(), "{line}");
    });
    let run = stories.thread("b").run(topic("Rust")).await?;
    let names: Vec<_> = traces.of(run.run).into_iter().map(|call| call.op_name).collect();
    assert_eq!(names, ["story", "outline_node", "write_node", "review_node"]);
    Ok(())
}
