//! The texts of commands that rules are compared with, and the rules to offer.

use super::commands::{RUNNERS, UNCLEAR, base, is_wrapper};
use super::words::Word;

/// Programs whose first argument says what they do.
const WITH_SUBCOMMANDS: [&str; 32] = [
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "svn",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Programs that run the file that their first argument names.
const INTERPRETERS: [&str; 13] = [
    "bash", "dash", "ksh", "lua", "node", "perl", "php", "python", "python3", "ruby", "Rscript", "sh", "zsh",
];

fn joined<'w>(words: impl IntoIterator<Item = &'w Word>) -> String {
    let quoted = |word: &Word| word.quoted();
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns the texts that a rule that allows has to match: the words, and the words without those that may vanish.
pub(super) fn texts(words: &[Word]) -> Vec<String> {
    let mut all = joined(words);
    if words[0].text().contains('=') {
        // It is no assignment.
        all.insert(0, '\'');
    }
    let mut texts = vec![all];
    if words.iter().any(Word::may_vanish) {
        texts.push(joined(words.iter().filter(|word| !word.may_vanish())));
    }
    texts
}

/// Returns the texts that a rule that asks or denies is compared with: the words with quotes and without, and each with
/// the name of the program without its folder.
pub(super) fn forms(words: &[Word]) -> Vec<String> {
    let mut plain = String::new();
    for (index, word) in words.iter().enumerate() {
        let vanishes = |word: &Word| word.may_vanish();
        // A word that may vanish takes the blank with it.
        if index > 0 && !vanishes(word) && !vanishes(&words[index - 1]) {
            plain.push(' ');
        }
        plain.push_str(word.text());
    }
    let mut forms = vec![plain];
    let quoted = joined(words);
    if words.iter().all(Word::is_literal) && quoted != forms[0] {
        forms.push(quoted);
    }
    let folder = words[0].text().len() - base(words[0].text()).len();
    if folder > 0 {
        let bare: Vec<_> = forms.iter().filter_map(|form| form.get(folder..).map(str::to_owned)).collect();
        forms.extend(bare);
    }
    forms
}

/// Returns the commands that may be among the arguments of a program that runs other programs.
pub(super) fn possible(words: &[Word]) -> Vec<String> {
    if !RUNNERS.contains(&base(words[0].text())) {
        return Vec::new();
    }
    (1..words.len().min(100)).flat_map(|from| forms(&words[from..])).collect()
}

/// Returns a pattern to offer for commands like this one: with its subcommand or script, if it is a program of many
/// powers. Nothing is offered for a program that runs other programs.
pub(super) fn offer(words: &[Word]) -> Option<String> {
    let (name, first) = (&words[0], words.get(1));
    let is_plain = |word: &Word| {
        let text = word.text();
        text.starts_with(|c: char| c.is_ascii_alphanumeric() || "./_".contains(c))
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@+".contains(c))
    };
    if !is_plain(name) {
        return None;
    }
    let text = name.text();
    let is_one_of = |names: &[&str]| names.contains(&base(text));
    let runs_others = is_one_of(&RUNNERS)
        || is_one_of(&UNCLEAR)
        || is_one_of(&["xargs", "find", "awk", "gawk", "sed", "npx", "bunx", "uvx", "set", "printf"])
        || is_wrapper(base(text));
    if runs_others {
        return None;
    }
    let with_first =
        || first.filter(|first| is_plain(first)).map(|first| format!("{text} {}*", first.text()));
    match () {
        () if is_one_of(&WITH_SUBCOMMANDS) || is_one_of(&INTERPRETERS) => match first {
            None if is_one_of(&WITH_SUBCOMMANDS) => Some(text.to_owned()),
            _ => with_first(),
        },
        () => Some(format!("{text} *")),
    }
}
