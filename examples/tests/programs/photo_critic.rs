//! The example `photo_critic`, as its users run it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;

use serde_json::{Value, json};
use superstep::nodes::testkit::{Endpoint, MockServer, Reply};
use superstep_examples::critic::{COMPOSITION_TOOL, CRITIC_INSTRUCTIONS, CRITIC_PROMPT, Critique};
use tempfile::TempDir;

use crate::{documents, example};

/// The variables that the example would read from the environment of the tests, which removes them.
const VARIABLES: [&str; 12] = [
    "SUPERSTEP_MODEL",
    "OPENAI_MODEL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "VISION_DETAIL",
    "VISION_MAX_SIZE",
    "RAG_TOP_K",
    "RAG_COLLECTION",
    "KNOWLEDGE_DB_PATH",
    "CHROMA_DB_PATH",
    "EMBEDDING_MODEL",
    "ON_TOOL_ERROR",
];

/// The program, in a folder that also contains its data.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(example("photo_critic"));
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        let home = self.0.path();
        command.current_dir(home).env("HOME", home).env("XDG_DATA_HOME", home.join("data"));
        command.env("NO_PROXY", "127.0.0.1").args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the example runs")
    }

    /// Runs it and expects success.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs it and expects a failure with a one-line error.
    fn fails(&self, arguments: &[&str]) -> String {
        self.fails_as(&mut self.command(arguments))
    }

    fn fails_as(&self, command: &mut Command) -> String {
        let output = command.output().expect("the example runs");
        assert!(!output.status.success());
        assert_eq!(text(&output.stdout), "");
        text(&output.stderr)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let file = self.0.path().join(name);
        std::fs::write(&file, content).expect("a new file");
        file
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn s3_008_and_052_the_example_is_offline_and_says_what_it_used() {
    let desk = Desk::new();
    let output = desk.run(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (said, steps) = (text(&output.stdout), text(&output.stderr));
    assert!(said.starts_with("What works: the path is the strength of this photograph."), "{said}");
    assert_eq!(steps.lines().count(), 2, "{steps}");
    assert!(steps.starts_with("▶ composition_rag_tool {\"query\":\"a winding path"), "{steps}");

    let usage =
        said.lines().find_map(|line| line.strip_prefix("2 model calls of scripted: ")).expect("the usage");
    let numbers: Vec<u64> = usage.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [read, written, all] = numbers[..] else { panic!("{usage}") };
    assert_eq!(read + written, all);
    // With the photograph, the search results, and everything that is sent twice.
    assert!((500..=3_000).contains(&read), "{usage}");
    assert!(said.contains("\nthe last of them: "), "{said}");
    let micro = read * 2 + written * 8;
    assert!(said.ends_with(&format!("cost: ${:.4}, had gpt-4.1 said it\n", micro as f64 / 1e6)), "{said}");

    let critique: Critique = serde_json::from_str(&desk.says(&["--json"])).expect("JSON");
    assert_eq!(critique.token_usage.total_tokens, all);
    assert_eq!(critique.ledger.total().calls, 2);
}

#[test]
fn s3_009_a_key_that_is_missing_is_an_error_before_any_work() {
    let desk = Desk::new();
    let knowledge = ["--knowledge", "advice.db"];
    let error = desk.fails(&[&["nowhere.jpg", "--model", "openai:gpt-4.1"][..], &knowledge].concat());
    assert_eq!(error, "error: there is no API key: set OPENAI_API_KEY\n");
    let named = desk.fails_as(desk.command(&knowledge).env("OPENAI_MODEL", "gpt-4.1"));
    assert_eq!(named, error);
    let ingesting =
        [&["ingest", ".", "--embedder", "openai:text-embedding-3-small"][..], &knowledge].concat();
    assert_eq!(desk.fails(&ingesting), error);
    assert!(!desk.0.path().join("advice.db").exists());
}

#[test]
fn what_cannot_be_used_is_named_and_nothing_is_asked() {
    let desk = Desk::new();
    let gone = desk.fails(&["gone.jpg"]);
    assert!(gone.starts_with("error: ") && gone.ends_with("there is no image `gone.jpg`\n"), "{gone}");
    desk.write("notes.jpg", "Leading lines draw the eye.");
    let none = desk.fails(&["notes.jpg"]);
    assert!(
        none.ends_with("the image `notes.jpg` cannot be used: it is not a JPEG, PNG, GIF or WebP image\n"),
        "{none}"
    );

    let knowledge = desk.fails(&["--knowledge", "nowhere.db"]);
    let expected = "error: there is no collection `landscape_photography_transcripts` in `nowhere.db`; ingest documents \
                    into it first\n";
    assert_eq!(knowledge, expected);
    assert!(!desk.0.path().join("nowhere.db").exists());

    let detail = desk.fails(&["--detail", "medium"]);
    assert!(detail.contains("invalid value 'medium' for '--detail <LEVEL>'"), "{detail}");
    assert!(detail.contains("say low or high"), "{detail}");
    let size = desk.fails(&["--max-size", "0"]);
    assert_eq!(size, "error: max_size is `0`; say a whole number from 1 to 20000\n");
    let variable = desk.fails_as(desk.command(&[]).env("VISION_DETAIL", "medium"));
    assert_eq!(variable, "error: VISION_DETAIL is `medium`; say low or high\n");
    let folder = desk.fails(&["ingest", "nowhere", "--knowledge", "new.db"]);
    assert!(folder.starts_with("error: ") && folder.contains("nowhere"), "{folder}");
}

#[test]
fn texts_of_a_folder_are_ingested_and_found_and_no_bar_is_drawn_where_no_terminal_is() {
    let (desk, texts) = (Desk::new(), documents());
    let texts = texts.path().join("docs");
    let ingest = ["ingest", texts.to_str().expect("a path of ASCII"), "--knowledge", "new/folder/advice.db"];
    let output = desk.run(&ingest);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = "2 documents added, 0 replaced, 0 as they were: 2 new chunks in new/folder/advice.db\n";
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (expected, ""));
    let again = "0 documents added, 0 replaced, 2 as they were: 0 new chunks in new/folder/advice.db\n";
    assert_eq!(desk.says(&ingest), again);

    let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
    provider.reply(Reply::text("").tool_call(
        "c1",
        COMPOSITION_TOOL,
        json!({ "query": "what a fork copies" }),
    ));
    provider.reply(Reply::text("It copies nothing."));
    let model = format!("openai-compatible:test@{}", provider.openai_url());
    let said = desk.says(&["--model", &model, "--knowledge", "new/folder/advice.db"]);
    assert!(said.starts_with("It copies nothing.\n"), "{said}");
    assert!(said.ends_with("cost: not known, as there is no price of test\n"), "{said}");
    let found = provider.received()[1].json()["messages"][2]["content"].clone();
    assert!(found.as_str().expect("a text").starts_with("[1] forks.md:1-3 (Forks)"), "{found}");
}

#[test]
fn texts_that_are_ingested_without_a_file_are_searched_and_kept_beside_those_of_the_example() {
    let (desk, texts) = (Desk::new(), documents());
    let looks_up = || {
        let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
        let search = json!({ "query": "what a fork copies" });
        provider.reply(Reply::text("").tool_call("c1", COMPOSITION_TOOL, search));
        provider.reply(Reply::text("Well balanced."));
        desk.says(&["--model", &format!("openai-compatible:test@{}", provider.openai_url())]);
        provider.received()[1].json()["messages"][2]["content"].as_str().expect("a text").to_owned()
    };
    let own = looks_up();
    assert!(!own.contains("forks.md") && own.starts_with("[1] "), "{own}");

    let texts = texts.path().join("docs");
    let ingest = ["ingest", texts.to_str().expect("a path of ASCII")];
    assert!(
        desk.says(&ingest).starts_with("2 documents added, 0 replaced, 0 as they were: 2 new chunks in ")
    );
    for _ in 0..2 {
        let found = looks_up();
        assert!(found.starts_with("[1] forks.md:1-3 (Forks)") && !found.contains("thirds"), "{found}");
    }
    assert!(
        desk.says(&ingest).starts_with("0 documents added, 0 replaced, 2 as they were: 0 new chunks in ")
    );
}

#[test]
fn another_embedder_can_be_tried_on_the_texts_of_the_example_and_none_is_asked_without_a_model() {
    let desk = Desk::new();
    desk.says(&[]);
    let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
    let embedder = format!("openai-compatible:small@{}", provider.openai_url());
    let error = desk.fails(&["--model", "openai:gpt-4.1", "--embedder", &embedder]);
    assert_eq!(error, "error: there is no API key: set OPENAI_API_KEY\n");
    assert_eq!(provider.received().len(), 0);

    desk.says(&["--embedder", &embedder]);
    assert!(provider.received().iter().all(|request| request.endpoint() == Some(Endpoint::Embeddings)));
    assert!(!provider.received().is_empty());
    desk.says(&[]);
}

#[test]
fn that_a_critique_can_continue_is_said_only_if_one_was_begun() {
    let desk = Desk::new();
    let gone = desk.fails(&["gone.jpg", "--db", "steps.db"]);
    assert!(gone.ends_with("there is no image `gone.jpg`\n") && !gone.contains("--resume"), "{gone}");
    let none = desk.fails(&["--resume", "--db", "none.db"]);
    assert_eq!(none, "error: there is no file `none.db` with a critique to go on with\n");
    assert!(!desk.0.path().join("none.db").exists());

    let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
    let model = format!("openai-compatible:test@{}", provider.openai_url());
    let fails = desk.fails(&["--model", &model, "--db", "begun.db"]);
    assert!(fails.contains("what was done is kept; to go on: --resume --db begun.db\n"), "{fails}");
    provider.reply(Reply::text("Well balanced."));
    let said = desk.says(&["--model", &model, "--db", "begun.db", "--resume"]);
    assert!(said.starts_with("Well balanced.\n"), "{said}");
}

#[test]
fn a_model_behind_a_network_sees_the_photograph_as_it_is_asked_for() {
    let desk = Desk::new();
    let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
    provider.reply(Reply::text("Well balanced."));
    let model = format!("openai-compatible:gpt-4.1@{}", provider.openai_url());
    let prices = desk.write("prices.json", r#"{ "gpt-4.1": { "input": 1000000.0, "output": 0.0 } }"#);
    let prices = prices.to_str().expect("a path of ASCII");
    let ask = ["--model", &model, "--detail", "high", "--prices", prices, "--prompt", "Is it balanced?"];
    let said = desk.says(&[&ask[..], &["--max-size", "320"]].concat());
    assert!(said.starts_with("Well balanced.\n"), "{said}");

    let request: Value = provider.received()[0].json().clone();
    let [asked] = &request["messages"].as_array().expect("messages")[..] else { panic!("{request}") };
    assert_eq!(asked["content"][0]["text"], format!("{CRITIC_INSTRUCTIONS}\n\nIs it balanced?"));
    let image = &asked["content"][1]["image_url"];
    assert_eq!(image["detail"], "high");
    assert!(image["url"].as_str().expect("a URL").starts_with("data:image/jpeg;base64,/9j/"), "{image}");
    // The original picture has four times the pixels.
    assert!(image["url"].as_str().expect("a URL").len() < 20_000, "{image}");
    assert!(provider.errors().is_empty());
    // A dollar per token, so the cost is the number of input tokens.
    let usage =
        said.lines().find_map(|line| line.strip_prefix("1 model call of gpt-4.1: ")).expect("the usage");
    let read = usage.split(' ').next().expect("a number");
    assert!(said.ends_with(&format!("cost: ${read}.0000\n")), "{said}");
}

#[test]
fn a_critique_that_was_killed_between_turns_continues_and_pays_for_no_reply_twice() {
    let desk = Desk::new();
    let (arrived, arrives) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
    provider.answer_with(move |request| {
        let last = request.json()["messages"].as_array().and_then(|messages| messages.last());
        if last.is_none_or(|last| last["role"] != "tool") {
            return Reply::text("").tool_call("c1", COMPOSITION_TOOL, json!({ "query": "light" }));
        }
        arrived.send(()).expect("the test waits");
        waits.lock().expect("no holder of the lock panics").recv().expect("the test lets it go on");
        Reply::text("Well balanced.")
    });
    let model = format!("openai-compatible:test@{}", provider.openai_url());
    let arguments = ["--model", &model, "--db", "steps.db"];
    let mut program = desk.command(&arguments);
    let mut program = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the example runs");
    arrives.recv().expect("the second request arrives");
    program.kill().expect("it runs");
    program.wait().expect("it is dead");
    for _ in 0..2 {
        go_on.send(()).expect("the provider waits");
    }
    let said = desk.says(&[&arguments[..], &["--resume"]].concat());
    assert!(said.starts_with("Well balanced.\n"), "{said}");
    assert!(said.contains("2 model calls of test: "), "{said}");

    let received = provider.received();
    let [first, second, again] = &received[..] else { panic!("{} requests", received.len()) };
    assert_eq!(second.json(), again.json());
    assert_eq!(first.json()["messages"][0], again.json()["messages"][0]);
    let text = &first.json()["messages"][0]["content"][0]["text"];
    assert_eq!(*text, format!("{CRITIC_INSTRUCTIONS}\n\n{CRITIC_PROMPT}"));
}
