//! The queue in which programs wait for a file's write lock.
//!
//! SQLite gives the lock to the program that asks at the moment at which it is free. A busy program asks again within
//! microseconds of its last commit, and so starves the others. Therefore programs queue: a folder beside the database
//! has a file for each slot, and the program in a slot holds a lock on its file. Each program moves up when the slot
//! before it is free: first come, first served. The program that writes checks every [`QUANTUM`] if another one is at
//! the front, and then queues behind it. Between two checks it continues, so that a turn is worth its cost. A program
//! that is alone neither waits nor creates the folder.
//!
//! The queue decides only which program asks next: the lock is SQLite's. If the folder cannot be created, or a program
//! in the queue is suspended, the others still ask for the lock.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use superstep_core::checkpoint::StoreError;

use crate::sqlite::error::sqlite;

/// The time for which a program writes before it checks for others that wait.
const QUANTUM: Duration = Duration::from_millis(1);

/// The interval at which a program that is not at the front still asks for the lock, because the program before it may
/// be suspended.
const OUT_OF_TURN: Duration = Duration::from_millis(50);

/// The number of slots. A program that finds all slots taken waits for the last one, in no order.
const PLACES: usize = 16;

/// A program's view of the queue at a file.
#[derive(Debug)]
pub(crate) struct WaitQueue {
    /// The folder; `None` for a database that is not shared.
    folder: Option<PathBuf>,
    looked: Option<Instant>,
    others_wait: bool,
    /// `true` if this program may have created the folder.
    stood: bool,
}

impl WaitQueue {
    /// Returns the queue for the database in this file.
    pub(crate) fn at(database: Option<&Path>) -> Self {
        let folder = database.map(|database| {
            let mut name = OsString::from(database);
            name.push("-line");
            name.into()
        });
        Self { folder, looked: None, others_wait: false, stood: false }
    }

    /// Returns `true` if it is another program's turn. Checks at most once per [`QUANTUM`].
    pub(crate) fn others_wait(&mut self) -> bool {
        if !self.others_wait && self.looked.is_none_or(|looked| looked.elapsed() >= QUANTUM) {
            self.others_wait = self.is_anybody_there();
            self.looked = Some(Instant::now());
        }
        self.others_wait
    }

    fn is_anybody_there(&self) -> bool {
        let Some(folder) = &self.folder else { return false };
        let Ok(front) = OpenOptions::new().write(true).open(folder.join("0")) else { return false };
        matches!(front.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Makes an attempt, and waits for a [turn](Self::turn) if the file is locked.
    ///
    /// # Errors
    /// Returns the errors of [`turn`](Self::turn).
    pub(crate) fn now_or_in_turn<T>(
        &mut self,
        limit: Duration,
        mut attempt: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match if self.others_wait() { Err(StoreError::Busy) } else { attempt() } {
            Err(StoreError::Busy) => self.turn(limit, attempt),
            done => done,
        }
    }

    /// Makes an attempt, like [`now_or_in_turn`](Self::now_or_in_turn), on a connection that otherwise waits with
    /// SQLite's busy timeout, for example for reads.
    ///
    /// # Errors
    /// Returns the errors of [`turn`](Self::turn).
    pub(crate) fn in_turn<T>(
        &mut self,
        connection: &Connection,
        limit: Duration,
        attempt: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        connection.busy_timeout(Duration::ZERO).map_err(sqlite)?;
        let done = self.now_or_in_turn(limit, attempt);
        connection.busy_timeout(limit).map_err(sqlite)?;
        done
    }

    /// Waits in the queue, and then until `attempt` does not find the file locked. An attempt that finds it locked must
    /// not have changed anything.
    ///
    /// # Errors
    /// Returns [`StoreError::Busy`] if this takes longer than `limit`, and the errors of `attempt`.
    pub(crate) fn turn<T>(
        &mut self,
        limit: Duration,
        mut attempt: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let since = Instant::now();
        let mut place = self.stand();
        let (mut asked, mut waited, mut out_of_turn) = (0, Duration::ZERO, OUT_OF_TURN);
        loop {
            let is_next = place.as_mut().is_none_or(Slot::moves_to_the_front);
            if is_next || waited >= out_of_turn {
                match attempt() {
                    Err(StoreError::Busy) => asked += 1,
                    done => {
                        // The next program in the queue may ask now.
                        drop(place);
                        self.others_wait = false;
                        self.looked = Some(Instant::now());
                        return done;
                    }
                }
                out_of_turn = waited + OUT_OF_TURN;
            }
            waited = since.elapsed();
            if waited >= limit {
                return Err(StoreError::Busy);
            }
            let pause = match is_next {
                true if asked < 16 => 60,
                _ => 300,
            };
            // Programs in step would collide forever; the last digits of the clock separate them.
            let jitter = u64::from(waited.subsec_nanos()) % pause;
            thread::sleep(Duration::from_micros(pause / 2 + jitter));
        }
    }

    /// Returns a slot outside of the queue, after its end.
    fn stand(&mut self) -> Option<Slot> {
        let folder = self.folder.as_ref()?;
        match fs::create_dir(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        self.stood = true;
        Some(Slot { folder: folder.clone(), number: PLACES, held: None, before: None })
    }
}

impl Drop for WaitQueue {
    /// Removes the folder if no program is in the queue. A program that joins later creates it again.
    fn drop(&mut self) {
        let Some(folder) = self.folder.as_ref().filter(|_| self.stood) else { return };
        for number in 0..PLACES {
            let path = folder.join(number.to_string());
            let Ok(place) = OpenOptions::new().write(true).open(&path) else { continue };
            if place.try_lock().is_err() {
                return;
            }
            let _left = fs::remove_file(path);
        }
        let _left = fs::remove_dir(folder);
    }
}

/// A slot in the queue.
#[derive(Debug)]
struct Slot {
    folder: PathBuf,
    number: usize,
    /// The lock file of this slot, once the program is in the queue.
    held: Option<File>,
    /// The lock file of the slot before, which another program holds.
    before: Option<File>,
}

impl Slot {
    /// Moves up as far as possible; returns `true` at the front. If files cannot be locked at all, there is no queue.
    fn moves_to_the_front(&mut self) -> bool {
        while self.number > 0 {
            let path = self.folder.join((self.number - 1).to_string());
            let open = || OpenOptions::new().write(true).create(true).truncate(false).open(path);
            let before = match self.before.take() {
                Some(before) => before,
                None => match open() {
                    Ok(before) => before,
                    Err(_) => return true,
                },
            };
            match before.try_lock() {
                Ok(()) => {
                    self.held = Some(before);
                    self.number -= 1;
                }
                Err(TryLockError::WouldBlock) => {
                    self.before = Some(before);
                    return false;
                }
                Err(TryLockError::Error(_)) => return true,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_single_writer_makes_no_folder_and_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let mut wait_queue = WaitQueue::at(Some(&folder.path().join("t.db")));
        assert!(!wait_queue.others_wait());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_writer_sees_that_another_is_next() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        let (mut writing, mut waiting) = (WaitQueue::at(Some(&database)), WaitQueue::at(Some(&database)));
        let seen = Cell::new(false);
        let turn = waiting.turn(Duration::from_secs(60), || {
            writing.looked = None;
            if !seen.replace(writing.others_wait()) { Err(StoreError::Busy) } else { Ok(()) }
        });
        assert!(turn.is_ok());
        assert!(writing.others_wait(), "until it has stood in the line itself");
        assert!(writing.turn(Duration::ZERO, || Ok(())).is_ok());
        writing.looked = None;
        assert!(!writing.others_wait());
        drop((writing, waiting));
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the last one takes the folder away");
    }

    /// A program that is next and does not ask for the lock, such as a suspended process, must not block the others.
    #[test]
    fn no_waiter_waits_forever_behind_one_that_does_not_ask() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        let (mut stopped, mut other) = (WaitQueue::at(Some(&database)), WaitQueue::at(Some(&database)));
        let mut place = stopped.stand().unwrap();
        assert!(place.moves_to_the_front());
        assert!(other.turn(Duration::from_secs(60), || Ok(())).is_ok());
    }

    #[test]
    fn the_first_waiter_is_served_first() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        let mut wait_queue = WaitQueue::at(Some(&database));
        let mut places: Vec<Slot> = (0..5).map(|_| wait_queue.stand().unwrap()).collect();
        let mut moves = |number: usize| places[number].moves_to_the_front();
        assert_eq!([0, 1, 2, 3, 4].map(&mut moves), [true, false, false, false, false]);
        // The first slot that asks.
        places.remove(0);
        let mut moves = |number: usize| places[number].moves_to_the_front();
        assert_eq!([3, 2, 1, 0, 1].map(&mut moves), [false, false, false, true, false]);
        // A program that leaves the middle of the queue leaves no gap.
        drop(places.remove(1));
        assert_eq!(places.iter_mut().map(Slot::moves_to_the_front).collect::<Vec<_>>(), [true, false, false]);
        places.remove(0);
        assert!(places[0].moves_to_the_front());
    }

    #[test]
    fn patience_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut wait_queue = WaitQueue::at(Some(&folder.path().join("t.db")));
        let refused = wait_queue.turn(Duration::from_millis(5), || Err::<(), _>(StoreError::Busy));
        assert!(matches!(refused, Err(StoreError::Busy)));
    }
}
