//! A Postgres server of the tests: a cluster in a temporary folder, on a Unix socket.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

/// A running server. It is ended when the last test drops it.
pub(crate) struct Cluster {
    programs: PathBuf,
    folder: TempDir,
    owner: Option<(u32, u32)>,
    server: Mutex<Child>,
}

impl Cluster {
    /// Returns the server of this test program; `None` where Postgres is not installed.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = shared.upgrade() {
            return Some(cluster);
        }
        let cluster = Self::own()?;
        *shared = Arc::downgrade(&cluster);
        Some(cluster)
    }

    /// Starts a server for one test, which may crash it.
    #[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
    pub(crate) fn own() -> Option<Arc<Self>> {
        let programs = programs();
        if programs.is_none() {
            let needed = std::env::var_os("SUPERSTEP_NEEDS_POSTGRES").is_some();
            assert!(!needed, "there is no Postgres in /usr/lib/postgresql: install it");
            eprintln!("not tested: there is no Postgres in /usr/lib/postgresql");
        }
        programs.map(|programs| Arc::new(Self::start(programs)))
    }

    fn start(programs: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the cluster");
        // Postgres refuses to run as root.
        let owner = (user_id("self") == Some(0)).then(|| server_user().expect("a user for the server"));
        if let Some((user, group)) = owner {
            chown(folder.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        let data = folder.path().join("data");
        let mut initdb = command(&programs, "initdb", owner);
        initdb.args([
            "--username=superstep",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        let made = initdb.arg(&data).output().expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = Self::serve(&programs, folder.path(), owner);
        Self { programs, folder, owner, server: Mutex::new(server) }
    }

    /// Starts the server, and waits until it accepts connections.
    fn serve(programs: &Path, folder: &Path, owner: Option<(u32, u32)>) -> Child {
        let mut server = command(programs, "postgres", owner);
        server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
        server.args(["-c", "listen_addresses=", "-c", "max_connections=200", "-c", "lc_messages=C"]);
        let mut server =
            server.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts");
        let mut log = BufReader::new(server.stderr.take().expect("it is piped")).lines();
        let mut before = Vec::new();
        loop {
            let line = log.next().unwrap_or_else(|| panic!("the server ended: {before:#?}")).expect("a text");
            if line.contains("ready to accept connections") {
                break;
            }
            before.push(line);
        }
        std::thread::spawn(move || log.for_each(drop));
        server
    }

    /// Ends the server as a crash does, and starts it again.
    pub(crate) fn crash(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop(&mut server);
        *server = Self::serve(&self.programs, self.folder.path(), self.owner);
    }

    fn stop(&self, server: &mut Child) {
        let mut stop = command(&self.programs, "pg_ctl", self.owner);
        stop.args(["stop", "-m", "immediate", "-s", "-D"]).arg(self.folder.path().join("data"));
        let stopped = stop.status().expect("pg_ctl runs");
        assert!(stopped.success(), "the server was not stopped");
        server.wait().expect("it has ended");
    }

    /// Returns the folder with the socket.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the address of the database as this user.
    pub(crate) fn url(&self, user: &str) -> String {
        format!("host={} user={user} dbname=postgres", self.folder.path().display())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop(&mut server);
    }
}

/// Returns the folder with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(|path| version(path))?;
    Some(newest.join("bin")).filter(|programs| programs.join("initdb").exists())
}

fn command(programs: &Path, name: &str, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(programs.join(name));
    command.current_dir("/");
    if let Some((user, group)) = owner {
        command.uid(user).gid(group);
    }
    command
}

/// Returns the user id of a process.
fn user_id(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().next()?.parse().ok()
}

/// Returns the ids of the user and the group as which the server runs.
fn server_user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    ["postgres", "nobody"].iter().find_map(|name| {
        let mut fields =
            users.lines().map(|line| line.split(':')).find(|fields| fields.clone().next() == Some(*name))?;
        let (user, group) = (fields.nth(2)?, fields.next()?);
        Some((user.parse().ok()?, group.parse().ok()?))
    })
}
