//! The machine that commands run on.

use std::path::PathBuf;
use std::time::Duration;

use superstep_nodes::tool::ToolFailure;

/// The machine that commands run on.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum CommandRunner {
    /// This machine, in the sandbox.
    #[default]
    Local,
    /// Another machine, over ssh.
    Ssh(Ssh),
}

/// A machine that commands run on over ssh, with the `ssh` of this system.
///
/// `ssh` runs in its batch mode: it asks for nothing. So the machine has to be a known host, and a key or an agent
/// has to identify the user. User, port, key and jump hosts come from the configuration files of `ssh`.
///
/// Commands have all rights of the account on that machine: there is no sandbox, and there are no
/// [limits](super::ProcessLimits) but that of time. The account's shell has to be a POSIX shell, and the machine
/// needs `bash`. If a call is cancelled, the connection is closed at once; the command ends by its time limit if the
/// machine has the program `timeout`, and otherwise by itself.
#[derive(Clone, Debug)]
pub struct Ssh {
    host: String,
    folder: Option<String>,
    program: PathBuf,
}

/// An error of naming a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SshError {
    /// It is empty, begins with `-`, or has blanks. Write `host` or `user@host`, or an alias of the configuration of
    /// `ssh`.
    #[error("`{host}` is not a host: write `host`, `user@host`, or an alias of the configuration of ssh")]
    Host {
        /// The host as given.
        host: String,
    },
}

/// The line that tells output of the command from messages of `ssh`: if it is missing, the command has not begun.
const BEGUN: &str = "[superstep: the command begins]\n";

impl Ssh {
    /// Makes a runner on a machine: `host`, `user@host`, or an alias of the configuration of `ssh`. Commands run in the
    /// home folder.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be the name of a host.
    pub fn new(host: impl Into<String>) -> Result<Self, SshError> {
        let host = host.into();
        let is_strange = |letter: char| letter.is_whitespace() || letter.is_control();
        // `ssh` would take it for an option.
        if host.is_empty() || host.starts_with('-') || host.contains(is_strange) {
            return Err(SshError::Host { host });
        }
        Ok(Self { host, folder: None, program: PathBuf::from("ssh") })
    }

    /// Runs commands in this folder of the machine.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Starts this program instead of the `ssh` on the `PATH`.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Returns the place of commands, for the model.
    pub(super) fn place(&self) -> String {
        let folder = self.folder.as_deref().unwrap_or("its home folder");
        format!("the machine {}, in {folder}", self.host)
    }

    /// Returns the command of this machine that runs a command on the other.
    pub(super) fn command<'v>(
        &self,
        command: &str,
        variables: impl Iterator<Item = (&'v String, &'v String)>,
        time: Duration,
    ) -> String {
        let begun = quoted(BEGUN.trim_end());
        let folder = self.folder.iter().map(|folder| format!("cd -- {} || exit 1; ", quoted(folder)));
        let variables = variables.map(|(name, value)| format!("export {name}={}; ", quoted(value)));
        let settings: String = folder.chain(variables).collect();
        let bash = format!("bash --noprofile --norc -c {} </dev/null", quoted(command));
        let limit = time.as_secs().max(1);
        let there = format!(
            "exec 2>&1; printf '%s\\n' {begun}; {settings}command -v timeout >/dev/null && \
             exec timeout -k 5 {limit} {bash}; exec {bash}"
        );
        let program = quoted(&self.program.to_string_lossy());
        let options = "-o BatchMode=yes -o ConnectTimeout=10";
        format!("exec {program} {options} -- {} {}", quoted(&self.host), quoted(&there))
    }

    /// Returns the variables of this machine that `ssh` needs.
    pub(super) fn environment() -> Vec<(String, String)> {
        let names = ["HOME", "LANG", "LOGNAME", "PATH", "SSH_AUTH_SOCK", "USER"];
        names.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
    }

    /// Returns the output of a command without the messages of `ssh`.
    ///
    /// # Errors
    ///
    /// Fails if the command has not begun.
    pub(super) fn printed(&self, text: String, exit_code: Option<i32>) -> Result<String, ToolFailure> {
        if let Some((_, printed)) = text.split_once(BEGUN) {
            return Ok(printed.to_owned());
        }
        let program = self.program.display();
        let reason = match (exit_code, text.trim()) {
            (Some(126 | 127), _) => {
                format!("the program `{program}` cannot be started; install an ssh client")
            }
            (None, "") => format!("`{program}` did not reach it in time"),
            (Some(_), "") => format!("`{program}` did not reach it, and does not say why"),
            (_, said) => format!("`{program}` says: {said}"),
        };
        Err(ToolFailure::new(format!("the command was not run on {}: {reason}", self.host)))
    }
}

/// Returns a text as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
