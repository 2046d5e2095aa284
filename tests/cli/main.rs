//! The `superstep` program: every verb on the file of a small program with fixed ids and times, piped and as on a
//! terminal. `UPDATE_GOLDEN=1` writes the files in `tests/cli/golden` anew.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod errors;
mod long;
mod page;
mod program;
mod verbs;

use std::path::{Path, PathBuf};

use superstep::cli::{Exit, Look, Screen, run};

/// What the program said.
#[derive(Debug)]
struct Said {
    exit: Exit,
    out: String,
    err: String,
}

/// Runs the program on the file, which stands in the place of `FILE`.
fn said(file: &Path, look: Look, line: &str) -> Said {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = words(line).into_iter().map(|word| match &*word {
        "FILE" => file.to_str().unwrap().to_owned(),
        _ => word,
    });
    let words: Vec<String> = ["superstep".to_owned()].into_iter().chain(words).collect();
    let exit = run(words, Screen { out: &mut out, err: &mut err, look });
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(file.to_str().unwrap(), "FILE");
    Said { exit, out: text(out), err: text(err) }
}

/// The words of a command line; those in single quotes may have blanks.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// Compares what a verb says with the golden file of this name: text, text on a terminal, and JSON.
fn golden(file: &Path, name: &str, line: &str) {
    let mut text = String::new();
    for (look, line) in [
        (Look::PIPED, line.to_owned()),
        (Look::terminal(72), line.to_owned()),
        (Look::PIPED, format!("{line} --json")),
    ] {
        let Said { exit, out, err } = said(file, look, &line);
        assert_eq!(err, "", "{line}");
        let out = out.replace('\u{1b}', "␛");
        let on = if look.color { " # on a terminal" } else { "" };
        text += &format!("$ superstep {line}{on}\n{out}[exit {}]\n\n", exit as u8);
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(held == text, "{} differs; this is new:\n{text}", path.display());
}
