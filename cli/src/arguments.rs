//! The command line of the program.

use std::str::FromStr;

use clap::{Command, Parser, Subcommand};
use clap_complete::Shell;

use super::failure::Failure;
use super::page::Page;
use super::screen::{Answer, Exit, Look, escape_json};
#[cfg(feature = "encryption")]
use super::verbs::Rekey;
use super::verbs::{
    Backup, Bisect, Blame, Calls, Compare, Copy, Delete, Diff, Du, Edit, Export, Fork, Gc, Graph, Grep,
    Import, Interrupts, Log, Migrate, Name, Release, Show, Test, Threads, Vacuum, Verify, Why,
};

/// Look into checkpoint files: what happened, when, which node wrote it, and why
#[derive(Debug, Parser)]
#[command(name = "superstep", version, after_help = format!("{ADDRESSES}\n\n{AFTER}"), max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) asked: Asked,

    /// Print a JSON document
    #[arg(long, global = true)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) colors: Colors,
}

/// The verbs of the program `superstep`.
#[derive(Debug, Subcommand)]
pub(super) enum Asked {
    #[command(flatten)]
    Verb(Box<Verb>),
    #[cfg(all(feature = "agent", unix))]
    Agent(Box<super::agent::Agent>),
    Completions(Completions),
}

/// The choice of colours.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Colors {
    /// Colour the output: auto, always or never; auto means on a terminal, unless NO_COLOR is set or TERM is `dumb`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: When,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl Colors {
    /// Returns a look with this choice.
    pub(super) fn of(self, look: Look) -> Look {
        let color = match self.color {
            When::Auto => look.color,
            When::Always => true,
            When::Never => false,
        };
        Look { color, ..look }
    }
}

/// The help text about addresses of checkpoints.
pub(super) const ADDRESSES: &str = "\
CHECKPOINT is one of
  THREAD           the latest checkpoint of a thread
  THREAD@STEP      the checkpoint with this step on the latest branch of a thread
  THREAD@NAME      the checkpoint with this name on the thread
  CHECKPOINT~N     N checkpoints before another one
  THREAD/NODE#N    the latest checkpoint of the Nth run of the subgraph at a node
  ID               4 or more digits at the beginning or end of an id, or of its form in tables";

const AFTER: &str = "\
Exit codes: 0 fine; 1 the answer is no: nothing was found, states differ, or the data is damaged; \
2 the command could not run: wrong usage, or an unreadable file.

FILE may be in use by a program. `name`, `fork`, `edit`, `import`, `copy`, `delete`, `release`, `migrate`, \
`gc`, `vacuum` and `rekey` write to it; every other verb only reads. Instead of a file it may be a Postgres \
database: postgres://USER@HOST/DATABASE?schema=NAME.";

/// The verbs that do not need the code of the program that wrote the file.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    Threads(Threads),
    Interrupts(Interrupts),
    Log(Log),
    Show(Show),
    Diff(Diff),
    Blame(Blame),
    Why(Why),
    Grep(Grep),
    Bisect(Bisect),
    Compare(Compare),
    Calls(Calls),
    Graph(Graph),
    Name(Name),
    Fork(Fork),
    Edit(Edit),
    Test(Test),
    Export(Export),
    Import(Import),
    Copy(Copy),
    Delete(Delete),
    Release(Release),
    Verify(Verify),
    Backup(Backup),
    Du(Du),
    Migrate(Migrate),
    Gc(Gc),
    Vacuum(Vacuum),
    #[cfg(feature = "encryption")]
    Rekey(Rekey),
}

/// A text for the screen, and the exit code.
pub(super) type Output = (String, Exit);

macro_rules! each_verb {
    ($verb:expr, $name:ident => $with:expr) => {
        match $verb {
            Verb::Threads($name) => $with,
            Verb::Interrupts($name) => $with,
            Verb::Log($name) => $with,
            Verb::Show($name) => $with,
            Verb::Diff($name) => $with,
            Verb::Blame($name) => $with,
            Verb::Why($name) => $with,
            Verb::Grep($name) => $with,
            Verb::Bisect($name) => $with,
            Verb::Calls($name) => $with,
            Verb::Compare($name) => $with,
            Verb::Graph($name) => $with,
            Verb::Name($name) => $with,
            Verb::Fork($name) => $with,
            Verb::Edit($name) => $with,
            Verb::Test($name) => $with,
            Verb::Export($name) => $with,
            Verb::Import($name) => $with,
            Verb::Copy($name) => $with,
            Verb::Delete($name) => $with,
            Verb::Release($name) => $with,
            Verb::Verify($name) => $with,
            Verb::Backup($name) => $with,
            Verb::Du($name) => $with,
            Verb::Migrate($name) => $with,
            Verb::Gc($name) => $with,
            Verb::Vacuum($name) => $with,
            #[cfg(feature = "encryption")]
            Verb::Rekey($name) => $with,
        }
    };
}

impl Verb {
    pub(super) fn tell(&self, json: bool, look: Look) -> Result<Output, Failure> {
        each_verb!(self, verb => render(&verb.answer()?, json, look))
    }

    /// Returns the document of the verb, in one line.
    pub(super) fn document(&self) -> Result<String, Failure> {
        each_verb!(self, verb => serde_json::to_string(&verb.answer()?).map_err(Failure::damaged))
    }
}

pub(super) fn render(answer: &impl Answer, json: bool, look: Look) -> Result<Output, Failure> {
    if json {
        let text = serde_json::to_string_pretty(answer).map_err(Failure::damaged)?;
        return Ok((escape_json(&text).into_owned() + "\n", answer.exit()));
    }
    let mut page = Page::new(look);
    answer.show(&mut page);
    Ok((page.finish(), answer.exit()))
}

/// Print a script that makes a shell complete verbs and options
///
/// bash: superstep completions bash > ~/.local/share/bash-completion/completions/superstep;
/// zsh: superstep completions zsh > a file _superstep in a folder of $fpath;
/// fish: superstep completions fish > ~/.config/fish/completions/superstep.fish.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: source <(superstep completions bash)")]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for this command line.
    pub(super) fn tell(&self, command: &mut Command) -> Output {
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, command, name, &mut script);
        (String::from_utf8_lossy(&script).into_owned(), Exit::Fine)
    }
}

/// The part of a list that is asked for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Part {
    /// List at most N; 0 for all
    #[arg(short, value_name = "N", default_value_t = 0, value_parser = count::<usize>, allow_hyphen_values = true)]
    n: usize,
    /// Leave out the first N
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<usize>, allow_hyphen_values = true)]
    skip: usize,
}

impl Part {
    /// Returns the part of a list.
    pub(super) fn of<T>(self, all: Vec<T>) -> impl Iterator<Item = T> {
        all.into_iter().skip(self.skip).take(if self.n == 0 { usize::MAX } else { self.n })
    }
}

/// Parses the number of an option: a count or a duration. Anything else is an error of one line, even a value that
/// looks like another option.
pub(super) fn count<N: FromStr>(text: &str) -> Result<N, &'static str> {
    // `parse` would accept a sign.
    let is_one = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match is_one {
        true => text.parse().map_err(|_| "it is too large a number"),
        false => Err("it is a whole number, 0 or more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(count::<u64>("007"), Ok(7));
        for none in ["", "-1", "+1", "1.5", "1e3", "ten", " 1", "--json"] {
            assert_eq!(count::<u64>(none), Err("it is a whole number, 0 or more"), "{none}");
        }
        assert_eq!(count::<u64>("18446744073709551616"), Err("it is too large a number"));
    }
}
