//! Random lines, run in bash with programs that log their arguments.

use std::cell::Cell;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

/// A program that logs a mark, its name, and its arguments in brackets, in one write: programs of a pipe log at the
/// same time.
const STUB: &str = "#!/bin/sh\narguments=$(printf ' [%s]' \"$@\")\nprintf '\\001%s%s' \"${0##*/}\" \"$arguments\" >> \"$LOG\"\n";

/// A folder of programs in which `bash` finds only those that log, and harmless wrappers.
struct Programs {
    folder: tempfile::TempDir,
    lines: Cell<u32>,
}

impl Programs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(folder.path().join("work")).unwrap();
        for name in ["aa", "bb", "rm"] {
            std::fs::write(bin.join(name), STUB).unwrap();
            std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        for name in ["env", "timeout", "nice", "xargs", "find", "sh", "bash", "cat"] {
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let real = real.into_iter().find(|path| path.exists()).expect("the program is installed");
            symlink(real, bin.join(name)).unwrap();
        }
        Self { folder, lines: Cell::new(0) }
    }

    /// Deletes the files that a line wrote, and returns their names.
    fn take_files(&self) -> Vec<String> {
        let work = self.folder.path().join("work");
        let files = std::fs::read_dir(&work).unwrap().map(|file| file.unwrap().path());
        let files: Vec<_> = files.collect();
        for file in &files {
            std::fs::remove_file(file).unwrap();
        }
        files.iter().map(|file| file.display().to_string()).collect()
    }

    /// Runs a line and returns the commands that it ran.
    fn run(&self, line: &str) -> Vec<String> {
        let folder = self.folder.path();
        // Each line has a log of its own, as programs in the background may outlive theirs.
        self.lines.set(self.lines.get() + 1);
        let (bin, log) = (folder.join("bin"), folder.join(format!("log-{}", self.lines.get())));
        std::fs::write(&log, "").unwrap();
        let ended = Command::new(bin.join("timeout"))
            .args(["-k", "1", "10", "bash", "--norc", "--noprofile", "-c", line])
            .env_clear()
            .envs([("PATH", &bin), ("LOG", &log)])
            .current_dir(folder.join("work"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        ended.unwrap();
        // An argument such as $'\xaa' is no UTF-8.
        let log = std::fs::read(&log).unwrap();
        String::from_utf8_lossy(&log).split('\u{1}').skip(1).map(str::to_owned).collect()
    }
}

/// Lines of the shell, and lines with random characters in them.
fn lines() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "x",
        "'y z'",
        "\"w\"",
        "$v",
        "\"$v q\"",
        "-o",
        "r''m",
        "\\rm",
        "{a,b}",
        "*",
        "a\\ b",
        "rm",
        "#",
        "${v:-x}",
        "'a;rm b'",
        "\"a;rm b\"",
        "$'rm'",
        "aa",
        "1",
        "a=b",
        "!",
    ]);
    let words = prop::collection::vec(word, 0..3).prop_map(|words| words.join(" "));
    let name = prop::sample::select(vec![
        "aa",
        "aa",
        "aa",
        "aa x",
        "bb",
        "rm",
        "'aa'",
        "a\"a\"",
        "env aa",
        "timeout 5 aa",
        "nice aa",
        "xargs aa",
        "command aa",
        "v=rm",
        "V=1 aa",
        "$v",
        "r''m",
        "\\rm",
        "exec aa",
        "time aa",
        "! aa",
        "env",
        "cat",
        "r\\\nm x",
        "v='1 rm'; env A=$v aa",
        "v='1 rm'; timeout $v aa",
        "v='-c rm'; sh $v",
        "v='x -exec rm {} +'; find . -name $v",
        "find . -exec aa {} +",
        "xargs -n 1 aa",
        "time -p nice -n 5 aa",
    ]);
    let command = (name, words).prop_map(|(name, words)| format!("{name} {words}"));
    let line = command.prop_recursive(3, 12, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (two.clone(), prop::sample::select(vec![" && ", " || ", "; ", " | ", "\n", " & ", " |& "]))
                .prop_map(|((a, b), by)| format!("{a}{by}{b}")),
            inner.clone().prop_map(|a| format!("( {a} )")),
            inner.clone().prop_map(|a| format!("{{ {a}\n}}")),
            inner.clone().prop_map(|a| format!("aa $({a})")),
            inner.clone().prop_map(|a| format!("aa \"x $({a}) `{a}`\"")),
            inner.clone().prop_map(|a| format!("aa `{a}`")),
            inner.clone().prop_map(|a| format!("sh -c '{a}'")),
            inner.clone().prop_map(|a| format!("bash -c \"{a}\"")),
            inner.clone().prop_map(|a| format!("cat <({a})")),
            inner.clone().prop_map(|a| format!("{a} > out")),
            inner.clone().prop_map(|a| format!("> out {a}")),
            inner.clone().prop_map(|a| format!("{a} # {a}")),
            inner.clone().prop_map(|a| format!("v=$({a})")),
            two.clone().prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            two.clone().prop_map(|(a, b)| format!("for v in rm aa; do {a}; done; {b}")),
            two.clone().prop_map(|(a, b)| format!("case x in x) {a};; *) {b};; esac")),
            two.clone().prop_map(|(a, b)| format!("{a} <<E\n{b}\n$({a})\nE\n{b}")),
            two.clone().prop_map(|(a, b)| format!("{a} <<'E' && aa\n{b}\nE\n{b}")),
            // Where tree-sitter and bash disagree on the end of a here-document.
            two.clone().prop_map(|(a, b)| format!("cat <<E\n  E\naa '\nE\n{a}\n'\n{b}")),
            two.clone().prop_map(|(a, b)| format!("cat <<-E\n\t`{a}`\n\tE\n{b}")),
            two.prop_map(|(a, b)| format!("cat <<E | {a}\n\\$(rm) ${{v:-`{b}`}}\nE")),
        ]
    });
    let inserted = prop::sample::select(vec![
        "'", "\"", "\\", "`", "$", "$(", ")", "(", "#", "\n", ";", "&", "|", " ", "{", "}", "<<E\n", "\nE\n",
        "<", ">", "\\\n", "=", "[[ ", " ]]", "$'", "${", "!", "\t", "<<-E\n", "~", "do", "fi", "rm", "[ ",
        "((", "))",
    ]);
    let mutations = prop::collection::vec((inserted, any::<prop::sample::Index>()), 0..4);
    (line, mutations).prop_map(|(mut line, mutations)| {
        for (text, at) in mutations {
            let places: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            line.insert_str(places[at.index(places.len())], text);
        }
        line
    })
}

/// The lines of a run of the test, by what was checked of them.
#[derive(Default)]
struct Seen {
    allowed: Cell<u32>,
    denied: Cell<u32>,
    without_writes: Cell<u32>,
}

fn count(of: &Cell<u32>) {
    of.set(of.get() + 1);
}

/// Every command that bash runs is covered by the rules that allow the line, every file that it writes is, too, and a
/// command that a rule denies is never overlooked.
#[test]
fn s2_048_bash_runs_no_command_beside_those_that_are_found() {
    let (programs, seen) = (Programs::new(), Seen::default());
    let cases = std::env::var("SUPERSTEP_SHELL_LINES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(300);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&lines(), |text| {
        let allowed = covered(&text, &["aa*", "cat *", "> *", "V=*"]);
        let narrow = covered(&text, &["aa x*", "cat *", "> *", "V=*"]);
        let without_writes = covered(&text, &["aa*", "cat *", "V=*"]);
        let denied = line(&text).touches(&"rm*".into());
        let ran = programs.run(&text);
        let written = programs.take_files();
        let ran_denied = ran.iter().any(|command| command.starts_with("rm ["));
        for command in &ran {
            prop_assert!(!allowed || command.starts_with("aa ["), "allowed {text:?}, which ran {command}");
            prop_assert!(!narrow || command.starts_with("aa [x"), "allowed {text:?}, which ran {command}");
        }
        prop_assert!(denied != Touch::No || !ran_denied, "overlooked in {text:?}");
        prop_assert!(!without_writes || written.is_empty(), "allowed {text:?}, which wrote {written:?}");
        if allowed && !ran.is_empty() {
            count(&seen.allowed);
        }
        if without_writes && !ran.is_empty() {
            count(&seen.without_writes);
        }
        if ran_denied && denied == Touch::Yes {
            count(&seen.denied);
        }
        Ok(())
    });
    result.unwrap();
    for counted in [seen.allowed, seen.denied, seen.without_writes] {
        assert!(counted.get() > cases / 50, "{} of {cases} lines check something", counted.get());
    }
}
