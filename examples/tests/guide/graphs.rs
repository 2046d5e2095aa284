//! Snippets of `docs/graphs.md`.

use serde_json::json;
use superstep::prelude::*;
use superstep::run::AnyGraph;

#[derive(State, Clone, Debug, Default)]
struct Greeting {
    name: String,
    text: String,
}

async fn greet(greeting: Snapshot<Greeting>) -> Update<Greeting> {
    Greeting::update().text(format!("Hello, {}!", greeting.name))
}

#[tokio::test]
async fn a_graph_is_built_and_run() -> super::Result {
    let mut g = StateGraph::<Greeting>::new("greeting");
    let greet = g.node("greet", greet);
    g.edge(START, greet);
    g.edge(greet, END);
    let greetings = g.compile()?;

    let ada = Greeting { name: "Ada".into(), ..Greeting::default() };
    let run = greetings.run(ada).await?;
    assert_eq!(run.finished()?.text, "Hello, Ada!");

    println!("{}", greetings.mermaid());
    assert_eq!(
        greetings.mermaid(),
        "flowchart TD\n    n0((START))\n    n1((END))\n    n2[\"greet\"]\n    n0 --> n2\n    n2 --> n1\n"
    );
    Ok(())
}

#[tokio::test]
async fn a_graph_is_run_without_its_types() -> super::Result {
    let mut g = StateGraph::<Greeting>::new("greeting");
    let greet = g.node("greet", greet);
    g.edge(START, greet);
    g.edge(greet, END);
    let greetings = g.compile()?.checkpointer(MemorySaver::new());

    let graphs: Vec<AnyGraph> = vec![greetings.erased()];
    let run = graphs[0].thread("ada").run(json!({ "name": "Ada" })).await?;
    assert_eq!(run.finished()?.to_json(), json!({ "name": "Ada", "text": "Hello, Ada!" }));
    Ok(())
}

async fn pass() {}

#[tokio::test]
async fn a_graph_is_built_from_data() -> super::Result {
    let mut g = StateGraph::<Greeting>::new("chain");
    let mut last = g.node("step 0", pass);
    g.edge(START, last);
    for number in 1..5 {
        let next = g.node(format!("step {number}"), pass);
        g.edge(last, next);
        last = next;
    }
    g.edge(last, END);
    assert_eq!(g.compile()?.run(Greeting::default()).await?.step, 5);
    Ok(())
}

#[test]
fn problems_are_reported_together() {
    let mut g = StateGraph::<Greeting>::new("greeting");
    let greet = g.node("greet", greet);
    g.node("greet", pass);
    g.edge(START, greet);
    let problems = g.compile().expect_err("the graph is not whole");
    assert_eq!(
        problems.to_string(),
        "graph \"greeting\" has 4 problems\n  \
         - two nodes are called \"greet\"\n  \
         - node \"greet\" leads nowhere; if the run ends there, add g.edge(greet, END)\n  \
         - node \"greet\" cannot be reached from START\n  \
         - node \"greet\" leads nowhere; if the run ends there, add g.edge(greet, END)"
    );
}
