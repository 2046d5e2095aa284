//! The resources that a command may reach, and how much of them.

use std::path::PathBuf;

/// The sandbox setting for commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sandbox {
    /// Commands run in a sandbox, and are refused where there is none.
    #[default]
    Required,
    /// Commands run in a sandbox where there is one, and elsewhere with all rights of the program.
    WhereThereIsOne,
    /// Commands run with all rights of the program.
    None,
}

/// The network access of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Commands cannot create sockets of any kind, so they do not reach services of this machine, either.
    #[default]
    Denied,
    /// Commands reach everything that the program reaches, including the services of this machine.
    Allowed,
}

/// The files and the network that a command may reach in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct Confinement {
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) network: Network,
}

/// The error of a missing sandbox.
#[derive(Debug, thiserror::Error)]
#[error("there is no sandbox for commands here: {0}")]
pub(super) struct NoSandbox(pub(super) String);

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
impl Confinement {
    pub(super) fn confine_this_thread(&self) -> Result<(), NoSandbox> {
        Err(NoSandbox("only Linux has one, on processors of 64 bits".to_owned()))
    }
}

/// The resource limits of a command, besides time. Each limit applies to one process, except the number of processes. A
/// program that itself runs in a sandbox of this kind cannot set them: its commands have the program's own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessLimits {
    /// Memory in bytes that a process may have of its own. What it only reserves does not count.
    pub memory_bytes: u64,
    /// The size in bytes that a file may be written to.
    pub file_bytes: u64,
    /// The maximum number of processes of the user, including those that the command has not started. It does not limit
    /// root.
    pub processes: u64,
}

impl Default for ProcessLimits {
    /// 4 GiB of memory, files of 1 GiB, 4,096 processes.
    fn default() -> Self {
        Self { memory_bytes: 4 << 30, file_bytes: 1 << 30, processes: 4_096 }
    }
}

impl ProcessLimits {
    /// Sets how much memory a process may have, in bytes.
    #[must_use]
    pub fn with_memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets the size in bytes that a file may be written to.
    #[must_use]
    pub fn with_file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = bytes;
        self
    }

    /// Sets how many processes the user may have.
    #[must_use]
    pub fn with_processes(mut self, processes: u64) -> Self {
        self.processes = processes;
        self
    }

    /// Sets the limits of a process, which hands them on to what it starts. Limits that are lower already stay.
    #[cfg(target_os = "linux")]
    pub(super) fn set(&self, process: rustix::process::Pid) -> std::io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

        for (resource, most) in [
            (Resource::Data, self.memory_bytes),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nproc, self.processes),
            (Resource::Core, 0),
        ] {
            let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
            prlimit(Some(process), resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        Ok(())
    }

    /// Sets the limits of a process, which only Linux lets others do.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn set(&self, _: rustix::process::Pid) -> std::io::Result<()> {
        Ok(())
    }
}
