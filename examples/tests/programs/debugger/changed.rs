//! After a change of a node, the replay of each example reports the first divergence.
//!
//! The graphs here are those of the examples, over the same states, with one different node.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::cli::{Exit, Look, Screen};
use superstep::graph::{Description, Registry};
use superstep::node::JsonOutcome;
use superstep::nodes::graphs::AgentState;
use superstep::prelude::*;
use superstep::run::ToAnyGraph;
use superstep::state::JsonState;

use super::Recorded;

/// The report of the first divergence on the thread that was recorded first.
async fn first(recorded: &Recorded, graph: &dyn ToAnyGraph) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let thread = recorded.threads().remove(0);
    let exit = superstep::debugger(&[graph]).run_on(["replay", &thread], screen).await;
    let out = String::from_utf8(out).unwrap();
    assert_eq!((exit, err), (Exit::No, Vec::new()), "{out}");
    let first = out.lines().find_map(|line| line.strip_prefix("the first: ")).expect("a first divergence");
    first.split(" (checkpoint ").next().expect("it names the checkpoint").to_owned()
}

async fn file(recorded: &Recorded) -> SqliteSaver {
    SqliteSaver::open(&recorded.file).await.unwrap()
}

#[tokio::test]
async fn of_agent_loop() {
    let recorded = Recorded::agent_loop();
    let mut g = StateGraph::<AgentState>::new("evaluator");
    // It knows the answer.
    let agent = g.node("agent", async || AgentState::update().response(String::from("none")));
    g.edge(START, agent);
    g.edge(agent, END);
    let agents = g.compile().unwrap().checkpointer(file(&recorded).await);
    let told = first(&recorded, &agents).await;
    assert_eq!(told, "step 1, node agent: effect \"model.agent\" is recorded, and the code never came to it");
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    budget: u32,
    #[reducer(Append)]
    legs: Vec<String>,
    hotel: String,
}

#[tokio::test]
async fn of_time_travel() {
    let recorded = Recorded::time_travel();
    let mut g = StateGraph::<Trip>::new("trip");
    let travel = g.node("travel", async || Trip::update().legs(["to Lisbon on foot"]));
    let book = g.node("book", async || Trip::update().hotel("Palace").legs(["to the hotel"]));
    g.edge(START, travel);
    g.edge(travel, book);
    g.edge(book, END);
    let trips = g.compile().unwrap().checkpointer(file(&recorded).await);
    let told = first(&recorded, &trips).await;
    assert!(
        told.starts_with(
            "step 1, node travel: tasks[0].writes[0].write.op.extend[0] (field legs) is recorded as"
        ),
        "{told}"
    );
    assert!(told.ends_with("and came out as \"to Lisbon on foot\""), "{told}");
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Article {
    title: String,
    #[reducer(Append)]
    drafts: Vec<String>,
}

#[derive(Route, Serialize, Deserialize, schemars::JsonSchema)]
enum Verdict {
    Accept,
    Revise,
}

#[tokio::test]
async fn of_review() {
    let recorded = Recorded::review();
    let mut g = StateGraph::<Article>::new("review");
    let write = g.node("write", async |article: Snapshot<Article>| {
        let number = article.drafts.len() + 1;
        Article::update().drafts([format!("{}: draft {number}", article.title)])
    });
    // It no longer asks.
    let review = g.node("review", async |article: Snapshot<Article>| match article.drafts.len() {
        1 => Verdict::Accept,
        _ => Verdict::Revise,
    });
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    let articles = g.compile().unwrap().checkpointer(file(&recorded).await);
    let told = first(&recorded, &articles).await;
    assert_eq!(
        told,
        "step 2, node review: tasks[0].route.case is recorded as \"Revise\", and came out as \"Accept\""
    );
}

#[tokio::test]
async fn of_dynamic() {
    async fn plan(_: Snapshot<JsonState>) -> JsonOutcome {
        JsonOutcome::routed("go")
    }
    async fn errand(errand: Input<String>, fx: Effects) -> Result<Value, Infallible> {
        let distance = fx.run("drive", || async { Ok::<_, Infallible>(errand.len()) }).await?;
        Ok(json!({ "done": [*errand], "distance": distance }))
    }
    let recorded = Recorded::dynamic();
    let description = Description::from_toml(include_str!("../../../dynamic/graph.toml")).unwrap();
    let look_back = async |_: Snapshot<JsonState>| json!({});
    let registry = Registry::new().node("plan", plan).node("errand", errand).node("look_back", look_back);
    let errands = registry.build(&description).compile().unwrap().checkpointer(file(&recorded).await);
    let told = first(&recorded, &errands).await;
    assert_eq!(told, "step 2, node errand: effect \"drive\" is not recorded");
}

#[tokio::test]
async fn of_flow() {
    let recorded = Recorded::flow();
    let quiz = flow("quiz", async |cx: Cx<u32>| {
        let seed = cx.run("seed", async || Ok::<_, Infallible>(0_u64)).await?;
        let answer: u64 = cx.ask(format!("what is {seed}?")).await?;
        Ok::<_, NodeError>(answer)
    });
    let told = first(&recorded, &quiz.checkpointer(file(&recorded).await)).await;
    assert!(told.starts_with("step 1, node flow: question \"what is "), "{told}");
    assert!(told.ends_with("has no recorded answer"), "{told}");
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Census {
    files: Vec<String>,
    #[reducer(Merge)]
    words: BTreeMap<String, usize>,
    #[reducer(Union)]
    kinds: BTreeSet<String>,
    #[reducer(Sum)]
    bytes: u64,
    #[reducer(Max)]
    longest_line: usize,
    report: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Count(Vec<String>),
}

#[tokio::test]
async fn of_reducers() {
    let recorded = Recorded::reducers();
    let mut g = StateGraph::<Census>::new("census");
    let plan = g.node("plan", async |census: Snapshot<Census>| Plan::Count(census.files.clone()));
    // It reads the file under another key.
    let count = g.node("count", async |file: Input<String>, fx: Effects| {
        let text =
            fx.run_keyed("read", file.to_uppercase(), async || Err::<String, _>("nobody may read")).await?;
        Ok::<_, &str>(Census::update().longest_line(text.len()))
    });
    let weigh = g.node("weigh", async || Census::update());
    let report = g.node("report", async || Census::update());
    g.edge(START, plan);
    g.edge(START, weigh);
    g.route(plan, move |Plan::Count(files)| each(count, files));
    g.join((count, weigh), report);
    g.edge(report, END);
    let census = g.compile().unwrap().checkpointer(file(&recorded).await);
    let told = first(&recorded, &census).await;
    // `weigh` runs in the superstep before it.
    assert_eq!(
        told,
        "step 1, node weigh: effect \"weigh\" with key \"a.txt\" is recorded, and the code never came to it"
    );
}
