//! A proxy between a saver and the server: it counts requests, delays and loses answers, and ends connections at any byte.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub(crate) struct Proxy {
    folder: TempDir,
    counts: Arc<Counts>,
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Request,
    Answer,
}

#[derive(Default)]
struct Counts {
    waits: AtomicU64,
    loses: AtomicBool,
    /// A part of the statement whose answer is lost.
    loses_of: Mutex<Option<&'static str>>,
    holds: AtomicBool,
    /// The numbers of bytes in each direction after which the connection ends, plus one; 0 if it does not.
    cuts: [AtomicUsize; 2],
    delay: Duration,
}

impl Proxy {
    /// Forwards connections to the server with its socket in `server`.
    pub(crate) fn to(server: &Path) -> Self {
        Self::with_delay(server, Duration::ZERO)
    }

    /// Forwards connections to the server with its socket in `server`, and each answer after `delay`, as a network with such
    /// a round trip does.
    pub(crate) fn with_delay(server: &Path, delay: Duration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let server = server.join(".s.PGSQL.5432");
        let counts = Arc::new(Counts { delay, ..Counts::default() });
        let forwarded = Arc::clone(&counts);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a connection");
                while forwarded.holds.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                let server = UnixStream::connect(&server).expect("the server accepts it");
                let both = |stream: &UnixStream| stream.try_clone().expect("a handle");
                let (from, to) = (both(&server), both(&client));
                let [requests, answers] = [Arc::clone(&forwarded), Arc::clone(&forwarded)];
                std::thread::spawn(move || requests.forward_requests(client, server));
                std::thread::spawn(move || answers.forward_answers(from, to));
            }
        });
        Self { folder, counts }
    }

    /// Returns the address of the database through the proxy.
    pub(crate) fn url(&self) -> String {
        format!("host={} user=superstep dbname=postgres", self.folder.path().display())
    }

    /// Returns the number of requests since the last call for which a client waits: each ends with `Sync`, or is a simple
    /// query.
    pub(crate) fn waits(&self) -> u64 {
        self.counts.waits.swap(0, Ordering::SeqCst)
    }

    /// Ends the connection of the next request when the server answers it.
    pub(crate) fn lose_the_next_answer(&self) {
        self.counts.loses.store(true, Ordering::SeqCst);
    }

    /// Ends the connection after so many more bytes in this direction.
    pub(crate) fn cut(&self, way: Way, after: usize) {
        self.counts.cuts[way as usize].store(after + 1, Ordering::SeqCst);
    }

    /// Cuts no connection any more. Returns `true` if one was cut since [`cut`](Self::cut).
    pub(crate) fn has_cut(&self, way: Way) -> bool {
        self.counts.cuts[way as usize].swap(0, Ordering::SeqCst) == 0
    }

    /// Ends the connection of the next statement with this text when the server answers it.
    pub(crate) fn lose_the_answer_of(&self, text: &'static str) {
        *self.counts.loses_of.lock().expect("no thread panics with it") = Some(text);
    }

    /// Lets new connections wait, or go on.
    pub(crate) fn hold_new_connections(&self, holds: bool) {
        self.counts.holds.store(holds, Ordering::SeqCst);
    }

    /// Returns `true` if an answer is still to be lost.
    pub(crate) fn is_losing(&self) -> bool {
        let of = self.counts.loses_of.lock().expect("no thread panics with it");
        self.counts.loses.load(Ordering::SeqCst) || of.is_some()
    }
}

impl Counts {
    fn forward_requests(&self, mut client: UnixStream, mut server: UnixStream) {
        let mut is_begun = false;
        loop {
            // The first message has no kind.
            let mut kind = [0; 1];
            let mut length = [0; 4];
            if (is_begun && client.read_exact(&mut kind).is_err()) || client.read_exact(&mut length).is_err()
            {
                let _closed = server.shutdown(Shutdown::Both);
                return;
            }
            let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
            client.read_exact(&mut body).expect("a whole message");
            let mut of = self.loses_of.lock().expect("no thread panics with it");
            let is_text = |text: &&str| body.windows(text.len()).any(|part| part == text.as_bytes());
            if is_begun && kind[0] == b'P' && of.as_ref().is_some_and(is_text) {
                *of = None;
                self.loses.store(true, Ordering::SeqCst);
            }
            drop(of);
            if matches!(kind[0], b'S' | b'Q') {
                self.waits.fetch_add(1, Ordering::SeqCst);
            }
            let head = if is_begun { &kind[..] } else { &[] };
            let message = [head, &length, &body].concat();
            let (sent, is_cut) = self.before_cut(Way::Request, &message);
            if server.write_all(sent).is_err() {
                return;
            }
            if is_cut {
                let _closed = [&client, &server].map(|stream| stream.shutdown(Shutdown::Both));
                return;
            }
            is_begun = true;
        }
    }

    fn forward_answers(&self, mut server: UnixStream, mut client: UnixStream) {
        let (sender, answers) = mpsc::channel::<(Instant, Vec<u8>)>();
        std::thread::spawn(move || {
            for (due, answer) in answers {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if client.write_all(&answer).is_err() {
                    break;
                }
            }
            let _closed = client.shutdown(Shutdown::Both);
        });
        let mut bytes = [0; 8192];
        // The server answers after it has carried out the request.
        while let Ok(count @ 1..) = server.read(&mut bytes)
            && !self.loses.swap(false, Ordering::SeqCst)
        {
            let (sent, is_cut) = self.before_cut(Way::Answer, &bytes[..count]);
            if sender.send((Instant::now() + self.delay, sent.to_vec())).is_err() || is_cut {
                break;
            }
        }
    }

    /// Returns the bytes to forward, and `true` if the connection ends after them.
    fn before_cut<'b>(&self, way: Way, bytes: &'b [u8]) -> (&'b [u8], bool) {
        let cut = &self.cuts[way as usize];
        let left = cut.load(Ordering::SeqCst);
        if left == 0 {
            return (bytes, false);
        }
        // The one that ends the connection does so before the client or the server can send more.
        let is_cut = left <= bytes.len();
        cut.store(if is_cut { 0 } else { left - bytes.len() }, Ordering::SeqCst);
        (if is_cut { &bytes[..left - 1] } else { bytes }, is_cut)
    }
}
