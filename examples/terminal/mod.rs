//! How the examples print and end, as command-line programs do.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Prints a line. A closed pipe, as behind `head`, is an error, which [`ended`] takes for the end.
pub(crate) fn print(line: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Makes an exit code of a result, and says on standard error what went wrong.
#[expect(clippy::print_stderr, reason = "a command-line program says there what went wrong")]
pub(crate) fn ended(result: Result<ExitCode, Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if nobody_reads(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn nobody_reads(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        // Many errors have their cause in their own text already.
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
