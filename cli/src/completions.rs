//! `completions`: prints scripts for shell completion.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::arguments::{Arguments, Output};
use super::screen::Exit;

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
    pub(super) fn tell(&self) -> Output {
        let mut command: Command = Arguments::command();
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        (String::from_utf8_lossy(&script).into_owned(), Exit::Fine)
    }
}
