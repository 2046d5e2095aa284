//! The routes that write, with a program's graphs.

use std::time::Duration;

use serde_json::{Value, json};
use superstep_checkpoint::SqliteSaver;
use superstep_core::run::ToAnyGraph;

use super::events::Events;
use super::{Page, Written, essays, printed, written};
use crate::serve::Workers;

/// A studio with a program, and a stream of its events.
struct Lent {
    page: Page,
    events: Events,
    workers: Workers,
    file: Written,
}

impl Lent {
    async fn new() -> Self {
        Self::on(written().await).await
    }

    async fn on(file: Written) -> Self {
        let graph = essays(SqliteSaver::open(&file.path).await.unwrap());
        let (page, workers) = Page::lent(&[graph.to_any_graph()]);
        let events = Events::of(&page).await;
        Self { page, events, workers, file }
    }

    /// Waits until a thread has this status, and no run is working on it.
    async fn until(&mut self, thread: &str, status: &str) -> Value {
        loop {
            let listed = self.page.read("threads", &[("text", thread)]).await;
            let found = &listed["threads"][0];
            if found["status"] == status && found["lease"].is_null() {
                return found.clone();
            }
            self.events.next().await;
        }
    }

    async fn end(self) {
        self.workers.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_run_asks_and_is_answered_once() {
    let mut lent = Lent::new().await;
    let run = json!({ "thread": "go", "input": { "topic": "Go" } });
    let (status, begun) = lent.page.post("run", run).await;
    assert_eq!(status, 202, "{begun}");
    assert!(begun["run"].is_string());
    lent.until("go", "waiting").await;
    let asked = lent.page.read("interrupts", &[]).await;
    let question =
        asked["interrupts"].as_array().unwrap().iter().find(|asked| asked["thread"] == "go").unwrap().clone();
    assert_eq!(question["schema"]["type"], "string");
    let id = question["id"].as_str().unwrap();

    let (status, error) = lent.page.post("answer", json!({ "thread": "go", "answers": { id: 5 } })).await;
    assert_eq!((status, &error["path"]), (422, &json!(format!("answers.{id}"))), "{error}");
    let (status, error) = lent.page.post("answer", json!({ "thread": "go", "answers": {} })).await;
    assert_eq!(status, 422, "{error}");
    let answer = json!({ "thread": "go", "answers": { id: "fine" } });
    assert_eq!(lent.page.post("answer", answer.clone()).await.0, 202);
    lent.until("go", "finished").await;
    let (status, error) = lent.page.post("answer", answer).await;
    assert_eq!(status, 409);
    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.contains("of review was answered before: another client was faster: \"fine\""),
        "{detail}"
    );
    assert_eq!(error["answered"]["answer"], "fine");
    assert!(error["answered"]["at"].is_string() && error["answered"]["run"].is_string(), "{error}");
    let facts = lent.page.read("show", &[("checkpoint", "go"), ("path", "facts[1]")]).await;
    assert_eq!(facts, "fine");
    lent.end().await;
}

#[tokio::test]
async fn an_answer_by_another_program_is_told() {
    let lent = Lent::new().await;
    let asked = lent.page.read("interrupts", &[]).await;
    let id = asked["interrupts"][0]["id"].as_str().unwrap().to_owned();
    let other = essays(SqliteSaver::open(&lent.file.path).await.unwrap());
    other.thread("zig").answer("by hand").await.unwrap().finished().unwrap();
    let (status, error) =
        lent.page.post("answer", json!({ "thread": "zig", "answers": { &id: "late" } })).await;
    assert_eq!(status, 409, "{error}");
    assert_eq!(error["answered"]["answer"], "by hand");
    let unknown = "00000000000000000000000000000000";
    let (status, error) =
        lent.page.post("answer", json!({ "thread": "zig", "answers": { unknown: 1 } })).await;
    assert_eq!(status, 409);
    assert!(error["detail"].as_str().unwrap().contains("is not open on thread zig"), "{error}");
    lent.end().await;
}

#[tokio::test]
async fn an_edit_is_what_its_preview_showed() {
    let lent = Lent::new().await;
    let path = lent.file.path.to_str().unwrap();
    let set = json!([{ "path": "draft", "value": "by \"hand\"" }, { "path": "rounds", "value": 7 }]);
    let before = printed(&["log", path, "rust", "--graph"]);
    let preview = lent.page.post("preview", json!({ "checkpoint": "rust@2", "set": set })).await;
    assert_eq!(preview.0, 200, "{}", preview.1);
    assert_eq!(printed(&["log", path, "rust", "--graph"]), before, "a preview stores nothing");
    let (status, edited) = lent.page.post("edit", json!({ "checkpoint": "rust@2", "set": set })).await;
    assert_eq!(status, 200, "{edited}");
    assert_eq!(edited["state"], preview.1["state"]);
    assert_eq!(edited["branch"], true);
    let stored = printed(&["show", path, edited["checkpoint"].as_str().unwrap()]);
    assert_eq!((&stored["state"]["draft"], &stored["state"]["rounds"]), (&json!("by \"hand\""), &json!(7)));
    // The page reads it at once.
    assert_eq!(lent.page.read("show", &[("checkpoint", "rust")]).await["id"], edited["checkpoint"]);
    for (set, status, text) in [
        (json!([{ "path": "nothing", "value": 1 }]), 404, "the state has no field nothing"),
        (json!([{ "value": 1 }]), 422, "set[0]: an object with a path and a value"),
    ] {
        let (found, error) = lent.page.post("preview", json!({ "checkpoint": "zig", "set": set })).await;
        assert_eq!(found, status, "{error}");
        assert!(error["detail"].as_str().unwrap().starts_with(text), "{error}");
    }
    lent.end().await;
}

#[tokio::test]
async fn a_value_of_another_kind_is_stored_only_if_that_is_meant() {
    let lent = Lent::new().await;
    let edit = |force: bool| json!({ "checkpoint": "rust", "set": [{ "path": "draft", "value": 1 }], "name": "odd", "force": force });
    let refused = json!({
        "detail": "draft is a text and would become a number, which its program may not be able to read",
        "path": "force",
    });
    for route in ["preview", "edit"] {
        assert_eq!(lent.page.post(route, edit(false)).await, (422, refused.clone()));
        let (status, edited) = lent.page.post(route, edit(true)).await;
        assert_eq!((status, &edited["state"][0]["to"]), (200, &json!(1)), "{edited}");
    }
    lent.end().await;
}

#[tokio::test]
async fn a_fork_a_name_and_a_replay_are_verbs() {
    let lent = Lent::new().await;
    let path = lent.file.path.to_str().unwrap();
    let (status, forked) = lent.page.post("fork", json!({ "checkpoint": "rust@1", "name": "ada" })).await;
    assert_eq!(
        (status, &forked["thread"], &forked["branch"]),
        (200, &json!("ada"), &json!(false)),
        "{forked}"
    );
    let (status, error) = lent.page.post("fork", json!({ "checkpoint": "rust@1", "name": "ada" })).await;
    assert_eq!(status, 422);
    assert_eq!(error["detail"], "thread ada already exists: choose another name");
    let (status, names) = lent.page.post("name", json!({ "checkpoint": "rust@2", "name": "draft-1" })).await;
    assert_eq!(status, 200, "{names}");
    assert_eq!(names, printed(&["name", path, "rust"]));
    let (status, replay) = lent.page.post("replay", json!({ "checkpoint": "rust", "after": "rust@1" })).await;
    assert_eq!(status, 200, "{replay}");
    assert_eq!((&replay["divergent"], &replay["supersteps"]), (&json!(0), &json!(2)));
    lent.end().await;
}

#[tokio::test]
async fn a_thread_is_resumed_and_run_again() {
    let mut lent = Lent::new().await;
    let (status, error) = lent.page.post("resume", json!({ "thread": "rust" })).await;
    assert_eq!((status, &error["detail"]), (409, &json!("thread rust has finished: nothing is next on it")));
    lent.page.post("fork", json!({ "checkpoint": "rust@1", "name": "ada" })).await;
    assert_eq!(lent.page.post("resume", json!({ "thread": "ada" })).await.0, 202);
    let waiting = lent.until("ada", "waiting").await;
    // Again from the head, whose question is asked again, and from before.
    let (status, begun) = lent.page.post("rerun", json!({ "checkpoint": "ada" })).await;
    assert_eq!(status, 202, "{begun}");
    loop {
        let again = lent.until("ada", "waiting").await;
        if again["head"] != waiting["head"] {
            break;
        }
        lent.events.next().await;
    }
    assert_eq!(lent.page.post("rerun", json!({ "checkpoint": "ada@1" })).await.0, 202);
    loop {
        let again = lent.until("ada", "waiting").await;
        if again["branches"] == 3 {
            break;
        }
        lent.events.next().await;
    }
    lent.end().await;
}

#[tokio::test]
async fn a_run_is_cancelled_from_another_process() {
    let mut lent = Lent::new().await;
    assert_eq!(lent.page.post("run", json!({ "thread": "long", "input": { "topic": "slow" } })).await.0, 202);
    // It hangs in its second superstep.
    loop {
        let listed = lent.page.read("threads", &[("text", "long")]).await;
        if listed["threads"][0]["next"] == json!(["write"]) && !listed["threads"][0]["lease"].is_null() {
            break;
        }
        lent.events.next().await;
    }
    for (route, body) in [
        ("run", json!({ "thread": "long", "input": {} })),
        ("resume", json!({ "thread": "long" })),
        ("fork", json!({ "checkpoint": "long" })),
        ("edit", json!({ "checkpoint": "long", "set": [{ "path": "topic", "value": "quick" }] })),
    ] {
        let (status, error) = lent.page.post(route, body).await;
        assert_eq!(status, 409, "{route}: {error}");
        assert!(error["detail"].as_str().unwrap().contains("working on thread long"), "{route}: {error}");
    }
    // Another process with the same file.
    let graph = essays(SqliteSaver::open(&lent.file.path).await.unwrap());
    let (other, workers) = Page::lent(&[graph.to_any_graph()]);
    assert_eq!(other.post("cancel", json!({ "thread": "long" })).await, (202, json!({})));
    lent.until("long", "unfinished").await;
    let (status, error) = other.post("cancel", json!({ "thread": "rust" })).await;
    assert_eq!(status, 404);
    assert!(error["detail"].as_str().unwrap().starts_with("nothing runs on thread rust"), "{error}");
    workers.shutdown(Duration::ZERO).await;
    lent.end().await;
}

#[tokio::test]
async fn requests_that_do_not_fit_say_why() {
    let lent = Lent::new().await;
    for (route, body, status, text) in [
        ("run", json!({}), 422, "\"thread\" is a required property"),
        ("run", json!({ "thread": "go", "input": { "topic": 5 } }), 422, ""),
        ("run", json!({ "thread": "go", "graph": "poems" }), 404, ""),
        ("run", json!({ "thread": "two words", "input": {} }), 422, "Invalid thread ID"),
        (
            "answer",
            json!({ "thread": "unknown", "answers": { "x": 1 } }),
            404,
            "there is no thread or checkpoint unknown",
        ),
        ("answer", json!({ "thread": "zig", "answers": { "x": 1 } }), 422, "x is not the id of a question"),
        ("resume", json!({ "thread": "unknown" }), 404, "there is no thread or checkpoint unknown"),
        ("rerun", json!({ "checkpoint": "rust@9" }), 404, "thread rust has no step 9"),
        ("replay", json!({ "checkpoint": "rust@9" }), 422, "thread rust has no step 9"),
        ("fork", json!({ "checkpoint": 5 }), 422, "checkpoint: expected a string"),
    ] {
        let (found, error) = lent.page.post(route, body.clone()).await;
        assert_eq!(found, status, "{route} {body}: {error}");
        assert!(error["detail"].as_str().unwrap().starts_with(text), "{route} {body}: {error}");
    }
    let session = lent.page.read("session", &[]).await;
    assert_eq!((&session["program"], &session["graphs"]), (&json!(true), &json!(["essay"])));
    assert_eq!(session["verbs"].as_array().unwrap().len(), 10);
    lent.end().await;
}
