//! The exit of the debugger, and the commands that it prints: each of them works.

use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use superstep::cli::{Exit, Look, Screen, run};
use superstep::prelude::*;
use tokio::time::timeout;

use crate::debugger::{Mail, Program, debug};
use crate::program::essay;
use crate::said;

const SOON: Duration = Duration::from_secs(300);

#[tokio::test]
async fn a_tail_ends_at_an_edit_or_a_branch_behind_which_nothing_is_next() {
    for change in ["edit rust --set rounds=9", "fork rust"] {
        let mut program = Program::new().await;
        assert_eq!(program.says(Look::PIPED, change).await.exit, Exit::Fine);
        for again in [false, true] {
            if again {
                assert_eq!(program.says(Look::PIPED, "resume rust").await.exit, Exit::Fine);
            }
            for line in ["tail rust", "tail rust --from start", "tail rust --json"] {
                let tail = timeout(SOON, program.says(Look::PIPED, line)).await;
                let tail = tail.unwrap_or_else(|_| panic!("{line} never ends after {change}"));
                assert_eq!((tail.exit, &*tail.err), (Exit::Fine, ""), "{line} after {change}");
                assert!(line.ends_with("--json") || tail.out.ends_with("finished\n"), "{}", tail.out);
            }
        }
    }
    let mut program = Program::new().await;
    assert_eq!(program.says(Look::PIPED, "fork rust@4").await.exit, Exit::Fine);
    let waits = timeout(Duration::from_millis(400), program.says(Look::PIPED, "tail rust")).await;
    assert!(waits.is_err(), "something is next: {waits:?}");
}

#[tokio::test]
async fn only_commands_are_printed_with_the_words_of_the_program() {
    let mut program = Program::new().await;
    let field = program.says(Look::PIPED, r#"run rust '{"the superstep was": 1}'"#).await;
    assert!(field.err.contains("no field \"the superstep was\""), "{}", field.err);
    let threads = program.says(Look::PIPED, "log 'superstep threads' --thread").await;
    assert_eq!(threads.exit, Exit::Unusable);
    let threads = program.says(Look::PIPED, "tail 'superstep was'").await;
    assert_eq!(
        threads.err,
        "error: there is no thread superstep was; `essays debug threads` lists the 3 there are\n"
    );
}

#[tokio::test]
async fn a_thread_with_any_name_is_answered_with_the_printed_command() {
    let mut program = Program::new().await;
    let asked = program.says(Look::PIPED, r#"run -- -x '{"topic": "Go"}'"#).await;
    let command = asked.out.lines().find_map(|line| line.trim().strip_prefix("to answer:"));
    let command = command.unwrap_or_else(|| panic!("{}{}", asked.out, asked.err)).trim();
    let command = command.strip_prefix("essays debug ").unwrap().replace("=JSON", "=\"good\"");
    let (words, answer) = command.rsplit_once(' ').unwrap();
    let answered = program.says(Look::PIPED, &format!("{words} '{answer}'")).await;
    assert_eq!((answered.exit, &*answered.err), (Exit::Fine, ""), "{command}");

    for name in ["''", "'a\nb'"] {
        let refused = program.says(Look::PIPED, &format!("run {name} '{{\"topic\": \"Go\"}}'")).await;
        assert_eq!(
            (refused.exit, &*refused.err),
            (Exit::Unusable, "error: a thread's name has at least one letter and no control characters\n")
        );
    }
    // A run that the program's own code began.
    let graph = program.graph().await;
    graph.thread("a\nb").run(essay("Go")).await.unwrap().interrupted().unwrap();
    let asked = program.says(Look::PIPED, "tail 'a\nb'").await;
    assert!(asked.out.contains(r"essays debug answer $'a\nb' "), "{}", asked.out);
}

#[tokio::test]
async fn commands_name_the_file_that_was_named() {
    let mut program = Program::new().await;
    let other = program.folder().join("other.db");
    std::fs::copy(program.path(), &other).unwrap();
    let tail = program.says(Look::PIPED, &format!("tail zig --file {}", other.display())).await;
    assert!(tail.out.contains("essays debug answer --file FOLDER/other.db zig "), "{}", tail.out);
}

#[tokio::test]
async fn a_thread_that_was_deleted_is_not_to_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mails.db");
    let file = path.to_str().unwrap().to_owned();
    let mut g = StateGraph::<Mail>::new("mail");
    let write = g.node("write", async || Mail::update().text("written"));
    let lose = g.node("lose", move || {
        let file = file.clone();
        async move {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
            assert_eq!(run(["superstep", "delete", &file, "w"], &[], screen), Exit::Fine);
            Mail::update().text("lost")
        }
    });
    g.edge(START, write);
    g.edge(write, lose);
    g.edge(lose, END);
    let mails = g.compile().unwrap().checkpointer(SqliteSaver::open(&path).await.unwrap());
    let said = debug(superstep::debugger(&[&mails]), folder.path(), Look::PIPED, "run w").await;
    assert_eq!(said.exit, Exit::No, "{}{}", said.out, said.err);
    assert!(said.err.starts_with("error: ") && !said.err.contains("when that is fixed"), "{}", said.err);
}

/// A target to which nothing can be written.
struct Full(ErrorKind);

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0, "no space"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_written_is_no_silence() {
    let mut program = Program::new().await;
    let failed = (Exit::Unusable, "error: the answer cannot be written: no space\n".to_owned());
    let closed = (Exit::Fine, String::new());
    let file = program.path().to_str().unwrap().to_owned();
    for (kind, is) in [(ErrorKind::StorageFull, &failed), (ErrorKind::BrokenPipe, &closed)] {
        let (mut out, mut err) = (Full(kind), Vec::new());
        let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
        let exit = run(["superstep", "threads", &file], &[], screen);
        assert_eq!((exit, String::from_utf8(err).unwrap()), *is);

        let (mut out, mut err) = (Full(kind), Vec::new());
        let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
        let graph = program.graph().await;
        let words = ["run", "quick", r#"{"topic": "quick"}"#, "--json"];
        let exit = superstep::debugger(&[&graph]).run_on(words, screen).await;
        assert_eq!((exit, String::from_utf8(err).unwrap()), *is);
    }
}

#[tokio::test]
async fn before_the_first_superstep_there_is_nothing_to_replay() {
    let mut program = Program::new().await;
    for line in ["replay rust@-1", "replay rust@3 --after rust@3"] {
        let said = program.says(Look::PIPED, line).await;
        assert_eq!(
            (said.exit, &*said.out),
            (Exit::Fine, "nothing to replay: no superstep lies there\n"),
            "{}",
            said.err
        );
    }
}

#[tokio::test]
async fn the_input_is_no_node_that_is_played() {
    let program = Program::new().await;
    for name in ["START", "END", "EDIT"] {
        let refused = said(program.path(), Look::PIPED, &format!("edit FILE rust --as {name}"));
        assert_eq!(
            (refused.exit, &*refused.err),
            (
                Exit::Unusable,
                &*format!(
                    "error: there is no edit as {name}: it is not a node; the graph's nodes are plan, research, write, review\n"
                )
            )
        );
    }
}
