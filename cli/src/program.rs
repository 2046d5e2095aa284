//! The program: from arguments to an exit code.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use superstep_core::nonprinting::escape_nonprinting;

use super::arguments::{Arguments, Asked, Output};
use super::failure::Failure;
use super::screen::{Exit, Look, Screen};

/// Runs the program with the arguments and the terminal of the process.
#[must_use]
pub fn main() -> ExitCode {
    // Not locked: other threads of an agent may print.
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let screen = Screen { look: here(&out), out: &mut out, err: &mut err };
    ExitCode::from(run(std::env::args_os(), screen) as u8)
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
pub fn run<A: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = A>, screen: Screen<'_>) -> Exit {
    let told = match Arguments::try_parse_from(arguments) {
        Err(usage) => Err(usage.into()),
        Ok(Arguments { asked: Asked::Completions(verb), .. }) => Ok(verb.tell()),
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
