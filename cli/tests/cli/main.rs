//! The `superstep` program: every verb on the file of a small program with fixed ids and times, piped and as on a
//! terminal. `UPDATE_GOLDEN=1` regenerates the files in `tests/cli/golden`.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod addresses;
mod agent;
mod amend;
mod as_node;
mod canary;
mod databases;
mod debugger;
mod endings;
mod errors;
mod extension;
mod hostile;
mod keys;
mod long;
mod maintenance;
mod names;
mod newer;
mod page;
mod portable;
mod program;
mod subgraphs;
mod terminal;
mod token_usage;
mod values;
mod verbs;

use std::path::{Path, PathBuf};

use superstep::cli::{Exit, Look, Screen, run};

/// The output of the program.
#[derive(Debug)]
struct Said {
    exit: Exit,
    out: String,
    err: String,
}

/// Runs the program on the file, which replaces `FILE`.
fn said(file: &Path, look: Look, line: &str) -> Said {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = words(line).into_iter().map(|word| match &*word {
        "FILE" => file.to_str().unwrap().to_owned(),
        _ => word,
    });
    let words: Vec<String> = ["superstep".to_owned()].into_iter().chain(words).collect();
    let exit = run(words, &[], Screen { out: &mut out, err: &mut err, look });
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(file.to_str().unwrap(), "FILE");
    Said { exit, out: text(out), err: text(err) }
}

/// The words of a command line; words in single quotes may contain spaces.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// The output modes of a verb: text, text on a terminal, and JSON.
fn ways(line: &str) -> [(Look, String); 3] {
    [
        (Look::PIPED, line.to_owned()),
        (Look::terminal(72), line.to_owned()),
        (Look::PIPED, format!("{line} --json")),
    ]
}

/// The output of a verb in the form of a golden file.
fn shown(file: &Path, look: Look, line: &str) -> String {
    let Said { exit, out, err } = said(file, look, line);
    assert_eq!(err, "", "{line}");
    let out = out.replace('\u{1b}', "␛");
    let on = if look.color { " # on a terminal" } else { "" };
    format!("$ superstep {line}{on}\n{out}[exit {}]\n\n", exit as u8)
}

/// Compares the output of a verb with the golden file of this name.
fn golden(file: &Path, name: &str, line: &str) {
    let text: String = ways(line).into_iter().map(|(look, line)| shown(file, look, &line)).collect();
    compare(name, &text);
}

/// The same for a verb that writes: each time on a new file, and without random ids.
async fn golden_writing(name: &str, line: &str) {
    let mut text = String::new();
    for (look, line) in ways(line) {
        let file = program::written().await;
        text += &masked(&shown(&file.path, look, &line));
    }
    compare(name, &text);
}

/// Replaces ids that the program of the file did not create by `<id>`. Its own ids end with the same byte four times.
fn masked(text: &str) -> String {
    let is_own = |end: &str| end.as_bytes().chunks(2).all(|byte| byte == &end.as_bytes()[..2]);
    let is_id = |word: &str| {
        let digits = word.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
        digits && (word.len() == 8 || word.len() == 36) && !is_own(&word[word.len() - 8..])
    };
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let (before, from) = rest.split_at(at);
        let (word, after) = from.split_at(from.find(|letter| !is_part(letter)).unwrap_or(from.len()));
        // On a terminal a colour code precedes an id.
        let (color, word) = word.split_at(if word.starts_with("33m") { 3 } else { 0 });
        shown += before;
        shown += color;
        shown += if is_id(word) { "<id>" } else { word };
        rest = after;
    }
    shown + rest
}

fn compare(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(held == text, "{} differs; this is new:\n{text}", path.display());
}
