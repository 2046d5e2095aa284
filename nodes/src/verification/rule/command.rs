//! A rule that is a program.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::{Breach, Rule};
use crate::verification::Submission;

/// The rule that a program accepts the response: it reads the response from its standard input, and ends with the exit
/// code 0. If it ends in another way, its output is the feedback.
///
/// The program is started directly, without a shell, and with the environment of this one. It has a time limit, and is
/// killed when that is over or the verification is cancelled; on Unix with all processes that it has started, unless
/// they have left its process group. It is not in a sandbox: you are responsible for what it does with a model's
/// response.
///
/// ```no_run
/// use std::time::Duration;
/// use superstep_nodes::verification::{CommandRule, OutputVerifier};
///
/// let lint = CommandRule::new("ruff").args(["check", "--quiet", "-"]).time_limit(Duration::from_secs(10));
/// let verifier = OutputVerifier::new().rule(lint);
/// ```
#[derive(Clone, Debug)]
pub struct CommandRule {
    name: String,
    program: OsString,
    arguments: Vec<OsString>,
    folder: Option<PathBuf>,
    time_limit: Duration,
}

/// The number of bytes that are kept of a program's output; the rest is read and dropped.
const KEPT: usize = 4_000;

impl CommandRule {
    /// The default for the time that a program may take.
    pub const TIME_LIMIT: Duration = Duration::from_secs(30);

    /// Makes a rule of a program, which is looked up as the system does; the name of the rule is that of the program.
    pub fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        let name = program.to_string_lossy().into_owned();
        Self { name, program, arguments: Vec::new(), folder: None, time_limit: Self::TIME_LIMIT }
    }

    /// Calls the rule so.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Starts the program in this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Gives the program so much time. A response on which it takes longer is refused.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    async fn run(&self, response: &str) -> io::Result<(ExitStatus, String)> {
        let mut order = Command::new(&self.program);
        order.args(&self.arguments).kill_on_drop(true);
        order.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        order.process_group(0);
        if let Some(folder) = &self.folder {
            order.current_dir(folder);
        }
        let mut process = Process(order.spawn()?);
        let missing = || io::Error::other("it has no standard streams");
        let child = &mut process.0;
        let mut input = child.stdin.take().ok_or_else(missing)?;
        let (output, errors) =
            (child.stdout.take().ok_or_else(missing)?, child.stderr.take().ok_or_else(missing)?);
        let write = async move {
            // A program may decide before it has read everything.
            match input.write_all(response.as_bytes()).await {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                _ => Ok(()),
            }
        };
        let (written, output, errors) = tokio::join!(write, printed(output), printed(errors));
        written?;
        let said = [output?, errors?].map(|text| text.trim().to_owned());
        let status = child.wait().await?;
        Ok((status, said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")))
    }
}

#[async_trait]
impl Rule for CommandRule {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self, submission: &Submission) -> Result<(), Breach> {
        match tokio::time::timeout(self.time_limit, self.run(&submission.response)).await {
            Ok(Ok((status, _))) if status.success() => Ok(()),
            Ok(Ok((status, said))) => Err(Breach::broken(match said.is_empty() {
                true => format!("`{}` refuses the response: {status}.", self.name),
                false => format!("`{}` refuses the response: {said}", self.name),
            })),
            Ok(Err(error)) => Err(Breach::unable(format!("{}: {error}", self.program.to_string_lossy()))),
            Err(_) => Err(Breach::broken(format!(
                "`{}` did not come to an end with the response within {:?}.",
                self.name, self.time_limit
            ))),
        }
    }
}

/// Returns the beginning of the output.
async fn printed(mut stream: impl AsyncRead + Unpin) -> io::Result<String> {
    let (mut kept, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Ok(String::from_utf8_lossy(&kept).into_owned());
        }
        kept.extend(&piece[..read.min(KEPT.saturating_sub(kept.len()))]);
    }
}

/// A process, which leads a process group. Dropped, the group is killed.
struct Process(Child);

#[cfg(unix)]
impl Drop for Process {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};

        // The number is that of its group as long as it was not waited for; afterwards it may be that of another one.
        let group = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group {
            // That nothing is left to get it is no error.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
