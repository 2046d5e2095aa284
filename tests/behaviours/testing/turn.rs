//! Tests generated from checkpoints, which pass while the program behaves as recorded.

use superstep::testing::{self, Cassette, TurnError};

use crate::testing::program::{Essay, World, essays};

/// The generated test of a whole turn.
const TURN: &str = include_str!("generated/turn.rs");

/// A constant of a generated test.
fn constant(name: &str) -> &'static str {
    let begin = format!("const {name}: &str = r#\"");
    TURN.split_once(&begin).unwrap().1.split_once("\"#;").unwrap().0
}

/// The turn, of another program.
async fn turn_of(world: &World, supersteps: u64) -> Result<Essay, TurnError> {
    let cassette = Cassette::parse(constant("CASSETTE")).unwrap();
    testing::turn(&essays(world))
        .state(constant("STATE"))
        .input(constant("BEGIN"))
        .cassette(&cassette)
        .supersteps(supersteps)
        .comes_to(constant("EXPECTED"))
        .await
}

#[tokio::test]
async fn a_change_is_reported() {
    let essay = turn_of(&World::absent(), 6).await.unwrap();
    assert_eq!((essay.rounds, essay.token.as_str()), (2, ""), "a secret that is not given is not there");

    let error = turn_of(&World { prompt: "the ", ..World::absent() }, 6).await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains("the cassette has no effect \"search\" with key \"the history\""), "{said}");

    let error = turn_of(&World::absent(), 4).await.unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "the state differs:");
    assert_eq!(lines[2], "  rounds: expected 2, and it is 1");

    let error = turn_of(&World::absent(), 9).await.unwrap_err().to_string();
    assert!(error.starts_with("it has taken 6 of 9 supersteps: it asks \"Rust (2)"), "{error}");
}

#[tokio::test]
async fn a_mismatch_is_reported() {
    let graph = essays(&World::absent());
    let said = async |turn: testing::TurnTest<Essay>| turn.await.unwrap_err().to_string();
    assert_eq!(
        said(testing::turn(&graph).state(r#"{"subject": "Rust"}"#)).await,
        "Essay has no field \"subject\"; it has topic, facts, draft, rounds, token"
    );
    assert_eq!(
        said(testing::turn(&graph).input(r#"[{"field": "topic", "op": "put", "value": 7}]"#)).await,
        "the input writes \"topic\" by \"put\", which is not an operation"
    );
    assert!(said(testing::turn(&graph).state("[]")).await.starts_with("the state cannot be read: "));
    let next = r#"{"tasks": [{"node": "review", "cause": {"tasks": [0]}}]}"#;
    assert_eq!(
        said(testing::turn(&graph).state(r#"{"draft": "a text"}"#).next(next)).await,
        "it has taken 0 of 1 supersteps: it asks \"a text\" (node review)"
    );
    let next = r#"{"tasks": [{"node": "plan", "cause": {"tasks": [0]}}]}"#;
    assert_eq!(
        said(testing::turn(&graph).next(next).leads_to(["write"])).await,
        "expected [write] to be next, but found [research, research]"
    );
}

#[tokio::test]
async fn secrets_are_given_by_hand() {
    let graph = essays(&World::absent());
    let turn = |secret: &str| {
        testing::turn(&graph)
            .state(r#"{"token": "<secret>"}"#)
            .input(r#"[{"field": "topic", "op": "set", "value": "nothing"}]"#)
            .secret("token", secret)
    };
    assert_eq!(turn("\"sesame\"").await.unwrap().token, "sesame");
    assert!(turn("sesame").await.unwrap_err().to_string().starts_with("the secret token cannot be read: "));
}

#[cfg(feature = "cli")]
mod verb {
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Serialize};
    use superstep::cli::{Exit, Look, Screen, run};
    use superstep::prelude::*;
    use superstep::testing::{self, Cassette, TestAmbient, cassette_of_file};

    use crate::testing::program::{Essay, World, essay, essays};

    /// A file with a thread whose essay was refused once and then accepted, and an edited fork of it.
    async fn written(folder: &Path) -> PathBuf {
        let path = folder.join("essays.db");
        let essays = essays(&World::there()).checkpointer(SqliteSaver::open(&path).await.unwrap());
        let thread = essays.ambient(TestAmbient::seeded(7)).thread("rust");
        let _asked = thread.run(essay("Rust")).await.unwrap().interrupted().unwrap();
        let _asked = thread.answer("bad").await.unwrap().interrupted().unwrap();
        let _done = thread.answer("good").await.unwrap().finished().unwrap();
        let zig = thread.before_named("write").await.unwrap().fork("zig").await.unwrap();
        zig.edit(Essay::update().topic("Zig")).await.unwrap();
        let _asked = zig.resume().await.unwrap().interrupted().unwrap();
        path
    }

    fn said(words: &[&str]) -> (String, String, Exit) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
        let exit = run(["superstep"].iter().chain(words), &[], screen);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(out), text(err), exit)
    }

    /// Compares the newly generated test with the compiled one.
    fn same(name: &str, text: &str) {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/behaviours/testing/generated").join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, text).unwrap();
        }
        let held = fs::read_to_string(&path).unwrap_or_default();
        assert!(held == text, "{} differs; this is new:\n{text}", path.display());
    }

    #[tokio::test]
    async fn the_tests_that_run_here_are_those_that_the_verb_writes() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path()).await;
        let file = file.to_str().unwrap();
        let cassette = folder.path().join("rust.json");
        let cassette = cassette.to_str().unwrap();
        for (name, words) in [
            ("turn.rs", vec!["test", file, "rust@5"]),
            ("branch.rs", vec!["test", file, "zig"]),
            ("step.rs", vec!["test", file, "rust@2", "--step"]),
            ("file.rs", vec!["test", file, "rust", "--cassette", cassette]),
        ] {
            let (out, err, exit) = said(&words);
            assert_eq!((exit, err.as_str()), (Exit::Fine, ""));
            assert!(!out.contains("sesame"), "a secret is in no test");
            let filled = out.replacen("let graph = todo!();", "let graph = super::graph();", 1);
            assert_ne!(filled, out, "there is one line to fill in");
            let path = cassette.replace('\\', "/");
            same(name, &filled.replace(&path, "tests/behaviours/testing/generated/rust.json"));
        }
        same("rust.json", &fs::read_to_string(cassette).unwrap());
        assert_eq!(cassette_of_file(file, "rust").unwrap().to_json(), fs::read_to_string(cassette).unwrap());
    }

    /// The state of a trip.
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Trip {
        to: String,
        booked: String,
        #[reducer(Append)]
        notes: Vec<String>,
        #[state(secret)]
        token: String,
    }

    /// It books with a token that is returned, and is in the keys of the effect and of the question.
    fn trips(is_live: bool) -> Graph<Trip> {
        let mut g = StateGraph::<Trip>::new("trips");
        let book = g.node("book", move |trip: Snapshot<Trip>, fx: Effects| async move {
            let call = || async move {
                if is_live { Ok("plane via sesame-open".to_owned()) } else { Err("a live call") }
            };
            let found: String = fx.run_keyed("book", &format!("as {}", trip.token), call).await?;
            let note = format!("{} with {}", trip.to, trip.token);
            Ok::<_, &'static str>(Trip::update().booked(format!("{} {found}", trip.to)).notes([note]))
        });
        let check = g.node("check", async |trip: Snapshot<Trip>, person: Ask<String, String>| {
            let answer = person.ask_as(&format!("may {}", trip.token), trip.booked.clone()).await;
            Trip::update().notes([answer])
        });
        g.edge(START, book);
        g.edge(book, check);
        g.edge(check, END);
        g.compile().unwrap()
    }

    /// The constant of a generated test.
    fn constant_of<'t>(code: &'t str, name: &str) -> Option<&'t str> {
        Some(code.split_once(&format!("const {name}: &str = r#\""))?.1.split_once("\"#;")?.0)
    }

    #[tokio::test]
    async fn what_a_secret_has_come_to_is_compared_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trips.db");
        let graph = trips(true).checkpointer(SqliteSaver::open(&path).await.unwrap());
        let thread = graph.thread("rome");
        let trip = Trip { to: "Rome".into(), token: "sesame-open".into(), ..Trip::default() };
        let _asked = thread.run(trip).await.unwrap().interrupted().unwrap();
        let _done = thread.answer("ask sesame-open").await.unwrap().finished().unwrap();
        for (words, supersteps) in
            [(vec!["rome"], 3), (vec!["rome", "--step"], 1), (vec!["rome@1", "--step"], 1)]
        {
            let words: Vec<&str> = ["test", path.to_str().unwrap()].into_iter().chain(words).collect();
            let (code, err, exit) = said(&words);
            assert_eq!((exit, err.as_str()), (Exit::Fine, ""));
            assert!(!code.contains("sesame"), "{code}");
            assert!(
                code.contains("Rome plane via <secret>") && code.contains("Rome with <secret>"),
                "{code}"
            );
            let of = |name| constant_of(&code, name).unwrap();
            let cassette = Cassette::parse(of("CASSETTE")).unwrap();
            let graph = trips(false);
            let turn = testing::turn(&graph).state(of("STATE")).cassette(&cassette).supersteps(supersteps);
            let turn = match code.contains(".input(BEGIN)") {
                true => turn.input(of("BEGIN")),
                false => turn.next(of("BEGIN")),
            };
            turn.secret("token", "\"sesame-open\"").comes_to(of("EXPECTED")).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_thread_of_any_name_becomes_a_test() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("essays.db");
        let essays = essays(&World::there()).checkpointer(SqliteSaver::open(&path).await.unwrap());
        let _asked = essays.thread("new\nline").run(essay("Rust")).await.unwrap().interrupted().unwrap();
        let (code, _, exit) = said(&["test", path.to_str().unwrap(), "new\nline@1"]);
        assert_eq!(exit, Exit::Fine);
        assert!(code.contains("//! Written by `superstep test` for new\\nline@1.\n"), "{code}");
        let begin = code.split_once("use superstep").unwrap().0;
        assert!(begin.lines().all(|line| line.is_empty() || line.starts_with("//!")), "{begin}");
    }

    #[tokio::test]
    async fn what_is_no_superstep_is_no_test() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path()).await;
        let (_, err, exit) = said(&["test", file.to_str().unwrap(), "rust@-1"]);
        assert_eq!(
            (exit, err.as_str()),
            (Exit::No, "error: no superstep came to rust@-1: it is an input; name one after it\n")
        );
    }
}
