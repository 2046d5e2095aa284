//! Command lines, taken apart for permission rules.
//!
//! ```text
//! "cd src && env A=1 cargo test > log"          parts, and what rules are compared with
//!     │                                         cd src
//!     └──parse──▶ Step, Step, … ──▶ Part, …     env A=1 cargo test     (needs no rule: `env` is transparent)
//!                                               A=1
//!                                               cargo test
//!                                               > log
//! ```
//!
//! The world is closed: a construct that [`parse`] does not know makes an unclear part, which no pattern covers and
//! every pattern may be about. Bash runs nothing that is not in a part, except programs that a command starts by itself.

mod commands;
mod parse;
mod test_command;
mod texts;
mod words;

use superstep_nodes::tool::{Pattern, PermissionParts, Touch};

use crate::path_rule::without_detours;
use crate::wildcard::{ANY, Eight, fits, may_fit};
use parse::parse;
use words::Word;

/// A command line that was taken apart.
pub(super) struct CommandLine {
    /// Its parts: first those that need a rule.
    parts: Vec<Part>,
    /// The number of parts that need a rule.
    needed: usize,
}

/// An action of a command line, as it was parsed.
enum Step {
    /// A command with its arguments.
    Command { words: Vec<Word>, needs: Needs },
    /// A variable that is set, for one command or for the rest of the line.
    Assignment { name: String, value: Word, needs: Needs },
    /// A file that a redirection opens.
    File { access: Access, path: Word },
    /// An action that cannot be taken apart, and why.
    Unclear(&'static str),
}

/// The consent that an action needs from a rule that allows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// A rule that covers it.
    Rule,
    /// None: all that it does is in other parts.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// An action, in the form that rules are compared with.
struct Part {
    cover: Cover,
    /// The forms in which a rule may be about it.
    forms: Vec<Form>,
    /// Forms in which it may turn out to be, such as the arguments of a program that runs other programs.
    possible: Vec<Form>,
    offer: Option<String>,
    unclear: Option<&'static str>,
}

/// A text of which parts may not be known: each [`ANY`] stands for one.
struct Form {
    text: String,
    /// Its beginning, as far as it is known.
    first: Eight,
    is_known: bool,
}

impl From<String> for Form {
    fn from(text: String) -> Self {
        let known = text.find(ANY).unwrap_or(text.len());
        Self { first: Eight::first(&text[..known]), is_known: known == text.len(), text }
    }
}

/// The texts that a pattern has to match to cover a part.
enum Cover {
    /// No pattern is needed.
    Free,
    /// All of these.
    Texts(Vec<Form>),
    /// No pattern is enough.
    Never,
}

impl CommandLine {
    pub(super) fn parse(line: &str) -> Self {
        let steps = parse(line);
        let is_move = |step: &Step| matches!(step, Step::Command { words, .. } if moves(words));
        let folder = if steps.iter().any(is_move) { Folder::Changed } else { Folder::Workspace };
        let parts = steps.into_iter().map(|step| Part::of(step, folder));
        let (mut parts, free): (Vec<_>, Vec<_>) = parts.partition(|part| !matches!(part.cover, Cover::Free));
        let needed = parts.len();
        parts.extend(free);
        Self { parts, needed }
    }
}

impl PermissionParts for CommandLine {
    fn count(&self) -> usize {
        self.needed
    }

    fn fits(&self, part: usize, pattern: &Pattern) -> bool {
        match &self.parts[part].cover {
            Cover::Free => true,
            Cover::Texts(texts) => pattern
                .compare(CommandPattern::parse, |pattern| texts.iter().all(|text| pattern.covers(text))),
            Cover::Never => false,
        }
    }

    fn touches(&self, pattern: &Pattern) -> Touch {
        pattern.compare(CommandPattern::parse, |pattern| {
            self.parts.iter().map(|part| part.touches(pattern)).max().unwrap_or(Touch::No)
        })
    }

    fn offer(&self, part: usize) -> Option<String> {
        self.parts[part].offer.clone()
    }

    fn unclear(&self) -> Option<String> {
        self.parts.iter().find_map(|part| part.unclear).map(str::to_owned)
    }
}

/// A pattern of commands. One that ends in ` *` matches the command without arguments, too.
struct CommandPattern {
    /// The beginning of all texts that match.
    first: Eight,
    text: Box<str>,
}

impl CommandPattern {
    fn parse(pattern: &str) -> Self {
        let literal = &pattern[..pattern.find('*').unwrap_or(pattern.len())];
        let first = Eight::first(literal.strip_suffix(' ').unwrap_or(literal));
        Self { first, text: pattern.into() }
    }

    /// Returns `true` if a text matches.
    fn covers(&self, form: &Form) -> bool {
        let bare_fits = || self.text.strip_suffix(" *").is_some_and(|bare| fits(bare, &form.text));
        self.first.agrees(form.first) && (fits(&self.text, &form.text) || bare_fits())
    }

    /// Returns `true` if a text may match once all of it is known.
    fn may_cover(&self, form: &Form) -> bool {
        let may = |pattern| may_fit(pattern, &form.text);
        !form.is_known
            && self.first.agrees(form.first)
            && (may(&self.text) || self.text.strip_suffix(" *").is_some_and(may))
    }
}

/// The folder in which relative paths of redirections are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    Workspace,
    Changed,
}

/// Returns `true` for a command that changes the folder of those that follow.
fn moves(words: &[Word]) -> bool {
    words
        .first()
        .is_some_and(|name| ["cd", "pushd", "popd"].iter().any(|moving| may_fit(moving, name.text())))
}

impl Part {
    fn of(step: Step, folder: Folder) -> Self {
        match step {
            Step::Command { words, needs } => Self::of_command(&words, needs),
            Step::Assignment { name, value, needs } => {
                let text = format!("{name}={}", value.quoted());
                let literal = value.is_literal().then(|| text.clone());
                let form = format!("{name}={}", value.text());
                let cover = if needs == Needs::Rule { Cover::Texts(vec![text.into()]) } else { Cover::Free };
                Self::new(cover, vec![form], literal)
            }
            Step::File { access, path } => Self::of_file(access, &path, folder),
            Step::Unclear(reason) => {
                let any = Self::new(Cover::Never, vec![ANY.to_string()], None);
                Self { unclear: Some(reason), ..any }
            }
        }
    }

    fn new(cover: Cover, forms: Vec<String>, offer: Option<String>) -> Self {
        let forms = forms.into_iter().map(Form::from).collect();
        Self { cover, forms, possible: Vec::new(), offer, unclear: None }
    }

    fn of_command(words: &[Word], needs: Needs) -> Self {
        let name = &words[0];
        let cover = match needs {
            Needs::Nothing => Cover::Free,
            Needs::Rule if !name.is_literal() => Cover::Never,
            Needs::Rule => Cover::Texts(texts::texts(words).into_iter().map(Form::from).collect()),
        };
        let mut part = Self::new(cover, texts::forms(words), texts::offer(words));
        part.possible = texts::possible(words).into_iter().map(Form::from).collect();
        if !name.is_literal() {
            part.unclear = Some("the name of a command is known only when it runs");
        }
        part
    }

    fn of_file(access: Access, path: &Word, folder: Folder) -> Self {
        let sign = if access == Access::Write { ">" } else { "<" };
        let named = format!("{sign} {}", path.text());
        if ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"].contains(&path.text()) {
            return Self::new(Cover::Free, vec![named], None);
        }
        let inside = without_detours(path.text())
            .filter(|path| !path.contains(ANY) && !path.is_empty() && folder == Folder::Workspace)
            .filter(|path| !path.split('/').any(|name| name.eq_ignore_ascii_case(".git")));
        let Some(inside) = inside else {
            let outside = Self::new(Cover::Never, vec![named], None);
            return Self { unclear: Some("a redirection may leave the workspace"), ..outside };
        };
        let text = format!("{sign} {inside}");
        let offer = match inside.rsplit_once('/') {
            Some((folder, _)) => format!("{sign} {folder}/*"),
            None => text.clone(),
        };
        let cover =
            if access == Access::Write { Cover::Texts(vec![text.clone().into()]) } else { Cover::Free };
        Self::new(cover, vec![named, text], Some(offer))
    }

    fn touches(&self, pattern: &CommandPattern) -> Touch {
        if self.forms.iter().any(|form| pattern.covers(form)) {
            return Touch::Yes;
        }
        let may_be = |form| pattern.may_cover(form);
        let is_possible = |form: &Form| pattern.covers(form);
        match self.forms.iter().chain(&self.possible).any(may_be) || self.possible.iter().any(is_possible) {
            true => Touch::Unclear,
            false => Touch::No,
        }
    }
}

#[cfg(test)]
mod tests;
