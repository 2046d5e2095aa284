//! Benchmarks of the command-line program on a long thread.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::Map;
use superstep::cli::{Exit, Look, Screen, run};
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::report::{Figure, median, round};
use crate::walk::write;

const ROUNDS: usize = 9;

/// Returns the time that a verb takes, in milliseconds.
fn timed(path: &Path, words: &[&str]) -> f64 {
    let path = path.to_str().expect("a path of text");
    let words = ["superstep", words[0], path].into_iter().chain(words[1..].iter().copied());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::terminal(100) };
    let begun = Instant::now();
    let exit = run(words, &[], screen);
    let taken = begun.elapsed().as_secs_f64() * 1_000.0;
    assert!(exit != Exit::Unusable && err.is_empty(), "the verb works");
    taken
}

/// Measures the baseline: opening the file with SQLite and counting its rows, in milliseconds.
fn opened(path: &Path) -> f64 {
    let begun = Instant::now();
    let file = Connection::open(path).expect("the file opens");
    let count: i64 =
        file.query_row("SELECT count(*) FROM checkpoint", [], |row| row.get(0)).expect("a sound query");
    assert_eq!(count, 10_000);
    begun.elapsed().as_secs_f64() * 1_000.0
}

/// W11: verbs on a thread of 10,000 checkpoints. The value is the slowest of `threads`, `log`, `show` and `diff`.
pub(crate) fn verbs() -> Figure {
    on_worker(async {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join("long.db");
        write(&path).await;
        let verbs: [(&str, &[&str]); 9] = [
            ("threads_ms", &["threads"]),
            ("log_ms", &["log", "long"]),
            ("show_ms", &["show", "long"]),
            ("diff_ms", &["diff", "long"]),
            ("log_graph_ms", &["log", "long", "--graph"]),
            ("bisect_ms", &["bisect", "long", "--path", "count", "--is", "> 7000"]),
            ("blame_ms", &["blame", "long", "steps[7]"]),
            ("why_ms", &["why", "long@17", "walk"]),
            ("grep_ms", &["grep", "step 4242"]),
        ];
        let mut samples = verbs.map(|_| Vec::new());
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            baselines.push(opened(&path));
            for ((_, words), samples) in verbs.iter().zip(&mut samples) {
                samples.push(timed(&path, words));
            }
            let bounded = samples[..4].iter().filter_map(|samples| samples.last().copied());
            values.push(bounded.fold(0.0, f64::max));
        }
        let mut extra = Map::new();
        for ((name, _), samples) in verbs.iter().zip(&samples) {
            extra.insert((*name).into(), round(median(samples)).into());
        }
        let target = "SQLite opening the file and counting, ≤ 100 ms";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}
