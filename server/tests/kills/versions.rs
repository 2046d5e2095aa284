//! Servers of two versions of a program on one Postgres database: each run is carried out by a version that may do so, and
//! waits until there is one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::checkpoint::Checkpointer;
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Effects, Snapshot};
use superstep_core::reducer::Append;
use superstep_core::run::{AnyGraph, OnChange};
use superstep_core::state::State;

use crate::ALONE;
use crate::cluster::Cluster;
use crate::paused::{answered, recorded};
use crate::place::Place;
use crate::server::{LEASE, Started, act};

/// The state of the older version.
#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Old {
    token: String,
    /// The node that waits after its effect, until its server is killed.
    pause_at: String,
    #[reducer(Append)]
    lines: Vec<String>,
    mood: String,
}

/// The state of the newer version, without `mood`.
#[derive(State, Clone, Default, Serialize, Deserialize)]
struct New {
    token: String,
    pause_at: String,
    #[reducer(Append)]
    lines: Vec<String>,
    title: String,
}

/// Returns the graph of a version, such as `old pin`. The newer one has another node, and `act` under another name.
pub(crate) fn graph(version: &str, saver: Arc<dyn Checkpointer>, place: &Place) -> AnyGraph {
    let policy = if version.ends_with("pin") { OnChange::Pin } else { OnChange::Upgrade };
    let graph = match version.starts_with("old") {
        true => chain::<Old>(
            &["first", "act", "last"],
            place,
            |work| [work.token.clone(), work.pause_at.clone()],
            |line| Old::update().mood("calm").lines([format!("{line} old")]),
        ),
        false => chain::<New>(
            &["first", "check", "carry_out", "last"],
            place,
            |work| [work.token.clone(), work.pause_at.clone()],
            |line| New::update().title("untitled").lines([format!("{line} new")]),
        ),
    };
    graph.shared_checkpointer(saver).on_change(policy)
}

/// Returns a chain of nodes. Each has an effect, which writes a line, and then a line of the state.
fn chain<S: State>(
    nodes: &[&'static str],
    place: &Place,
    input: fn(&S) -> [String; 2],
    line: fn(&str) -> S::Update,
) -> AnyGraph {
    let mut g = StateGraph::<S>::new("work");
    let mut last = None;
    for &name in nodes {
        let place = place.clone();
        let node = g.node(name, move |work: Snapshot<S>, fx: Effects| {
            let ([token, pause_at], place) = (input(&work), place.clone());
            async move {
                let happened = AtomicBool::new(false);
                let effect = async || {
                    happened.store(true, Ordering::Relaxed);
                    act(&place, &format!("{token} {name}"))
                };
                fx.run_keyed("act", &token, effect).await.map_err(NodeError::terminal)?;
                if happened.into_inner() && pause_at == name {
                    tokio::time::sleep(Duration::from_secs(600)).await;
                }
                Ok::<_, NodeError>(line(name))
            }
        });
        match last {
            Some(last) => g.edge(last, node),
            None => g.edge(START, node),
        };
        last = Some(node);
    }
    g.edge(last.expect("there are nodes"), END);
    g.compile().expect("the graph is complete").erased()
}

/// Sends a run on the thread with this number to a server. Returns its path.
async fn send(server: &Started, thread: usize, token: &str, pause_at: &str) -> String {
    let runs = format!("/threads/01a20bb1-0000-7000-8000-{thread:012}/runs");
    let input = json!({ "token": token, "pause_at": pause_at });
    let request = json!({ "assistant_id": "work", "input": input, "if_not_exists": "create" });
    let run = answered(server, "POST", &runs, request).await.json().await.expect("a run");
    format!("{runs}/{}", run["run_id"].as_str().unwrap_or_else(|| panic!("{run}")))
}

async fn get(server: &Started, path: &str) -> Value {
    answered(server, "GET", path, Value::Null).await.json().await.expect("a document")
}

/// Waits for the end of a run, and returns the nodes that ran after the lines that its thread had before.
async fn ended(server: &Started, run: &str, before: usize) -> String {
    let values = get(server, &format!("{run}/join")).await;
    let lines = values["lines"].as_array().unwrap_or_else(|| panic!("{values}"));
    let lines: Vec<&str> = lines[before..].iter().map(|line| line.as_str().expect("a line")).collect();
    assert_eq!(get(server, run).await["status"], "success");
    // The version that has ended the run has added its field, and left the other one's out.
    let fields = (values["title"].as_str(), values["mood"].as_str());
    let is_new = lines.last().is_some_and(|line| line.ends_with("new"));
    assert_eq!(fields, if is_new { (Some("untitled"), None) } else { (None, Some("calm")) }, "{values}");
    lines.join(", ")
}

const OLD: &str = "first old, act old, last old";
const NEW: &str = "first new, check new, carry_out new, last new";
const UPGRADED: &str = "first old, act old, last new";

/// The threads of each kind.
const THREADS: usize = 6;

async fn rolling_upgrade(cluster: &Cluster, policy: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::postgres(folder.path(), cluster);
    let of = |version: &str| Started::of_version(&place, &format!("{version} {policy}"));
    let mut old = of("old");
    // The new version has the node `last`, and no `act`.
    let (mut in_act, mut in_last) = (Vec::new(), Vec::new());
    for thread in 0..THREADS {
        in_act.push(send(&old, thread, &format!("act-{thread}"), "act").await);
        in_last.push(send(&old, THREADS + thread, &format!("last-{thread}"), "last").await);
    }
    recorded(&place, 5 * THREADS).await;
    let new = of("new");
    old.kill();

    // Only the new version serves. It takes new threads, and leaves what it may not continue.
    let fresh = send(&new, 2 * THREADS, "fresh", "").await;
    assert_eq!(ended(&new, &fresh, 0).await, NEW);
    let continued = if policy == "pin" { OLD } else { UPGRADED };
    if policy != "pin" {
        for run in &in_last {
            assert_eq!(ended(&new, run, 0).await, continued);
        }
    }
    tokio::time::sleep(LEASE * 4).await;
    for run in in_act.iter().chain(in_last.iter().filter(|_| policy == "pin")) {
        let status = get(&new, run).await["status"].clone();
        assert!(status == "pending" || status == "running", "{run}: {status}");
    }

    // Both versions serve.
    let mut old = of("old");
    for run in &in_act {
        assert_eq!(ended(&new, run, 0).await, OLD);
    }
    for run in &in_last {
        assert_eq!(ended(&old, run, 0).await, continued);
    }
    let mut both = Vec::new();
    for number in 0..4 * THREADS {
        // On threads of either version, and on new ones.
        let server = if number % 2 == 0 { &old } else { &new };
        both.push((number, send(server, number, &format!("both-{number}"), "").await));
    }
    for (number, run) in &both {
        let before = match number {
            0..THREADS => OLD,
            _ if *number < 2 * THREADS => continued,
            _ if *number == 2 * THREADS => NEW,
            _ => "",
        };
        let before = before.split(", ").filter(|line| !line.is_empty()).count();
        let nodes = ended(if number % 2 == 0 { &new } else { &old }, run, before).await;
        assert!(nodes == OLD || nodes == NEW, "{run}: {nodes}");
    }

    // The old version stops. It gives its runs back, and one of them waits until it is started again.
    new.suspend();
    let given_back = send(&old, 5 * THREADS, "given-back", "act").await;
    recorded(&place, lines(&place).len() + 2).await;
    old.terminate();
    assert_eq!(old.ended(), Some(0));
    new.resume();
    tokio::time::sleep(LEASE * 4).await;
    assert_ne!(get(&new, &given_back).await["status"], "error");
    let old = of("old");
    assert_eq!(ended(&new, &given_back, 0).await, OLD);
    drop(old);

    // No effect has happened twice.
    let mut effects = BTreeMap::new();
    for line in lines(&place) {
        let (effect, _id) = line.rsplit_once(' ').expect("a token, a node and an id");
        *effects.entry(effect.to_owned()).or_insert(0) += 1;
    }
    let twice: Vec<_> = effects.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

fn lines(place: &Place) -> Vec<String> {
    let text = std::fs::read_to_string(place.effects()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_version_leaves_what_it_cannot_continue_to_the_older_one() {
    let Some(cluster) = Cluster::shared() else { return };
    let _alone = ALONE.lock().await;
    rolling_upgrade(&cluster, "upgrade").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_graph_leaves_the_runs_of_the_older_version_to_it() {
    let Some(cluster) = Cluster::shared() else { return };
    let _alone = ALONE.lock().await;
    rolling_upgrade(&cluster, "pin").await;
}
