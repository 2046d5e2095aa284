//! The process of a server that is a command.

use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::McpCommand;

/// The time that a server has to end after its input is closed, and again after it is signalled.
const GRACE: Duration = Duration::from_secs(2);

/// The interval between checks whether the server has ended.
const PERIOD: Duration = Duration::from_millis(10);

/// The number of bytes kept of a server's standard error.
const KEPT: usize = 2_000;

/// The process of a server, which leads a process group. Dropped, the group is killed.
pub(super) struct ServerProcess {
    child: Child,
    wrote: LastWords,
    /// Reads what it writes to its standard error.
    listens: Option<JoinHandle<()>>,
}

/// The end of a server's output to its standard error.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<u8>>>);

impl ServerProcess {
    /// Starts a server.
    pub(super) fn start(command: &McpCommand) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut order = Command::new(&command.program);
        order
            .args(&command.arguments)
            .env_clear()
            .envs(&command.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        order.process_group(0);
        if let Some(folder) = &command.folder {
            order.current_dir(folder);
        }
        let mut child = order.spawn()?;
        let missing = || io::Error::other("it has no standard streams");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let wrote = LastWords::default();
        let listens = child.stderr.take().map(|errors| tokio::spawn(wrote.clone().listen(errors)));
        let (input, output) = (input.ok_or_else(missing)?, output.ok_or_else(missing)?);
        Ok((Self { child, wrote, listens }, output, input))
    }

    /// Returns the end of the server's output to its standard error.
    pub(super) fn last_words(&self) -> LastWords {
        self.wrote.clone()
    }

    /// Ends it: its input has been closed, so it may end by itself. What is left of its group is killed in any case.
    #[cfg(unix)]
    pub(super) async fn end(mut self) {
        use rustix::process::Signal;

        if !self.has_ended_within(GRACE).await {
            self.signal(Signal::TERM);
            self.has_ended_within(GRACE).await;
        }
        self.signal(Signal::KILL);
        // How it ended is of no interest, and that it cannot be waited for no more so.
        drop(self.child.wait().await);
        if let Some(listens) = self.listens.take() {
            // What it wrote last may be on its way. Who has left the group may keep the pipe open.
            drop(tokio::time::timeout(10 * PERIOD, listens).await);
        }
    }

    #[cfg(not(unix))]
    pub(super) async fn end(mut self) {
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            // It is killed when it is dropped, too.
            drop(self.child.kill().await);
        }
    }

    /// Waits until it has ended, but does not take it out of the table of processes: until then its number is that of
    /// its group and of no other.
    #[cfg(unix)]
    async fn has_ended_within(&self, time: Duration) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};

        let until = tokio::time::Instant::now() + time;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            let Some(pid) = self.pid() else { return true };
            match waitid(WaitId::Pid(pid), options) {
                Ok(None) if tokio::time::Instant::now() < until => tokio::time::sleep(PERIOD).await,
                Ok(None) => return false,
                Ok(Some(_)) | Err(_) => return true,
            }
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.pid() {
            // That nothing is left to get it is no error.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Its number, as long as it was not waited for.
    #[cfg(unix)]
    fn pid(&self) -> Option<rustix::process::Pid> {
        let pid = i32::try_from(self.child.id()?).ok()?;
        rustix::process::Pid::from_raw(pid)
    }
}

#[cfg(unix)]
impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

impl LastWords {
    async fn listen(self, mut errors: ChildStderr) {
        let mut piece = [0; 1024];
        while let Ok(read @ 1..) = errors.read(&mut piece).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&piece[..read]);
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
    }

    /// The same as the end of a sentence, empty if it wrote nothing.
    pub(super) fn as_clause(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.is_empty() {
            true => String::new(),
            false => format!("; it wrote: {}", lines.join(" / ")),
        }
    }
}
