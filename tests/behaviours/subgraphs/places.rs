//! Unique names for the writes of tasks.

use super::*;

#[derive(Route, Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Fan {
    Out(Vec<String>),
}

async fn say_where(info: TaskInfo) -> Update<Inner> {
    inner_said(info.place())
}

/// The writes of an inner node that runs for two items at once, and then again, in the same graph.
async fn places() -> Vec<String> {
    let mut g = StateGraph::<Inner, ()>::new("inner");
    let node = g.node("node", say_where);
    g.edge(START, node);
    g.edge(node, END);
    let inner = g.compile().expect("sound");

    let mut g = StateGraph::<Outer, ()>::new("outer");
    let fan = g.node("fan", async || Fan::Out(vec!["a".into(), "b".into()]));
    let lens = Lens::new()
        .item(|query: &String| Inner::update().query(query.clone()))
        .share(Outer::SAID, Inner::SAID);
    let many = g.subgraph("many", inner.clone(), lens);
    let once = g.subgraph("once", inner, lens_of_said());
    let last = g.node("last", async |info: TaskInfo| outer_said(info.place()));
    g.edge(START, fan);
    g.route(fan, move |Fan::Out(items)| each(many, items));
    g.edge(many, once);
    g.edge(once, last);
    g.edge(last, END);
    let graph = g.compile().expect("sound").checkpointer(MemorySaver::new());
    graph.thread("t").run(Outer::update()).await.expect("runs").finished().expect("ends").said
}

fn lens_of_said() -> Lens<Outer, Inner> {
    Lens::new().share(Outer::SAID, Inner::SAID)
}

#[tokio::test]
async fn no_two_tasks_of_a_thread_have_the_same_place_and_each_run_has_the_same() {
    let said = places().await;
    assert_eq!(said, ["many.2#0.0/node.1", "many.2#0.1/node.1", "once.3/node.1", "last.4"]);
    assert_eq!(places().await, said);
}
