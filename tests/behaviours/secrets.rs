//! Secret fields: what is told of them, live and rebuilt, and in documents.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::run::{RunEvent, TraceLog, View};

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
        let asked = thread.run(input).include(views).await.expect("no node fails");
        let trace = serde_json::to_string(&traces.of(asked.run)).expect("traces are JSON");
        asked.interrupted().expect("it asks");
        let open = thread.events().expect("it has a checkpointer").view(views).collect().await;
        let answered = thread.answer("you").include(views).await.expect("no node fails");
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
        for all in [&live, &rebuilt, &documents, &vec![trace]] {
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

/// The operation is told, and for which field; only the operand is not.
#[tokio::test]
async fn that_a_secret_is_written_is_told() {
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
