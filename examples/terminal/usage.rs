//! What the examples say of arguments that they do not know.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Says how a program is called: as its answer where that was asked for, and otherwise as an error.
pub(crate) fn usage(arguments: &[String], text: &str) -> Result<ExitCode, Box<dyn Error>> {
    let is_asked = arguments.first().is_some_and(|first| ["--help", "-h"].contains(&first.as_str()));
    if is_asked {
        writeln!(io::stdout().lock(), "usage: {text}")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(io::stderr().lock(), "usage: {text}")?;
    Ok(ExitCode::from(2))
}
