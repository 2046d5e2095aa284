//! The page `docs/cli.md` matches the program.

use std::path::Path;
use std::time::Duration;

use superstep::checkpoint::CheckpointerExt;
use superstep::cli::{Exit, Look};
use superstep::driver::checkpoint::{Acquired, Claim};
use superstep::prelude::*;

use crate::debugger::Program;
use crate::program::written;
use crate::said;

const PAGE: &str = include_str!("../../../docs/cli.md");

#[tokio::test]
async fn every_command_of_the_page_runs() {
    let file = written().await;
    held(&file.path).await;
    let blocks = PAGE.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let (mut count, mut debugged) = (0, 0);
    let mut program = Program::new().await;
    for line in blocks.flat_map(str::lines) {
        if let Some(line) = line.strip_prefix("essays debug ") {
            let said = program.says(Look::PIPED, line).await;
            assert!(said.exit != Exit::Unusable && said.err.is_empty(), "{line}: {}", said.err);
            assert!(!said.out.is_empty(), "{line}");
            debugged += 1;
            continue;
        }
        let rest = line.strip_prefix("superstep ").unwrap().replace("essays.db", "FILE");
        if cfg!(unix) || !rest.contains("--test") {
            let said = said(&file.path, Look::PIPED, &rest);
            assert!(said.exit != Exit::Unusable && said.err.is_empty(), "{line}: {}", said.err);
            assert!(!said.out.is_empty(), "{line}");
            count += 1;
        }
    }
    assert!(count > 15 && debugged > 6, "{count}, {debugged}");
}

/// Acquires a lease on a thread.
async fn held(file: &Path) {
    let saver = SqliteSaver::open(file).await.unwrap();
    let claim = Claim { thread: "rust".into(), holder: "worker 3".into(), ttl: Duration::from_secs(60) };
    assert!(matches!(saver.acquire(claim).await.unwrap(), Acquired::Now(_)));
}

#[tokio::test]
async fn the_holder_of_a_thread_is_shown_until_it_is_released() {
    let file = written().await;
    let told = |line: &str| said(&file.path, Look::PIPED, line);
    assert_eq!(told("release FILE rust").exit, Exit::No);
    assert_eq!(told("release FILE rust").err, "error: no run holds thread rust\n");
    held(&file.path).await;
    for line in ["threads FILE", "show FILE rust", "show FILE rust --json"] {
        assert!(told(line).out.contains("worker 3"), "{line}: {}", told(line).out);
    }
    let threads = told("threads FILE --json").out;
    assert_eq!(threads.matches("\"holder\": \"worker 3\"").count(), 1, "{threads}");
    assert!(threads.contains("\"over\": false"), "{threads}");
    let released = told("release FILE rust");
    assert_eq!(released.exit, Exit::Fine);
    assert!(released.out.starts_with("released rust, held by worker 3 until 2"), "{}", released.out);
    assert!(!told("threads FILE").out.contains("worker 3"));
}

#[tokio::test]
async fn the_tree_on_the_page_is_that_of_the_program() {
    let file = written().await;
    let tree = said(&file.path, Look::PIPED, "log FILE rust --graph -n 0").out;
    let shown: Vec<&str> = tree.lines().take(7).collect();
    assert!(PAGE.contains(&shown.join("\n")), "{tree}");
}
