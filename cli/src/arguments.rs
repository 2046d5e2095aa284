//! The command line of the program.

use clap::{Parser, Subcommand};

use super::answer::{Answer, escape_json};
use super::completions::Completions;
use super::failure::Failure;
use super::page::Page;
use super::screen::{Exit, Look};
#[cfg(feature = "encryption")]
use super::verbs::Rekey;
use super::verbs::{
    Backup, Bisect, Blame, Compare, Delete, Diff, Du, Edit, Export, Fork, Gc, Graph, Grep, Import,
    Interrupts, Log, Migrate, Name, Release, Show, Test, Threads, Vacuum, Verify, Why,
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

FILE may be in use by a program. `name`, `fork`, `edit`, `import`, `delete`, `release`, `migrate`, \
`gc`, `vacuum` and `rekey` write to it; every other verb only reads.";

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
    Graph(Graph),
    Name(Name),
    Fork(Fork),
    Edit(Edit),
    Test(Test),
    Export(Export),
    Import(Import),
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

impl Verb {
    pub(super) fn tell(&self, json: bool, look: Look) -> Result<Output, Failure> {
        match self {
            Self::Threads(verb) => render(&verb.answer()?, json, look),
            Self::Interrupts(verb) => render(&verb.answer()?, json, look),
            Self::Log(verb) => render(&verb.answer()?, json, look),
            Self::Show(verb) => render(&verb.answer()?, json, look),
            Self::Diff(verb) => render(&verb.answer()?, json, look),
            Self::Blame(verb) => render(&verb.answer()?, json, look),
            Self::Why(verb) => render(&verb.answer()?, json, look),
            Self::Grep(verb) => render(&verb.answer()?, json, look),
            Self::Bisect(verb) => render(&verb.answer()?, json, look),
            Self::Compare(verb) => render(&verb.answer()?, json, look),
            Self::Graph(verb) => render(&verb.answer()?, json, look),
            Self::Name(verb) => render(&verb.answer()?, json, look),
            Self::Fork(verb) => render(&verb.answer()?, json, look),
            Self::Edit(verb) => render(&verb.answer()?, json, look),
            Self::Test(verb) => render(&verb.answer()?, json, look),
            Self::Export(verb) => render(&verb.answer()?, json, look),
            Self::Import(verb) => render(&verb.answer()?, json, look),
            Self::Delete(verb) => render(&verb.answer()?, json, look),
            Self::Release(verb) => render(&verb.answer()?, json, look),
            Self::Verify(verb) => render(&verb.answer()?, json, look),
            Self::Backup(verb) => render(&verb.answer()?, json, look),
            Self::Du(verb) => render(&verb.answer()?, json, look),
            Self::Migrate(verb) => render(&verb.answer()?, json, look),
            Self::Gc(verb) => render(&verb.answer()?, json, look),
            Self::Vacuum(verb) => render(&verb.answer()?, json, look),
            #[cfg(feature = "encryption")]
            Self::Rekey(verb) => render(&verb.answer()?, json, look),
        }
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
