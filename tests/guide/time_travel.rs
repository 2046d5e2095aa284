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
