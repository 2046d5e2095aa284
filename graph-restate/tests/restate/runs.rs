//! Runs, questions and answers, cancellation, limits.

use serde_json::{Value, json};
use superstep::run::OnChange;
use superstep_restate::restate;

use crate::graphs::{Verdict, count, history, lines, open, paid_once_each, review, reviews_again, until};
use crate::here::Here;
use crate::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_the_history_of_an_undisturbed_one() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let articles = review(folder.path()).await;
    let here = Here::start(&server, restate(&[&articles])).await;

    let (status, asked) = server.call("review/rust/run", &json!({ "title": "Rust" })).await;
    assert_eq!((status, &asked["status"]), (200, &json!("interrupted")), "{asked}");
    assert_eq!(asked["interrupts"][0]["question"], "Rust: draft 1");
    let (_, asked) = server.call("review/rust/answer", &json!("Revise")).await;
    assert_eq!(asked["interrupts"][0]["question"], "Rust: draft 2", "{asked}");
    let id = asked["interrupts"][0]["id"].as_str().expect("an id");
    let (_, finished) = server.call("review/rust/answers", &json!({ id: "Accept" })).await;
    assert_eq!(finished["status"], "finished", "{finished}");
    assert_eq!(finished["values"]["drafts"], json!(["Rust: draft 1", "Rust: draft 2"]));

    let plain = articles.erased().thread("plain");
    let asks = plain.run(json!({ "title": "Rust" })).await.expect("it runs");
    assert_eq!(asks.interrupted().expect("it asks").len(), 1);
    assert_eq!(plain.answer(Verdict::Revise).await.expect("it runs").status.name(), "interrupted");
    assert_eq!(plain.answer(Verdict::Accept).await.expect("it runs").status.name(), "finished");
    assert_eq!(history(&articles, "rust").await, history(&articles, "plain").await);
    here.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_callers_are_terminal_errors() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let articles = review(folder.path()).await;
    let _here = Here::start(&server, restate(&[&articles])).await;
    let text = |answer: (u16, Value)| (answer.0, answer.1["message"].as_str().unwrap_or_default().to_owned());

    let (code, misfit) = text(server.call("review/rust/run", &json!({ "titel": "Rust" })).await);
    assert_eq!(code, 400);
    assert!(misfit.starts_with("the input does not fit: the state has no field \"titel\""), "{misfit}");
    let unknown = text(server.call("review/rust/resume", &Value::Null).await);
    assert_eq!(unknown, (404, "thread rust has never run".into()));
    server.call("review/rust/run", &json!({ "title": "Rust" })).await;
    let (code, wrong) = text(server.call("review/rust/answer", &json!("Perhaps")).await);
    assert_eq!(code, 400);
    assert!(wrong.contains("of node \"review\" does not fit"), "{wrong}");
    let other = json!({ "00000000000000000000000000000000": "Accept" });
    let (code, closed) = text(server.call("review/rust/answers", &other).await);
    assert_eq!(code, 409);
    assert!(closed.contains("has no open question"), "{closed}");
    server.call("review/rust/answer", &json!("Accept")).await;
    let nothing = text(server.call("review/rust/answer", &json!("Accept")).await);
    assert_eq!(nothing, (409, "thread rust has no open question".into()));
}

/// The node does not end by itself, so cancellation has to reach the slice that runs it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_stops_at_once_and_can_be_resumed() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let counts = count(folder.path()).await;
    let _here = Here::start(&server, restate(&[&counts])).await;

    assert_eq!(server.call("count/a/cancel", &Value::Null).await, (200, json!(false)));
    let input = json!({ "to": 4, "pays": true, "waits_at": [2] });
    let run = server.send("count/a/run", &input).await;
    until(|| lines(folder.path(), "waiting") == ["2"]).await;
    assert_eq!(server.call("count/a/cancel", &Value::Null).await, (200, json!(true)));
    let (code, error) = server.response(&run).await;
    let text = "the run of thread a was cancelled; resume the thread to continue it";
    assert_eq!((code, &error["message"]), (409, &text.into()), "{error}");

    open(folder.path(), 2);
    let (_, finished) = server.call("count/a/resume", &Value::Null).await;
    assert_eq!(finished["values"]["count"], 4, "{finished}");
    paid_once_each(folder.path(), 4);
    assert_eq!(server.call("count/a/cancel", &Value::Null).await, (200, json!(false)));
}

/// Restate can have as many waiting runs as it likes, but runs only so many slices at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_waits_for_a_long_slice_is_suspended() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let counts = count(folder.path()).await;
    let _here = Here::start(&server, restate(&[&counts])).await;

    let run = server.send("count/a/run", &json!({ "to": 3, "pays": true, "waits_at": [2] })).await;
    let query = "SELECT target_service_name, status FROM sys_invocation ORDER BY target_service_name";
    loop {
        let rows = server.rows(query).await;
        if rows.first().is_some_and(|row| row["status"] == "suspended") {
            assert_eq!(rows[1], json!({ "target_service_name": "count.work", "status": "running" }));
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    open(folder.path(), 2);
    let (_, finished) = server.response(&run).await;
    assert_eq!(finished["values"]["count"], 3, "{finished}");
    paid_once_each(folder.path(), 3);
}

/// Two inputs on one thread: the second waits, also while the first is continued by a second invocation.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_is_several_invocations_and_keeps_its_place_in_the_queue() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let counts = count(folder.path()).await;
    let _here = Here::start(&server, restate(&[&counts])).await;

    let run = server.send("count/a/run", &json!({ "to": 4500 })).await;
    let next = server.send("count/a/run", &json!({ "to": 4501 })).await;
    let (_, finished) = server.response(&run).await;
    assert_eq!((&finished["status"], &finished["values"]["count"]), (&json!("finished"), &json!(4500)));
    let (_, finished) = server.response(&next).await;
    assert_eq!(finished["values"]["count"], 4501, "{finished}");

    let query = "SELECT target_handler_name FROM sys_invocation WHERE target_service_name = 'count.work'";
    let parts = server.rows(query).await.len();
    assert_eq!(
        parts, 3,
        "4,500 supersteps are 71 slices or more, in two invocations; one superstep is another"
    );
    let slices = "SELECT name FROM sys_journal WHERE name = 'slice'";
    let slices = server.rows(slices).await.len();
    assert!((72..200).contains(&slices), "{slices} slices");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_its_limit_over_all_slices() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let counts = count(folder.path()).await.recursion_limit(100);
    let _here = Here::start(&server, restate(&[&counts])).await;

    let (_, limited) = server.call("count/a/run", &json!({ "to": 150 })).await;
    assert_eq!((&limited["status"], &limited["values"]["count"]), (&json!("limit_reached"), &json!(100)));
    let (_, finished) = server.call("count/a/resume", &Value::Null).await;
    assert_eq!(finished["values"]["count"], 150, "{finished}");
}

/// A rolling upgrade: the thread of the old version is left for a process that has that version.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_another_version_of_the_graph_is_refused_until_its_version_is_there() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let old = review(folder.path()).await;
    let begun = old.erased().thread("rust").run(json!({ "title": "Rust" })).await.expect("it runs");
    let new = reviews_again(folder.path()).await.on_change(OnChange::Pin);
    let here = Here::start(&server, restate(&[&new])).await;

    let answer = server.send("review/rust/answer", &json!("Accept")).await;
    let query = "SELECT last_failure FROM sys_invocation WHERE target_service_name = 'review.work'";
    let refused = loop {
        let rows = server.rows(query).await;
        if let Some(text) = rows.first().and_then(|row| row["last_failure"].as_str()) {
            break text.to_owned();
        }
    };
    let expected = format!(
        "this process may not run the thread: checkpoint {} of thread rust was written under another graph, and the \
         graph's policy is Pin: finish it with the program that began it",
        begun.checkpoint.expect("it is stored")
    );
    assert!(refused.contains(&expected), "{refused}");

    // The process with the old version takes the place of the new one, at the same address.
    let address = here.address;
    here.stop().await;
    let _here = Here::start_at(&server, restate(&[&old]), address).await;
    let (_, finished) = server.response(&answer).await;
    assert_eq!(finished["status"], "finished", "{finished}");
    let deployments = server.rows("SELECT id FROM sys_deployment").await;
    assert_eq!(deployments.len(), 2, "each version is a deployment");
}
