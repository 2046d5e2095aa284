//! Exports and imports.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use superstep::cli::{Exit, Look};
use superstep::prelude::*;

use crate::program::{Written, essay, essays, written};
use crate::said;

/// A book is written by topics; a subgraph searches for each topic, keeps the results and asks.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Book {
    topic: String,
    #[reducer(Append)]
    pages: Vec<String>,
    #[state(secret)]
    password: String,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Search {
    topic: String,
    #[reducer(Append)]
    found: Vec<String>,
}

async fn look(search: Snapshot<Search>, fx: Effects, emit: Emit) -> Result<Update<Search>, std::io::Error> {
    let topic = search.topic.clone();
    emit.emit("looks", &topic);
    let text = fx.run_keyed("search", &search.topic, || async move { text_about(&topic) }).await?;
    Ok(Search::update().found([text]))
}

/// Long enough for a separate row.
fn text_about(topic: &str) -> Result<String, std::io::Error> {
    Ok(format!("about {topic} ").repeat(500))
}

async fn confirm(search: Snapshot<Search>, reader: Ask<String, String>) -> Update<Search> {
    let answer = reader.ask(format!("is {} all?", search.topic)).await;
    Search::update().found([answer])
}

async fn log_in(book: Snapshot<Book>, fx: Effects) -> Result<(), std::io::Error> {
    let secret = book.password.clone();
    fx.run("log in", || async move { Ok::<_, std::io::Error>(format!("token of {secret}")) }).await?;
    Ok(())
}

fn books(path: &Path) -> impl Future<Output = Graph<Book>> + use<> {
    let path = path.to_owned();
    async move {
        let mut g = StateGraph::<Search>::new("search");
        let (look, confirm) = (g.node("look", look), g.node("confirm", confirm));
        g.edge(START, look);
        g.edge(look, confirm);
        g.edge(confirm, END);
        let search = g.compile().unwrap();
        let mut g = StateGraph::<Book>::new("book");
        let log_in = g.node("log_in", log_in);
        let lens =
            Lens::new().keep("search").give(Book::TOPIC, Search::TOPIC).take_with(|search: &Search| {
                Book::update().pages([format!("{} texts, {}", search.found.len(), search.found.concat())])
            });
        let research = g.subgraph("research", search, lens);
        g.edge(START, log_in);
        g.edge(log_in, research);
        g.edge(research, END);
        let saver = SqliteSaver::open(path).await.unwrap();
        g.compile().unwrap().checkpointer(saver).record_events()
    }
}

/// A file with `owl`, of two turns, the second of which waits for an answer in its subgraph, with a branch and an edit;
/// and `fox`, which was forked from its first turn and finished another.
pub(crate) async fn library() -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("books.db");
    let books = books(&path).await;
    let owl = books.thread("owl");
    let turn = |topic: &str| Book::update().topic(topic).password("sesame");
    owl.run(turn("owls")).await.unwrap().interrupted().unwrap();
    owl.answer("yes").await.unwrap().finished().unwrap();
    let fox = owl.head().await.unwrap().fork("fox").await.unwrap();
    owl.run(turn("barns")).await.unwrap().interrupted().unwrap();
    owl.before_named("log_in").await.unwrap().branch().await.unwrap();
    owl.resume().await.unwrap().interrupted().unwrap();
    owl.edit(Book::update().pages(["by hand".to_owned()])).await.unwrap();
    fox.run(turn("foxes")).await.unwrap().interrupted().unwrap();
    fox.answer("no").await.unwrap().finished().unwrap();
    Written { path, folder }
}

fn fine(file: &Path, line: &str) -> String {
    let told = said(file, Look::PIPED, line);
    assert_eq!((told.exit, &*told.err), (Exit::Fine, ""), "{line}");
    told.out
}

/// Exports a thread and imports it into another file.
fn moved(from: &Path, thread: &str, to: &Path) {
    let document = to.with_extension(format!("{thread}.json"));
    let name = document.to_str().unwrap();
    fine(from, &format!("export FILE {thread} -o {name}"));
    fine(to, &format!("import FILE {name}"));
    let verified = said(to, Look::PIPED, "verify FILE");
    assert_eq!(verified.exit, Exit::Fine, "{}", verified.out);
    assert_eq!(fine(to, &format!("export FILE {thread}")), fs::read_to_string(&document).unwrap());
}

/// All output about a single thread.
fn told_of(file: &Path, thread: &str) -> Vec<String> {
    let log = fine(file, &format!("log FILE {thread} -n 0 --json"));
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    let lines = log["checkpoints"].as_array().unwrap();
    let mut told = vec![log["checkpoints"].to_string(), interrupts_of(file, thread)];
    for (back, _) in lines.iter().enumerate() {
        for verb in ["show", "diff", "why"] {
            let at = format!("{thread}~{back}");
            let node = lines[back]["ran"][0].as_str().unwrap_or_default();
            let line =
                if verb == "why" { format!("why FILE {at} {node}") } else { format!("{verb} FILE {at}") };
            let said = said(file, Look::PIPED, &line);
            told.push(said.out + &said.err);
        }
    }
    told.push(fine(file, &format!("blame FILE {thread} .")));
    told.push(fine(file, &format!("graph FILE {thread}")));
    told.push(said(file, Look::PIPED, &format!("grep FILE . --thread {thread}")).out);
    told
}

/// The threads of a file, without their sizes, which depend on their position in the file.
fn listed(file: &Path) -> Vec<String> {
    let listed = fine(file, "threads FILE");
    listed
        .lines()
        .map(|line| line.trim_end_matches(|digit: char| digit.is_ascii_digit()).to_owned())
        .collect()
}

fn interrupts_of(file: &Path, thread: &str) -> String {
    let all: serde_json::Value = serde_json::from_str(&fine(file, "interrupts FILE --json")).unwrap();
    let own = all["interrupts"].as_array().unwrap().iter().filter(|held| held["thread"] == thread);
    own.map(ToString::to_string).collect()
}

#[tokio::test]
async fn what_was_imported_is_what_was_exported() {
    for (file, threads) in
        [(written().await, ["rust", "zig", "trouble"].as_slice()), (library().await, &["owl", "fox"])]
    {
        for thread in threads {
            let there = file.folder.path().join(format!("{thread}.db"));
            moved(&file.path, thread, &there);
            assert_eq!(told_of(&there, thread), told_of(&file.path, thread), "{thread}");
        }
        // One after the other: shared data is stored once.
        let all = file.folder.path().join("all.db");
        threads.iter().rev().for_each(|thread| {
            let document = file.folder.path().join(format!("{thread}.{thread}.json"));
            fine(&all, &format!("import FILE {}", document.display()));
            assert_eq!(said(&all, Look::PIPED, "verify FILE").exit, Exit::Fine, "{thread}");
        });
        for thread in threads {
            let document = file.folder.path().join(format!("{thread}.{thread}.json"));
            assert_eq!(fine(&all, &format!("export FILE {thread}")), fs::read_to_string(document).unwrap());
            assert_eq!(told_of(&all, thread), told_of(&file.path, thread), "{thread}");
        }
        let all = file.folder.path().join("order.db");
        for thread in threads {
            moved(&file.path, thread, &all);
        }
        for thread in threads {
            assert_eq!(told_of(&all, thread), told_of(&file.path, thread), "{thread}");
        }
        assert_eq!(listed(&all), listed(&file.path));
    }
}

#[tokio::test]
async fn what_is_shared_is_shared_only_where_it_is_the_same() {
    let file = library().await;
    let folder = file.folder.path();
    let export = |thread: &str, redact: &str| {
        let document = folder.join(format!("{thread}{redact}.json"));
        fine(&file.path, &format!("export FILE {thread} {redact} -o {}", document.display()));
        document.display().to_string()
    };
    let (owl, fox, hidden) = (export("owl", ""), export("fox", ""), export("fox", "--redact"));
    let to = folder.join("differs.db");
    fine(&to, &format!("import FILE {hidden} --redacted"));
    let before = fs::read(&to).unwrap();
    let told = said(&to, Look::PIPED, &format!("import FILE {owl}"));
    assert_eq!(told.exit, Exit::Unusable);
    assert!(
        told.err.ends_with("already, and is not the same there: import into another file\n"),
        "{}",
        told.err
    );
    assert_eq!(fs::read(&to).unwrap(), before);

    // The rest of a deleted thread becomes its own past again.
    let to = folder.join("again.db");
    fine(&to, &format!("import FILE {fox}"));
    fine(&to, &format!("import FILE {owl}"));
    fine(&to, "delete FILE owl");
    fine(&to, &format!("import FILE {owl}"));
    assert_eq!(said(&to, Look::PIPED, "verify FILE").exit, Exit::Fine);
    assert_eq!(fine(&to, "export FILE owl"), fs::read_to_string(&owl).unwrap());
    assert_eq!(fine(&to, "export FILE fox"), fs::read_to_string(&fox).unwrap());
}

#[tokio::test]
async fn the_program_continues_with_what_was_imported() {
    let file = library().await;
    for (thread, to, name) in [("owl", "a.db", "owl"), ("owl", "b.db", "barn"), ("fox", "c.db", "red")] {
        let there = file.folder.path().join(to);
        let document = fine(&file.path, &format!("export FILE {thread}"));
        let path = file.folder.path().join("one.json");
        fs::write(&path, document).unwrap();
        fine(&there, &format!("import FILE {} --as {name}", path.display()));
        let run = async |path: &Path, name: &str| {
            let graph = books(path).await;
            let thread = graph.thread(name);
            let book = match thread.head().await.unwrap().interrupts().len() {
                0 => thread.run(Book::update().topic("tails")).await.unwrap().interrupted().map(drop),
                _ => thread.resume().await.unwrap().interrupted().map(drop),
            };
            book.unwrap();
            let replay = thread.replay().await.unwrap();
            assert!(replay.is_equal(), "{replay:?}");
            thread.answer("now").await.unwrap().finished().unwrap()
        };
        let copy = file.folder.path().join("copy.db");
        for beside in ["", "-wal", "-shm"] {
            let from = PathBuf::from(format!("{}{beside}", file.path.display()));
            if from.exists() {
                fs::copy(from, format!("{}{beside}", copy.display())).unwrap();
            }
        }
        let (here, there) = (run(&copy, thread).await, run(&there, name).await);
        assert_eq!(here.pages, there.pages, "{name}");
        assert!(there.pages.last().unwrap().contains("now"), "the subgraph went on where it stood");
        fs::remove_file(&copy).unwrap();
    }
}

#[tokio::test]
async fn an_open_file_takes_an_import_and_gives_an_export() {
    let (from, to) = (written().await, written().await);
    let document = from.folder.path().join("quick.json");
    let running = essays(SqliteSaver::open(&from.path).await.unwrap(), 1_000);
    running.thread("quick").run(essay("quick")).await.unwrap().finished().unwrap();
    fine(&from.path, &format!("export FILE quick -o {}", document.display()));
    let open = essays(SqliteSaver::open(&to.path).await.unwrap(), 2_000);
    open.thread("zig").head().await.unwrap();
    fine(&to.path, &format!("import FILE {} --as here", document.display()));
    assert_eq!(open.thread("here").head().await.unwrap().state().draft, "quick in 2 facts");
    open.thread("after").run(essay("quick")).await.unwrap().finished().unwrap();
    open.thread("here").run(essay_update()).await.unwrap().finished().unwrap();
}

fn essay_update() -> <crate::program::Essay as State>::Update {
    crate::program::Essay::update().topic("quick")
}

#[tokio::test]
async fn secrets_are_left_out_on_request() {
    let file = library().await;
    let whole = fine(&file.path, "export FILE owl");
    assert!(whole.contains("sesame"));
    let document = file.folder.path().join("owl.json");
    let told = fine(&file.path, &format!("export FILE owl --redact -o {}", document.display()));
    assert!(told.trim_end().ends_with("checkpoints, without secrets)"), "{told}");
    let redacted = fs::read_to_string(&document).unwrap();
    assert!(!redacted.contains("sesame") && redacted.contains("token of <secret>"), "{redacted}");
    let to = file.folder.path().join("to.db");
    let line = format!("import FILE {}", document.display());
    let told = said(&to, Look::PIPED, &line);
    assert_eq!(told.exit, Exit::Unusable);
    assert!(told.err.starts_with("error: the export is without its secrets"), "{}", told.err);
    assert!(!to.exists(), "nothing was created");
    fine(&to, &format!("{line} --redacted"));
    assert_eq!(fine(&to, "show FILE owl topic"), fine(&file.path, "show FILE owl topic"));
    assert!(fine(&to, "log FILE owl -n 0").lines().count() > 5);
}

/// A trip that is booked with a token, which appears in many places.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Trip {
    booked: String,
    #[reducer(Append)]
    notes: Vec<String>,
    #[reducer(Merge)]
    by_token: std::collections::BTreeMap<String, String>,
    #[state(secret)]
    token: String,
}

#[tokio::test]
async fn texts_of_secrets_are_left_out_wherever_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trips.db");
    let mut g = StateGraph::<Trip>::new("trips");
    let book = g.node("book", async |trip: Snapshot<Trip>, fx: Effects| {
        let call = || async { Ok::<_, std::io::Error>("plane via sesame-open".to_owned()) };
        let found = fx.run_keyed("book", &trip.token, call).await?;
        let update = Trip::update().booked(found.clone()).notes([found.clone()]);
        Ok::<_, std::io::Error>(update.by_token([(trip.token.clone(), found)]))
    });
    let check = g.node("check", async |trip: Snapshot<Trip>, person: Ask<String, String>| {
        let answer = person.ask(trip.booked.clone()).await;
        Trip::update().notes([answer])
    });
    let fail = g.node("fail", async |trip: Snapshot<Trip>| Err::<(), _>(format!("no {}", trip.token)));
    let wait = g.node("wait", async |trip: Snapshot<Trip>| Trip::update().notes([trip.token.clone()]));
    g.edge(START, book);
    g.edge(book, check);
    g.edge(check, fail);
    g.edge(check, wait);
    g.edge(fail, END);
    g.edge(wait, END);
    let graph = g.compile().unwrap().checkpointer(SqliteSaver::open(&path).await.unwrap());
    let thread = graph.thread("rome");
    let trip = Trip { token: "sesame-open".into(), ..Trip::default() };
    let _asked = thread.run(trip).await.unwrap().interrupted().unwrap();
    let _failed = thread.answer("ask sesame-open").await.unwrap_err();
    let whole = fine(&path, "export FILE rome");
    assert!(whole.matches("sesame-open").count() > 8, "{whole}");
    let redacted = fine(&path, "export FILE rome --redact");
    assert!(!redacted.contains("sesame"), "{redacted}");
    let document = folder.path().join("rome.json");
    fs::write(&document, redacted).unwrap();
    let to = folder.path().join("to.db");
    fine(&to, &format!("import FILE {} --redacted", document.display()));
    let shown = fine(&to, "show FILE rome --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let state = shown.pointer("/state").unwrap_or(&shown);
    assert_eq!(state["notes"], serde_json::json!(["plane via <secret>", "ask <secret>"]), "{shown}");
    assert_eq!(state["by_token"], serde_json::json!({ "<secret>": "plane via <secret>" }));
}

#[tokio::test]
async fn an_invalid_import_is_an_error_and_nothing_is_written() {
    let file = written().await;
    let folder = file.folder.path();
    let document = fine(&file.path, "export FILE zig");
    let attempt = |text: &str, line: &str| {
        let path = folder.join("export.json");
        fs::write(&path, text).unwrap();
        let before = fs::read(&file.path).unwrap();
        let told = said(&file.path, Look::PIPED, &line.replace("EXPORT", path.to_str().unwrap()));
        assert_eq!(fs::read(&file.path).unwrap(), before, "{line}");
        let text = told.err.replace(path.to_str().unwrap(), "EXPORT");
        (told.exit as u8, text.trim_end().to_owned())
    };
    let is = |text: &str, line: &str, code: u8, error: &str| {
        assert_eq!(attempt(text, line), (code, format!("error: {error}")), "{line}");
    };
    let line = "import FILE EXPORT";
    is(&document, line, 2, "thread zig already exists: choose another name with --as");
    let (code, text) = attempt(&document, "import FILE EXPORT --as other");
    assert_eq!(code, 2);
    assert!(text.ends_with("is in FILE already; `superstep fork` makes another thread of it"), "{text}");
    let changed = "EXPORT: the export was damaged, or changed after it was made: its digest does not match";
    is(&document.replace("all about people", "all about cats"), line, 1, changed);
    let newer = "EXPORT: the export has format 3; this program reads up to 2: use a newer version of it";
    is(&document.replacen("\"format\": 1", "\"format\": 3", 1), line, 2, newer);
    let other = "EXPORT: it is not an export of a thread: its member `kind` is not \"superstep thread\"";
    is("{\"a\": 1}", line, 2, other);
    let (code, text) = attempt(&document[..document.len() / 2], line);
    assert!(code == 2 && text.starts_with("error: EXPORT: it is not an export of a thread: EOF"), "{text}");
    is(&document, "import FILE nowhere.json", 2, "there is no file nowhere.json");
    let old = folder.join("old.db");
    fs::copy(&file.path, &old).unwrap();
    Connection::open(&old)
        .unwrap()
        .execute_batch("DROP TABLE server_thread; DROP TABLE server_tag; DROP TABLE server_run; DROP TABLE server_queue; DROP TABLE server_assistant; DROP TABLE server_cron; DROP TABLE server_event; DROP TABLE server_expiring; \
             ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE branch; PRAGMA user_version = 2")
        .unwrap();
    let told = said(&old, Look::PIPED, &format!("import FILE {}", folder.join("export.json").display()));
    assert!(told.err.contains("`superstep migrate` upgrades it"), "{}", told.err);
    fine(&old, "export FILE zig");
    assert_eq!(
        said(&file.path, Look::PIPED, &format!("export FILE zig -o {}", old.display())).err,
        format!("error: {} already exists: choose another name\n", old.display())
    );
    let damage = "UPDATE checkpoint SET manifest = manifest || ' ' WHERE seq = 3";
    Connection::open(&file.path).unwrap().execute_batch(damage).unwrap();
    let told = said(&file.path, Look::PIPED, "export FILE zig");
    assert_eq!(
        (told.exit, &*told.err),
        (Exit::No, "error: checkpoint row 3 is damaged: its checksum does not match\n")
    );
    fine(&file.path, "export FILE trouble");
}
