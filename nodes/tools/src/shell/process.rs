//! The processes of a command.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::confinement::{Confinement, NoSandbox, ProcessLimits, Sandbox};
#[cfg(target_os = "linux")]
use super::mark::Mark;

/// The commands that bash runs before it becomes the command: it waits until its limits are set, and closes the files
/// that the program has inherited or opened for its children. The sandbox checks a file when it is opened, not when an
/// open file is read.
const PRELUDE: &str = r#"IFS= read -r _ || exit 125
for file in /proc/self/fd/* /dev/fd/*; do
    case ${file##*/} in
        [012] | *[!0-9]*) ;;
        *) eval "exec ${file##*/}>&-" ;;
    esac
done
exec "$BASH" --noprofile --norc -c "$1" </dev/null"#;

/// The leader of the process group: when the program ends, its input ends, and it kills the group, including itself.
const KEEPER: &str = "read -r _; kill -KILL 0";

/// A command that is to be run.
pub(super) struct Order {
    pub(super) command: String,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    pub(super) confinement: Confinement,
    pub(super) sandbox: Sandbox,
    pub(super) limits: ProcessLimits,
}

/// An error of starting a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("{0}, and without one commands are refused")]
    NoSandbox(NoSandbox),
    #[error("there is no bash")]
    NoBash,
    #[error("the command cannot be started: {0}")]
    Start(#[from] io::Error),
}

/// A running command with its child processes. They are killed when it is dropped.
pub(super) struct Processes {
    keeper: Child,
    shell: Child,
    #[cfg(target_os = "linux")]
    mark: Option<Mark>,
    status: Option<ExitStatus>,
}

impl Order {
    /// Starts the command; its output is written to the pipe.
    pub(super) fn start(&self) -> Result<(Processes, PipeReader), StartError> {
        let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];
        let bash = bash.map(Path::new).into_iter().find(|path| path.is_file()).ok_or(StartError::NoBash)?;
        let keeper = Command::new("/bin/sh")
            .args(["-c", KEEPER])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let mut guard = Keeper(Some(keeper));
        let group = guard.0.as_ref().expect("it is there until it is taken").id();
        let (reader, writer) = io::pipe()?;
        let mut shell = self.shell(bash, group, writer)?;
        let input = shell.stdin.take();
        let keeper = guard.0.take().expect("it was not taken before");
        let mut processes = Processes {
            keeper,
            shell,
            #[cfg(target_os = "linux")]
            mark: None,
            status: None,
        };
        self.hold(&mut processes)?;
        input.expect("it is a pipe").write_all(b"\n")?;
        Ok((processes, reader))
    }

    /// Sets the limits of the command, and puts a mark on what it starts. A program that is in a sandbox of this kind
    /// itself may do neither: then the limits are the program's, and processes that leave the group are not found.
    fn hold(&self, processes: &mut Processes) -> io::Result<()> {
        let held = self.limits.set(pid(&processes.shell)).and_then(|()| processes.mark());
        match held {
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && self.sandbox != Sandbox::Required =>
            {
                Ok(())
            }
            held => held,
        }
    }

    /// Starts bash, which waits, on a thread that confines itself and then ends.
    fn shell(&self, bash: &Path, group: u32, output: PipeWriter) -> Result<Child, StartError> {
        let group = i32::try_from(group).map_err(io::Error::other)?;
        let spawn = |output: PipeWriter| -> io::Result<Child> {
            Command::new(bash)
                .args(["--noprofile", "--norc", "-c", PRELUDE, "bash", &self.command])
                .env_clear()
                .envs(self.environment.iter().map(|(name, value)| (name, value)))
                .current_dir(&self.folder)
                .stdin(Stdio::piped())
                .stderr(output.try_clone()?)
                .stdout(output)
                .process_group(group)
                .spawn()
        };
        if self.sandbox == Sandbox::None {
            return Ok(spawn(output)?);
        }
        let copy = output.try_clone()?;
        let confined = std::thread::scope(|scope| {
            let thread = scope.spawn(|| match self.confinement.confine_this_thread() {
                Ok(()) => Ok(spawn(copy)),
                Err(none) => Err(none),
            });
            thread.join().expect("confining a thread does not panic")
        });
        match (confined, self.sandbox) {
            (Ok(child), _) => Ok(child?),
            (Err(_), Sandbox::WhereThereIsOne) => Ok(spawn(output)?),
            (Err(none), _) => Err(StartError::NoSandbox(none)),
        }
    }
}

impl Processes {
    #[cfg(target_os = "linux")]
    fn mark(&mut self) -> io::Result<()> {
        let mark = Mark::draw()?;
        mark.put_on(pid(&self.shell))?;
        self.mark = Some(mark);
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn mark(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns `true` if the command itself has ended. Processes that it has started may still run.
    pub(super) fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid(&self.shell)), options)?.is_some())
    }

    /// Kills all that still runs, and returns how the command ended.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // Until the keeper is waited for, no other group has its number. That nothing is left to kill is no error.
        let _ = kill_process_group(pid(&self.keeper), Signal::KILL);
        // Who has just been started may not be in the group yet, and who runs as the command may have left it.
        drop(self.shell.kill());
        let status = self.shell.wait()?;
        self.status = Some(status);
        #[cfg(target_os = "linux")]
        if let Some(mark) = &self.mark {
            mark.kill_all();
        }
        self.keeper.wait()?;
        Ok(status)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // There is no one to report it to.
        drop(self.end());
    }
}

/// A keeper without a command, which ends when it is dropped.
struct Keeper(Option<Child>);

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(keeper) = &mut self.0 {
            // There is no one to report it to.
            drop(keeper.kill().and_then(|()| keeper.wait()));
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Describes how a process ended; `None` if it succeeded.
pub(super) fn in_words(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("[exit code {code}]")),
        (None, Some(signal)) => Some(format!("[ended by signal {signal}]")),
        (None, None) => Some("[ended in an unknown way]".to_owned()),
    }
}
