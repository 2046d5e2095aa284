//! Finds processes that have left their group.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, prlimit,
};

/// The maximum number of searches for marked processes. It is a count and not a time limit, as a search takes longer on
/// a busy machine.
const LOOKS: usize = 400;

/// A mark that child processes inherit, and that none can remove in the sandbox: a number as the limit of real time,
/// far beyond that of any process.
///
/// A process may leave its group, and its parent may end; the mark still identifies its command.
pub(super) struct Mark(u64);

impl Mark {
    /// Draws a mark.
    pub(super) fn draw() -> std::io::Result<Self> {
        let drawn = getrandom::u64().map_err(std::io::Error::other)?;
        Ok(Self(match getrlimit(Resource::Rttime).maximum {
            None => (1 << 61) | (drawn >> 3),
            // It can only be lowered.
            Some(now) => now / 2 + drawn % (now / 2).max(1),
        }))
    }

    pub(super) fn put_on(&self, process: Pid) -> std::io::Result<()> {
        let limit = Rlimit { current: Some(self.0), maximum: Some(self.0) };
        Ok(prlimit(Some(process), Resource::Rttime, limit).map(drop)?)
    }

    /// Kills all processes with the mark. Without a readable `/proc` it does nothing.
    ///
    /// A process that starts another and ends may do so between the list of processes and the look at it. So the list
    /// is read again until it has no process with the mark, and none that has just ended.
    pub(super) fn kill_all(&self) {
        let mut dead = HashSet::new();
        for _ in 0..LOOKS {
            let Ok(processes) = fs::read_dir("/proc") else { return };
            let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let mut processes: Vec<i32> = numbers.collect();
            // What was started last is the most likely to start something else.
            processes.sort_unstable_by(|a, b| b.cmp(a));
            let mut again = false;
            for process in processes.into_iter().filter_map(Pid::from_raw) {
                again |= match self.state_of(process) {
                    ProcessState::Other => false,
                    ProcessState::Gone => true,
                    ProcessState::Dead => dead.insert(process),
                    ProcessState::Alive => {
                        self.kill(process);
                        true
                    }
                };
            }
            if !again {
                return;
            }
        }
    }

    /// Kills a process if it still has the mark: its number may have been reused.
    fn kill(&self, process: Pid) {
        if let Ok(handle) = pidfd_open(process, PidfdFlags::empty())
            && self.state_of(process) == ProcessState::Alive
        {
            // It may have ended by itself; whether it has is looked at again.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    fn state_of(&self, process: Pid) -> ProcessState {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", process.as_raw_pid()));
        let limits = match read("limits") {
            Ok(limits) => limits,
            // Where the system hides processes of others.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return ProcessState::Other,
            Err(_) => return ProcessState::Gone,
        };
        let limit = limits.lines().find(|line| line.starts_with("Max realtime timeout"));
        if limit.and_then(|line| line.split_whitespace().nth(4)?.parse().ok()) != Some(self.0) {
            return ProcessState::Other;
        }
        let Ok(stat) = read("stat") else { return ProcessState::Gone };
        match stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])) {
            true => ProcessState::Dead,
            false => ProcessState::Alive,
        }
    }
}

/// The state of a process that was looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessState {
    Alive,
    /// It has ended, and its parent has not waited for it.
    Dead,
    Other,
    Gone,
}
