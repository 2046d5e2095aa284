//! A server that is a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The variables of the environment that a server gets without being asked: what programs need to find each other, the
/// user's folders and the language.
const PASSED: [&str; 18] = [
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "USER",
    // On Windows.
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// A server that is a command, which is spoken to over its standard input and output.
///
/// It does not get the environment of the program, which may hold keys, but for what programs need to find each other
/// (`PATH`, `HOME`, `LANG` and the like). It is not run in a sandbox.
///
/// It is ended with the connection, with all that is in its process group: its input is closed, it has two seconds to
/// end by itself, and it is killed. If the connection is not closed, as when the program's future is dropped, it is
/// killed at once; and when the program itself is killed its input ends, which well-behaved servers take for the end.
#[derive(Clone)]
pub struct McpCommand {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: BTreeMap<OsString, OsString>,
    pub(super) folder: Option<PathBuf>,
}

impl McpCommand {
    /// Makes a command of a program, which is looked for on the path unless it is one.
    pub fn new(program: impl Into<OsString>) -> Self {
        let passed = PASSED.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
        Self { program: program.into(), arguments: Vec::new(), variables: passed.collect(), folder: None }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the server's environment.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Gives the server the whole environment of this program, keys and all.
    #[must_use]
    pub fn inherit_environment(mut self) -> Self {
        for (name, value) in std::env::vars_os() {
            self.variables.entry(name).or_insert(value);
        }
        self
    }

    /// Sets the folder that the server starts in.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

impl fmt::Debug for McpCommand {
    /// The values of variables may be keys, and are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpCommand")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("variables", &self.variables.keys())
            .field("folder", &self.folder)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_are_not_shown() {
        let shown = format!("{:?}", McpCommand::new("server").arg("--all").variable("TOKEN", "hunter2"));
        assert!(shown.contains("--all") && shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }
}
