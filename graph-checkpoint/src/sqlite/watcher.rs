//! Detects changes of a file for waiting callers, on a thread and a connection of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::checkpoint::{Mark, StoreError};
use tokio::sync::oneshot;

use crate::sqlite::connection::Connection;
use crate::sqlite::error::{FileError, sqlite};
use crate::sqlite::saver::shared::Shared;

/// The interval between two checks of the file while a caller waits. A check reads a number that SQLite keeps in
/// memory.
const PERIOD: Duration = Duration::from_millis(50);

/// The thread that checks the file; the first request starts it.
#[derive(Default)]
pub(crate) struct Watcher {
    thread: Mutex<Option<(Sender<Request>, JoinHandle<()>)>>,
}

struct Request {
    since: Option<Mark>,
    reply: oneshot::Sender<Result<Mark, StoreError>>,
}

impl Watcher {
    /// Requests the mark as soon as it differs from `since`.
    pub(crate) fn ask(
        &self,
        shared: &Arc<Shared>,
        since: Option<Mark>,
    ) -> Result<oneshot::Receiver<Result<Mark, StoreError>>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (requests, received) = channel();
            let look = Look::new(Arc::clone(shared));
            let serving = thread::Builder::new()
                .name("superstep-watch".into())
                .spawn(move || serve(look, &received))
                .map_err(FileError::Spawn)?;
            *thread = Some((requests, serving));
        }
        if let Some((requests, _)) = &*thread {
            requests.send(Request { since, reply }).map_err(|_| FileError::WriterGone)?;
        }
        Ok(answer)
    }

    /// Ends the thread and closes its connection.
    pub(crate) fn close(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((requests, thread)) = thread {
            drop(requests);
            let _ended = thread.join();
        }
    }
}

fn serve(mut look: Look, requests: &Receiver<Request>) {
    let mut waiting: Vec<Request> = Vec::new();
    loop {
        waiting.retain(|request| !request.reply.is_closed());
        let next = match waiting.is_empty() {
            true => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => requests.recv_timeout(PERIOD),
        };
        match next {
            Ok(request) => waiting.push(request),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = look.mark().map_err(Arc::new);
        let is_answered = |request: &mut Request| now.as_ref().ok() != request.since.as_ref();
        for Request { reply, .. } in waiting.extract_if(.., is_answered) {
            let mark = now.as_ref().map(|mark| *mark).map_err(FileError::shared);
            // A caller that no longer waits does not need the mark.
            let _received = reply.send(mark);
        }
    }
}

/// Distinguishes states of the file.
struct Look {
    shared: Arc<Shared>,
    connection: Option<Connection>,
    /// The start time, so that marks differ from those of an earlier saver.
    began: u64,
    count: u64,
    seen: (i64, u64),
}

impl Look {
    fn new(shared: Arc<Shared>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Self { shared, connection: None, began, count: 0, seen: (-1, 0) }
    }

    fn mark(&mut self) -> Result<Mark, StoreError> {
        let seen = match self.shared.is_private() {
            true => self.shared.writer.read(version)?,
            false => self.version_of_file()?,
        };
        if seen != self.seen {
            (self.seen, self.count) = (seen, self.count + 1);
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.began.to_le_bytes());
        bytes[8..].copy_from_slice(&self.count.to_le_bytes());
        Ok(Mark::from_bytes(bytes))
    }

    fn version_of_file(&mut self) -> Result<(i64, u64), StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                // The version numbers of two connections cannot be compared.
                self.seen = (-1, 0);
                self.shared.file.open_reader()?
            }
        };
        let version = version(&connection)?;
        self.connection = Some(connection);
        Ok(version)
    }
}

/// Returns a version that changes with the commits of other connections, and with the writes of this one.
fn version(connection: &Connection) -> Result<(i64, u64), StoreError> {
    let mut look = connection.prepare_cached("PRAGMA data_version").map_err(sqlite)?;
    let others = look.query_row([], |row| row.get(0)).map_err(sqlite)?;
    Ok((others, connection.total_changes()))
}
