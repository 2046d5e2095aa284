//! The verbs of a program's own debugger, on the file of the same small program.

use std::path::Path;

use serde_json::Value;
use superstep::cli::{Exit, Look, Screen};
use superstep::prelude::*;
use superstep::run::RunEvent;

use crate::hostile::{HIDDEN, hidden};
use crate::program::{Essay, Written, essays, written};
use crate::{Said, compare, said, words};

/// Runs a line of the debugger of these graphs.
pub(crate) async fn debug(debugger: superstep::cli::Debugger, folder: &Path, look: Look, line: &str) -> Said {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words: Vec<String> = words(line);
    let screen = Screen { out: &mut out, err: &mut err, look };
    let exit = debugger.called("essays debug").run_on(words, screen).await;
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(folder.to_str().unwrap(), "FOLDER");
    Said { exit, out: text(out), err: text(err) }
}

/// The program that wrote the file, started again.
pub(crate) struct Program {
    file: Written,
    started: u64,
}

impl Program {
    pub(crate) async fn new() -> Self {
        Self { file: written().await, started: 0 }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    pub(crate) fn folder(&self) -> &Path {
        self.file.folder.path()
    }

    pub(crate) async fn graph(&mut self) -> Graph<Essay> {
        self.started += 1;
        essays(SqliteSaver::open(&self.file.path).await.unwrap(), 1_000 * self.started)
    }

    pub(crate) async fn says(&mut self, look: Look, line: &str) -> Said {
        let graph = self.graph().await;
        debug(superstep::debugger(&[&graph]), self.file.folder.path(), look, line).await
    }

    /// Prints only an error.
    async fn refuses(&mut self, line: &str) -> (u8, String) {
        let said = self.says(Look::PIPED, line).await;
        assert_eq!(said.out, "", "{line}");
        (said.exit as u8, said.err.trim_end().to_owned())
    }
}

/// The outputs of a debugger for these lines.
async fn golden(name: &str, lines: &[&str]) {
    let mut program = Program::new().await;
    let mut text = String::new();
    for line in lines {
        let (line, look) = match line.strip_suffix(" # on a terminal") {
            Some(line) => (line, Look::terminal(72)),
            None => (*line, Look::PIPED),
        };
        let Said { exit, out, err } = program.says(look, line).await;
        let out = out.replace('\u{1b}', "␛");
        let on = if look.color { " # on a terminal" } else { "" };
        text += &format!("$ essays debug {line}{on}\n{out}{err}[exit {}]\n\n", exit as u8);
    }
    compare(name, &text);
}

#[tokio::test]
async fn a_run_is_reported_from_its_input_to_its_end() {
    let input = r#"run new '{"topic": "Go", "facts": [{"id": "a", "text": "b"}]}'"#;
    golden(
        "debug_run",
        &[
            input,
            "answer new '\"bad\"' # on a terminal",
            "answer new '\"good\"' # on a terminal",
            "resume new",
            "log new",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_failed_run_prints_the_command_that_resumes_it() {
    golden("debug_failing", &["resume trouble", "resume trouble # on a terminal", "tail trouble"]).await;
}

#[tokio::test]
async fn events_are_a_document_a_line() {
    golden("debug_json", &["run quick '{\"topic\": \"quick\"}' --json", "resume trouble --json"]).await;
    let mut program = Program::new().await;
    for line in ["run new '{\"topic\": \"Go\"}' --json", "tail rust --from start --json"] {
        let said = program.says(Look::PIPED, line).await;
        let events = said.out.lines().map(|line| serde_json::from_str(line).expect("a document a line"));
        let events: Vec<Value> = events.collect();
        assert_eq!(events.last().unwrap()["type"], "run_finished");
        assert!(events.len() > 10, "{}", said.out);
        let read = said.out.lines().map(serde_json::from_str::<RunEvent>);
        assert_eq!(read.filter(Result::is_ok).count(), events.len(), "programs read them with our types");
        assert!(!said.out.contains("sesame"), "no secret is told");
    }
}

/// The events of a run are printed while it runs. Their JSON used to contain C1 and invisible characters.
#[tokio::test]
async fn what_a_terminal_would_obey_or_not_show_is_escaped_in_events() {
    let mut program = Program::new().await;
    let input = serde_json::json!({ "topic": HIDDEN }).to_string();
    for line in [format!("run hidden '{input}' --json"), "tail hidden --from start".to_owned()] {
        let said = program.says(Look::PIPED, &line).await;
        assert!(hidden(&said.out).is_empty() && said.err.is_empty(), "{line}: {said:?}");
        let mut events = said.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let asked = events.next_back().map(|event| event["status"]["interrupts"][0]["question"].clone());
        assert!(asked.is_none_or(|asked| asked == format!("{HIDDEN} in 2 facts")), "{line}: {said:?}");
    }
}

#[tokio::test]
async fn a_rerun_is_a_branch_and_a_replay_verifies_it() {
    golden(
        "debug_rerun",
        &[
            "rerun rust@2",
            "replay rust",
            "replay rust --after rust@1",
            "replay rust@3 --json",
            "log rust --graph",
            "replay trouble",
            "migrate --check",
            "migrate --check --json",
        ],
    )
    .await;
}

#[tokio::test]
async fn the_past_of_a_thread_is_reported_from_its_start() {
    golden("debug_tail", &["tail rust --from start", "tail zig", "tail rust # on a terminal"]).await;
}

#[tokio::test]
async fn what_only_reads_is_said_as_the_program_says_it() {
    let mut program = Program::new().await;
    for line in [
        "threads",
        "interrupts",
        "log rust --graph",
        "show zig",
        "diff rust@3",
        "why zig review",
        "grep people",
    ] {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let of_superstep = said(&program.file.path, Look::PIPED, &format!("{verb} FILE {rest}"));
        let of_debugger = program.says(Look::PIPED, line).await;
        assert_eq!((of_superstep.out, of_superstep.exit), (of_debugger.out, of_debugger.exit), "{line}");
    }
}

#[tokio::test]
async fn another_file_is_named() {
    let mut program = Program::new().await;
    let other = program.file.folder.path().join("other.db");
    std::fs::copy(&program.file.path, &other).unwrap();
    let other = other.to_str().unwrap();
    let said = program.says(Look::PIPED, &format!("answer zig '\"good\"' --file {other}")).await;
    assert_eq!((said.exit, &*said.err), (Exit::Fine, ""));
    let threads = program.says(Look::PIPED, "threads --json").await.out;
    let status = |threads: &str, thread: &str| {
        let threads: Value = serde_json::from_str(threads).unwrap();
        let mut threads = threads["threads"].as_array().unwrap().clone().into_iter();
        threads.find(|held| held["thread"] == thread).unwrap()["status"].clone()
    };
    assert_eq!(status(&threads, "zig"), "waiting", "the own file is as it was");
    let threads = program.says(Look::PIPED, &format!("threads --json --file {other}")).await.out;
    assert_eq!(status(&threads, "zig"), "finished");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_a_reason() {
    let mut program = Program::new().await;
    for (line, code, text) in [
        (
            "run rust '{\"topik\": 1}'",
            2,
            "the input does not fit: the state has no field \"topik\"; did you mean \"topic\"?",
        ),
        (
            "run rust '{\"rounds\": \"x\"}'",
            2,
            "the input does not fit: field \"rounds\": invalid type: string \"x\", expected u32",
        ),
        ("run rust '{\"token\": 7}'", 2, "the input does not fit: field \"token\": the value does not fit"),
        ("run rust '[1]'", 2, "the input does not fit: an update is an object with a member per field"),
        ("run rust '{'", 2, "the input is not JSON: "),
        ("resume nobody", 2, "there is no thread nobody; "),
        ("answer rust 1", 2, "thread rust has no open question"),
        (
            "answer zig good",
            2,
            "the answer good is not JSON (expected value at line 1 column 1): a text is written '\"good\"'",
        ),
        ("answer zig 1", 2, "the answer to question "),
        ("answer zig 00000000=1", 2, "question 00000000 is not open; open are\n  "),
        ("replay nobody", 2, "there is no thread or checkpoint nobody"),
        ("replay rust --after trouble", 2, ""),
        ("rerun rust@99", 2, "thread rust has no step 99"),
        ("tail nobody", 2, "there is no thread nobody; "),
        ("log nobody", 1, "there is no thread or checkpoint nobody"),
        ("run", 2, "the following required arguments were not provided:\n  <THREAD>"),
        ("log rust --file FOLDER/none.db", 2, "there is no file FOLDER/none.db"),
        ("resume rust --file FOLDER/none.db", 2, "there is no file FOLDER/none.db"),
    ] {
        let folder = program.file.folder.path().to_str().unwrap().to_owned();
        let (exit, said) = program.refuses(&line.replace("FOLDER", &folder)).await;
        assert!(said.starts_with(&format!("error: {text}")), "{line}: {said}");
        assert_eq!(exit, code, "{line}: {said}");
    }
}

#[derive(State, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Mail {
    pub(crate) text: String,
}

fn mails() -> Graph<Mail> {
    mails_called("mail")
}

fn mails_called(name: &str) -> Graph<Mail> {
    let mut g = StateGraph::<Mail>::new(name);
    let send = g.node("send", async || Mail::update().text("sent"));
    g.edge(START, send);
    g.edge(send, END);
    g.compile().unwrap()
}

#[tokio::test]
async fn the_graph_of_a_thread_is_found_by_its_name() {
    let mut program = Program::new().await;
    let folder = program.file.folder.path().to_owned();
    let shared = SqliteSaver::open(&program.file.path).await.unwrap();
    let (essays, mails) = (program.graph().await, mails().checkpointer(shared.clone()));
    let line = |line| debug(superstep::debugger(&[&essays, &mails]), &folder, Look::PIPED, line);
    let refused = line("run new").await;
    assert_eq!(
        refused.err,
        "error: thread new is new: say with --graph which graph it is to be of (essay, mail)\n"
    );
    let refused = line("run new --graph mails").await;
    assert_eq!(refused.err, "error: there is no graph mails, but essay, mail; did you mean mail?\n");
    assert_eq!(line("run new --graph mail").await.out, "     1  send\nfinished at step 1\n");
    assert_eq!(line("replay new").await.exit, Exit::Fine);
    assert_eq!(line("replay rust").await.exit, Exit::Fine);

    let only = |line| debug(superstep::debugger(&[&mails]), &folder, Look::PIPED, line);
    let refused = only("resume rust").await;
    assert_eq!(
        (refused.exit, &*refused.err),
        (
            Exit::Unusable,
            "error: thread rust belongs to graph essay, which the debugger was not given; it has mail\n"
        )
    );
    assert!(
        only("migrate --check")
            .await
            .out
            .ends_with("not checked: threads of essay, which this program does not have\n")
    );
}

#[tokio::test]
async fn threads_that_would_not_continue_are_named() {
    let program = Program::new().await;
    let folder = program.file.folder.path().to_owned();
    // Another program with a graph of the same name.
    let saver = SqliteSaver::open(&program.file.path).await.unwrap();
    let other = mails_called("essay").checkpointer(saver);
    let said = debug(superstep::debugger(&[&other]), &folder, Look::PIPED, "migrate --check").await;
    assert_eq!((said.exit, &*said.err), (Exit::No, ""), "{}", said.out);
    assert!(said.out.contains("\nnot fine: 2 of 3 threads could not continue\n"), "{}", said.out);
    assert!(said.out.contains("\ntrouble: ") && said.out.contains("\nzig: "), "{}", said.out);
    let said = debug(superstep::debugger(&[&other]), &folder, Look::PIPED, "replay rust").await;
    assert_eq!(said.exit, Exit::No, "{}{}", said.out, said.err);
}

#[tokio::test]
async fn graphs_without_a_file_or_with_several_need_one_named() {
    let program = Program::new().await;
    let folder = program.file.folder.path().to_owned();
    let forgetful = mails().checkpointer(MemorySaver::new());
    let said = debug(superstep::debugger(&[&forgetful]), &folder, Look::PIPED, "threads").await;
    assert!(said.err.starts_with("error: the graphs keep their threads in no file: "), "{}", said.err);
    let path = program.file.path.to_str().unwrap();
    let line = format!("threads --file {path}");
    assert_eq!(debug(superstep::debugger(&[&forgetful]), &folder, Look::PIPED, &line).await.exit, Exit::Fine);

    let a = mails().checkpointer(SqliteSaver::open(folder.join("a.db")).await.unwrap());
    let b = mails().checkpointer(SqliteSaver::open(folder.join("b.db")).await.unwrap());
    let said = debug(superstep::debugger(&[&a, &b]), &folder, Look::PIPED, "log rust").await;
    assert_eq!(
        said.err,
        "error: the graphs keep their threads in several files: name one with --file (mail in FOLDER/a.db, mail in FOLDER/b.db)\n"
    );
    assert_eq!(said.exit, Exit::Unusable);
}

#[tokio::test]
async fn a_flow_is_run_on_its_input() {
    let program = Program::new().await;
    let folder = program.file.folder.path().to_owned();
    let saver = SqliteSaver::open(folder.join("flow.db")).await.unwrap();
    let double = flow("double", async |cx: Cx<u32>| {
        let by: u32 = cx.ask("by how much?").await?;
        Ok::<u32, NodeError>(cx.input() * by)
    });
    let double = double.checkpointer(saver);
    let line = |line| debug(superstep::debugger(&[&double]), &folder, Look::PIPED, line);
    let refused = line("run t '\"x\"'").await;
    assert_eq!(refused.err, "error: the input does not fit: invalid type: string \"x\", expected u32\n");
    assert_eq!(line("run t 21").await.exit, Exit::Unfinished);
    assert_eq!(line("answer t 2").await.exit, Exit::Fine);
    assert_eq!(line("show t returned").await.out, "42\n");
    assert_eq!(line("replay t").await.exit, Exit::Fine);
}

#[tokio::test]
async fn several_open_questions_are_answered_by_id() {
    #[derive(State, Clone, Default, serde::Serialize, serde::Deserialize)]
    struct Poll {
        #[reducer(Append)]
        votes: Vec<String>,
    }
    async fn vote(asked: Ask<String, String>) -> Update<Poll> {
        Poll::update().votes([asked.ask("yes or no?".to_owned()).await])
    }
    let program = Program::new().await;
    let folder = program.file.folder.path().to_owned();
    let mut g = StateGraph::<Poll>::new("poll");
    let (ann, bob) = (g.node("ann", vote), g.node("bob", vote));
    g.edge(START, ann);
    g.edge(START, bob);
    g.edge(ann, END);
    g.edge(bob, END);
    let saver = SqliteSaver::open(folder.join("poll.db")).await.unwrap();
    let polls = g.compile().unwrap().checkpointer(saver);
    let line = |line: String| {
        let (debugger, folder) = (superstep::debugger(&[&polls]), &folder);
        async move { debug(debugger, folder, Look::PIPED, &line).await }
    };
    let asked = line("run t".into()).await;
    let commands = asked.out.lines().filter_map(|line| line.trim().strip_prefix("to answer:"));
    let ids: Vec<&str> =
        commands.map(|command| command.rsplit(' ').next().unwrap().strip_suffix("=JSON").unwrap()).collect();
    assert_eq!(ids.len(), 2, "{}", asked.out);

    let which = line("answer t '\"yes\"'".into()).await;
    assert_eq!(which.exit, Exit::Unusable);
    let listed = ids.iter().all(|id| which.err.contains(id));
    assert!(which.err.starts_with("error: name the question with ID=JSON") && listed, "{}", which.err);
    assert_eq!(line(format!("answer t '{}=\"yes\"'", &ids[0][24..])).await.exit, Exit::Unfinished);
    assert_eq!(line("answer t '\"no\"'".into()).await.exit, Exit::Fine);
    assert_eq!(line("show t votes".into()).await.out, "[\n  \"yes\",\n  \"no\"\n]\n");
}

/// Two processes are two savers: one runs, and the other one follows it.
#[tokio::test]
async fn a_run_of_another_program_is_followed_to_its_end() {
    use std::sync::Arc;
    use tokio::sync::Semaphore;

    let program = Program::new().await;
    let folder = program.file.folder.path().to_owned();
    let path = folder.join("slow.db");
    let gate = Arc::new(Semaphore::new(0));
    let slow = |gate: Arc<Semaphore>, saver| {
        let mut g = StateGraph::<Mail>::new("slow");
        let mut last = g.node("first", async || Mail::update().text("first"));
        g.edge(START, last);
        for name in ["second", "third"] {
            let gate = Arc::clone(&gate);
            let node = g.node(name, move || {
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await.expect("it is never closed").forget();
                    Mail::update().text("later")
                }
            });
            g.edge(last, node);
            last = node;
        }
        g.edge(last, END);
        g.compile().unwrap().checkpointer(saver)
    };
    let runs = slow(Arc::clone(&gate), SqliteSaver::open(&path).await.unwrap());
    let follows = slow(Arc::new(Semaphore::new(0)), SqliteSaver::open(&path).await.unwrap());
    let mut events = runs.thread("t").run(Mail::update());
    let feed = events.feed(64);
    let running = tokio::spawn(events.into_future());
    let mut feed = feed.subscribe_from(0);
    while let Some(received) = feed.next().await {
        if format!("{received:?}").contains("TaskStarted { step: 2") {
            break;
        }
    }
    let tail = debug(superstep::debugger(&[&follows]), &folder, Look::PIPED, "tail t --from start");
    let opens = async {
        for _ in 0..2 {
            tokio::time::sleep(std::time::Duration::from_millis(150)).await;
            gate.add_permits(1);
        }
    };
    let (tail, ()) = tokio::join!(tail, opens);
    assert_eq!(tail.out, "     1  first\n     2  second\n     3  third\nfinished\n");
    assert_eq!((tail.exit, &*tail.err), (Exit::Fine, ""));
    running.await.unwrap().unwrap().finished().unwrap();
}
