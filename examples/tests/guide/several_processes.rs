//! Snippets of `docs/several-processes.md`.

use std::time::Duration;

use superstep::checkpoint::CheckpointerExt;
use superstep::prelude::*;

use super::story::{stories, topic};

#[tokio::test]
async fn a_run_holds_its_thread() -> super::Result {
    let folder = tempfile::tempdir()?;
    let saver = SqliteSaver::open(folder.path().join("stories.db")).await?;
    let (stories, _) = stories();
    let stories =
        stories.checkpointer(saver).lease(Lease::new().ttl(Duration::from_secs(60)).holder("worker 3"));
    match stories.thread("rust").run(topic("Rust")).await {
        Err(RunError::Leased { holder, until_ms, .. }) => println!("{holder} has it until {until_ms}"),
        run => println!("{:?}", run?.status),
    }
    assert!(stories.saver().expect("it has one").leases().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn the_tasks_of_a_superstep_are_run_one_by_one() -> super::Result {
    let (stories, write) = stories();
    let thread = stories.thread("rust");
    let stopped = thread.run(topic("Rust")).interrupt_before(write).await?;
    assert_eq!(stopped.status.name(), "breakpoint");
    for task in thread.tasks().await? {
        let _ = thread.run_task(task.id).await?; // or another process with the same file does
    }
    let run = thread.resume().await?;
    assert_eq!(run.interrupted()?.len(), 1);
    Ok(())
}
