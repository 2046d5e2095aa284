//! Snippets of `docs/errors-and-retries.md`.

use std::time::Duration;

use superstep::prelude::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(State, Clone, Debug, Default)]
struct Page {
    text: String,
}

#[derive(Clone, Default)]
struct Web(Arc<AtomicU32>);

impl Web {
    async fn get(&self) -> Result<String, Busy> {
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Busy),
            _ => Ok("page".into()),
        }
    }
}

#[derive(Debug)]
struct Busy;

impl std::fmt::Display for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server is busy")
    }
}

impl std::error::Error for Busy {}

#[derive(Clone, FromRef)]
struct Deps {
    web: Web,
}

async fn fetch(web: Dep<Web>) -> Result<Update<Page>, NodeError> {
    match web.get().await {
        Ok(text) => Ok(Page::update().text(text)),
        Err(busy) => Err(NodeError::retryable(busy).after(Duration::from_millis(1))),
    }
}

async fn check(page: Snapshot<Page>) -> Result<(), NodeError> {
    match page.text.as_str() {
        "" => Err(NodeError::terminal("the page is empty")),
        _ => Err(Busy.into()),
    }
}

async fn apologise(failed: Failed) -> Update<Page> {
    Page::update().text(format!("{} failed: {}", failed.node(), failed.error()))
}

#[tokio::test]
async fn a_failure_is_handled() -> super::Result {
    let mut g = StateGraph::<Page>::new("page");
    let fetch = g.node("fetch", || async { Err::<Update<Page>, _>(Busy) });
    g.policy(fetch).on_error(apologise);
    g.edge(START, fetch);
    g.edge(fetch, END);
    let run = g.compile()?.run(Page::default()).await?;
    assert_eq!(run.state.text, "fetch failed: the server is busy");
    Ok(())
}

#[tokio::test]
async fn a_failed_node_is_tried_again() -> super::Result {
    let mut g = StateGraph::<Page, Deps>::new("page");
    let fetch = g.node("fetch", fetch);
    let check = g.node("check", check);
    g.edge(START, fetch);
    let publish = g.node("publish", || async {});
    g.edge(fetch, check);
    g.edge(check, publish);
    g.edge(publish, END);
    g.policy(fetch).retry(Retry::exponential(3).initial(Duration::ZERO)).timeout(Duration::from_secs(30));
    g.policy(check).retry(Retry::fixed(2, Duration::ZERO).on::<Busy>());
    g.policy(publish)
        .retry(Retry::fixed(9, Duration::from_millis(1)).only_on::<Busy>())
        .retry(Retry::exponential(3).initial(Duration::ZERO))
        .idle_timeout(Duration::from_secs(5));
    let pages = g.compile()?.with_context(Deps { web: Web::default() }).checkpointer(MemorySaver::new());

    let thread = pages.thread("a");
    let failure = match thread.run(Page::default()).await {
        Err(RunError::Node(failure)) => failure,
        other => panic!("the server is busy, and not {other:?}"),
    };
    println!("{failure}"); // node "check" failed at step 2 after 2 attempts: the server is busy
    assert!(failure.error.downcast_ref::<Busy>().is_some());
    assert_eq!(failure.to_string(), r#"node "check" failed at step 2 after 2 attempts: the server is busy"#);
    assert_eq!(thread.head().await?.state().text, "page");
    Ok(())
}
