//! Snippets of `docs/events-and-tracing.md`.

use superstep::run::{EventKind, RunEvent, TraceLog};

use super::story::{stories, topic};

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
    let stories = stories
        .observe(traces.clone())
        .observe(|event: &RunEvent| println!("{}", serde_json::to_string(event).expect("events are JSON")));
    let run = stories.thread("b").run(topic("Rust")).await?;
    let names: Vec<_> = traces.of(run.run).into_iter().map(|call| call.op_name).collect();
    assert_eq!(names, ["story", "outline_node", "write_node", "review_node"]);
    Ok(())
}
