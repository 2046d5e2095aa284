//! Snippets of `docs/time-travel.md`.

use super::story::{Story, Verdict, stories, topic};

#[tokio::test]
async fn a_thread_is_forked_and_edited() -> super::Result {
    let (stories, write) = stories();
    let thread = stories.thread("rust");
    thread.run(topic("Rust")).await?.interrupted()?;
    thread.answer(&Verdict::Accept).await?.finished()?;

    let past = thread.before(write).await?;
    let fork = past.fork("zig").await?;
    fork.edit(Story::update().topic("Zig")).await?;
    let asked = fork.resume().await?.interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "Zig: Rust begins, Rust ends");
    assert_eq!(thread.head().await?.state().topic, "Rust");

    let mut history = thread.history()?;
    while let Some(line) = history.next().await? {
        println!("{} step {} ran {:?}, next {:?}", line.id, line.step, line.ran, line.next);
    }

    let oldest = thread.history()?.collect().await?.pop().expect("the thread has run");
    let past = thread.at(oldest.id).await?;
    assert_eq!(past.step(), -1);
    let past = thread.before_named("outline").await?;
    println!("{:?}", past.state());
    println!("{}", serde_json::to_string_pretty(&past.view())?);
    assert_eq!((past.step(), past.next().len()), (0, 1));
    Ok(())
}

#[tokio::test]
async fn a_thread_is_copied() -> super::Result {
    let (stories, _) = stories();
    let thread = stories.thread("rust");
    thread.run(topic("Rust")).await?.interrupted()?;
    thread.answer(&Verdict::Accept).await?.finished()?;
    let state = thread.head().await?.into_state();
    let past = thread.history()?.collect().await?.len();

    let copy = thread.head().await?.fork("rust, copied").await?;
    thread.delete().await?;
    assert_eq!(copy.history()?.collect().await?.len(), past);
    copy.replay().await?.agrees()?;
    assert_eq!(copy.head().await?.state().text, state.text);
    copy.run(Story::update().topic("Zig")).await?.interrupted()?;
    Ok(())
}

#[tokio::test]
async fn a_checkpoint_is_named() -> super::Result {
    let (stories, write) = stories();
    let thread = stories.thread("rust");
    thread.run(topic("Rust")).await?.interrupted()?;

    thread.before(write).await?.name("before-writing").await?;
    let past = thread.named("before-writing").await?;
    let fork = past.fork("zig").await?;
    assert_eq!((past.step(), fork.names().await?.len()), (1, 0));

    thread.rename_checkpoint("before-writing", "outlined").await?;
    for named in thread.names().await? {
        println!("{} is {}", named.name, named.checkpoint);
    }
    thread.remove_name("outlined").await?;
    assert!(thread.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_node_is_played() -> super::Result {
    let (stories, write) = stories();
    let thread = stories.thread("rust");
    thread.input(topic("Rust")).await?;
    assert_eq!(thread.head().await?.step(), -1);
    let stopped = thread.resume().interrupt_before(write).await?;
    assert_eq!(stopped.step, 1);
    thread.edit_as(write, Story::update().text("by hand")).await?;
    let asked = thread.resume().await?.interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "by hand");

    let now = thread.state().await?;
    for task in &now.tasks {
        println!("{}: finished {}, {} questions", task.node, task.is_finished(), task.interrupts.len());
    }
    assert_eq!((now.next.len(), now.tasks[0].interrupts.len()), (1, 1));

    thread.before(write).await?.branch().await?;
    let asked = thread.resume().await?.interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "Rust: Rust begins, Rust ends");
    let asked = thread.before(write).await?.rerun().await?.interrupted()?;
    assert_eq!(asked.len(), 1);
    let replay = thread.replay().await?.agrees()?;
    println!("{} supersteps came out as they are recorded", replay.supersteps);
    assert_eq!(replay.supersteps, 2);
    thread.discard_pending().await?;
    assert!(thread.state().await?.is_finished());
    Ok(())
}
