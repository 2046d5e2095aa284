//! A thread of 3,000 checkpoints.

use serde::{Deserialize, Serialize};
use superstep::checkpoint::Durability;
use superstep::cli::{Exit, Look};
use superstep::prelude::*;

use crate::said;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Walk {
    #[reducer(Append)]
    steps: Vec<String>,
    count: u64,
}

const STEPS: u64 = 2_998;

#[derive(Route, Serialize, Deserialize)]
enum Next {
    On,
    Done,
}

async fn walk(walk: Snapshot<Walk>) -> (Update<Walk>, Next) {
    let next = if walk.count + 1 < STEPS { Next::On } else { Next::Done };
    (Walk::update().steps([format!("step {}", walk.count)]).count(walk.count + 1), next)
}

#[tokio::test]
async fn thousands_of_checkpoints_are_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.db");
    let mut g = StateGraph::<Walk>::new("walk");
    let walk = g.node("walk", walk);
    g.edge(START, walk);
    g.route(walk, move |next| match next {
        Next::On => to(walk),
        Next::Done => END,
    });
    let saver = SqliteSaver::options().durability(Durability::Process).open(&path).await.unwrap();
    let walks = g.compile().unwrap().recursion_limit(STEPS + 1).checkpointer(saver);
    walks.thread("long").run(Walk::update()).await.unwrap().finished().unwrap();
    drop(walks);

    let first = said(&path, Look::PIPED, "bisect FILE long --path count --is '> 2000' --json");
    assert_eq!(first.exit, Exit::Fine, "{}", first.err);
    let first: serde_json::Value = serde_json::from_str(&first.out).unwrap();
    assert_eq!((&first["checkpoint"]["step"], &first["checkpoints"]), (&2_001.into(), &3_000.into()));
    assert!(first["evaluated"].as_u64().unwrap() < 18, "{first}");
    assert_eq!(said(&path, Look::PIPED, "log FILE long").out.lines().count(), 52);
    assert_eq!(said(&path, Look::PIPED, "log FILE long --graph -n 3").out.lines().count(), 5);
    let step = said(&path, Look::PIPED, "show FILE long@17 count");
    assert_eq!(step.out, "17\n");
    assert_eq!(said(&path, Look::PIPED, "diff FILE long").out.lines().count(), 5);
    let linear = said(&path, Look::PIPED, "bisect FILE long --path count --is '> 2000' --linear --json").out;
    let linear: serde_json::Value = serde_json::from_str(&linear).unwrap();
    assert_eq!((&linear["checkpoint"], &linear["evaluated"]), (&first["checkpoint"], &3_000.into()));

    let (document, copy) = (folder.path().join("long.json"), folder.path().join("copy.db"));
    let document = document.to_str().unwrap();
    let exported = said(&path, Look::PIPED, &format!("export FILE long -o {document}"));
    assert_eq!(exported.exit, Exit::Fine, "{}", exported.err);
    let imported = said(&copy, Look::PIPED, &format!("import FILE {document}"));
    assert_eq!(imported.out, "imported long into a new file (3000 checkpoints)\n", "{}", imported.err);
    assert_eq!(
        said(&copy, Look::PIPED, "show FILE long@1999").out,
        said(&path, Look::PIPED, "show FILE long@1999").out
    );
}
