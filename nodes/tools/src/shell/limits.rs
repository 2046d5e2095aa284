//! The resource limits of a command.

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
