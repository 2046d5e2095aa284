//! Every verb on files that are not checkpoint files, and on malicious ones: it prints a one-line error, ends, and
//! writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use superstep::cli::{Exit, Look};
use superstep::prelude::*;

use crate::newer::LINES;
use crate::program::{Written, essay, essays, written};
use crate::{Said, said};

/// Longer than any verb takes on such a small file.
const HANGS: Duration = Duration::from_secs(300);

/// Creates a file at a path, beside a sound one.
type Make = fn(&Path, &Path);

/// Files that are not checkpoint files, or cannot be read.
const FOREIGN: [(&str, Make); 11] = [
    ("text", |path, _| fs::write(path, "these are my notes\n").unwrap()),
    ("noise", |path, _| fs::write(path, noise(9000)).unwrap()),
    ("another database", |path, _| execute(path, "CREATE TABLE thread(id, name, graph, head, sum)")),
    ("a database of another program", |path, _| {
        execute(path, "PRAGMA application_id = 7; CREATE TABLE checkpoint(seq, id)");
    }),
    ("a folder", |path, _| fs::create_dir(path).unwrap()),
    ("a link to a folder", |path, _| link("/tmp", path)),
    ("a link to nothing", |path, _| link("/nowhere/at/all.db", path)),
    ("a link to itself", |path, _| link(path.to_str().unwrap(), path)),
    ("a pipe", |path, _| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
    ("a device", |path, _| link("/dev/zero", path)),
    ("a device without an end", |path, _| link("/dev/random", path)),
];

/// Files that claim to be checkpoint files and cannot be opened. A copy may replace them.
const DAMAGED: [(&str, Make); 8] = [
    ("a database of noise", |path, good| {
        let header = fs::read(good).unwrap()[..100].to_vec();
        fs::write(path, [header, noise(9000)].concat()).unwrap();
    }),
    ("a header alone", |path, good| fs::write(path, &fs::read(good).unwrap()[..100]).unwrap()),
    ("a first page alone", |path, good| fs::write(path, &fs::read(good).unwrap()[..4096]).unwrap()),
    ("triggers", |path, good| {
        prepared(path, good, "CREATE TRIGGER t AFTER UPDATE ON thread BEGIN DELETE FROM checkpoint; END");
    }),
    ("a view", |path, good| {
        prepared(path, good, "ALTER TABLE thread RENAME TO o; CREATE VIEW thread AS SELECT * FROM o");
    }),
    ("a view without an end", |path, good| {
        let view = "ALTER TABLE checkpoint RENAME TO o; CREATE VIEW checkpoint AS WITH RECURSIVE c(x) AS
                    (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT o.* FROM o, c";
        prepared(path, good, view);
    }),
    ("a computed column", |path, good| {
        prepared(path, good, "ALTER TABLE body ADD COLUMN made TEXT AS (hex(zeroblob(90000000))) VIRTUAL");
    }),
    ("a virtual table", |path, good| {
        prepared(path, good, "DROP TABLE body; CREATE VIRTUAL TABLE body USING fts5(id, hash, text, sum)");
    }),
];

/// Changes of a sound file. Verbs that do not read the changed part may succeed.
const PREPARED: [&str; 11] = [
    "CREATE TABLE copy AS SELECT * FROM checkpoint; DROP TABLE checkpoint; ALTER TABLE copy RENAME TO checkpoint;
     UPDATE checkpoint SET manifest = x'ff00ff'",
    "CREATE TABLE copy AS SELECT * FROM checkpoint; DROP TABLE checkpoint; ALTER TABLE copy RENAME TO checkpoint;
     UPDATE checkpoint SET seq = 'first'",
    "CREATE TABLE copy AS SELECT * FROM thread; DROP TABLE thread; ALTER TABLE copy RENAME TO thread;
     UPDATE thread SET head = 1.5e300",
    "CREATE TABLE copy AS SELECT * FROM thread; DROP TABLE thread; ALTER TABLE copy RENAME TO thread;
     UPDATE thread SET name = NULL",
    "DROP TABLE thread",
    "DROP TABLE checkpoint",
    "DROP TABLE branch; DROP TABLE locator",
    "UPDATE checkpoint SET parent = seq",
    "UPDATE checkpoint SET parent = 9223372036854775807, thread = -1; UPDATE thread SET head = -9223372036854775808",
    "UPDATE thread SET name = replace(name, 'r', char(27) || '[2J' || char(10))",
    "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE TABLE thread(' || hex(zeroblob(50000)) WHERE name = 'thread'",
];

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn link(to: &str, path: &Path) {
    std::os::unix::fs::symlink(to, path).unwrap();
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn prepared(path: &Path, good: &Path, sql: &str) {
    fs::copy(good, path).unwrap();
    execute(path, sql);
}

/// The program's answer, if it ends.
fn ends(file: &Path, line: &str) -> Said {
    let (sender, answer) = mpsc::channel();
    let (path, words) = (file.to_owned(), line.to_owned());
    thread::spawn(move || sender.send(said(&path, Look::PIPED, &words)));
    answer.recv_timeout(HANGS).unwrap_or_else(|error| panic!("{line} on {}: {error}", file.display()))
}

/// The content of a folder: of each file its content, and of everything else its kind.
fn inside(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let content = |path: &Path| match fs::symlink_metadata(path).unwrap() {
        is if is.is_file() => fs::read(path).unwrap(),
        is => format!("{:?}", is.file_type()).into_bytes(),
    };
    entries.map(|path| (path.clone(), content(&path))).collect()
}

struct Around {
    file: Written,
    export: PathBuf,
    empty: tempfile::TempDir,
}

impl Around {
    async fn new() -> Self {
        let file = written().await;
        let export = file.folder.path().join("good.json");
        let line = format!("export FILE rust -o '{}'", export.display());
        assert_eq!(said(&file.path, Look::PIPED, &line).err, "");
        Self { file, export, empty: tempfile::tempdir().unwrap() }
    }

    /// A verb's line with paths of sound files; the copy would be beside the malicious file.
    fn line(&self, line: &str) -> String {
        let quoted = |path: &Path| format!("'{}'", path.display());
        line.replace("GOOD.json", &quoted(&self.export))
            .replace("GOOD", &quoted(&self.file.path))
            .replace("COPY", &quoted(&self.empty.path().join("copy.db")))
    }
}

/// Checks for a one-line error that a terminal shows unchanged.
fn is_clear(said: &Said) -> bool {
    let line = said.err.strip_prefix("error: ").and_then(|rest| rest.strip_suffix('\n'));
    line.is_some_and(|line| !line.is_empty() && !line.contains(char::is_control))
}

/// Runs every verb on each of these, and expects this refusal.
async fn refused(all: &[(&str, Make)], lines: impl Fn() -> Vec<&'static str>, exit: Exit) {
    let around = Around::new().await;
    let mut wrong = Vec::new();
    for (kind, (what, make)) in all.iter().enumerate() {
        let path = around.empty.path().join("t.db");
        make(&path, &around.file.path);
        let (before, good) = (inside(around.empty.path()), inside(around.file.folder.path()));
        for (number, line) in lines().into_iter().enumerate() {
            // Every verb in both ways, on one or the other.
            let json = if (kind + number) % 2 == 0 { "" } else { " --json" };
            let line = format!("{line}{json}");
            let said = ends(&path, &around.line(&line));
            if said.exit != exit || !said.out.is_empty() || !is_clear(&said) {
                wrong.push(format!("{what}: {line}: {said:?}"));
            }
            if inside(around.empty.path()) != before || inside(around.file.folder.path()) != good {
                wrong.push(format!("{what}: {line}: it has written something"));
                break;
            }
        }
        match fs::symlink_metadata(&path).unwrap().is_dir() {
            true => fs::remove_dir(&path).unwrap(),
            false => fs::remove_file(&path).unwrap(),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_is_no_checkpoint_file_is_refused_by_every_verb() {
    refused(&FOREIGN, || LINES.into(), Exit::Unusable).await;
}

#[tokio::test]
async fn a_checkpoint_file_that_cannot_be_opened_is_damaged_for_every_verb() {
    let finds = |line: &&str| !line.starts_with("verify") && !line.starts_with("backup GOOD");
    refused(&DAMAGED, || LINES.into_iter().filter(finds).collect(), Exit::No).await;
}

/// Verbs that write to a checkpoint file.
fn writes(line: &str) -> bool {
    let writing = ["fork", "edit", "import", "delete", "release", "gc", "vacuum", "migrate", "backup"];
    writing.iter().any(|verb| line.starts_with(verb)) || line.starts_with("name FILE rust ")
}

#[tokio::test]
async fn a_hostile_file_ends_every_verb_with_an_answer_or_an_error() {
    let around = Around::new().await;
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for sql in PREPARED {
        for line in LINES {
            let path = around.empty.path().join("t.db");
            prepared(&path, &around.file.path, sql);
            let before = inside(around.empty.path());
            let said = ends(&path, &around.line(line));
            let is_refused = !said.err.is_empty();
            refused += usize::from(is_refused);
            let is_right = match said.exit {
                Exit::Unusable => is_refused,
                exit => !is_refused || exit == Exit::No,
            };
            if !is_right || is_refused && !(said.out.is_empty() && is_clear(&said)) {
                wrong.push(format!("{sql}: {line}: {said:?}"));
            }
            // A terminal executes such characters.
            if said.out.contains('\u{1b}') {
                wrong.push(format!("{sql}: {line}: it shows what is not to be shown: {said:?}"));
            }
            if !writes(line) && inside(around.empty.path()) != before {
                wrong.push(format!("{sql}: {line}: it has written something"));
            }
            for file in inside(around.empty.path()).into_keys() {
                fs::remove_file(file).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 100, "only {refused} were refused");
}

/// Characters that reorder a line, hide letters and words, and begin a terminal command.
pub(crate) const HIDDEN: &str =
    "a\u{202e}b\u{200b}c\u{2066}d\u{e0041}e\u{9b}2Jf\u{ad}g\u{feff}h\u{2028}i\u{1b}[2Jj";

/// The characters of an output that a terminal would execute or hide, except line breaks and colours.
pub(crate) fn hidden(output: &str) -> Vec<char> {
    let styles = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[3"];
    let plain = styles.iter().fold(output.to_owned(), |text, style| text.replace(style, ""));
    let is_hidden = |letter: &char| letter.is_control() || !letter.is_ascii() && HIDDEN.contains(*letter);
    plain.chars().filter(is_hidden).filter(|letter| *letter != '\n').collect()
}

/// Only control characters used to be escaped, so a state could display a different text; with `--json` not even those
/// of C1.
#[tokio::test]
async fn what_a_terminal_would_obey_or_not_show_is_escaped_in_every_form() {
    let file = written().await;
    let saver = SqliteSaver::open(&file.path).await.unwrap();
    essays(saver, 2_000).thread("hidden").run(essay(HIDDEN)).await.unwrap().interrupted().unwrap();
    let of_all = LINES.into_iter().filter(|line| !writes(line) && !line.contains("GOOD"));
    let more =
        ["show FILE hidden topic", "export FILE hidden", "test FILE hidden", "graph FILE hidden --mermaid"];
    for line in of_all.chain(more).map(|line| line.replace("rust", "hidden")) {
        for (look, json) in
            [Look::PIPED, Look::terminal(72)].into_iter().flat_map(|look| [(look, ""), (look, " --json")])
        {
            let said = said(&file.path, look, &format!("{line}{json}"));
            assert!(hidden(&said.out).is_empty() && hidden(&said.err).is_empty(), "{line}{json}: {said:?}");
            if !json.is_empty() {
                serde_json::from_str::<serde_json::Value>(&said.out).unwrap();
            }
        }
    }
    let value = |line: &str| -> serde_json::Value {
        serde_json::from_str(&said(&file.path, Look::PIPED, line).out).unwrap()
    };
    assert_eq!(value("show FILE hidden --json")["state"]["topic"], HIDDEN);
    assert_eq!(value("show FILE hidden topic"), HIDDEN);
    assert!(value("export FILE hidden").to_string().contains('\u{202e}'));
    let wrong = said(&file.path, Look::PIPED, &format!("show FILE 'no {HIDDEN}'")).err;
    assert!(hidden(&wrong).is_empty() && wrong.contains(r"\u{202e}"), "{wrong}");
}

/// A file in a read-only folder is read, and verbs that write report an error.
#[tokio::test]
async fn in_a_folder_that_is_read_only_nothing_is_written() {
    use std::os::unix::fs::PermissionsExt;
    let file = written().await;
    let folder = file.folder.path();
    let allow = |mode| {
        fs::set_permissions(&file.path, fs::Permissions::from_mode(mode & 0o666)).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(0o555);
    // Root may write anyway.
    let is_root = fs::write(folder.join("probe"), "").is_ok();
    let mut wrong = Vec::new();
    for line in LINES
        .into_iter()
        .filter(|line| !is_root && writes(line) && !line.contains("GOOD") && !line.contains("COPY"))
    {
        let said = ends(&file.path, line);
        if said.exit != Exit::Unusable || !is_clear(&said) {
            wrong.push(format!("{line}: {said:?}"));
        }
    }
    for line in ["threads FILE", "show FILE rust", "verify FILE", "export FILE rust"] {
        let said = ends(&file.path, line);
        if said.exit != Exit::Fine {
            wrong.push(format!("{line}: {said:?}"));
        }
    }
    allow(0o755);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
