//! The example `agentic` as a program: its output, its arguments, and a second process that continues.

use std::process::{Command, Output};

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

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a new file");
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        Command::new(example("agentic"))
            .current_dir(self.0.path())
            .args(["--docs", "docs", "--db", "agentic.db"])
            .args(arguments)
            .envs(variables.iter().copied())
            .output()
            .expect("the example runs")
    }

    /// Runs to the end without an error.
    fn json(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat(), variables);
        assert!(output.status.success(), "{}", complaint(&output));
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }
}

fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn s0_146_a_question_is_answered_verified_and_traced_offline() {
    let output = Bench::new().run(&[QUESTION, "--thread", "t", "--trace"], &[]);
    assert_eq!((output.status.code(), complaint(&output).as_str()), (Some(0), ""));
    let said = printed(&output);
    assert!(said.starts_with("The documents say:\n\n> A fork copies no bytes"), "{said}");
    assert!(said.contains("\ntrace: compact,router,use_tools,respond,verify\nverified: "), "{said}");
    assert!(said.contains("\nturn 1 of thread t, 4 messages, "), "{said}");
}

#[test]
fn s0_098_a_second_process_continues_with_the_conversation_and_compacts_it() {
    let bench = Bench::new();
    for turn in 1..=3 {
        assert_eq!(bench.json(&[QUESTION, "--thread", "days"], &[])["turn"], turn);
    }
    let small =
        [("COMPACTION_THRESHOLD", "250"), ("TARGET_AFTER_COMPACTION", "200"), ("RECENT_MESSAGE_COUNT", "2")];
    let next = bench.json(&["What does a checkpoint hold?", "--thread", "days"], &small);
    assert_eq!((&next["turn"], &next["messages"]), (&4.into(), &16.into()), "nothing is lost");
    let compacted = &next["compacted"];
    assert!(compacted["summarised"].as_u64().expect("a number") >= 10, "{compacted}");
    assert!(next["response"].as_str().expect("a text").contains("what changed in its superstep"), "{next}");
    let again = bench.json(&["--resume", "--thread", "days"], &[]);
    assert_eq!((&again["response"], &again["turn"]), (&next["response"], &4.into()));
}

/// A script with these replies of the model and of the judge.
fn script(said: &str, judged: &[Value]) -> String {
    let routed = json!({ "json": { "action": "respond", "confidence": 1, "reasoning": "So." } });
    let said = vec![json!({ "say": said }); judged.len()];
    json!({ "turns": said, "purposes": { "router": [routed], "refiner": said, "verifier": judged } })
        .to_string()
}

/// The reply of a judge that gives each criterion this score.
fn judgement(score: f64, feedback: &str) -> Value {
    let findings = ["accuracy", "completeness", "clarity", "relevance", "safety", "sources"]
        .map(|name| json!({ "criterion": name, "finding": "So.", "score": score }));
    json!({ "json": { "findings": findings, "critical_issues": [], "suggestions": [], "feedback": feedback } })
}

#[test]
fn a_response_that_is_not_accepted_is_said_to_be() {
    let bench = Bench::new();
    bench.write("script.json", &script("Five.", &[judgement(0.1, "It is none."), judgement(0.1, "No.")]));
    let variables = [("MAX_REFINEMENT_ATTEMPTS", "0")];
    let output = bench.run(&[QUESTION, "--model", "script:script.json"], &variables);
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    let said = printed(&output);
    assert!(said.contains("\nnot verified: none of 1 responses was accepted. It is none."), "{said}");
    let output = bench.run(&[QUESTION, "--model", "script:script.json", "--json"], &variables);
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    let said: Value = serde_json::from_str(&printed(&output)).expect("an object");
    assert_eq!(said["verified"], false, "{said}");
}

/// "The documents do not answer this question." used to be followed by "verified: 1.00 of 1".
#[test]
fn a_response_that_has_no_answer_is_not_said_to_be_verified() {
    let bench = Bench::new();
    let question = "Who invented the steam engine?";
    let output = bench.run(&[question], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    let said = printed(&output);
    assert!(said.starts_with("The documents do not answer this question."), "{said}");
    assert!(
        said.contains("\nno answer, so there is nothing to verify\n") && !said.contains("verified: "),
        "{said}"
    );
    let json = bench.json(&[question], &[]);
    assert_eq!(
        (&json["answered"], &json["verified"], &json["score"]),
        (&false.into(), &Value::Null, &Value::Null)
    );
}

/// It used to be reported as refused, `"verified": false`, although no judge had refused it.
#[test]
fn a_response_that_could_not_be_judged_is_not_reported_as_refused() {
    let bench = Bench::new();
    bench.write(
        "script.json",
        &script("Five.", &[json!({ "say": "no judgement" }), json!({ "say": "none" })]),
    );
    let output = bench.run(&[QUESTION, "--model", "script:script.json"], &[]);
    assert_eq!(output.status.code(), Some(3), "it was not accepted: {}", complaint(&output));
    let said = printed(&output);
    let line = said.lines().find(|line| line.starts_with("not judged: ")).expect("a line that says so");
    assert!(!line.ends_with([' ', '.']), "{line:?}");
    let output = bench.run(&[QUESTION, "--model", "script:script.json", "--json"], &[]);
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    let json: Value = serde_json::from_str(&printed(&output)).expect("an object");
    assert_eq!((&json["verified"], &json["score"]), (&Value::Null, &Value::Null), "{json}");
    assert_eq!(format!("not judged: {}", json["reason"].as_str().expect("a reason")), line);

    let output = bench.run(&[QUESTION, "--model", "script:script.json"], &[("ENABLE_VERIFICATION", "false")]);
    assert_eq!(output.status.code(), Some(0), "it needs no judge: {}", complaint(&output));
    assert!(printed(&output).contains("\nnot checked\n"), "{}", printed(&output));
}

/// On a terminal the answer used to appear twice: while it streamed, and again below.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_stands_on_the_terminal_is_not_printed_again() {
    let bench = Bench::new();
    bench.write("script.json", &script("It copies nothing at all.", &[judgement(1.0, "")]));
    let program = example("agentic");
    let arguments = "--docs docs --db agentic.db --model script:script.json";
    let on_terminal = |more: &str| {
        let command = format!("'{}' {arguments} {more}", program.display());
        let output = Command::new("script")
            .current_dir(bench.0.path())
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .output()
            .expect("`script` of util-linux gives a terminal");
        assert!(output.status.success(), "{} {}", printed(&output), complaint(&output));
        printed(&output)
    };
    let times = |said: &str| said.matches("It copies nothing at all.").count();
    let said = on_terminal("'How many bytes?'");
    assert_eq!(times(&said), 1, "{said}");
    assert!(said.contains("verified: 1.00 of 1"), "{said}");
    let piped = on_terminal("'How many bytes?' | cat");
    assert_eq!(times(&piped), 2, "what is read by a program has the answer: {piped}");
    let as_json = on_terminal("'How many bytes?' --json");
    assert!(as_json.contains("\"response\":\"It copies nothing at all.\""), "{as_json}");
}

#[test]
fn a_turn_that_failed_is_continued_by_the_command_that_is_printed() {
    let bench = Bench::new();
    let babble = [json!({ "say": "no judgement" }), json!({ "say": "none either" })];
    bench.write("script.json", &script("Five.", &babble));
    let variables = [("ON_JUDGE_ERROR", "fail"), ("SUPERSTEP_MODEL", "script:script.json")];
    let output = bench.run(&[QUESTION, "--thread", "it's"], &variables);
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    let command = "continue: ON_JUDGE_ERROR='fail' cargo run --features configuration-files,metrics --bin agentic -- --resume \
                   --thread 'it'\\''s' --db 'agentic.db' --docs 'docs' --model 'script:script.json'\n";
    assert!(complaint(&output).contains(command), "{}", complaint(&output));
    assert!(complaint(&output).contains("failed in thread it's; nothing that was finished is lost\n"));

    // Without the node at which the turn stopped, it cannot continue.
    let resume = ["--resume", "--thread", "it's", "--model", "script:script.json"];
    let output = bench.run(&resume, &[("ENABLE_VERIFICATION", "false")]);
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("the turn was begun with other settings: "), "{said}");
    assert!(said.contains(r#"next node "verify" does not exist"#), "{said}");

    bench.write("script.json", &script("Five.", &[judgement(1.0, "")]));
    let done = bench.json(&resume, &[]);
    assert_eq!((&done["response"], &done["verified"]), (&"Five.".into(), &true.into()));
    let trace = json!(["compact", "router", "respond", "verify"]);
    assert_eq!(done["trace"], trace, "the other process's nodes are in it");
}

#[test]
fn settings_come_from_a_file_from_dotenv_and_from_the_environment_and_are_printed_with_their_source() {
    let bench = Bench::new();
    bench.write(
        "agentic.toml",
        "compaction_threshold = 7000\nrecent_message_count = 3\nverification_mode = \"strict\"\n",
    );
    bench.write(".env", "RECENT_MESSAGE_COUNT=4\nMAX_TOOL_ROUNDS=6\nSOME_KEY=secret\n");
    let arguments = ["--print-config", "--config", "agentic.toml"];
    let output = bench.run(&arguments, &[("MAX_TOOL_ROUNDS", "7")]);
    assert!(output.status.success(), "{}", complaint(&output));
    let said = printed(&output);
    let line_of = |said: &str, name: &str| {
        let line = said.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    let line = |name| line_of(&said, name);
    assert_eq!(line("COMPACTION_THRESHOLD"), "7000 agentic.toml");
    assert_eq!(line("RECENT_MESSAGE_COUNT"), "4 .env");
    assert_eq!(line("MAX_TOOL_ROUNDS"), "7 the environment");
    assert_eq!(line("VERIFICATION_MODE"), "strict agentic.toml");
    assert_eq!(line("ENABLE_VERIFICATION"), "true the defaults");
    assert!(!said.contains("secret"), "{said}");
    assert!(!bench.0.path().join("agentic.db").exists(), "nothing was asked");

    let output = bench.run(&["--print-config", "--profile", "canary"], &[("VERIFICATION_MODE", "strict")]);
    let said = printed(&output);
    assert_eq!(line_of(&said, "ENABLE_VERIFICATION"), "false the profile canary");
    assert_eq!(line_of(&said, "VERIFICATION_MODE"), "strict the environment");

    for (variables, error) in [
        (
            ("VERIFICATION_MODE", "harsh"),
            "VERIFICATION_MODE is `harsh` in the environment; say strict, standard or lenient",
        ),
        (("TARGET_AFTER_COMPACTION", "7000"), "say fewer tokens than COMPACTION_THRESHOLD, which is 7000"),
    ] {
        let output = bench.run(&["Why?", "--config", "agentic.toml"], &[variables]);
        assert_eq!(output.status.code(), Some(1));
        assert!(complaint(&output).contains(error), "{}", complaint(&output));
    }
    bench.write("bad.toml", "compaction_treshold = 7000\n");
    let output = bench.run(&["Why?", "--config", "bad.toml"], &[]);
    let said = complaint(&output);
    assert!(
        said.contains("`compaction_treshold` in bad.toml is not a setting; the settings are enable_context"),
        "{said}"
    );
}

#[test]
fn wrong_arguments_are_said_to_be() {
    let bench = Bench::new();
    for (arguments, code, error) in [
        (&[][..], 2, "required"),
        (&["--resume"], 2, "--thread"),
        (&["--resume", "--thread", "none"], 1, "thread none has never run"),
        (&[" "], 2, "it is blank"),
        (&["Why?", "--profile", "half"], 2, "`half` is not a profile; use development, canary or full"),
        (&["Why?", "--config", "none.toml"], 1, "the settings in none.toml cannot be read"),
    ] {
        let output = bench.run(arguments, &[]);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", complaint(&output));
        assert!(complaint(&output).contains(error), "{arguments:?}: {}", complaint(&output));
    }
}
