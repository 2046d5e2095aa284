//! The claim of a process to a session.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::CheckpointerExt;
use superstep_core::id::ThreadId;
use superstep_core::run::{Ambient, System};

use super::places::Places;
use crate::failure::Failure;
use crate::time::readable;

/// The claim of this process to a session, for as long as it works. The lock of a file ends with the process, however
/// that ends; so the lease of a process of this machine that was killed need not expire.
#[derive(Debug)]
pub(crate) struct Hold {
    _lock: File,
}

/// A session that another process works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The machine, the process and the time since which it runs.
    pub(crate) by: String,
}

impl Hold {
    /// Claims a session.
    pub(crate) async fn take(
        places: &Places,
        saver: &SqliteSaver,
        session: &ThreadId,
    ) -> Result<Result<Self, Held>, Failure> {
        let path = places.lock(session.as_str());
        let Some(mut lock) = lock(&path, || thread::sleep(PAUSE)).map_err(|error| unusable(&path, &error))?
        else {
            let by = std::fs::read_to_string(path).unwrap_or_default();
            return Ok(Err(Held { by }));
        };
        // The name is for people; the lock holds without it.
        let _ = lock.set_len(0).and_then(|()| lock.write_all(holder().as_bytes()));
        let leases = saver.leases().await?;
        let left = leases.iter().find(|lease| lease.thread == *session);
        if left.is_some_and(|lease| lease.holder.starts_with(&format!("{}, ", machine()))) {
            saver.break_lease(session).await?;
        }
        Ok(Ok(Self { _lock: lock }))
    }

    /// Returns `true` if a process works on a session. A process that looks keeps no other one from starting.
    pub(crate) fn is_held(places: &Places, session: &ThreadId) -> Result<bool, Failure> {
        let path = places.lock(session.as_str());
        is_locked(&path).map_err(|error| unusable(&path, &error))
    }
}

/// The number of times that a process tries to lock a file at which others look, and the time in between.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::unusable(format!("the lock {} cannot be used: {error}", path.display()))
}

/// Locks a file, which is made if it does not exist; `None` if another process works under its lock. A look lasts only
/// a moment, so it is waited for with `pause`.
fn lock(path: &Path, mut pause: impl FnMut()) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let file = options.create(true).write(true).truncate(false).mode(0o600).open(path)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if is_locked(path)? {
            return Ok(None);
        }
        pause();
    }
    Ok(None)
}

/// Returns `true` if a process works under the lock of a file. Looks share the lock.
fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the name of this process for others: its machine, its number and the time.
pub(crate) fn holder() -> String {
    let since = readable(now_ms());
    format!("{}, process {}, since {since} UTC", machine(), std::process::id())
}

/// Returns the time, in milliseconds of Unix time.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(System.now().as_millis()).unwrap_or(u64::MAX)
}

fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of sessions took the lock itself, so a session that began at this moment was refused.
    #[test]
    fn a_look_at_a_session_does_not_keep_a_process_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s1");
        assert!(!is_locked(&path).unwrap() && !path.exists(), "a look makes no file");
        File::create(&path).unwrap();
        let look = File::open(&path).unwrap();
        look.try_lock_shared().unwrap();
        assert!(!is_locked(&path).unwrap(), "looks do not see each other");
        let held = lock(&path, || look.unlock().unwrap()).unwrap();
        assert!(held.is_some() && is_locked(&path).unwrap());
        assert!(lock(&path, || panic!("a process that works is not waited for")).unwrap().is_none());
        drop(held);
        assert!(!is_locked(&path).unwrap());
    }
}
