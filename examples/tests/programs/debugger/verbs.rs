//! Every verb gives a sensible answer for every example.

use superstep::cli::{self, Look, Screen};

use super::{Recorded, Said};

/// The output of the program `superstep`, which knows none of the examples' types.
pub(super) fn superstep(arguments: &[&str]) -> Said {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let code = cli::run(["superstep"].iter().chain(arguments), &[], screen) as i32;
    Said { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

/// The verbs that read a thread. A verb may answer no, if it finds nothing.
fn reading<'t>(thread: &'t str, step: &'t str, field: &'t str, node: &'t str) -> Vec<Vec<&'t str>> {
    vec![
        vec!["threads"],
        vec!["threads", "--unfinished"],
        vec!["interrupts"],
        vec!["log", thread],
        vec!["log", thread, "--graph", "-n", "0"],
        vec!["show", thread],
        vec!["show", step],
        vec!["show", thread, field],
        vec!["diff", thread],
        vec!["diff", step, thread],
        vec!["blame", thread, "."],
        vec!["why", thread, node],
        vec!["grep", "[a-z]"],
        vec!["bisect", thread, "--path", field, "--is", "exists"],
        vec!["compare", step, thread],
        vec!["graph", thread],
        vec!["graph", thread, "--mermaid"],
        vec!["graph", thread, "--dot"],
    ]
}

fn is_fine(said: &Said, of: &str, words: &[&str]) {
    assert!(said.code < 2 && said.err.is_empty() && !said.out.is_empty(), "{of} {words:?}: {}", said.err);
}

/// A node that ran in a thread's latest superstep.
fn last_node(recorded: &Recorded, thread: &str) -> String {
    let head = recorded.debug(&["show", thread, "--json"]).json();
    head["ran"][0].as_str().unwrap().to_owned()
}

#[test]
fn what_reads_says_the_same_with_and_without_the_types() {
    for recorded in Recorded::all() {
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("copy.db");
        std::fs::copy(&recorded.file, &copy).unwrap();
        for thread in recorded.threads() {
            let (node, step) = (last_node(&recorded, &thread), format!("{thread}@0"));
            for words in reading(&thread, &step, recorded.field, &node) {
                for json in [&[][..], &["--json"]] {
                    let words = [&*words, json].concat();
                    let own = recorded.debug(&words);
                    is_fine(&own, recorded.name, &words);
                    let (verb, rest) = words.split_first().unwrap();
                    let of_copy = superstep(&[&[*verb, copy.to_str().unwrap()], rest].concat());
                    is_fine(&of_copy, recorded.name, &words);
                    assert_eq!(
                        (own.code, own.out),
                        (of_copy.code, of_copy.out),
                        "{} {words:?}",
                        recorded.name
                    );
                }
            }
        }
    }
}

#[test]
fn verbs_that_write_leave_threads_that_continue() {
    for recorded in Recorded::all() {
        let debug = |words: &[&str]| {
            let said = recorded.debug(words);
            is_fine(&said, recorded.name, words);
            said
        };
        let thread = &*recorded.threads()[0];
        let before = debug(&["show", thread, "--json"]).out;
        debug(&["fork", &format!("{thread}@0"), "--name", "forked"]);
        // A text that every text field accepts.
        let set = format!("{}=\"tired\"", recorded.field);
        debug(&["edit", "forked", "--set", &set, "--force"]);
        assert!(debug(&["migrate", "--check"]).out.contains("\nfine: "), "{}", recorded.name);
        debug(&["delete", "forked"]);
        assert_eq!(debug(&["show", thread, "--json"]).out, before, "{}", recorded.name);
        assert!(!recorded.threads().contains(&"forked".to_owned()));
    }
}

#[test]
fn a_thread_runs_from_its_input_to_its_end() {
    for recorded in Recorded::all() {
        let name = recorded.name;
        let mut said = recorded.debug(&["run", "new", recorded.input]);
        let answer = if name == "review" { "\"Accept\"" } else { "7" };
        for _ in 0..9 {
            if said.code != 3 {
                break;
            }
            let command = said.out.lines().find_map(|line| line.trim().strip_prefix("to answer:"));
            let id = command.unwrap().trim().rsplit(' ').next().unwrap().strip_suffix("=JSON").unwrap();
            said = recorded.debug(&["answer", "new", &format!("{id}={answer}")]);
        }
        assert_eq!((said.code, &*said.err), (0, ""), "{name}: {}", said.out);
        assert!(said.out.contains("finished at step "), "{name}: {}", said.out);
        let replay = recorded.debug(&["replay", "new"]);
        assert!(
            replay.code == 0 && replay.out.starts_with("equal: "),
            "{name}: {}{}",
            replay.out,
            replay.err
        );
        let tail = recorded.debug(&["tail", "new", "--from", "start"]);
        assert!(tail.code == 0 && tail.out.ends_with("\nfinished\n"), "{name}: {}{}", tail.out, tail.err);
        assert_eq!(recorded.debug(&["resume", "new"]).code, 0, "{name}: there is nothing left");
        let again = recorded.debug(&["rerun", "new@0"]);
        assert!(matches!(again.code, 0 | 3), "{name}: {}{}", again.out, again.err);
        let check = recorded.debug(&["migrate", "--check"]);
        assert!(check.out.contains("\nfine: "), "{name}: {}", check.out);
    }
}

/// The same file, while a program that halts in the middle of a run has it open, and after it was killed.
#[test]
fn a_run_that_stands_still_and_is_killed_is_looked_into_and_continues() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let recorded = Recorded::agent_loop();
    let halted =
        [recorded.options, &["--thread", "halted", "--halt-at", "node-start:3", "What does a fork copy?"]];
    let mut child =
        recorded.command(&halted.concat()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("halted at")), "it comes to the mark");

    let look = || {
        for words in reading("halted", "halted@0", recorded.field, "tools") {
            is_fine(&recorded.debug(&words), "while it runs", &words);
        }
        let replay = recorded.debug(&["replay", "halted"]);
        assert_eq!(replay.out, "equal: 3 supersteps came out as recorded\n", "{}", replay.err);
    };
    look();
    child.kill().unwrap();
    child.wait().unwrap();
    look();
    let resumed = recorded.debug(&["resume", "halted"]);
    assert!(resumed.code == 0 && resumed.out.contains("finished at step"), "{}{}", resumed.out, resumed.err);
    assert_eq!(recorded.debug(&["replay", "halted"]).code, 0);
}

#[test]
fn help_names_the_verbs_and_how_it_was_called() {
    for recorded in Recorded::all() {
        let help = recorded.debug(&["--help"]);
        assert_eq!((help.code, &*help.err), (0, ""), "{}", recorded.name);
        let called = [recorded.options, &["debug"]].concat().join(" ");
        assert!(
            help.out.contains(&format!("{} {called} [OPTIONS] <COMMAND>", recorded.name)),
            "{}",
            help.out
        );
        let verbs =
            help.out.lines().skip_while(|line| *line != "Commands:").take_while(|line| !line.is_empty());
        let verbs: Vec<&str> = verbs
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
            .filter(|verb| !verb.is_empty() && *verb != "help")
            .collect();
        for verb in [
            "run", "resume", "answer", "rerun", "tail", "replay", "migrate", "log", "export", "import",
            "studio",
        ] {
            assert!(verbs.contains(&verb), "{verb}");
        }
        for verb in verbs {
            let said = recorded.debug(&[verb, "--help"]);
            assert!(
                !said.out.contains("essays.db") && !said.out.contains("superstep "),
                "{verb}: {}",
                said.out
            );
            assert!(
                said.out.contains(&format!("{} {called} {verb} ", recorded.name)),
                "{verb}: {}",
                said.out
            );
        }
    }
}
