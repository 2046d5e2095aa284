//! The verb `import`, which reads from its standard input.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use superstep::prelude::*;

#[derive(State, Clone, Default)]
struct Note {
    text: String,
}

/// The program with these arguments.
fn superstep(verb: &str, file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
    command.arg(verb).arg(file).args(arguments);
    command
}

fn printed(mut command: Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// A pipe from one to the other.
#[tokio::test]
async fn an_export_comes_through_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from.db", "to.db"].map(|name| folder.path().join(name));
    let mut g = StateGraph::<Note>::new("note");
    let write = g.node("write", async || Note::update().text("Rust"));
    g.edge(START, write);
    g.edge(write, END);
    let notes = g.compile().unwrap().checkpointer(SqliteSaver::open(&from).await.unwrap());
    notes.thread("rust").run(Note::update()).await.unwrap().finished().unwrap();

    let mut export = superstep("export", &from, &["rust", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut import = superstep("import", &to, &["--json"]);
    import.stdin(export.stdout.take().unwrap());
    let told: Value = serde_json::from_str(&printed(import)).unwrap();
    assert!(export.wait().unwrap().success());
    let expected =
        serde_json::json!({"imported": "rust", "checkpoints": 3, "redacted": false, "created": true});
    assert_eq!(told, expected);
    let shown = printed(superstep("show", &to, &["rust", "--json"]));
    assert!(shown.contains("Rust"), "{shown}");
    assert_eq!(shown, printed(superstep("show", &from, &["rust", "--json"])));
}
