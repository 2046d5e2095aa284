//! The example `agent_loop` with a model over the network: a strict mock server on loopback replaces the provider.

use std::process::{Command, Output};

use serde_json::json;
use superstep::nodes::testkit::{MockServer, MockServerBuilder, Reply};
use superstep::nodes::{ModelName, OpenModelError};
use superstep_examples::{Example, model};
use tempfile::TempDir;

use crate::{documents, example};

const QUESTION: &str = "How many bytes does a fork copy?";
const ANSWER: &str = "None: a fork copies no bytes (forks.md:3).";
const KEY: &str = "sk-ant-of-this-test";

/// The program in a folder of its own, and its provider.
struct Desk {
    folder: TempDir,
    provider: MockServer,
}

impl Desk {
    fn new() -> Self {
        Self::at(MockServer::builder().key(KEY))
    }

    fn at(provider: MockServerBuilder) -> Self {
        Self { folder: documents(), provider: provider.start_in_thread().expect("loopback") }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let url = self.provider.url();
        self.run_on(
            "anthropic:claude-test-1",
            &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &url)],
            arguments,
        )
    }

    /// Runs the program on a model, with these variables.
    fn run_on(&self, model: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        Command::new(example("agent_loop"))
            .current_dir(self.folder.path())
            .args(["--docs", "docs", "--db", "agent.db", "--model", model])
            .args(arguments)
            .envs(variables.iter().copied())
            .env("NO_PROXY", "127.0.0.1")
            .output()
            .expect("the example runs")
    }

    /// A whole turn: a search, an answer, and the replies of the judges.
    fn answers(&self) {
        let evaluation = json!({ "iteration": 2, "score": 0.9, "complete": true, "feedback": "Good." });
        let ranking = json!({ "iteration": 2, "order": [2], "best": 2, "reason": "The only one." });
        let search =
            Reply::text("Let me look.").tool_call("toolu_1", "search_docs", json!({ "query": "fork bytes" }));
        for reply in [
            search,
            Reply::text(ANSWER),
            Reply::text(evaluation.to_string()),
            Reply::text(ranking.to_string()),
        ] {
            self.provider.reply(reply);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn a_model_behind_a_network_answers_and_is_heard_as_it_speaks() {
    let desk = Desk::new();
    desk.answers();
    let output = desk.run(&[QUESTION, "--thread", "t", "--stream"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), format!("\nLet me look.\n\n{ANSWER}\n"));
    assert!(text(&output.stdout).starts_with(ANSWER), "{}", text(&output.stdout));

    let errors = desk.provider.errors();
    assert!(errors.is_empty(), "{errors:?}");
    let asked = desk.provider.received();
    assert_eq!(asked.len(), 4);
    let result = &asked[1].json()["messages"][2]["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("toolu_1")));
    assert!(
        result["content"][0]["text"].as_str().expect("a text").contains("A fork copies no bytes"),
        "{result}"
    );
}

#[test]
fn every_provider_is_reached_by_a_name_and_the_variables_of_its_environment() {
    let desk = Desk::new();
    let openai = desk.provider.openai_url();
    let compatible = format!("openai-compatible:open-test-1@{openai}");
    desk.answers();
    let key = ("OPENAI_API_KEY", KEY);
    assert_answers(&desk, "openai:gpt-test-1", &[key, ("OPENAI_BASE_URL", &openai)]);
    desk.answers();
    assert_answers(&desk, &compatible, &[("OPENAI_COMPATIBLE_API_KEY", KEY)]);

    // Ollama has no keys.
    let desk = Desk::at(MockServer::builder().any_key());
    desk.answers();
    assert_answers(&desk, "ollama:llama-test", &[("OLLAMA_HOST", &desk.provider.url())]);
}

#[track_caller]
fn assert_answers(desk: &Desk, model: &str, variables: &[(&str, &str)]) {
    let output = desk.run_on(model, variables, &[QUESTION, "--thread", model]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with(ANSWER), "{}", text(&output.stdout));
    let errors = desk.provider.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_turn_that_fails_is_resumed_where_it_was_and_pays_for_nothing_twice() {
    let desk = Desk::new();
    let search = Reply::new().tool_call("toolu_1", "search_docs", json!({ "query": "fork bytes" }));
    desk.provider.reply(search).reply(Reply::error(
        400,
        "invalid_request_error",
        "Your credit balance is too low",
    ));
    let output = desk.run(&[QUESTION, "--thread", "t"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("Your credit balance is too low"), "{complaint}");
    assert!(!complaint.contains(KEY), "{complaint}");

    let evaluation = json!({ "iteration": 2, "score": 0.9, "complete": true, "feedback": "Good." });
    let ranking = json!({ "iteration": 2, "order": [2], "best": 2, "reason": "The only one." });
    for said in [ANSWER.to_owned(), evaluation.to_string(), ranking.to_string()] {
        desk.provider.reply(Reply::text(said));
    }
    let output = desk.run(&["--resume", "--thread", "t"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with(ANSWER), "{}", text(&output.stdout));
    assert_eq!(desk.provider.replies_left(), 0, "the search was not asked for again");
}

#[test]
fn the_file_of_checkpoints_has_no_key() {
    let desk = Desk::new();
    desk.answers();
    assert!(desk.run(&[QUESTION, "--thread", "t"]).status.success());
    let files = std::fs::read_dir(desk.folder.path()).expect("a folder");
    let files = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
    let mut read = 0;
    for file in files {
        let bytes = std::fs::read(&file).expect("a file");
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", file.display());
        read += 1;
    }
    assert!(read > 0);
}

#[test]
fn what_is_missing_or_wrong_is_said() {
    let desk = Desk::new();
    let run = |model: &str, key: Option<&str>| {
        let mut command = Command::new(example("agent_loop"));
        command.current_dir(desk.folder.path()).args(["--docs", "docs", "--db", "agent.db", QUESTION]);
        command.env_remove("ANTHROPIC_API_KEY").env("SUPERSTEP_MODEL", model);
        command.envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
        let output =
            command.env("ANTHROPIC_BASE_URL", desk.provider.url()).output().expect("the example runs");
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert_eq!(run("anthropic:claude-test-1", None), "error: there is no API key: set ANTHROPIC_API_KEY\n");
    let unknown = run("claude", None);
    assert!(unknown.starts_with("error: unknown model `claude`; the models are extractive, "), "{unknown}");
    let refused = run("anthropic:claude-test-1", Some("sk-wrong"));
    assert!(refused.contains("refused the credentials") && !refused.contains("sk-wrong"), "{refused}");
}

#[test]
fn an_example_without_clients_says_the_command_that_has_them() {
    let error = || OpenModelError::NotBuilt { name: ModelName::Ollama("llama-test".into()) };
    let said = |name, features| {
        model::with_command::<Box<dyn std::error::Error>>(error(), Example { name, features }).to_string()
    };
    assert_eq!(
        said("agent_loop", &[]),
        "`ollama:llama-test` is behind a network; run: cargo run --features providers --bin agent_loop -- \
         --model ollama:llama-test .."
    );
    assert!(said("tutor", &["web"]).contains("cargo run --features web,providers --bin tutor -- "));
}
