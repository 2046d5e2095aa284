//! Runs read-only verbs on a small file with arbitrary arguments: the verb on the first line, one argument per line
//! after it.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use serde::{Deserialize, Serialize};
use superstep::cli::{Exit, Look, Screen, run};
use superstep::prelude::*;
use tempfile::TempDir;

/// The read-only verbs.
const VERBS: [&str; 9] = ["threads", "log", "show", "diff", "blame", "why", "grep", "bisect", "compare"];

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Notes {
    #[reducer(Append)]
    notes: Vec<String>,
    left: u32,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Done,
    Again,
}

async fn note(notes: Snapshot<Notes>) -> Update<Notes> {
    let left = notes.left.saturating_sub(1);
    Notes::update().notes([format!("{left} left")]).left(left)
}

/// The checkpoint file, with two threads; the second is a branch.
static FILE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut g = StateGraph::<Notes>::new("notes");
        let note = g.node("note", note);
        g.edge(START, note);
        let decide = |notes: &Notes| if notes.left == 0 { Next::Done } else { Next::Again };
        g.branch(note, decide, move |next| match next {
            Next::Done => END,
            Next::Again => to(note),
        });
        let saver = SqliteSaver::open(&path).await.expect("the file opens");
        let graph = g.compile().expect("a sound graph").checkpointer(saver);
        let thread = graph.thread("t~1");
        let _stored = thread.run(Notes { left: 6, ..Notes::default() }).await.expect("it runs");
        let begin = thread.before(note).await.expect("it is there");
        begin.fork("other").await.expect("a branch");
    });
    (folder, path)
});

fuzz_target!(|text: &str| -> Corpus {
    let mut lines = text.lines();
    let Some(verb) = lines.next().filter(|verb| VERBS.contains(verb)) else { return Corpus::Reject };
    let arguments: Vec<&str> = lines.take(8).collect();
    // No file outside this folder may be read.
    if arguments.iter().any(|argument| argument.contains('\0') || argument.contains('/')) {
        return Corpus::Reject;
    }
    let file = FILE.1.to_str().expect("a folder with a plain name");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let exit = run(["superstep", verb, file].into_iter().chain(arguments), screen);
    if exit != Exit::Fine {
        assert!(!err.is_empty() || !out.is_empty(), "{verb} fails and says nothing");
    }
    Corpus::Keep
});
