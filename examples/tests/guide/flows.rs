//! Snippets of `docs/flows.md`.

use superstep::prelude::*;

/// An answer as a search engine would give it.
async fn search(topic: &str) -> Result<String, std::io::Error> {
    Ok(format!("{topic} is typed."))
}

async fn essay(cx: Cx<String>) -> Result<String, NodeError> {
    let facts = cx.run("search", || search(cx.input())).await?;
    let title: String = cx.ask(format!("A title for: {facts}")).await?;
    Ok(format!("# {title}\n\n{facts}"))
}

#[tokio::test]
async fn a_flow_asks_and_returns() -> super::Result {
    let essays = flow("essay", essay).checkpointer(MemorySaver::new());

    let thread = essays.thread("rust");
    let asked = thread.run(&"Rust".to_owned()).await?.interrupted()?;
    println!("{}", asked[0].question);
    let essay = thread.answer("Graphs").await?.finished()?;
    assert_eq!(essay, "# Graphs\n\nRust is typed.");
    Ok(())
}

#[tokio::test]
async fn a_closure_clones_what_it_captures() -> super::Result {
    let greeting = String::from("hello");
    let greet = flow("greet", move |cx: Cx<String>| {
        let greeting = greeting.clone();
        async move { Ok::<_, NodeError>(format!("{greeting}, {}", cx.input())) }
    });
    assert_eq!(greet.run(&"Ada".to_owned()).await?.finished()?, "hello, Ada");
    Ok(())
}

async fn search_all(cx: Cx<Vec<String>>) -> Result<Vec<String>, NodeError> {
    let searches = cx.input().iter().map(|topic| cx.run_keyed("search", topic, || search(topic)));
    Ok(futures_util::future::try_join_all(searches).await?)
}

#[tokio::test]
async fn effects_run_at_the_same_time() -> super::Result {
    let found = flow("search", search_all).run(&vec!["Rust".to_owned(), "C".to_owned()]).await?.finished()?;
    assert_eq!(found, ["Rust is typed.", "C is typed."]);
    Ok(())
}

async fn count(cx: Cx<()>) -> Result<String, NodeError> {
    let before: u32 = cx.previous()?.unwrap_or(0);
    cx.save(&(before + 1))?;
    Ok(format!("{before} runs before this one"))
}

#[tokio::test]
async fn a_run_knows_what_the_last_one_saved() -> super::Result {
    let counts = flow("count", count).checkpointer(MemorySaver::new());
    let thread = counts.thread("t");
    assert_eq!(thread.run(&()).await?.finished()?, "0 runs before this one");
    assert_eq!(thread.run(&()).await?.finished()?, "1 runs before this one");
    Ok(())
}
