//! A test that starts its own program again, to be killed: the second process runs a graph instead.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use superstep::prelude::*;

use superstep_examples::halt::Halt;

/// The variable with the file for the program under test.
const DB: &str = "SUPERSTEP_TEST_KILL_DB";
/// The variable with the mark at which it halts.
const MARK: &str = "SUPERSTEP_TEST_KILL_MARK";

/// The command that runs the graph of `test` on a file, up to a mark.
pub(crate) fn command(test: &str, db: PathBuf, mark: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its program"));
    command.args(["--exact", &format!("kill::{test}"), "--nocapture"]).env(DB, db).env(MARK, mark);
    command
}

/// Returns `true` if this process is the program under test.
pub(crate) fn was_asked_for() -> bool {
    std::env::var_os(DB).is_some()
}

/// Opens the file, runs the thread to its end, and prints its state.
pub(crate) fn run<S: Serialize>(to_the_end: impl AsyncFnOnce(&Path, SqliteSaver, &Halt) -> S) {
    let db = PathBuf::from(std::env::var_os(DB).expect("it was asked for"));
    let mark = std::env::var(MARK).expect("it has a mark").parse().expect("a mark");
    let halt = Halt::new(Some(&mark));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let state = runtime.block_on(async {
        let options = SqliteSaver::options().durability(Durability::Process);
        let saver = options.observe_commits(halt.at_commits()).open(&db).await.expect("the file opens");
        to_the_end(&db, saver, &halt).await
    });
    println!("\n{}", serde_json::to_string(&state).expect("a state has a JSON form"));
    halt.report();
}
