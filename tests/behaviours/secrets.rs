//! Secret fields in events, live and rebuilt, and in documents.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::checkpoint::{At, Checkpointer, CheckpointerExt};
use superstep::driver::checkpoint::SecretPast;
use superstep::graph::{Description, Registry};
use superstep::prelude::*;
use superstep::run::{Interrupt, Received, RunEvent, TraceLog, View};

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Login {
    name: String,
    #[state(secret)]
    password: String,
    #[state(secret)]
    #[reducer(Append)]
    tokens: Vec<String>,
    #[state(secret)]
    #[reducer(Sum)]
    pin: u64,
}

/// `login` in a subgraph whose fields are secret as well, then `ask`.
fn graph() -> Graph<Login> {
    let mut inner = StateGraph::<Login>::new("inner");
    let login = inner.node("login", async |login: Snapshot<Login>| {
        assert_eq!((login.password.as_str(), login.pin), ("hunter2", 31_337), "nodes see it");
        Login::update().tokens(["hunter2-token"]).set_pin(31_338_u64)
    });
    inner.edge(START, login);
    inner.edge(login, END);
    let lens = Lens::new()
        .give(Login::PASSWORD, Login::PASSWORD)
        .give(Login::PIN, Login::PIN)
        .share(Login::TOKENS, Login::TOKENS);
    let mut g = StateGraph::<Login>::new("g");
    let sub = g.subgraph("sub", inner.compile().expect("sound"), lens);
    let ask = g.node("ask", async |ask: Ask<String, String>| {
        Login::update().name(ask.ask("who?".into()).await).password("hunter2 again")
    });
    g.edge(START, sub);
    g.edge(sub, ask);
    g.edge(ask, END);
    g.compile().expect("sound")
}

fn shows_secret(text: &str) -> bool {
    text.contains("hunter2") || text.contains("31337") || text.contains("31338")
}

#[tokio::test]
async fn secrets_are_in_no_event_and_no_document() {
    on_both_savers(|saver| async move {
        let live: Arc<Mutex<Vec<String>>> = Arc::default();
        let (lines, traces) = (Arc::clone(&live), TraceLog::new());
        let note = move |event: &RunEvent| {
            let text = serde_json::to_string(event).expect("events are JSON");
            lines.lock().expect("no observer panics").push(text);
        };
        let graph = graph().shared_checkpointer(saver).observe(note).observe(traces.clone());
        let thread = graph.thread("t");
        let views = View::Values | View::Updates | View::Debug;
        let input = Login::update().name("me").password("hunter2").pin(31_337_u64);
        let mut request = thread.run(input).include(views);
        let feed = request.feed(1_024);
        let asked = request.await.expect("no node fails");
        let mut fed = Vec::new();
        let mut subscription = feed.subscribe_from(0).view(views);
        while let Some(Received::Event(event)) = subscription.next().await {
            fed.push(serde_json::to_string(&*event).expect("events are JSON"));
        }
        let trace = serde_json::to_string(&traces.of(asked.run)).expect("traces are JSON");
        asked.interrupted().expect("it asks");
        let open = thread.events().expect("it has a checkpointer").view(views).collect().await;
        let (mut run, mut streamed) = (thread.answer("you").stream().view(views), Vec::new());
        while let Some(event) = run.next().await {
            streamed.push(serde_json::to_string(&event).expect("events are JSON"));
        }
        let answered = run.finish().await.expect("no node fails");
        assert_eq!(answered.state.password, "hunter2 again", "the state itself has it");

        let all = thread.events().expect("it has a checkpointer").view(views).collect().await;
        let rebuilt = [open, all].map(|past| past.expect("the store does not fail"));
        let rebuilt = rebuilt.iter().flatten();
        let rebuilt: Vec<String> =
            rebuilt.map(|past| serde_json::to_string(&past.event).expect("events are JSON")).collect();
        let mut documents = Vec::new();
        let mut history = thread.history().expect("it has a checkpointer");
        while let Some(line) = history.next().await.expect("the store does not fail") {
            let past = thread.at(line.id).await.expect("it is there");
            documents.push(serde_json::to_string(&past.view()).expect("a view is JSON"));
            for below in past.subgraphs().await.expect("the store does not fail") {
                documents.push(serde_json::to_string(&below.view).expect("a view is JSON"));
            }
        }
        let live = live.lock().expect("no observer panics").clone();
        let stored = format!("{:?}", thread.head().await.expect("it ran").loaded().values);
        assert!(shows_secret(&stored), "the store has it: {stored}");
        for all in [&live, &fed, &streamed, &rebuilt, &documents, &vec![trace]] {
            for text in all {
                assert!(!shows_secret(text), "{text}");
            }
            assert!(
                all.iter().any(|text| text.contains("<secret>")),
                "and it is seen that something was left out"
            );
        }
        for kind in ["task_finished", "update", "values"] {
            let is_told =
                |text: &&String| text.contains(&format!("\"type\":\"{kind}\"")) && text.contains("<secret>");
            assert!(
                live.iter().any(|text| is_told(&text)) && rebuilt.iter().any(|text| is_told(&text)),
                "{kind}"
            );
        }
    })
    .await;
}

/// The event has the operation and the field, but not the operand.
#[tokio::test]
async fn that_a_secret_is_written_is_reported() {
    let graph = graph().checkpointer(MemorySaver::new());
    let mut run = graph
        .thread("t")
        .run(Login::update().password("hunter2").pin(31_337_u64))
        .stream()
        .view(View::Updates);
    let mut told = Vec::new();
    while let Some(event) = run.next().await {
        if let superstep::run::EventKind::Update { writes, .. } = event.kind {
            told.extend(
                writes.into_iter().map(|write| format!("{} {} {}", write.op, write.field, write.value)),
            );
        }
    }
    assert_eq!(told, ["extend tokens \"<secret>\"", "set pin \"<secret>\"", "extend tokens \"<secret>\"",]);
}

/// A value of the wrong type is secret as well.
#[tokio::test]
async fn a_secret_that_does_not_fit_its_description_is_in_no_event() {
    on_both_savers(|saver| async move {
        for (id, secret) in [("member", json!({ "pw": "hunter2" })), ("whole", json!("hunter2"))] {
            let description = Description::from_value(json!({
                "graph": "g",
                "start": "write",
                "state": { "key": {
                    "type": "object", "properties": { "pw": { "type": "integer" } }, "secret": true
                } },
                "nodes": { "write": { "to": "END" } }
            }));
            let node = move || {
                let secret = secret.clone();
                async move { json!({ "key": secret }) }
            };
            let graph = Registry::<()>::new().node("write", node).build(&description).compile();
            let graph = graph.expect("sound").shared_checkpointer(Arc::clone(&saver));
            let input = graph.update(&json!({})).expect("nothing is written");
            let thread = graph.thread(id);
            let mut run = thread.run(input).stream();
            let mut told = String::new();
            while let Some(event) = run.next().await {
                told += &serde_json::to_string(&event).expect("events are JSON");
            }
            let error = run.finish().await.expect_err("it does not fit");
            let view = thread.head().await.expect("it ran").view();
            told += &format!("{error} {error:?} {}", serde_json::to_string(&view).expect("a view is JSON"));
            assert!(!told.contains("hunter2"), "{told}");
            assert!(told.contains("the value, which is secret, does not fit; expected object"), "{told}");
        }
    })
    .await;
}

/// A decoder quotes a value that it cannot read.
#[tokio::test]
async fn a_secret_of_another_type_than_it_was_stored_with_is_in_no_error() {
    #[derive(State, Clone, Debug, Default)]
    struct Numbers {
        #[state(secret)]
        password: u64,
        name: u64,
    }
    on_both_savers(|saver| async move {
        let mut old = StateGraph::<Login>::new("g");
        let node = old.node("node", async || Login::update().password("hunter2"));
        old.edge(START, node);
        old.edge(node, END);
        let old = old.compile().expect("sound").shared_checkpointer(Arc::clone(&saver));
        let mut new = StateGraph::<Numbers>::new("g");
        let node = new.node("node", async || Numbers::update());
        new.edge(START, node);
        new.edge(node, END);
        let new = new.compile().expect("sound").shared_checkpointer(saver);

        old.thread("t").run(Login::update()).await.expect("no node fails").finished().expect("it ends");
        let error = new.thread("t").run(Numbers::update()).await.expect_err("a text is no number");
        let told = format!("{error} {error:?}");
        assert!(told.contains("password") && !told.contains("hunter2"), "{told}");
    })
    .await;
}

/// The ways in which failing code may quote a secret.
#[derive(Clone, Copy, Debug)]
enum Fails {
    Returning,
    WithACause,
    Panicking,
}

#[derive(Debug)]
struct NoLogin(std::io::Error);

impl std::fmt::Display for NoLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no login")
    }
}

impl std::error::Error for NoLogin {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

fn fail(fails: Fails, password: &str) -> Result<Update<Login>, NodeError> {
    let said = format!("{password} was refused");
    match fails {
        Fails::Returning => Err(said.into()),
        Fails::WithACause => Err(NoLogin(std::io::Error::other(said)).into()),
        Fails::Panicking => panic!("{said}"),
    }
}

/// All output of a run in which a node fails with a text that quotes the password.
async fn told_of_failure(
    saver: Arc<dyn superstep::checkpoint::Checkpointer>,
    fails: Fails,
    thread: &str,
) -> String {
    let mut g = StateGraph::<Login>::new("g");
    let node = g.node("node", move |login: Snapshot<Login>| async move { fail(fails, &login.password) });
    g.policy(node).retry(Retry::fixed(2, std::time::Duration::ZERO));
    g.edge(START, node);
    g.edge(node, END);
    let told: Arc<Mutex<String>> = Arc::default();
    let (lines, traces) = (Arc::clone(&told), TraceLog::new());
    let note = move |event: &RunEvent| {
        let text = serde_json::to_string(event).expect("events are JSON");
        *lines.lock().expect("no observer panics") += &text;
    };
    let graph = g.compile().expect("sound").shared_checkpointer(saver).observe(note).observe(traces.clone());
    let thread = graph.thread(thread);
    let error = thread.run(Login::update().password("hunter2")).await.expect_err("it fails");
    let mut all = told.lock().expect("no observer panics").clone();
    all += &format!("{error} {error:?}");
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        all += &format!("{next} {next:?}");
        cause = next.source();
    }
    all += &serde_json::to_string(&thread.head().await.expect("it began").view()).expect("a view is JSON");
    for past in
        thread.events().expect("it has a checkpointer").collect().await.expect("the store does not fail")
    {
        all += &serde_json::to_string(&past.event).expect("events are JSON");
    }
    all
}

#[tokio::test]
async fn a_failure_that_quotes_a_secret_is_reported_without_it() {
    on_both_savers(|saver| async move {
        for fails in [Fails::Returning, Fails::WithACause, Fails::Panicking] {
            let told = told_of_failure(Arc::clone(&saver), fails, &format!("{fails:?}")).await;
            assert!(!told.contains("hunter2"), "{fails:?}: {told}");
            assert!(told.contains("<secret> was refused"), "{fails:?}: {told}");
        }
    })
    .await;
}

#[test]
fn a_lens_from_a_secret_field_to_one_that_is_not_is_a_problem() {
    let compile = |lens: Lens<Login, Login>| {
        let mut inner = StateGraph::<Login>::new("inner");
        let node = inner.node("node", async || Login::update());
        inner.edge(START, node);
        inner.edge(node, END);
        let mut g = StateGraph::<Login>::new("g");
        let sub = g.subgraph("sub", inner.compile().expect("sound"), lens);
        g.edge(START, sub);
        g.edge(sub, END);
        g.compile().map(drop).map_err(|error| error.to_string())
    };
    let leak = "the lens of subgraph \"sub\" copies \"password\", which is secret, to \"name\", which is not";
    for lens in [
        Lens::new().give(Login::PASSWORD, Login::NAME),
        Lens::new().take(Login::PASSWORD, Login::NAME),
        Lens::new().share(Login::PASSWORD, Login::NAME),
        Lens::new().share(Login::NAME, Login::PASSWORD),
    ] {
        let error = compile(lens).expect_err("it leaks");
        assert!(error.contains(leak), "{error}");
    }
    compile(Lens::new().give(Login::NAME, Login::PASSWORD)).expect("a secret may be made of what is none");
}

/// Provides the checkpoints that it requests. Returns their number.
async fn learn(past: &mut SecretPast, saver: &Arc<dyn Checkpointer>) -> usize {
    let mut read = 0;
    while let Some((thread, from, limit)) = past.wanted() {
        let steps = saver.steps(&thread, from, limit).await.expect("the thread is whole");
        read += steps.len();
        past.add(&steps);
    }
    read
}

#[tokio::test]
async fn what_was_ever_secret_is_learned_page_by_page_and_then_only_what_is_new() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Login>::new("g");
        let node = g.node("node", async || ());
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").shared_checkpointer(Arc::clone(&saver));
        let thread = graph.thread("t");
        let log_in = async |number: usize| {
            let password = format!("password {number}");
            let run = thread.run(Login::update().password(password)).await.expect("it runs");
            run.finished().expect("to the end");
        };
        for number in 0..200 {
            log_in(number).await;
        }
        let mut past = SecretPast::of("t".into(), [At::Head]);
        assert_eq!(learn(&mut past, &saver).await, 600, "three checkpoints a run, more than a page");
        assert!(past.fields().has_name("password") && !past.fields().has_name("name"));
        let told = past.texts().hide_text("password 0, password 199, password 200");
        assert_eq!(told, "<secret>, <secret>, <secret>0", "what is not known is not hidden");

        log_in(200).await;
        past.look_again();
        assert!(learn(&mut past, &saver).await <= 16);
        assert_eq!(past.texts().hide_text("password 200"), "<secret>");
        past.start_over();
        assert_eq!(learn(&mut past, &saver).await, 603);
    })
    .await;
}

/// Only the subgraph's thread knew which part was secret.
#[tokio::test]
async fn the_secrets_of_a_question_whose_subgraph_is_gone_are_unknown() {
    on_both_savers(async |saver| {
        let mut inner = StateGraph::<Login>::new("inner");
        let ask = inner.node("ask", async |ask: Ask<String, String>| {
            Login::update().name(ask.ask("is hunter2 right?".into()).await)
        });
        inner.edge(START, ask);
        inner.edge(ask, END);
        let mut g = StateGraph::<Login>::new("g");
        let sub = g.subgraph("sub", inner.compile().expect("sound"), Lens::new());
        let own = g.node("own", async |ask: Ask<String, String>| {
            Login::update().name(ask.ask("and now?".into()).await)
        });
        g.edge(START, sub);
        g.edge(START, own);
        g.edge(sub, END);
        g.edge(own, END);
        let graph = g.compile().expect("sound").shared_checkpointer(Arc::clone(&saver));
        let thread = graph.thread("t");
        let asked = thread.run(Login::update()).await.expect("it runs").interrupted().expect("it asks");
        let known = async || {
            let mut past = SecretPast::of("t".into(), [At::Head]);
            learn(&mut past, &saver).await;
            let known = |asked: &Interrupt| past.knows_who_asked(asked.id, &asked.path);
            asked.iter().map(|asked| (asked.node.to_string(), known(asked))).collect::<Vec<_>>()
        };
        assert_eq!(known().await, [("own".into(), true), ("ask".into(), true)]);
        let head = thread.head().await.expect("the thread is there");
        let below = &head.subgraphs().await.expect("they are whole")[0].thread;
        saver.delete(&"inner".into(), below).await.expect("it may be deleted");
        assert_eq!(known().await, [("own".into(), true), ("ask".into(), false)]);
    })
    .await;
}
