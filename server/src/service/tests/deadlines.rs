//! Questions with deadlines.

use std::sync::atomic::Ordering;

use superstep_core::records::RunQuery;
use superstep_core::run::Graph;

use super::*;
use crate::wire::assistant::AssistantCreate;

/// A graph whose question is answered as soon as it is asked.
fn hurried() -> Graph<Words> {
    let mut g = StateGraph::<Words>::new("hurried");
    let ask = g.node("ask", |ask: Ask<String, String>| async move {
        let word = ask.within(Duration::ZERO, "none".to_owned()).ask("which word?".to_owned()).await;
        Words::update().words([word])
    });
    g.edge(START, ask);
    g.edge(ask, END);
    g.compile().expect("the graph is complete")
}

#[tokio::test(start_paused = true)]
async fn a_thread_is_continued_with_its_assistant_after_a_deadline_even_if_many_runs_wait() {
    let graph = hurried().checkpointer(MemorySaver::new()).erased();
    let service = Service::new(vec![graph], ServiceOptions::default()).expect("the graph fits");
    service.start();
    let create = json!({ "graph_id": "hurried", "assistant_id": "mine" });
    service.create_assistant(&scope(), AssistantCreate::read(&create).unwrap()).await.unwrap();
    let thread = service.test_thread().await;
    let asked = service.test_run(&thread, json!({ "assistant_id": "mine", "input": {} })).await.unwrap();
    assert_eq!(service.join(&scope(), &asked).await.unwrap()["__interrupt__"][0]["value"], "which word?");
    // No run is accepted until the pending ones are counted again.
    service.0.pending.store(u64::MAX, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(service.test_state(&thread).await["values"]["words"], json!(["none"]));
    let query = RunQuery { thread: Some(asked.thread), statuses: Vec::new(), offset: 0, limit: 9 };
    let runs = service.0.records.runs(&query).await.unwrap().rows;
    assert_eq!(runs.iter().map(|run| run.assistant.as_str()).collect::<Vec<_>>(), ["mine", "mine"]);
}
