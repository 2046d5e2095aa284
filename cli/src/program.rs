//! The program: from arguments to an exit code.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use superstep_core::nonprinting::escape_nonprinting;

use super::arguments::{Arguments, Asked, Colors, Output};
use super::database::CheckpointSource;
use super::extension::Extension;
use super::failure::Failure;
use super::file::FileArgument;
use super::screen::{Exit, Look, Screen};

/// Runs the program `superstep`, with these verbs added, with the arguments and the terminal of the process.
#[must_use]
pub fn main(added: &[&dyn Extension<CheckpointSource>]) -> ExitCode {
    // Not locked: other threads of an agent may print.
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let screen = Screen { look: here(&out), out: &mut out, err: &mut err };
    ExitCode::from(run(std::env::args_os(), added, screen) as u8)
}

/// Returns the look of output on this stream.
pub(super) fn here(out: &impl IsTerminal) -> Look {
    match out.is_terminal() {
        false => Look::PIPED,
        true => Look {
            width: terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0)),
            color: has_colors(std::env::var_os("NO_COLOR"), std::env::var_os("TERM")),
        },
    }
}

/// Returns `true` if a terminal gets colours, by the variables `NO_COLOR` and `TERM`.
fn has_colors(no_color: Option<OsString>, term: Option<OsString>) -> bool {
    no_color.is_none_or(|no| no.is_empty()) && term.is_none_or(|term| term != "dumb")
}

/// Runs the program with these arguments, the first of which is the program's name.
///
/// # Panics
/// Panics in a tokio runtime if the verb is one of `added`, as those run on a runtime of their own.
pub fn run<A: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = A>,
    added: &[&dyn Extension<CheckpointSource>],
    screen: Screen<'_>,
) -> Exit {
    let file = FileArgument::augment_args(Command::default());
    let with_file =
        |verb: &&dyn Extension<CheckpointSource>| verb.command().args(file.get_arguments().cloned());
    let mut command = Arguments::command().subcommands(added.iter().map(with_file));
    let matches = match command.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(usage) => return said(Err(usage.into()), screen),
    };
    if let Some((name, options)) = matches.subcommand()
        && let Some(verb) = added.iter().find(|verb| verb.command().get_name() == name)
    {
        let Screen { out, err, look } = screen;
        let told = run_added(*verb, options, Screen { out: &mut *out, err: &mut *err, look });
        return said(told, Screen { out, err, look });
    }
    let told = match Arguments::from_arg_matches(&matches).map_err(|usage| usage.format(&mut command)) {
        Err(usage) => Err(usage.into()),
        Ok(Arguments { asked: Asked::Completions(verb), .. }) => Ok(verb.tell(&mut command)),
        #[cfg(all(feature = "agent", unix))]
        Ok(Arguments { asked: Asked::Agent(agent), json, colors }) => {
            let Screen { out, err, look } = screen;
            return agent.run(json, Screen { out, err, look: colors.of(look) });
        }
        Ok(Arguments { asked: Asked::Verb(verb), json, colors }) => {
            let told = verb.tell(json, colors.of(screen.look));
            told.map_err(|failure| Unanswered::of(&failure, "superstep"))
        }
    };
    said(told, screen)
}

/// Runs an added verb on its file.
fn run_added(
    verb: &dyn Extension<CheckpointSource>,
    options: &ArgMatches,
    screen: Screen<'_>,
) -> Result<Output, Unanswered> {
    let file = FileArgument::from_arg_matches(options)?;
    let look = Colors::from_arg_matches(options)?.of(screen.look);
    let carry_out = || -> Result<Exit, Failure> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::of)?;
        let ended = runtime.block_on(verb.run(file.source()?, options, Screen { look, ..screen }));
        // What still reads the file in the background does not delay the end.
        runtime.shutdown_background();
        Ok(ended?)
    };
    match carry_out() {
        Ok(exit) => Ok((String::new(), exit)),
        Err(failure) => Err(Unanswered::of(&failure, "superstep")),
    }
}

/// The text and the exit code of a call without an answer: an error, or a help text.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) text: String,
    exit: Exit,
}

impl From<clap::Error> for Unanswered {
    /// Takes the text of a usage error, or a help text, which is not an error. For an invalid value of an argument, the
    /// hint at the end is removed.
    fn from(usage: clap::Error) -> Self {
        let exit = if usage.use_stderr() { Exit::Unusable } else { Exit::Fine };
        let mut text = usage.to_string();
        if usage.kind() == clap::error::ErrorKind::ValueValidation
            && let Some(end) = text.rfind("\n\nFor more information")
        {
            text.truncate(end + 1);
        }
        Self { text: escape_nonprinting(&text).into_owned(), exit }
    }
}

impl Unanswered {
    /// Formats a failure as an error of a program with this name.
    pub(super) fn of(failure: &Failure, program: &str) -> Self {
        let text = format!("error: {}\n", escape_nonprinting(&failure.told_by(program)));
        Self { text, exit: failure.exit }
    }
}

/// Writes an answer or an error.
pub(super) fn said(told: Result<Output, Unanswered>, screen: Screen<'_>) -> Exit {
    let (text, exit, to) = match told {
        Ok((text, exit)) => (text, exit, &mut *screen.out),
        Err(Unanswered { text, exit: Exit::Fine }) => (text, Exit::Fine, &mut *screen.out),
        Err(Unanswered { text, exit }) => (text, exit, &mut *screen.err),
    };
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if is_lost(&error) => lost(&error, screen.err),
        _ => exit,
    }
}

/// Returns `true` if a write error loses an answer that is still wanted: not if the reader closed the pipe.
pub(super) fn is_lost(error: &io::Error) -> bool {
    error.kind() != ErrorKind::BrokenPipe
}

/// Reports that an answer is lost.
pub(super) fn lost(error: &io::Error, err: &mut dyn Write) -> Exit {
    // If that cannot be written either, the exit code still reports it.
    let _ = writeln!(err, "error: the answer cannot be written: {error}").and_then(|()| err.flush());
    Exit::Unusable
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Colours were sent to a terminal of type `dumb`.
    #[test]
    fn a_dumb_terminal_and_no_color_get_no_colors() {
        let set = |text: &str| Some(OsString::from(text));
        assert!(has_colors(None, None) && has_colors(set(""), set("xterm")));
        assert!(!has_colors(None, set("dumb")));
        assert!(!has_colors(set("1"), set("xterm")));
    }
}
