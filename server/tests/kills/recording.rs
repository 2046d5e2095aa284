//! A proxy between servers and Postgres, which records their statements and cuts their connections.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use tempfile::TempDir;

/// A statement, with the number of its connection.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) connection: usize,
    pub(crate) sql: String,
}

#[derive(Default)]
struct Recorded {
    statements: Mutex<Vec<Statement>>,
    open: Mutex<Vec<UnixStream>>,
}

impl Recorded {
    fn statements(&self) -> MutexGuard<'_, Vec<Statement>> {
        self.statements.lock().expect("no thread panics with the statements")
    }

    fn open(&self) -> MutexGuard<'_, Vec<UnixStream>> {
        self.open.lock().expect("no thread panics with the connections")
    }
}

pub(crate) struct Recording {
    folder: TempDir,
    recorded: Arc<Recorded>,
}

impl Recording {
    /// Forwards connections to the server with its socket in `server`.
    pub(crate) fn of(server: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let (server, recorded) = (server.join(".s.PGSQL.5432"), Arc::<Recorded>::default());
        let kept = Arc::clone(&recorded);
        std::thread::spawn(move || {
            for (connection, client) in listener.incoming().enumerate() {
                let client = client.expect("a connection");
                let server = UnixStream::connect(&server).expect("the server accepts it");
                let both = |stream: &UnixStream| stream.try_clone().expect("a handle");
                kept.open().push(both(&client));
                let (mut from, mut to, recorded) = (both(&server), both(&client), Arc::clone(&kept));
                // Each end of a connection ends the other one.
                std::thread::spawn(move || {
                    drop(io::copy(&mut from, &mut to));
                    drop(to.shutdown(std::net::Shutdown::Both));
                });
                std::thread::spawn(move || {
                    drop(forward(&recorded, connection, client, &server));
                    drop(server.shutdown(std::net::Shutdown::Both));
                });
            }
        });
        Self { folder, recorded }
    }

    /// Returns the address of the database through the proxy.
    pub(crate) fn url(&self) -> String {
        format!("host={} user=superstep dbname=postgres", self.folder.path().display())
    }

    /// Returns the statements so far.
    pub(crate) fn statements(&self) -> Vec<Statement> {
        self.recorded.statements().clone()
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        for open in self.recorded.open().drain(..) {
            // It may have ended.
            drop(open.shutdown(std::net::Shutdown::Both));
        }
    }
}

/// Forwards the messages of a client, and records the statements in them.
fn forward(
    recorded: &Recorded,
    connection: usize,
    mut client: UnixStream,
    mut server: &UnixStream,
) -> io::Result<()> {
    let mut is_begun = false;
    loop {
        let mut kind = [0; 1];
        // The first message has no kind.
        if is_begun {
            client.read_exact(&mut kind)?;
        }
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut body)?;
        let mut texts = body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        let sql = match &kind {
            b"P" => texts.nth(1),
            b"Q" => texts.next(),
            _ => None,
        };
        if let Some(sql) = sql {
            recorded.statements().push(Statement { connection, sql });
        }
        let kind: &[u8] = if is_begun { &kind } else { &[] };
        server.write_all(&[kind, &length, &body].concat())?;
        is_begun = true;
    }
}
