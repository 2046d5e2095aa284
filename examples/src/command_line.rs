//! The output, the exit codes and the names of the examples as command-line programs.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// An example: its program, and the features of this package that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The name of the program.
    pub name: &'static str,
    /// The features.
    pub features: &'static [&'static str],
}

impl Example {
    /// Returns the command that runs the example, with more features; its arguments come after it.
    #[must_use]
    pub fn command(&self, more: &[&str]) -> String {
        let features = [self.features, more].concat().join(",");
        let features = if features.is_empty() { features } else { format!("--features {features} ") };
        format!("cargo run {features}--bin {} --", self.name)
    }
}

/// Prints a line. A closed pipe, as with `head`, is an error, which [`ended`] does not report.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(line: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Converts a result into an exit code, and prints errors to standard error.
#[expect(clippy::print_stderr, reason = "a command-line program says there what went wrong")]
#[must_use]
pub fn ended(result: Result<ExitCode, Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Prints the usage of a program: to standard output for `--help`, and otherwise as an error.
///
/// # Errors
/// If it cannot be written.
pub fn usage(arguments: &[String], text: &str) -> Result<ExitCode, Box<dyn Error>> {
    let is_asked = arguments.first().is_some_and(|first| ["--help", "-h"].contains(&first.as_str()));
    if is_asked {
        print(format_args!("usage: {text}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(io::stderr().lock(), "usage: {text}")?;
    Ok(ExitCode::from(2))
}

pub(crate) fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        // Many errors already contain their cause in their own text.
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
