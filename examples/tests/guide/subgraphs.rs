//! Snippets of `docs/subgraphs.md`.

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    summary: String,
}

#[derive(State, Clone, Default)]
struct Search {
    query: String,
    #[reducer(Append)]
    facts: Vec<String>,
    best: String,
}

async fn look_up(search: Snapshot<Search>) -> Update<Search> {
    let fact = format!("{} is typed", search.query);
    Search::update().facts([fact.clone()]).best(fact)
}

fn search() -> Result<Graph<Search>, Box<dyn std::error::Error>> {
    let mut g = StateGraph::<Search>::new("search");
    let look_up = g.node("look_up", look_up);
    g.edge(START, look_up);
    g.edge(look_up, END);
    Ok(g.compile()?)
}

#[tokio::test]
async fn a_graph_is_a_node_of_another() -> super::Result {
    let search = search()?;
    let mut g = StateGraph::<Essay>::new("essay");
    let lens = Lens::new()
        .give(Essay::TOPIC, Search::QUERY)
        .share(Essay::FACTS, Search::FACTS)
        .take(Search::BEST, Essay::SUMMARY);
    let research = g.subgraph("research", search, lens);
    g.edge(START, research);
    g.edge(research, END);
    let essays = g.compile()?.checkpointer(MemorySaver::new());

    let essay = essays.thread("rust").run(Essay::update().topic("Rust")).await?.finished()?;
    assert_eq!(essay.facts, ["Rust is typed"]);
    assert_eq!(essay.summary, "Rust is typed");
    Ok(())
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<String>),
}

async fn plan() -> Plan {
    Plan::Research(vec!["Rust".into(), "Zig".into()])
}

#[tokio::test]
async fn each_item_begins_a_subgraph() -> super::Result {
    let search = search()?;
    let mut g = StateGraph::<Essay>::new("essay");
    let plan = g.node("plan", plan);
    let lens = Lens::new()
        .item(|query: &String| Search::update().query(query.clone()))
        .share(Essay::FACTS, Search::FACTS);
    let research = g.subgraph("research", search, lens);
    g.edge(START, plan);
    g.route(plan, move |Plan::Research(queries)| each(research, queries));
    g.edge(research, END);
    let essay = g.compile()?.run(Essay::update()).await?.finished()?;
    assert_eq!(essay.facts, ["Rust is typed", "Zig is typed"]);
    Ok(())
}

#[tokio::test]
async fn a_subgraph_keeps_its_state() -> super::Result {
    let search = search()?;
    let mut g = StateGraph::<Essay>::new("essay");
    let lens = Lens::new()
        .keep("research")
        .give(Essay::TOPIC, Search::QUERY)
        .take_with(|search: &Search| Essay::update().summary(search.facts.join(", ")));
    let research = g.subgraph("research", search, lens);
    g.edge(START, research);
    g.edge(research, END);
    let essays = g.compile()?.checkpointer(MemorySaver::new());
    let thread = essays.thread("t");
    thread.run(Essay::update().topic("Rust")).await?.finished()?;
    let essay = thread.run(Essay::update().topic("Zig")).await?.finished()?;
    assert_eq!(essay.summary, "Rust is typed, Zig is typed");
    Ok(())
}

#[derive(Route, Clone, Serialize, Deserialize)]
enum Handoff {
    Person,
}

#[derive(Route, Serialize, Deserialize)]
enum Found {
    Something,
    Nothing,
}

async fn triage(search: Snapshot<Search>) -> Found {
    if search.query.is_empty() { Found::Nothing } else { Found::Something }
}

fn triaged() -> Result<Graph<Search>, Box<dyn std::error::Error>> {
    let mut g = StateGraph::<Search>::new("search");
    let triage = g.node("triage", triage);
    let look_up = g.node("look_up", look_up);
    let out = g.exit::<Handoff>();
    g.edge(START, triage);
    g.route(triage, move |found| match found {
        Found::Something => to(look_up),
        Found::Nothing => out.with(Handoff::Person),
    });
    g.edge(look_up, END);
    Ok(g.compile()?)
}

async fn ask_a_person() -> Update<Essay> {
    Essay::update().summary("A person will answer.")
}

#[tokio::test]
async fn a_subgraph_decides_for_the_graph_around_it() -> super::Result {
    let triaged = triaged()?;
    let mut g = StateGraph::<Essay>::new("essay");
    let ask_a_person = g.node("ask_a_person", ask_a_person);
    let lens = Lens::new().give(Essay::TOPIC, Search::QUERY).exits::<Handoff>();
    let research = g.subgraph("research", triaged, lens);
    g.edge(START, research);
    g.route(research, move |exited| match exited {
        Exited::Finished => END,
        Exited::With(Handoff::Person) => to(ask_a_person),
    });
    g.edge(ask_a_person, END);
    let essay = g.compile()?.run(Essay::update()).await?.finished()?;
    assert_eq!(essay.summary, "A person will answer.");
    Ok(())
}

#[tokio::test]
async fn every_level_can_be_looked_at() -> super::Result {
    let mut g = StateGraph::<Search>::new("asking");
    let confirm = g.node("confirm", |ask: Ask<String, bool>| async move {
        ask.ask("Go on?".into()).await;
    });
    g.edge(START, confirm);
    g.edge(confirm, END);
    let asking = g.compile()?;
    let mut g = StateGraph::<Essay>::new("essay");
    let research = g.subgraph("research", asking, Lens::new());
    g.edge(START, research);
    g.edge(research, END);
    let essays = g.compile()?.checkpointer(MemorySaver::new());
    let thread = essays.thread("rust");
    let _paused = thread.run(Essay::update()).await?;

    for level in thread.head().await?.subgraphs().await? {
        println!("{:?} has next {:?}", level.path, level.view.next);
    }
    Ok(())
}
