//! The page of the documents says what is so.

use superstep::cli::{Exit, Look};

use crate::debugger::Program;
use crate::program::written;
use crate::said;

const PAGE: &str = include_str!("../../docs/cli.md");

#[tokio::test]
async fn every_command_of_the_page_runs() {
    let file = written().await;
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

#[tokio::test]
async fn the_tree_on_the_page_is_that_of_the_program() {
    let file = written().await;
    let tree = said(&file.path, Look::PIPED, "log FILE rust --graph -n 0").out;
    let shown: Vec<&str> = tree.lines().take(7).collect();
    assert!(PAGE.contains(&shown.join("\n")), "{tree}");
}
