//! Snippets of `docs/checkpoints.md`.

use std::time::Duration;

use superstep::checkpoint::maintenance::Retention;
use superstep::prelude::*;

use super::story::{stories, topic};

#[tokio::test]
async fn a_thread_continues_in_another_process() -> super::Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("stories.db");
    {
        let (stories, _) = stories();
        let saver = SqliteSaver::open(&path).await?;
        let stories = stories.checkpointer(saver);
        stories.thread("rust").run(topic("Rust")).await?.interrupted()?;
    }
    let (stories, _) = stories();
    let saver = SqliteSaver::options().durability(Durability::Process).open(&path).await?;
    let stories = stories.checkpointer(saver);
    for thread in stories.unfinished().await? {
        println!("{} is at step {}, next {:?}", thread.thread, thread.head.step, thread.head.next);
    }
    for (thread, question) in stories.interrupts().await? {
        println!("{thread} asks {}", question.question);
    }
    assert_eq!(stories.threads().await?.len(), 1);
    assert_eq!(stories.interrupts().await?.len(), 1);
    stories.thread("rust").delete().await?;
    assert_eq!(stories.threads().await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_saver_takes_out_older_checkpoints() -> super::Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("stories.db");
    let day = Duration::from_secs(24 * 60 * 60);
    let saver = SqliteSaver::options()
        .retention(Retention::new().keep_last(100).keep_for(30 * day))
        .retention_of("audit", Retention::new())
        .open(&path)
        .await?;
    let (stories, _) = stories();
    let stories = stories.checkpointer(saver.clone());
    stories.thread("rust").run(topic("Rust")).await?.interrupted()?;
    assert_eq!(saver.retain().await?.0.checkpoints, 0);
    Ok(())
}
