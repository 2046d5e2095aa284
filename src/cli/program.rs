//! The program: from arguments to an exit code.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::process::ExitCode;

use clap::Parser;

use super::arguments::Arguments;
use super::screen::{Exit, Look, Screen};

/// Runs the program with the arguments and on the terminal that the process has.
#[must_use]
pub fn main() -> ExitCode {
    let (out, err) = (io::stdout(), io::stderr());
    let look = match out.is_terminal() {
        false => Look::PIPED,
        true => Look {
            width: terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0)),
            color: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()),
        },
    };
    let screen = Screen { out: &mut out.lock(), err: &mut err.lock(), look };
    ExitCode::from(run(std::env::args_os(), screen) as u8)
}

/// Runs the program with these arguments, the first of which is what it is called.
pub fn run<A: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = A>, screen: Screen<'_>) -> Exit {
    let told = match Arguments::try_parse_from(arguments) {
        Err(usage) if !usage.use_stderr() => Ok((usage.to_string(), Exit::Fine)),
        Err(usage) => Err((usage.to_string(), Exit::Unusable)),
        Ok(Arguments { verb, json }) => {
            let told = verb.tell(json, screen.look);
            told.map_err(|failure| (format!("error: {}\n", failure.text), failure.exit))
        }
    };
    let (written, exit) = match told {
        Ok((text, exit)) => (screen.out.write_all(text.as_bytes()).and_then(|()| screen.out.flush()), exit),
        Err((text, exit)) => (screen.err.write_all(text.as_bytes()), exit),
    };
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Exit::Unusable,
        // Who stops reading has seen enough.
        _ => exit,
    }
}
