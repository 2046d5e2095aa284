//! The studio on a thread of 10,000 checkpoints.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Map;
use superstep::checkpoint::Durability;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::report::{Figure, round};
use crate::shown::{Studio, wait_for};
use crate::walk::{STEPS, finish, walking, write};
use crate::{ms_since, p95};

/// The time in which the writer's steps are counted.
const WRITES: Duration = Duration::from_secs(1);

/// The first and the longest pause of the page after a refresh. It doubles while the file changes again and again, up to ten
/// times the time of the refresh.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(350)];

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime starts")
}

/// Makes a file with the thread `long`.
fn written() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.db");
    runtime().block_on(write(&path));
    (folder, path)
}

/// P2: from the command to the first rows of the timeline.
pub(crate) fn first_rows() -> Figure {
    let (_folder, path) = written();
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let begun = Instant::now();
        let studio = Studio::start(&path);
        studio.get("threads?count=50");
        let log = studio.get("log?thread=long&count=50&graph=true");
        values.push(ms_since(begun));
        assert_eq!(log["checkpoints"].as_array().map(Vec::len), Some(50));
        let begun = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.arg("log").arg(&path).args(["long", "-n", "50", "--graph", "--json"]).stdout(Stdio::null());
        assert!(command.status().expect("the binary starts").success());
        baselines.push(ms_since(begun));
    }
    Figure { unit: "ms", values, baselines, extra: Map::new(), target: "superstep log; ≤ 1,000 ms" }
}

/// P3: the documents of a step somewhere on the thread, as a key press asks for them; p95.
pub(crate) fn key_press() -> Figure {
    let (_folder, path) = written();
    let studio = Studio::start(&path);
    studio.get("log?thread=long&count=50&graph=true");
    let (mut values, mut baselines, mut most) = (Vec::new(), Vec::new(), 0);
    for _ in 0..5 {
        let mut times = Vec::new();
        for step in (0..STEPS).step_by(100) {
            let begun = Instant::now();
            let state = studio.get(&format!("show?checkpoint=long%40{step}"));
            times.push(ms_since(begun));
            most = most.max(state.to_string().len());
        }
        values.push(p95(&times));
        let mut times = Vec::new();
        for _ in 0..100 {
            let begun = Instant::now();
            studio.get("session");
            times.push(ms_since(begun));
        }
        baselines.push(p95(&times));
    }
    let mut extra = Map::new();
    extra.insert("largest_kb".into(), round(most as f64 / 1e3).into());
    Figure { unit: "ms", values, baselines, extra, target: "a request that reads no checkpoint; ≤ 50 ms" }
}

/// P4: from a commit to its event; p95.
pub(crate) fn event() -> Figure {
    let (_folder, path) = written();
    let studio = Studio::start(&path);
    let runtime = runtime();
    let graph = runtime.block_on(walking(&path, Durability::Process));
    let mut values = Vec::new();
    for round in 0..5 {
        let mut times = Vec::new();
        for run in 0..20 {
            let mut events = studio.events();
            let thread = graph.thread(format!("short-{round}-{run}"));
            runtime.block_on(finish(&thread, 1));
            let begun = Instant::now();
            wait_for(&mut events, "event: changed");
            times.push(ms_since(begun));
        }
        values.push(p95(&times));
    }
    // The file is looked at every 50 ms.
    let baselines = vec![50.0; values.len()];
    Figure { unit: "ms", values, baselines, extra: Map::new(), target: "the time between looks; ≤ 150 ms" }
}

/// P5: the steps a second of a program that writes the file while a studio follows it.
pub(crate) fn writer() -> Figure {
    let (_folder, path) = written();
    let runtime = runtime();
    let graph = runtime.block_on(walking(&path, Durability::Power));
    let steps = |name: String| {
        let thread = graph.thread(name);
        runtime.block_on(async {
            let (begun, mut count) = (Instant::now(), 0.0);
            while begun.elapsed() < WRITES {
                finish(&thread, 50).await;
                count += 50.0;
            }
            count / begun.elapsed().as_secs_f64()
        })
    };
    let followed = |name: String| {
        let studio = Studio::start(&path);
        // The page is open when the writing begins.
        studio.get("threads?count=50");
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                // As the page does: after an event it reads the rows that it shows.
                let mut events = studio.events();
                let mut pause = Duration::ZERO;
                while !ended.load(Ordering::Relaxed) {
                    wait_for(&mut events, "event: changed");
                    let begun = Instant::now();
                    studio.get("threads?count=50");
                    studio.get(&format!("log?thread={name}&count=50&graph=true"));
                    pause = (pause * 2).min(begun.elapsed() * 10).clamp(PAUSES[0], PAUSES[1]);
                    thread::sleep(pause);
                }
            });
            let steps = steps(name.clone());
            ended.store(true, Ordering::Relaxed);
            // One more change ends the wait for an event.
            runtime.block_on(finish(&graph.thread("last"), 1));
            steps
        })
    };
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for round in 0..9 {
        // The file grows, so each of the two comes first in turn.
        if round % 2 == 0 {
            baselines.push(steps(format!("alone-{round}")));
        }
        values.push(followed(format!("followed-{round}")));
        if round % 2 == 1 {
            baselines.push(steps(format!("alone-{round}")));
        }
    }
    Figure { unit: "steps/s", values, baselines, extra: Map::new(), target: "without a studio; ≥ 0.95" }
}
