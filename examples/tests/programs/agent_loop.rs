//! The example `agent_loop` as a program: its output and exit codes. Also checks for all examples: a closed pipe, and
//! readable errors.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{documents, example};

const QUESTION: &str = "How many bytes does a fork copy?";

/// Runs the example on a folder of its own.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Self(documents())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(example("agent_loop"));
        command.current_dir(self.0.path()).args(["--docs", "docs", "--db", "agent.db"]).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the example runs")
    }

    /// Runs to the end without an error.
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{}", complaint(&output));
        assert_eq!(complaint(&output), "", "without a terminal, nothing is shown");
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }
}

fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A pipe without a reader, like that to `head` after its last line.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn the_json_has_the_documented_members_in_their_order() {
    let bench = Bench::new();
    let output = bench.run(&[QUESTION, "--json", "--thread", "t"]);
    let text = printed(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    let members = [
        "response",
        "sources",
        "path",
        "lines",
        "nearest",
        "answered",
        "complete",
        "iterations",
        "llm_calls",
        "agent",
        "evaluator",
        "ranker",
        "decider",
        "total",
        "thread_id",
        "checkpoint_id",
        "checkpoints",
        "db",
    ];
    let places = members.map(|member| text.find(&format!("\"{member}\":")).expect(member));
    assert!(places.is_sorted(), "{text}");

    let answer: Value = serde_json::from_str(&text).expect("one JSON object");
    assert_eq!(answer.as_object().expect("an object").len(), 11);
    assert_eq!(answer["llm_calls"].as_object().expect("an object").len(), 5);
    let response = answer["response"].as_str().expect("a text");
    assert!(response.contains("> A fork copies no bytes: it shares its past with the trunk."), "{response}");
    assert_eq!(answer["sources"], serde_json::json!([{ "path": "forks.md", "lines": "3" }]));
    assert_eq!((&answer["complete"], &answer["iterations"]), (&true.into(), &2.into()));
    let calls = serde_json::json!({ "agent": 2, "evaluator": 1, "ranker": 1, "decider": 0, "total": 4 });
    assert_eq!(answer["llm_calls"], calls);
    assert_eq!((&answer["thread_id"], &answer["db"]), (&"t".into(), &"agent.db".into()));
    assert_eq!(answer["checkpoints"], 8, "the input, START and six nodes");
    assert_eq!(answer["checkpoint_id"].as_str().expect("a text").len(), 36);
}

#[test]
fn a_person_gets_quotes_and_one_line_of_numbers() {
    let bench = Bench::new();
    let output = bench.run(&[QUESTION, "--thread", "t"]);
    assert_eq!(complaint(&output), "");
    let text = printed(&output);
    let numbers = text.lines().last().expect("a line");
    assert_eq!(numbers, "4 model calls in 2 iterations; 8 checkpoints of thread t in agent.db");
    assert!(text.contains("\nSources:\n- forks.md:3 (Forks)\n"), "{text}");
}

#[test]
fn two_turns_of_one_thread_are_one_conversation() {
    let bench = Bench::new();
    let first = bench.json(&[QUESTION, "--thread", "t"]);
    let second = bench.json(&["What does a checkpoint hold?", "--thread", "t"]);
    assert_eq!(second["sources"][0]["path"], "storage.md");
    assert_eq!((&second["iterations"], &second["llm_calls"]), (&first["iterations"], &first["llm_calls"]));
    let checkpoints = |answer: &Value| answer["checkpoints"].as_u64().expect("a number");
    assert_eq!(checkpoints(&second), 2 * checkpoints(&first));
}

#[test]
fn resuming_a_finished_thread_prints_its_stored_result() {
    let bench = Bench::new();
    let first = bench.json(&[QUESTION, "--thread", "t"]);
    assert_eq!(bench.json(&["--resume", "--thread", "t"]), first);
    assert_eq!(bench.json(&["Something else?", "--resume", "--thread", "t"]), first);
}

#[test]
fn resuming_a_thread_that_never_ran_asks_the_question_or_fails() {
    let bench = Bench::new();
    let output = bench.run(&["--resume", "--thread", "t"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(complaint(&output), "error: thread t has never run\n");
    assert_eq!(bench.json(&[QUESTION, "--resume", "--thread", "t"])["complete"], true);
}

/// It used to say that the documents do not answer the question, and that the response was complete, although nothing
/// was searched.
#[test]
fn a_limit_that_prevents_the_search_is_admitted() {
    let bench = Bench::new();
    let output = bench.run(&[QUESTION, "--thread", "t", "--max-iterations", "1", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let expected = "No documents were searched: the limit of iterations was reached before the search.";
    assert_eq!(answer["response"], expected);
    assert_eq!((&answer["complete"], &answer["iterations"]), (&false.into(), &1.into()));
    assert_eq!((&answer["llm_calls"]["decider"], &answer["sources"]), (&1.into(), &Value::Array(Vec::new())));
    let again = bench.run(&["--resume", "--thread", "t"]);
    let numbers = "4 model calls in 1 iteration; 6 checkpoints of thread t in agent.db\n";
    assert!(printed(&again).ends_with(numbers), "{}", printed(&again));
    // A limit applies to its question: the next one has the usual limit again, and its search.
    assert_eq!(bench.json(&[QUESTION, "--thread", "t"])["complete"], true);
}

/// After an error the name of the new thread used to be unknown, so the paid work could not be continued.
#[test]
fn after_an_error_the_thread_and_the_command_that_continues_it_are_printed() {
    let bench = Bench::new();
    let answer = json!({ "say": "A fork copies no bytes at all." });
    let evaluated = json!({ "json": { "iteration": 1, "score": 1.0, "complete": true, "feedback": "" } });
    let ranked = json!({ "json": { "iteration": 1, "order": [1], "best": 1, "reason": "the only one" } });
    let write = |turns: &[&Value]| {
        std::fs::write(bench.path("script.json"), json!({ "turns": turns }).to_string()).expect("a new file");
    };
    write(&[]);
    let output = bench.run(&[QUESTION, "--thread", "t", "--model", "script:script.json", "--json"]);
    assert_eq!((output.status.code(), printed(&output)), (Some(1), String::new()));
    let said = complaint(&output);
    assert!(said.starts_with("failed in thread t; nothing that was finished is lost\ncontinue: "), "{said}");
    let command =
        "-- --resume --thread 't' --db 'agent.db' --docs 'docs' --model 'script:script.json' --json\n";
    assert!(said.contains(command) && said.contains("\nerror: node \"agent\""), "{said}");
    write(&[&answer, &evaluated, &ranked]);
    let answer = bench.json(&["--resume", "--thread", "t", "--model", "script:script.json"]);
    assert_eq!(answer["response"], "A fork copies no bytes at all.");
}

/// The response used to be lost with exit code 1 when the judge could not judge it.
#[test]
fn an_answer_that_cannot_be_judged_is_given_and_says_so() {
    let bench = Bench::new();
    let turns = [
        json!({ "say": "A fork copies no bytes at all." }),
        json!({ "say": "Good!" }),
        json!({ "say": "Good!" }),
    ];
    std::fs::write(bench.path("script.json"), json!({ "turns": turns }).to_string()).expect("a new file");
    let output = bench.run(&[QUESTION, "--model", "script:script.json"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let said = printed(&output);
    assert!(
        said.starts_with("A fork copies no bytes at all.\n\nnot evaluated: the reply does not have"),
        "{said}"
    );
}

/// A question that the documents do not answer used to exit with 0, as if it were answered.
#[test]
fn a_question_without_an_answer_exits_with_3() {
    let bench = Bench::new();
    for (question, nearest) in [("Who won the football match?", 0), ("How do I sell a fork?", 1)] {
        let output = bench.run(&[question, "--json"]);
        assert_eq!((output.status.code(), complaint(&output)), (Some(3), String::new()), "{question}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(answer["answered"], false, "{answer}");
        assert_eq!(answer["sources"].as_array().map(Vec::len), Some(0), "{answer}");
        assert_eq!(answer["nearest"].as_array().map(Vec::len), Some(nearest), "{answer}");
    }
}

/// Unreadable documents used to be left out silently.
#[test]
fn documents_that_are_not_searched_are_named() {
    let bench = Bench::new();
    std::fs::write(bench.path("docs/latin1.md"), b"A f\xf6rk.").expect("a new file");
    std::fs::write(bench.path("docs/large.md"), "word ".repeat(1 << 18)).expect("a new file");
    std::fs::write(bench.path("docs/picture.png"), "no document").expect("a new file");
    let output = bench.run(&[QUESTION]);
    assert!(output.status.success());
    let expected =
        "not searched: large.md: too large (1310720 bytes)\nnot searched: latin1.md: not text in UTF-8\n";
    assert_eq!(complaint(&output), expected);
}

#[test]
fn a_blank_question_or_thread_is_a_misuse() {
    let bench = Bench::new();
    for arguments in [
        &[""][..],
        &[" \n"],
        &[],
        &[QUESTION, "--thread", ""],
        &[QUESTION, "--thread", " "],
        &["--resume"],
        &[QUESTION, "--max-iterations", "0"],
    ] {
        let output = bench.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", complaint(&output));
        assert!(complaint(&output).starts_with("error: "), "{arguments:?}: {}", complaint(&output));
        assert!(!bench.path("agent.db").exists(), "{arguments:?}: nothing was begun");
    }
}

#[test]
fn wrong_folders_and_files_are_named() {
    let bench = Bench::new();
    let fails = |arguments: &[&str], named: &str| {
        let mut command = Command::new(example("agent_loop"));
        let output = command.current_dir(bench.0.path()).arg(QUESTION).args(arguments).output();
        let output = output.expect("the example runs");
        assert_eq!((output.status.code(), printed(&output)), (Some(1), String::new()), "{arguments:?}");
        let complaint = complaint(&output);
        assert!(complaint.starts_with("error: ") && complaint.contains(named), "{arguments:?}: {complaint}");
    };
    fails(&["--db", "a.db", "--docs", "missing"], "missing");
    std::fs::create_dir(bench.path("empty")).expect("a new folder");
    fails(&["--db", "a.db", "--docs", "empty"], "empty holds no Markdown or text");
    fails(&["--docs", "docs", "--db", "missing/agent.db"], "missing");
    std::fs::write(bench.path("notes.txt"), "not a database").expect("a new file");
    fails(&["--docs", "docs", "--db", "notes.txt"], "notes.txt");
    let untouched = std::fs::read(bench.path("notes.txt")).expect("the file is there");
    assert_eq!(untouched, b"not a database");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let bench = Bench::new();
    let json = bench.command(&[QUESTION, "--json"]);
    let text = bench.command(&[QUESTION]);
    let others = ["hello", "reducers", "time_travel", "review"].map(|name| {
        let mut command = Command::new(example(name));
        command.env("TMPDIR", bench.0.path());
        command
    });
    for mut command in [json, text].into_iter().chain(others) {
        let output = command.stdout(closed_pipe()).stderr(Stdio::piped()).spawn();
        let output = output.and_then(|child| child.wait_with_output()).expect("the example runs");
        assert_eq!((output.status.code(), complaint(&output)), (Some(0), String::new()), "{command:?}");
    }
}

/// A full disk is not a closed pipe.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = Command::new(example("hello")).stdout(full).output().expect("the example runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).starts_with("error: No space left"), "{}", complaint(&output));
}

#[test]
fn the_review_drafts_asks_and_publishes() {
    let folder = TempDir::new().expect("a folder");
    let review = |arguments: &[&str]| {
        let mut command = Command::new(example("review"));
        command.env("TMPDIR", folder.path()).args(arguments).output().expect("the example runs")
    };
    // Without arguments it drafts, and then shows the open question.
    for _ in 0..2 {
        let text = printed(&review(&[]));
        assert!(text.starts_with("accept or revise? Typed graphs: draft 1\n"), "{text}");
        assert!(text.ends_with("review -- answer accept\n  cargo run --bin review -- answer revise\n"));
    }
    assert!(printed(&review(&["answer", "revise"])).starts_with("accept or revise? Typed graphs: draft 2\n"));
    let published = "published: Typed graphs: draft 1 | Typed graphs: draft 2\n";
    assert_eq!(printed(&review(&["answer", "accept"])), published);
    let output = review(&["answer", "accept"]);
    assert_eq!(
        (output.status.code(), complaint(&output)),
        (Some(1), "error: thread article has no open question\n".into())
    );
    let output = review(&["approve"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).starts_with("usage: review"), "{}", complaint(&output));
    assert!(
        printed(&review(&[])).contains("draft 1"),
        "an article that is published makes room for the next"
    );
}

#[test]
fn the_error_of_a_node_is_a_text() {
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new(example("reducers"));
    let output = command.current_dir(folder.path()).env("TMPDIR", folder.path()).arg("missing.txt").output();
    let output = output.expect("the example runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).starts_with("error: node \""), "{}", complaint(&output));
}

/// The program halts at a mark, and continues after the signal, so the signal is always in time.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_thread_that_the_printed_command_resumes() {
    use std::io::{BufRead, BufReader, Read};

    let whole = Bench::new().json(&[QUESTION, "--thread", "it's one"]);
    for mark in ["node-start:1", "node-start:2", "node-end:4"] {
        let bench = Bench::new();
        let mut child = bench
            .command(&[QUESTION, "--thread", "it's one", "--json", "--halt-at", mark])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.starts_with("halted at") {
            line.clear();
            assert_ne!(said.read_line(&mut line).expect("text"), 0, "{mark} is reached");
        }
        let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.expect("kill runs").success());
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("text");
        let output = child.wait_with_output().expect("the example ends");
        assert_eq!((output.status.code(), printed(&output)), (Some(130), String::new()), "{mark}: {rest}");
        assert!(rest.contains("of thread it's one; nothing that was finished is lost\n"), "{rest}");

        // Runs the command as a shell would, with the built program instead of cargo.
        let command = rest.lines().find_map(|line| line.strip_prefix("continue: ")).expect("a command");
        let arguments = command.strip_prefix("cargo run --bin agent_loop -- ").expect(command);
        let resumed = Command::new("sh")
            .current_dir(bench.0.path())
            .args(["-c", &format!("\"$0\" {arguments}")])
            .arg(example("agent_loop"))
            .output()
            .expect("the shell runs");
        assert!(resumed.status.success(), "{}", complaint(&resumed));
        let mut resumed: Value = serde_json::from_slice(&resumed.stdout).expect("one JSON object");
        resumed["checkpoint_id"].clone_from(&whole["checkpoint_id"]);
        assert_eq!(resumed, whole, "{mark}");
    }
}
