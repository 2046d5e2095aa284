//! Commands that run other commands.

use super::parse::{Dialect, Walk, parse_at};
use super::words::{Word, is_name};
use super::{Needs, Step};
use crate::wildcard::ANY;

/// A program that runs the command in its arguments.
struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options whose value is the next word, or follows a `=`.
    values: &'static [&'static str],
    /// The number of words before the command.
    operands: usize,
    /// Whether a rule for the command inside is enough.
    needs: Needs,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    values: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, flags, values, operands: 0, needs: Needs::Nothing }
}

const WRAPPERS: [Wrapper; 14] = [
    wrapper("env", &["-i", "-", "--ignore-environment"], &["-u", "--unset"]),
    Wrapper {
        operands: 1,
        ..wrapper(
            "timeout",
            &["--preserve-status", "--foreground", "-v", "--verbose"],
            &["-k", "--kill-after", "-s", "--signal"],
        )
    },
    wrapper("nice", &[], &["-n", "--adjustment"]),
    wrapper("ionice", &[], &["-c", "-n"]),
    wrapper("stdbuf", &[], &["-o", "-e", "-i"]),
    wrapper("nohup", &[], &[]),
    wrapper("setsid", &["-f", "-w", "--fork", "--wait"], &[]),
    wrapper("time", &["-p"], &[]),
    wrapper("command", &["-p"], &[]),
    wrapper("builtin", &[], &[]),
    wrapper("exec", &[], &[]),
    Wrapper { needs: Needs::Rule, ..wrapper("sudo", &["-n", "-E", "-H", "-S", "-k"], &["-u", "-g"]) },
    Wrapper { needs: Needs::Rule, ..wrapper("doas", &["-n"], &["-u"]) },
    Wrapper { needs: Needs::Rule, ..wrapper("busybox", &[], &[]) },
];

/// Words that bash reads as syntax where a command may begin.
const RESERVED: [&str; 21] = [
    "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac",
    "select", "function", "{", "}", "!", "[[", "]]", "coproc",
];

/// Commands of bash that run text, or change the meaning of later commands.
pub(super) const UNCLEAR: [&str; 25] = [
    "eval",
    "source",
    ".",
    "alias",
    "unalias",
    "hash",
    "enable",
    "trap",
    "bind",
    "complete",
    "compgen",
    "compopt",
    "fc",
    "history",
    "let",
    "mapfile",
    "readarray",
    "getopts",
    "shopt",
    "declare",
    "typeset",
    "unset",
    "export",
    "readonly",
    "local",
];

/// Programs that run a command among their arguments, in a form that is not taken apart.
pub(super) const RUNNERS: [&str; 18] = [
    "watch",
    "strace",
    "ltrace",
    "chroot",
    "unshare",
    "nsenter",
    "flock",
    "script",
    "parallel",
    "su",
    "runuser",
    "systemd-run",
    "ssh",
    "setpriv",
    "taskset",
    "chrt",
    "entr",
    "start-stop-daemon",
];

impl Walk<'_> {
    /// Adds a command, and the commands that it runs.
    pub(super) fn run(&mut self, words: Vec<Word>) {
        let Some(name) = words.first() else { return };
        let base = base(name.text()).to_owned();
        if RESERVED.contains(&base.as_str()) || UNCLEAR.contains(&base.as_str()) {
            self.steps.push(Step::Unclear("a command runs text, or changes what others mean"));
        }
        let needs = if is_of_the_system(name.text()) { Needs::Nothing } else { Needs::Rule };
        let inner = match base.as_str() {
            _ if !name.is_literal() || words.len() > 1_000 => Inner::None,
            "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" => self.shell(&words),
            "zsh" | "fish" | "csh" | "tcsh" => Inner::Unclear,
            "xargs" => xargs(&words),
            "find" => find(&words),
            "command" if words.get(1).is_some_and(|word| ["-v", "-V"].contains(&word.text())) => Inner::None,
            "exec" if words.len() == 1 => Inner::Run { commands: Vec::new(), needs: Needs::Nothing },
            "read" => self.read(&words),
            "set" if words[1..].iter().all(is_plain_setting) => Inner::None,
            "set" => Inner::Unclear,
            "printf"
                if words.get(1).is_none_or(|word| !word.is_literal() || word.text().starts_with("-v")) =>
            {
                Inner::Unclear
            }
            "test" | "["
                if words.iter().any(|word| !word.is_literal() || ["-v", "-R"].contains(&word.text())) =>
            {
                Inner::Unclear
            }
            base => match WRAPPERS.iter().find(|wrapper| wrapper.name == base) {
                Some(wrapper) => self.unwrap(wrapper, &words),
                None => Inner::None,
            },
        };
        match inner {
            Inner::None => self.steps.push(Step::Command { words, needs: Needs::Rule }),
            Inner::Unclear => {
                self.steps.push(Step::Command { words, needs: Needs::Rule });
                self.steps.push(Step::Unclear("the command that a command runs cannot be taken apart"));
            }
            Inner::Run { commands, needs: own } => {
                let needs = if own == Needs::Rule { own } else { needs };
                self.steps.push(Step::Command { words, needs });
                for command in commands {
                    self.run(command);
                }
            }
        }
    }

    /// Takes the options, the operands and the assignments before the command of a wrapper.
    fn unwrap(&mut self, wrapper: &Wrapper, words: &[Word]) -> Inner {
        let mut rest = &words[1..];
        while let Some((word, after)) = rest.split_first() {
            let text = word.text();
            let name = text.split_once('=').map_or(text, |(name, _)| name);
            let attached = || wrapper.values.iter().any(|value| value.len() == 2 && text.starts_with(value));
            let is_number = || text[1..].bytes().all(|byte| byte.is_ascii_digit());
            rest = match text {
                "--" => {
                    rest = after;
                    break;
                }
                _ if !text.starts_with('-') => break,
                _ if wrapper.flags.contains(&text) => after,
                _ if wrapper.values.contains(&text) => after.get(1..).unwrap_or_default(),
                _ if wrapper.values.contains(&name) || attached() => after,
                _ if wrapper.name == "nice" && is_number() => after,
                _ => return Inner::Unclear,
            };
        }
        if ["env", "sudo", "doas"].contains(&wrapper.name) {
            while let Some((name, value)) = rest.first().and_then(|word| word.text().split_once('=')) {
                if !is_name(name) {
                    return Inner::Unclear;
                }
                let (name, value) = (name.to_owned(), Word::new(value));
                self.steps.push(Step::Assignment { name, value, needs: Needs::Rule });
                rest = &rest[1..];
            }
        }
        let command = &rest[rest.len().min(wrapper.operands)..];
        // A word that is known only later may become several, and move the place of the command.
        if !words[..words.len() - command.len()].iter().all(Word::is_literal) {
            return Inner::Unclear;
        }
        match command {
            [] => Inner::None,
            _ => Inner::Run { commands: vec![command.to_vec()], needs: wrapper.needs },
        }
    }

    /// Takes the script of `sh -c` apart.
    fn shell(&mut self, words: &[Word]) -> Inner {
        let mut rest = &words[1..];
        let mut has_script = false;
        while let Some((word, after)) = rest.split_first().filter(|(word, _)| word.text().starts_with('-')) {
            let Some(letters) = word.text().strip_prefix('-').filter(|it| !it.is_empty()) else {
                return Inner::Unclear;
            };
            rest = match letters.strip_suffix('o') {
                Some(letters) if is_set_of("eux", letters) && is_text(after, "pipefail") => &after[1..],
                None if is_set_of("ceux", letters) => after,
                Some(_) | None => return Inner::Unclear,
            };
            has_script |= letters.contains('c');
        }
        let Some(script) = rest.first() else { return Inner::Unclear };
        if !script.is_literal() {
            return Inner::Unclear;
        }
        if !has_script {
            return Inner::None;
        }
        let dialect = if base(words[0].text()) == "bash" { Dialect::Bash } else { Dialect::Posix };
        // Each shell in a shell counts as twenty levels.
        self.steps.extend(parse_at(script.text(), dialect, self.depth + 20));
        Inner::Run { commands: Vec::new(), needs: Needs::Nothing }
    }

    /// Takes the variables apart that `read` sets.
    fn read(&mut self, words: &[Word]) -> Inner {
        for word in &words[1..] {
            match word.text() {
                "-r" | "-s" => {}
                name if is_name(name) => self.assignment(name.to_owned(), Word::any()),
                _ => return Inner::Unclear,
            }
        }
        Inner::None
    }
}

/// The commands that a command runs.
enum Inner {
    None,
    Run { commands: Vec<Vec<Word>>, needs: Needs },
    Unclear,
}

/// Takes the command of `xargs` apart, which gets more arguments from its input.
fn xargs(words: &[Word]) -> Inner {
    const FLAGS: [&str; 5] = ["-0", "--null", "-r", "--no-run-if-empty", "-t"];
    const VALUES: [&str; 4] = ["-n", "-P", "-L", "-d"];
    let mut rest = &words[1..];
    let mut replaced = None;
    while let Some((word, after)) = rest.split_first().filter(|(word, _)| word.text().starts_with('-')) {
        let text = word.text();
        rest = match text {
            _ if FLAGS.contains(&text) => after,
            _ if VALUES.contains(&text) => after.get(1..).unwrap_or_default(),
            _ if VALUES.iter().any(|value| text.starts_with(value)) => after,
            "-I" => {
                replaced = after.first().map(|word| word.text().to_owned());
                after.get(1..).unwrap_or_default()
            }
            _ => match text.strip_prefix("-I") {
                Some(text) => {
                    replaced = Some(text.to_owned());
                    after
                }
                None => return Inner::Unclear,
            },
        };
    }
    if !words[..words.len() - rest.len()].iter().all(Word::is_literal) {
        return Inner::Unclear;
    }
    if rest.is_empty() {
        return Inner::None;
    }
    let command = match replaced {
        None => rest.iter().cloned().chain([Word::any()]).collect(),
        Some(text) if text.is_empty() || text.contains(ANY) => return Inner::Unclear,
        Some(text) => {
            rest.iter().map(|word| Word::new(word.text().replace(&text, &ANY.to_string()))).collect()
        }
    };
    Inner::Run { commands: vec![command], needs: Needs::Rule }
}

/// Takes the commands of `find` apart.
fn find(words: &[Word]) -> Inner {
    let mut commands = Vec::new();
    let mut rest = words;
    let runs = |word: &Word| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word.text());
    while let Some(at) = rest.iter().position(runs) {
        let command = &rest[at + 1..];
        let Some(end) = command.iter().position(|word| [";", "+"].contains(&word.text())) else {
            return Inner::Unclear;
        };
        let found = |word: &Word| Word::new(word.text().replace("{}", &ANY.to_string()));
        commands.push(command[..end].iter().map(found).collect());
        rest = &command[end + 1..];
    }
    // A word that is known only later may become `-exec` with a command.
    match words.iter().all(Word::is_literal) {
        false => Inner::Unclear,
        true if commands.is_empty() => Inner::None,
        true => Inner::Run { commands, needs: Needs::Rule },
    }
}

fn is_text(words: &[Word], text: &str) -> bool {
    words.first().is_some_and(|word| word.text() == text)
}

fn is_set_of(letters: &str, text: &str) -> bool {
    text.chars().all(|letter| letters.contains(letter))
}

/// Returns `true` for the usual arguments of `set`, such as `-euo pipefail`.
fn is_plain_setting(word: &Word) -> bool {
    let letters = word.text().strip_prefix(['-', '+']).filter(|letters| !letters.is_empty());
    word.text() == "pipefail" || letters.is_some_and(|letters| is_set_of("euxo", letters))
}

/// Returns the name of a program without its folder.
pub(super) fn base(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, base)| base)
}

/// Returns `true` for a program that runs the command in its arguments.
pub(super) fn is_wrapper(base: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == base)
}

/// Returns `true` for the name of a program without a folder, or in a folder of the system.
fn is_of_the_system(name: &str) -> bool {
    let folder = name.rsplit_once('/').map(|(folder, _)| folder);
    folder.is_none_or(|folder| ["/bin", "/usr/bin", "/usr/local/bin"].contains(&folder))
}
