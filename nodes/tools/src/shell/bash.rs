//! The tool, and what commands may.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_nodes::tool::{
    InvalidInput, LongResults, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::command_line::CommandLine;
use super::confinement::{Confinement, Network, ProcessLimits, Sandbox};
use super::output::Output;
use super::process::{Order, in_words};
use super::runner::{CommandRunner, Ssh};
use super::worker::{End, Report, run};
use crate::Workspace;
use crate::built_in::{BuiltIn, blocking, built_in};
use crate::text_file::shortened;

/// The tool `bash`: runs a command in the workspace.
///
/// On Linux from 6.2 on, with Landlock and on x86-64, ARM64 or RISC-V 64, commands run in a sandbox. They write in the
/// workspace and in a temporary folder that is deleted afterwards. They read these and the files that programs of the
/// system need: not the user's home, no secrets in `/etc`, no other process, and no open file of the program. They make
/// no socket, so they reach neither the network nor services of this machine, nor the shared memory, semaphores and
/// message queues of other programs. They make no call that administers the machine, set no limit, priority or
/// processor of another process, and of the rights of root keep the one to use files of other users. Elsewhere commands
/// are refused, unless the program [allows them](Self::sandbox).
///
/// A filter of system calls reads numbers only. So these are refused everywhere, in the workspace, too: extended
/// attributes (files are copied without), watches (`inotify` and `fanotify`: programs that look from time to time
/// instead do so), the setuid and setgid bits, also where a folder has the setgid bit already and its mode is set
/// again, and a process that sets its own limits by its number instead of 0.
///
/// The processes of a command are killed when it ends, when its time is over, when its call is cancelled, and when the
/// program is gone; but when the program is gone, processes that have left its process group continue.
///
/// A long output is shown in short. If the session has a place for [long results](superstep_nodes::tool::LongResults), the
/// whole output is stored there, up to 256 MiB.
///
/// Of the environment it has `PATH`, `LANG`, and what the program [adds](Self::variable); `HOME` and `TMPDIR` are the
/// temporary folder.
///
/// The sandbox does not keep a command from changing the permissions, owners and times of files that the user owns,
/// wherever they are, from seeing the names, sizes and times of files outside by their paths, from using processor,
/// memory and disk within its [limits](Self::limits), and from writing what others run later, such as hooks of git in
/// the workspace. It sees which processes there are, with their command lines and limits. Before Linux 6.12 it may send
/// signals to other processes of the user.
///
/// # Permission rules
///
/// A rule has a pattern, such as `cargo test*`, in which `*` stands for any text. It is compared with the parts of a
/// command line, after quotes are removed and with one blank between words: with each command of pipelines, lists,
/// loops, subshells and substitutions, with the command inside of `env`, `timeout`, `xargs`, `find -exec`,
/// `sh -c '…'` and the like, with each redirection to a file (`> target/log`), and with each assignment of a variable
/// that programs see (`RUST_LOG=debug`). A pattern that ends in ` *` fits the command without arguments, too.
///
/// - A rule that allows must cover each part, or several rules together. A file of the workspace that is read needs no
///   rule; a redirection that may leave the workspace, or writes below `.git`, is covered by no pattern.
/// - A rule that asks or denies applies if it is about any part, by the name of the program without its folder.
/// - A part that is known only when the line runs, such as `$command` or `eval`, is covered by no pattern, and may be
///   what any rule is about.
///
/// Rules save questions. They do not confine: a program that may run can start other programs, and another spelling of
/// its options is another text. The sandbox is the fence.
#[derive(Clone, Debug)]
pub struct Bash {
    workspace: Workspace,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    network: Network,
    sandbox: Sandbox,
    limits: ProcessLimits,
    variables: BTreeMap<String, String>,
    time: Duration,
    runner: CommandRunner,
}

/// The input of [`Bash`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashInput {
    /// The bash command.
    #[schemars(length(min = 1))]
    pub command: String,
    /// The time limit in seconds; by default the longest that is allowed.
    #[schemars(range(min = 1))]
    pub seconds: Option<u64>,
}

impl Bash {
    /// The name of the tool.
    pub const NAME: &'static str = "bash";

    /// The default time limit of a command.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(120);

    /// Makes a tool that runs commands in a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            readable: Vec::new(),
            writable: Vec::new(),
            network: Network::default(),
            sandbox: Sandbox::default(),
            limits: ProcessLimits::default(),
            variables: BTreeMap::new(),
            time: Self::DEFAULT_TIME,
            runner: CommandRunner::default(),
        }
    }

    /// Lets commands read a file or folder and run what is in it, such as a toolchain in the user's home.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Lets commands write a file or folder outside of the workspace, such as a cache.
    #[must_use]
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// Sets the network access of commands.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets the sandbox of commands.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Sets the resource limits of commands. They hold on Linux only.
    #[must_use]
    pub fn limits(mut self, limits: ProcessLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets a variable of the environment. The model can read it.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets the default time limit of a command.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Runs commands on another machine, without a sandbox; see [`Ssh`]. Files there are those of an MCP server that is
    /// started over ssh.
    #[must_use]
    pub fn runner(mut self, runner: CommandRunner) -> Self {
        self.runner = runner;
        self
    }

    /// The environment of a command.
    fn environment(&self, temporary: &str) -> Vec<(String, String)> {
        let mut environment = BTreeMap::from([
            ("HOME".to_owned(), temporary.to_owned()),
            ("TMPDIR".to_owned(), temporary.to_owned()),
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ]);
        let ours = ["PATH", "LANG"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
        environment.extend(ours);
        environment.extend(self.variables.clone());
        environment.into_iter().collect()
    }

    /// Returns the time limit of a call.
    fn time_of(&self, input: &BashInput) -> Duration {
        input.seconds.map_or(self.time, |seconds| Duration::from_secs(seconds).min(self.time))
    }
}

#[async_trait]
impl BuiltIn for Bash {
    type Input = BashInput;

    fn describe(&self) -> String {
        let time = self.time.as_secs();
        if let CommandRunner::Ssh(ssh) = &self.runner {
            return format!(
                "Runs a command with bash on {}, each in a new shell, and returns what it prints. It has all rights of the \
                 account there, and no sandbox. There is no input. It may take {time} seconds.",
                ssh.place()
            );
        }
        let network = match self.network {
            Network::Denied => "There is no network.",
            Network::Allowed => "There is a network.",
        };
        format!(
            "Runs a command with bash in the workspace, each in a new shell, and returns what it prints. It may write in the \
             workspace and in $TMPDIR, which is gone afterwards. {network} There is no input, and nothing goes on in the \
             background when the command has ended. It may take {time} seconds."
        )
    }

    fn effect_of(&self, _: &BashInput) -> ToolEffect {
        ToolEffect::Changes
    }

    fn in_short(&self, input: &BashInput) -> String {
        let command = shortened(&input.command, 2_000);
        match &self.runner {
            CommandRunner::Local => format!("run the command {command}"),
            CommandRunner::Ssh(ssh) => format!("run on {} the command {command}", ssh.place()),
        }
    }

    /// Compares rules with each command, redirection and assignment of the line; see [`Bash`].
    fn matcher(&self, input: &BashInput) -> Option<PermissionMatcher> {
        Some(PermissionMatcher::of(CommandLine::parse(&input.command)))
    }

    fn time(&self, input: &BashInput) -> Duration {
        // It is stopped before, and what it printed until then is not lost.
        self.time_of(input) + Duration::from_secs(10)
    }

    async fn validate(&self, input: &BashInput, _: &ToolContext) -> Result<(), InvalidInput> {
        match input.command.contains('\0') {
            true => Err(InvalidInput::new("a command has no NUL")),
            false => Ok(()),
        }
    }

    async fn run(&self, input: BashInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (tool, time, stop) = (self.clone(), self.time_of(&input), context.cancellation().clone());
        let place = context.long_results().cloned();
        if let CommandRunner::Ssh(ssh) = self.runner.clone() {
            return blocking(move || {
                let command = ssh.command(&input.command, tool.variables.iter(), time);
                // Its limits, its network and its files are those of the other machine.
                let (folder, environment) = (PathBuf::from("/"), Ssh::environment());
                let confinement =
                    Confinement { readable: Vec::new(), writable: Vec::new(), network: Network::Allowed };
                let (sandbox, limits) = (Sandbox::None, ProcessLimits::default());
                let order = Order { command, folder, environment, confinement, sandbox, limits };
                let report = run(&order, time, &stop, Output::new(place.as_deref()))?;
                told(report, time, Some(&ssh), place.as_deref())
            })
            .await;
        }
        let folder = self.workspace.open(context)?.path().to_owned();
        blocking(move || {
            let temporary = tempfile::Builder::new().prefix("superstep-").tempdir()?;
            let inside = temporary.path().canonicalize()?;
            let environment = tool.environment(&inside.to_string_lossy());
            let writable = tool.writable.into_iter().chain([folder.clone(), inside]).collect();
            let confinement = Confinement { readable: tool.readable, writable, network: tool.network };
            let (sandbox, limits) = (tool.sandbox, tool.limits);
            let order = Order { command: input.command, folder, environment, confinement, sandbox, limits };
            let report = run(&order, time, &stop, Output::new(place.as_deref()))?;
            told(report, time, None, place.as_deref())
        })
        .await
    }
}

built_in!(Bash);

/// Returns the result of a command for the model. `ssh` is the machine that it ran on, if it is another.
fn told(
    report: Report,
    time: Duration,
    ssh: Option<&Ssh>,
    place: Option<&dyn LongResults>,
) -> Result<ToolOutput, ToolFailure> {
    let Report { end, output, goes_on } = report;
    let (mut bytes, missing) = (output.bytes(), output.missing());
    let mut text = output.into_text(place);
    if let Some(ssh) = ssh {
        let exit_code = if let End::ByItself(status) = end { status.code() } else { None };
        let all = text.len();
        text = ssh.printed(text, exit_code)?;
        bytes = bytes.saturating_sub((all - text.len()) as u64);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if goes_on {
        text.push_str("[a process that it started is still running]\n");
    }
    match end {
        End::Stopped => Err(ToolFailure::new(format!("it was stopped; until then it printed:\n{text}"))),
        End::TooLate => {
            Err(ToolFailure::new(format!("it was stopped after {time:?}; until then it printed:\n{text}")))
        }
        End::ByItself(status) => {
            if bytes == 0 {
                text.push_str("[nothing was printed]\n");
            }
            text.push_str(&in_words(status).unwrap_or_default());
            let data = json!({ "exit_code": status.code(), "bytes": bytes, "complete": missing == 0 });
            Ok(ToolOutput::text(text).with_data(data))
        }
    }
}

#[cfg(test)]
mod tests;
