use super::citation::{CitedSource, named};
use super::*;
use crate::prompt::Evidence;
use crate::verification::Submission;

fn submission(response: &str) -> Submission {
    let output =
        "[1] forks.md:3-9 (Forks)\nA fork copies nothing, as forks.md says.\n\n[2] https://example.org/a?b=1 says more".into();
    let sources = vec![Evidence { tool: "search_docs".into(), output }];
    Submission { request: "?".into(), response: response.into(), sources, ..Submission::default() }
}

async fn feedback(rule: &impl Rule, response: &str) -> Option<String> {
    match rule.check(&submission(response)).await {
        Ok(()) => None,
        Err(Breach::Broken { feedback }) => Some(feedback),
        Err(Breach::Unable { reason }) => panic!("{reason}"),
    }
}

#[tokio::test]
async fn the_sources_of_a_response_are_among_those_that_the_tools_returned() {
    let rule = CitationRule::new();
    let with = |source: &str| format!("> A fork copies nothing.\n\nSources:\n- {source}\n");
    for real in [
        "forks.md:3 (Forks)",
        "forks.md:4-9",
        "`forks.md`",
        "https://example.org/a?b=1",
        "[Forks](forks.md:3)",
    ] {
        assert_eq!(feedback(&rule, &with(real)).await, None, "{real}");
    }
    for made_up in
        ["knives.md:3", "forks.md:2-4", "forks.md:10", "orks.md", "forks.mdx", "https://example.org/a?b=2"]
    {
        let said = feedback(&rule, &with(made_up)).await.unwrap_or_else(|| panic!("{made_up}"));
        assert!(said.contains(made_up), "{said}");
    }
    let both = feedback(&rule, "Sources:\n- forks.md:3\n- a.md:1\n- b.md:1").await.unwrap();
    assert!(both.contains("as its source: a.md:1, b.md:1. Name only"), "{both}");
}

#[tokio::test]
async fn a_response_without_sources_is_refused_unless_it_need_not_have_any() {
    for none in ["A fork copies nothing.", "Sources:", "Sources:\nforks.md says so.", "Sources:\n- **"] {
        assert!(
            feedback(&CitationRule::new(), none).await.unwrap().starts_with("The response names no source.")
        );
        assert_eq!(feedback(&CitationRule::new().or_none(), none).await, None);
    }
    assert!(feedback(&CitationRule::new().or_none(), "Sources:\n- knives.md").await.is_some());
}

#[test]
fn sources_are_read_in_the_forms_in_which_models_write_them() {
    let read = |text: &str| named(text).iter().map(CitedSource::to_string).collect::<Vec<_>>();
    for heading in ["Sources:", "## Sources", "**Sources:**", "sources", "References:"] {
        assert_eq!(
            read(&format!("x\n{heading}\n\n- a.md:1\n* b.md:2-3 (B)\n")),
            ["a.md:1", "b.md:2-3"],
            "{heading}"
        );
    }
    assert_eq!(read("Sources:\n1. a.md\n[2] b.md:7\n3) c.md"), ["a.md", "b.md:7", "c.md"]);
    assert_eq!(read("Sources:\n- a.md\n\nSources:\n- b.md\nand more\n- c.md"), ["b.md"]);
    assert_eq!(read("The sources are many.\n- a.md"), [""; 0]);
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn json_has_to_fit_its_schema() {
    let schema = serde_json::json!({
        "type": "object", "properties": { "answer": { "type": "integer" } }, "required": ["answer"],
    });
    let rule = SchemaRule::new(&schema).unwrap();
    assert_eq!(feedback(&rule, r#"{ "answer": 42 }"#).await, None);
    assert_eq!(feedback(&rule, "```json\n{ \"answer\": 42 }\n```").await, None);
    let wrong = feedback(&rule, r#"{ "answer": "42" }"#).await.unwrap();
    assert!(wrong.ends_with(r#"at /answer: "42" is not of type "integer"."#), "{wrong}");
    let prose = feedback(&rule, "It is 42.").await.unwrap();
    assert!(
        prose.starts_with("The response has to be one JSON value and nothing else: expected value"),
        "{prose}"
    );
    assert_eq!(
        feedback(&SchemaRule::new(&serde_json::json!({ "type": "integer" })).unwrap(), "42").await,
        None
    );
    let none = SchemaRule::new(&serde_json::json!({ "type": "objekt" })).unwrap_err().to_string();
    assert!(none.starts_with("the rule is not valid: at /type: "), "{none}");
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn an_expression_is_to_be_found_or_not() {
    let found = RegexRule::must_match(r"^\d+$").unwrap();
    assert_eq!(feedback(&found, "42").await, None);
    assert!(feedback(&found, "about 42").await.unwrap().contains(r"`^\d+$`"));
    let absent = RegexRule::must_not_match("(?i)as an ai").unwrap().feedback("Do not speak of yourself.");
    assert_eq!(feedback(&absent, "It is 42.").await, None);
    assert_eq!(
        feedback(&absent, "As an AI I …").await.unwrap(),
        "Do not speak of yourself. It is: \"As an AI\""
    );
    let none = RegexRule::must_match("(").unwrap_err();
    assert_eq!(none.to_string(), "the rule is not valid: unclosed group");
    assert!(RegexRule::must_match(r"(\w{1000}){1000}").is_err());
}

#[cfg(all(unix, feature = "command-rule"))]
mod command {
    use std::time::Duration;

    use super::*;

    /// Nothing takes as long as this, on a busy machine either.
    const HANGS: Duration = Duration::from_secs(300);

    fn shell(script: &str) -> CommandRule {
        CommandRule::new("sh").args(["-c", script]).named("check").time_limit(HANGS)
    }

    #[tokio::test]
    async fn a_program_reads_the_response_and_says_what_is_wrong_with_it() {
        let rule = shell("grep -q forty-two || { echo 'Say forty-two.'; echo 'In words.' >&2; exit 3; }");
        assert_eq!(feedback(&rule, "It is forty-two.").await, None);
        let said = feedback(&rule, "It is 42.").await.unwrap();
        assert_eq!(said, "`check` refuses the response: Say forty-two.\nIn words.");
        let silent = feedback(&shell("exit 7"), "x").await.unwrap();
        assert!(silent.starts_with("`check` refuses the response: exit status: 7"), "{silent}");
    }

    #[tokio::test]
    async fn a_response_is_given_to_the_program_whole_and_as_data() {
        let hostile = "$(touch /nowhere); `false` \"; exit 0\n".repeat(20_000);
        let length = hostile.len();
        assert_eq!(feedback(&shell(&format!("test $(wc -c) -eq {length}")), &hostile).await, None);
        // Whoever does not read it may accept it all the same.
        assert_eq!(feedback(&shell("exit 0"), &hostile).await, None);
    }

    #[tokio::test]
    async fn a_program_that_prints_without_end_is_heard_at_the_beginning_only() {
        let said = feedback(&shell("head -c 1000000 /dev/zero | tr '\\0' x; exit 1"), "x").await.unwrap();
        assert!((4_000..4_100).contains(&said.len()), "{}", said.len());
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_killed_with_all_that_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        // On a busy machine it gets more time, until it has had enough to begin.
        for limit in [1, 10, 100, 1_000].map(Duration::from_secs) {
            // A pipe ends when the last one is gone that may write into it.
            let pipe = folder.path().join(format!("{limit:?}"));
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let [to, mark] = [&pipe, &ready].map(|path| path.display());
            let script = format!("(exec >{to}; echo here; : > {mark}; sleep 10000) & sleep 10000");
            let (end, ends) = std::sync::mpsc::channel();
            let read = pipe.clone();
            std::thread::spawn(move || end.send(std::fs::read_to_string(read)));
            let said = feedback(&shell(&script).time_limit(limit), "x").await.unwrap();
            assert_eq!(said, format!("`check` did not come to an end with the response within {limit:?}."));
            if ready.exists() {
                assert_eq!(ends.recv_timeout(HANGS).unwrap().unwrap(), "here\n");
                return;
            }
            // The reader waits until the other end is opened.
            std::fs::File::options().write(true).open(&pipe).unwrap();
        }
        panic!("the program does not begin");
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_says_nothing_of_the_response() {
        let missing = CommandRule::new("no-such-program").check(&submission("x")).await.unwrap_err();
        assert!(
            matches!(&missing, Breach::Unable { reason } if reason.starts_with("no-such-program: ")),
            "{missing}"
        );
        let verifier = crate::verification::OutputVerifier::new().rule(CommandRule::new("no-such-program"));
        let error = verifier.check_rules(&submission("x")).await.unwrap_err().to_string();
        assert!(
            error.starts_with("the rule `no-such-program` cannot be checked: no-such-program: "),
            "{error}"
        );
    }
}
