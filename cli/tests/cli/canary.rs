//! A secret that passes through all features of a program appears in no output of the command line.

use std::path::Path;

use superstep::cli::{Exit, Look};
use superstep::prelude::*;

use crate::debugger::debug;
use crate::said;

const CANARY: &str = "canary-7d2e";

/// A program whose node draws the canary as an effect, and keeps it in the field `token`. Then it asks about it, emits
/// it, and on another thread fails with it.
macro_rules! program {
    ($module:ident, $(#[$secret:meta])*) => {
        mod $module {
            use super::*;

            #[derive(State, Clone, Debug, Default)]
            pub(super) struct Session {
                $(#[$secret])*
                pub(super) token: String,
                pub(super) round: u32,
                pub(super) fails: bool,
            }

            async fn login(fx: Effects) -> Result<Update<Session>, NodeError> {
                let token: String =
                    fx.run("login", || async { Ok::<_, std::io::Error>(CANARY.to_owned()) }).await?;
                Ok(Session::update().token(token).round(1_u32))
            }

            async fn work(
                session: Snapshot<Session>,
                fx: Effects,
                emit: Emit,
                user: Ask<String, String>,
            ) -> Result<Update<Session>, NodeError> {
                let said = format!("{} is refused", session.token);
                emit.emit("tries", &session.token);
                if session.fails {
                    return Err(said.into());
                }
                let asked = said.clone();
                fx.run_keyed("call", &session.token, || async move { Ok::<_, std::io::Error>(asked) }).await?;
                let answer = user.ask(said).await;
                assert!(answer.contains(CANARY), "it is told again");
                Ok(Session::update().round(2_u32))
            }

            /// The same wires with other code.
            async fn other(fx: Effects) -> Result<Update<Session>, NodeError> {
                fx.run_keyed("call", "somebody", || async { Ok::<_, std::io::Error>(()) }).await?;
                Ok(Session::update().round(2_u32))
            }

            /// The graph, without a file.
            pub(super) fn wired(login: bool) -> Graph<Session> {
                let mut g = StateGraph::<Session>::new("session");
                let first = g.node("login", self::login);
                let work = if login { g.node("work", work) } else { g.node("work", other) };
                g.edge(START, first);
                g.edge(first, work);
                g.edge(work, END);
                g.compile().unwrap()
            }

            runs!(Session);
        }
    };
}

/// A program that runs another program's graph as a subgraph, and has no secret of its own.
macro_rules! around {
    ($module:ident, $inner:ident) => {
        mod $module {
            use super::*;
            use $inner::Session;

            #[derive(State, Clone, Debug, Default)]
            pub(super) struct Journey {
                round: u32,
                fails: bool,
            }

            pub(super) fn wired(login: bool) -> Graph<Journey> {
                let lens =
                    Lens::new().give(Journey::FAILS, Session::FAILS).take(Session::ROUND, Journey::ROUND);
                let mut g = StateGraph::<Journey>::new("journey");
                let session = g.subgraph("session", $inner::wired(login), lens);
                g.edge(START, session);
                g.edge(session, END);
                g.compile().unwrap()
            }

            runs!(Journey);
        }
    };
}

/// The runs of a program, on three threads.
macro_rules! runs {
    ($state:ident) => {
        async fn kept(login: bool, path: &Path) -> Graph<$state> {
            wired(login).checkpointer(SqliteSaver::open(path).await.unwrap()).record_events()
        }

        pub(super) async fn graph(path: &Path) -> Graph<$state> {
            kept(true, path).await
        }

        pub(super) async fn changed(path: &Path) -> Graph<$state> {
            kept(false, path).await
        }

        pub(super) async fn write(path: &Path) {
            let graph = graph(path).await;
            let of = |thread: &str| graph.thread(thread);
            of("fails").run($state::update().fails(true)).await.unwrap_err();
            of("asks").run($state::update()).await.unwrap().interrupted().unwrap();
            of("ends").run($state::update()).await.unwrap().interrupted().unwrap();
            of("ends").answer(&format!("use {CANARY}")).await.unwrap().finished().unwrap();
        }
    };
}

program!(open,);
program!(secret, #[state(secret)]);
around!(around_open, open);
around!(around_secret, secret);

const VERBS: [&str; 26] = [
    "threads FILE",
    "threads FILE --depth 3",
    "interrupts FILE",
    "log FILE T",
    "log FILE T --graph",
    "log FILE T --depth 3",
    "show FILE T",
    "show FILE T --all",
    "show FILE T --messages",
    "show FILE T~1",
    "show FILE T token",
    "diff FILE T~1 T",
    "diff FILE T~2 T",
    "diff FILE fails T",
    "blame FILE T token",
    "why FILE T work",
    "grep FILE refused",
    "grep FILE canary",
    "compare FILE T fails",
    "graph FILE T --mermaid",
    "calls FILE T",
    "export FILE T --redact",
    "test FILE T",
    "du FILE",
    "verify FILE",
    "bisect FILE T --path round --is '>= 2'",
];

/// The number of outputs with the canary, and these outputs.
fn hits(path: &Path) -> Vec<String> {
    hits_of(path, &["fails", "asks", "ends"])
}

/// Like [`hits`], for these threads.
fn hits_of(path: &Path, threads: &[&str]) -> Vec<String> {
    let mut hits = Vec::new();
    let mut words = 0;
    for verb in VERBS {
        for thread in threads {
            let line = verb.replace(" T", &format!(" {thread}"));
            for (look, line) in crate::ways(&line) {
                let said = said(path, look, &line);
                words += said.out.len();
                if [&said.out, &said.err].iter().any(|text| text.contains(CANARY)) {
                    hits.push(format!("{line} ({}): {}{}", look == Look::PIPED, said.out, said.err));
                }
            }
        }
    }
    assert!(words > 3_000 * threads.len(), "it says too little to find anything in: {words}");
    hits
}

#[tokio::test]
async fn a_secret_is_in_nothing_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (open, secret) = (folder.path().join("open.db"), folder.path().join("secret.db"));
    open::write(&open).await;
    secret::write(&secret).await;
    let found = hits(&secret);
    assert!(found.is_empty(), "{} hits: {}", found.len(), found.join("\n"));
    let found = hits(&open);
    assert!(found.len() > 30, "the same field, not secret, is seen only {} times", found.len());
}

#[tokio::test]
async fn a_secret_of_a_subgraph_is_in_nothing_that_is_said_of_the_thread_above() {
    let folder = tempfile::tempdir().unwrap();
    let (open, secret) = (folder.path().join("open.db"), folder.path().join("secret.db"));
    around_open::write(&open).await;
    around_secret::write(&secret).await;
    let found = hits(&secret);
    assert!(found.is_empty(), "{} hits: {}", found.len(), found.join("\n"));
    let found = hits(&open);
    assert!(found.len() > 8, "the same field, not secret, is seen only {} times", found.len());
}

/// A thread continues with a program in which the field is no longer secret.
#[tokio::test]
async fn what_was_secret_once_is_in_nothing_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.db");
    secret::write(&path).await;
    let later = open::graph(&path).await;
    later.thread("asks").answer(&format!("use {CANARY}")).await.unwrap().finished().unwrap();
    later.thread("ends").edit(open::Session::update().round(9_u32)).await.unwrap();
    later.thread("fails").resume().await.unwrap_err();
    let found = hits(&path);
    assert!(found.is_empty(), "{} hits: {}", found.len(), found.join("\n"));
    let head = said(&path, Look::PIPED, "show FILE ends token");
    assert_eq!(head.out.trim(), "\"<secret>\"", "{}", head.err);
}

/// The outer thread keeps the questions of a subgraph whose checkpoints are deleted, and so do copies of a thread,
/// which have no subgraphs.
#[tokio::test]
async fn a_secret_is_in_nothing_that_is_said_of_threads_without_their_subgraphs() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (own, own_open) = (file("own.db"), file("own-open.db"));
    let (below, below_open) = (file("below.db"), file("below-open.db"));
    secret::write(&own).await;
    open::write(&own_open).await;
    around_secret::write(&below).await;
    around_open::write(&below_open).await;
    for (secret, open) in [(own, own_open), (below, below_open)] {
        let both = |line: &str| {
            for file in [&secret, &open] {
                let said = said(file, Look::PIPED, line);
                assert_eq!(said.exit, Exit::Fine, "{line}: {}", said.err);
            }
        };
        let look = |threads: &[&str]| {
            let found = hits_of(&secret, threads);
            assert!(found.is_empty(), "{} hits: {}", found.len(), found.join("\n"));
            let found = hits_of(&open, threads);
            assert!(found.len() > 8, "the same field, not secret, is seen only {} times", found.len());
        };
        both("fork FILE ends --name copy");
        look(&["copy"]);
        both("gc FILE --keep-last 1");
        look(&["fails", "asks", "ends", "copy"]);
        both("delete FILE ends");
        look(&["fails", "asks", "copy"]);
    }
}

/// The command lines for the program's debugger. `CHANGED` marks those for a program with changed code.
const DEBUGGED: [&str; 48] = [
    "run new '{}'",
    "tail new --from start",
    "answer new '\"use canary-7d2e\"'",
    "run broken '{\"fails\": true}'",
    "run bad '{\"token\": 7}'",
    "resume fails",
    "resume asks",
    "rerun ends@1",
    "answer ends '\"use canary-7d2e\"'",
    "tail ends --from start",
    "tail asks",
    "tail fails --from start",
    "replay ends",
    "CHANGED replay ends",
    "CHANGED migrate --check",
    "migrate --check",
    "migrate",
    "threads",
    "interrupts",
    "show new --all",
    "edit ends --set round=5",
    "edit ends --set 'token=\"canary-7d2e-too\"'",
    "edit ends --set token=canary-7d2e",
    "fork ends --name copy",
    "name ends@1 before",
    "name ends",
    "export ends --redact",
    "export ends --redact -o FOLDER/ends.json",
    "import FOLDER/ends.json --redacted --as back",
    "test ends@1",
    "release ends",
    "delete copy",
    "gc --keep-last 1 --dry-run",
    "gc --keep-last 1",
    "show ends --all",
    "show ends~1 --all",
    "interrupts",
    "tail ends --from start",
    "tail asks",
    "grep canary",
    "compare ends asks",
    "export ends --redact",
    "du",
    "verify",
    "vacuum",
    "copy FOLDER/copied.db",
    "backup FOLDER/copy.db",
    "rekey",
];

/// The lines of [`DEBUGGED`] whose output contains the canary, and the size of all outputs.
macro_rules! debugged {
    ($module:ident, $look:expr, $suffix:expr) => {{
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        $module::write(&path).await;
        let (mut hits, mut words) = (Vec::new(), 0);
        for line in DEBUGGED {
            let asked = line.replace("FOLDER", folder.path().to_str().unwrap()) + $suffix;
            let graph = match asked.strip_prefix("CHANGED ") {
                Some(_) => $module::changed(&path).await,
                None => $module::graph(&path).await,
            };
            let asked = asked.trim_start_matches("CHANGED ");
            let said = debug(superstep::debugger(&[&graph]), folder.path(), $look, asked).await;
            assert!(!said.err.contains("unexpected argument"), "{line}: {}", said.err);
            words += said.out.len() + said.err.len();
            if [&said.out, &said.err].iter().any(|text| text.contains(CANARY)) {
                hits.push((line, format!("{}{}", said.out, said.err)));
            }
        }
        assert!(words > 6_000, "it says too little to find anything in: {words}");
        let file =
            ["", "-wal"].map(|end| std::fs::read(format!("{}{end}", path.display())).unwrap_or_default());
        assert!(
            String::from_utf8_lossy(&file.concat()).contains(CANARY),
            "the file contains it, even if it is not shown"
        );
        hits
    }};
}

#[tokio::test]
async fn a_secret_is_in_nothing_that_the_debugger_of_its_program_says() {
    for (look, suffix) in [(Look::PIPED, ""), (Look::terminal(200), ""), (Look::PIPED, " --json")] {
        let found: Vec<(&str, String)> = debugged!(secret, look, suffix);
        assert!(found.is_empty(), "{} hits: {found:#?}", found.len());
        let found: Vec<(&str, String)> = debugged!(open, look, suffix);
        // The same field without the secret mark appears in all outputs.
        for line in DEBUGGED {
            let told = found.iter().any(|(seen, _)| *seen == line);
            let tells =
                ["run new", "tail new", "answer", "run broken", "resume", "rerun", "tail", "CHANGED replay"];
            assert!(
                told || !tells.iter().any(|verb| line.starts_with(verb)),
                "{line}{suffix} does not tell it"
            );
        }
    }
}

#[tokio::test]
async fn a_secret_of_a_subgraph_is_in_nothing_that_the_debugger_says() {
    for (look, suffix) in [(Look::PIPED, ""), (Look::PIPED, " --json")] {
        let found: Vec<(&str, String)> = debugged!(around_secret, look, suffix);
        assert!(found.is_empty(), "{} hits: {found:#?}", found.len());
        let found: Vec<(&str, String)> = debugged!(around_open, look, suffix);
        for tells in ["run new", "tail new", "answer new", "run broken", "resume fails", "tail"] {
            let told = found.iter().any(|(line, _)| line.starts_with(tells));
            assert!(told, "{tells}{suffix} does not tell it");
        }
    }
}

/// New verbs are tested for the canary, too.
#[tokio::test]
async fn every_verb_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let graph = open::graph(&folder.path().join("sessions.db")).await;
    let help = debug(superstep::debugger(&[&graph]), folder.path(), Look::PIPED, "--help").await.out;
    let verbs =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // The description of a verb may continue below it.
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let verbs: Vec<&str> = verbs.filter(|verb| !verb.is_empty()).collect();
    assert!(verbs.len() > 30, "{help}");
    let asked = |verb: &str| {
        let mut lines = VERBS.iter().chain(&DEBUGGED).map(|line| line.trim_start_matches("CHANGED "));
        // What `studio` shows are these verbs; the server's tests look for a secret in its responses.
        ["help", "studio"].contains(&verb) || lines.any(|line| line.split(' ').next() == Some(verb))
    };
    let forgotten: Vec<&str> = verbs.into_iter().filter(|verb| !asked(verb)).collect();
    assert!(forgotten.is_empty(), "no test looks for the canary in {forgotten:?}");
}
