//! The stream of events.

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use superstep_checkpoint::SqliteSaver;
use superstep_core::run::Graph;

use super::{Essay, Page, essay, essays, request, written};

/// An open stream of events.
pub(super) struct Events(BodyDataStream);

impl Events {
    pub(super) async fn of(page: &Page) -> Self {
        let response = page.send(request("GET", "/studio/api/events").body(Body::empty()).unwrap()).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        let mut events = Self(response.into_body().into_data_stream());
        assert_eq!(events.part().await, ": open\n\n");
        events
    }

    async fn part(&mut self) -> String {
        String::from_utf8(self.0.next().await.unwrap().unwrap().to_vec()).unwrap()
    }

    /// Returns the next event, without heartbeats.
    pub(super) async fn next(&mut self) -> String {
        loop {
            let part = self.part().await;
            if !part.starts_with(':') {
                return part;
            }
        }
    }

    /// Returns the text of the next event that the file is gone. A change just before can be told twice.
    async fn gone(&mut self) -> String {
        loop {
            let event = self.next().await;
            match event.strip_prefix("event: gone\ndata: ") {
                Some(text) => return text.to_owned(),
                None => assert!(event.starts_with("event: changed\n"), "{event}"),
            }
        }
    }
}

async fn open(path: &std::path::Path) -> Graph<Essay> {
    essays(SqliteSaver::open(path).await.unwrap())
}

#[tokio::test]
async fn a_change_by_another_program_is_told_once_it_is_stored() {
    let file = written().await;
    let page = Page::of(&file.path);
    let mut events = Events::of(&page).await;
    let graph = open(&file.path).await;
    graph.thread("later").run(essay("Later")).await.unwrap().interrupted().unwrap();
    // More may follow; after the last one the document has the thread.
    loop {
        let event = events.next().await;
        assert!(event.starts_with("event: changed\ndata: {\"version\":"), "{event}");
        let threads = page.read("threads", &[("text", "later")]).await;
        if threads["threads"][0]["status"] == "waiting" {
            break;
        }
    }
    graph.thread("later").answer("good").await.unwrap().finished().unwrap();
    loop {
        events.next().await;
        if page.read("threads", &[("text", "later")]).await["threads"][0]["status"] == "finished" {
            break;
        }
    }
}

/// A program that ended while a studio followed its file once left its log beside it, and a copy of the file alone
/// lacked the newest steps.
#[tokio::test]
async fn a_studio_does_not_keep_the_log_of_a_program_that_ends() {
    let file = written().await;
    let graph = open(&file.path).await;
    let page = Page::of(&file.path);
    let mut events = Events::of(&page).await;
    graph.thread("last").run(essay("Last")).await.unwrap().interrupted().unwrap();
    events.next().await;
    assert_eq!(page.read("threads", &[("text", "last")]).await["threads"][0]["status"], "waiting");
    drop(graph);
    let names = std::fs::read_dir(file.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["essays.db"]);
    assert_eq!(page.read("threads", &[]).await["total"], 4);
}

#[tokio::test]
async fn a_file_that_is_deleted_or_replaced_is_gone() {
    let file = written().await;
    let page = Page::of(&file.path);
    let mut events = Events::of(&page).await;
    let other = written().await;
    let kept = file.folder.path().join("kept.db");
    std::fs::rename(&file.path, &kept).unwrap();
    let text = events.gone().await;
    assert!(text.contains("was deleted or moved away"), "{text}");
    let (status, error) = page.get("threads", &[]).await;
    assert_eq!(status, 404);
    assert!(error["detail"].as_str().unwrap().contains("put it back"), "{error}");
    // Back again, it is read on.
    std::fs::rename(&kept, &file.path).unwrap();
    assert!(events.next().await.starts_with("event: changed\n"));
    assert_eq!(page.read("threads", &[]).await["total"], 3);
    // Another file in its place is shown, and said.
    std::fs::rename(&other.path, &file.path).unwrap();
    let text = events.gone().await;
    assert!(text.contains("another file was put in the place"), "{text}");
    assert_eq!(page.read("threads", &[]).await["total"], 3);
    drop(other.folder);
}
