//! Files of settings, and the trust in those of a project.

use std::fs;

use proptest::prelude::*;

use super::*;

const ALL: &str = r#"
[permissions]
allow = [
    "bash(cargo test*)",
    "read_file",
]
deny = ["bash(rm*)"]

[[permissions.if]]
rule = "bash(npm *)"
then = "deny"
reason = "this project uses pnpm"

[[hooks.before_call]]
rule = "edit_file"
command = "scripts/may-edit.sh --strict"

[[hooks.stop]]
name = "tests"
command = "cargo test"

[mcp.issues]
command = ["issues-server", "--stdio"]
environment = { LEVEL = "debug" }

[mcp.wiki]
url = "https://wiki.example.org/mcp"
"#;

fn project(text: &str) -> (tempfile::TempDir, TrustedFolders) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("project/.superstep")).unwrap();
    fs::write(folder.path().join("project").join(PROJECT_FILE), text).unwrap();
    let trusted = TrustedFolders::in_file(folder.path().join("user/trusted.json"));
    (folder, trusted)
}

fn checked(folder: &tempfile::TempDir, trusted: &TrustedFolders) -> Checked {
    let folder = folder.path().join("project");
    trusted.check(&folder, Settings::of_project(&folder).unwrap()).unwrap()
}

fn asked(checked: Checked) -> TrustQuestion {
    match checked {
        Checked::Asks(question) => question,
        Checked::Settled(settings) => panic!("no question: {settings:?}"),
    }
}

fn shell() -> Arc<dyn Tool> {
    Arc::new(superstep_tools::Bash::new(superstep_tools::Workspace::of_session()))
}

#[test]
fn a_rule_knows_its_file_and_line() {
    let settings = Settings::parse(ALL, "settings.toml", RuleSource::User).unwrap();
    let places: Vec<String> = settings.rules.iter().map(|(_, place, _)| place.to_string()).collect();
    let at =
        ["bash(cargo test*) (settings.toml:4)", "read_file (settings.toml:5)", "bash(rm*) (settings.toml:7)"];
    assert_eq!(places[..3], at);
    assert_eq!(places[3], "bash(npm *) (settings.toml:10)");
    assert_eq!((settings.servers().len(), settings.trust()), (2, Trust::Trusted));
    assert_eq!(format!("{:?}", settings.hooks(&shell())), r#"{"scripts/may-edit.sh --strict", "tests"}"#);
}

#[test]
fn an_error_names_the_file_and_the_line() {
    for (text, error) in [
        ("[permissions]\nalow = []\n", "s.toml:2: unknown field `alow`"),
        ("[permissions]\nallow = [\n\"ok\",\n\"bash(\"]\n", "s.toml:4: the rule `bash(` has no pattern"),
        ("[permissions]\nallow = [\n", "s.toml:"),
        ("\n\n[mcp.x]\nenvironment = {}\n", "s.toml:3: the server `x` needs either a `command` or a `url`"),
        (
            "[[permissions.if]]\nrule = \"bash\"\nthen = \"maybe\"\nreason = \"\"\n",
            "s.toml:3: unknown variant `maybe`",
        ),
    ] {
        let found = Settings::parse(text, "s.toml", RuleSource::User).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
}

#[test]
fn a_project_is_listed_command_by_command_and_has_nothing_before_it_is_trusted() {
    let (folder, trusted) = project(ALL);
    let question = asked(checked(&folder, &trusted));
    let settings = question.clone().without_trust();
    assert_eq!(
        question.items,
        [
            "allow without a question: bash(cargo test*) (.superstep/settings.toml:4)",
            "allow without a question: read_file (.superstep/settings.toml:5)",
            "run before calls of edit_file: scripts/may-edit.sh --strict",
            "run before the end: cargo test",
            "start the server issues: issues-server --stdio LEVEL=debug",
            "connect with the server wiki: https://wiki.example.org/mcp",
        ]
    );
    assert!(settings.servers().is_empty());
    assert_eq!(format!("{:?}", settings.hooks(&shell())), "{}");
    let settings = trusted.trust(question).unwrap();
    assert_eq!((settings.servers().len(), settings.trust()), (2, Trust::Trusted));
    assert!(
        matches!(checked(&folder, &trusted), Checked::Settled(settings) if settings.trust() == Trust::Trusted)
    );
}

#[test]
fn any_change_of_the_file_or_of_a_script_that_it_names_asks_again() {
    let (folder, trusted) = project(ALL);
    let script = folder.path().join("project/scripts/may-edit.sh");
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(&script, "exit 0").unwrap();
    let agree = || {
        let question = asked(checked(&folder, &trusted));
        let is_changed = question.is_changed;
        trusted.trust(question).unwrap();
        assert!(matches!(checked(&folder, &trusted), Checked::Settled(_)));
        is_changed
    };
    assert!(!agree());
    fs::write(&script, "curl evil.example.org").unwrap();
    assert!(agree(), "the question says that it is a change");
    fs::write(folder.path().join("project").join(PROJECT_FILE), format!("{ALL}# more\n")).unwrap();
    assert!(agree());
    // The folder is what is trusted, not its settings wherever they are.
    let other = folder.path().join("other");
    fs::create_dir_all(&other).unwrap();
    assert!(matches!(
        trusted.check(&other, Settings::of_project(&folder.path().join("project")).unwrap()),
        Ok(Checked::Asks(..))
    ));
}

#[test]
fn settings_that_change_while_the_user_reads_the_question_are_not_trusted() {
    let (folder, trusted) = project(ALL);
    let question = asked(checked(&folder, &trusted));
    fs::write(
        folder.path().join("project").join(PROJECT_FILE),
        ALL.replace("cargo test\"\n", "curl evil.example.org\"\n"),
    )
    .unwrap();
    let agreed = trusted.trust(question).unwrap();
    assert_eq!(format!("{:?}", agreed.hooks(&shell())), r#"{"scripts/may-edit.sh --strict", "tests"}"#);
    asked(checked(&folder, &trusted));
}

#[test]
fn a_project_that_only_tightens_asks_nothing_and_a_damaged_store_trusts_nothing() {
    let (folder, trusted) = project("[permissions]\ndeny = [\"bash(rm*)\"]\nask = [\"edit_file\"]\n");
    assert!(matches!(checked(&folder, &trusted), Checked::Settled(_)));
    let (folder, trusted) = project(ALL);
    fs::create_dir_all(folder.path().join("user")).unwrap();
    fs::write(folder.path().join("user/trusted.json"), "{").unwrap();
    let settings = Settings::of_project(&folder.path().join("project")).unwrap();
    let error = trusted.check(&folder.path().join("project"), settings).unwrap_err().to_string();
    assert!(error.contains("is damaged") && error.contains("delete it"), "{error}");
}

#[cfg(unix)]
#[test]
fn settings_behind_a_link_that_leads_out_are_an_error() {
    let (folder, _) = project(ALL);
    let project = folder.path().join("project");
    fs::rename(project.join(".superstep"), folder.path().join("outside")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("outside"), project.join(".superstep")).unwrap();
    assert!(matches!(Settings::of_project(&project), Err(SettingsError::Read { .. })));
    assert!(Settings::of_user(&folder.path().join("outside/settings.toml")).is_ok());
    assert!(Settings::of_user(&folder.path().join("nowhere/settings.toml")).unwrap().rules.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_text_is_settings_or_an_error_with_its_file_and_line(
        words in prop::collection::vec(prop::sample::select(&[
            "[permissions]\n", "allow", "deny", " = ", "[", "]", "\"bash(rm*)\"", "\"bash(\"", "\n", ",", "[[hooks.stop]]\n",
            "command = \"x\"\n", "[[permissions.if]]\n", "rule = \"a\"\n", "then = \"deny\"\n", "reason = 'r'\n", "[mcp.x]\n",
            "url = \"u\"\n", "ä", "\"", "\\", "{", "}", "#",
        ][..]), 0..14),
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        for text in [words.concat(), String::from_utf8_lossy(&bytes).into_owned()] {
            if let Err(error) = Settings::parse(&text, "S", RuleSource::Project) {
                let error = error.to_string();
                let line: usize = error.strip_prefix("S:").unwrap().split(':').next().unwrap().parse().unwrap();
                prop_assert!((1..=text.split('\n').count()).contains(&line), "{}", error);
            }
        }
    }
}

/// The table `agent` is for the program, which could be given another model or another sandbox by it.
#[test]
fn the_settings_of_a_program_need_trust_and_are_shown() {
    let text = "[agent]\nmodel = \"ollama:x\"\n[agent.commands]\nsandbox = \"none\"\n";
    let (folder, trusted) = project(text);
    let Checked::Asks(question) = checked(&folder, &trusted) else { panic!("nothing is asked") };
    assert_eq!(question.items, [r#"set commands = {"sandbox":"none"}"#, r#"set model = "ollama:x""#]);
    let settings = question.without_trust();
    assert_eq!((settings.text(), settings.trust()), (text, Trust::Untrusted));
}
