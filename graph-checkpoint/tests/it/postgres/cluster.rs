//! A Postgres server of the tests: a cluster in a temporary folder, on a Unix socket.

use std::fs::{OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
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
    port: u16,
}

/// Settings of a server.
#[derive(Default)]
pub(crate) struct Settings {
    /// Set for a server that also listens on the loopback interface.
    pub(crate) port: Option<u16>,
    /// Lines for `pg_hba.conf`; everyone is trusted without them.
    pub(crate) access: Option<&'static str>,
    /// The files with the certificate and its key, for TLS.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
}

/// A defect of a schema: the name of a function, a part of it, and the text in its place.
pub(crate) type Defect = (&'static str, &'static str, &'static str);

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
    pub(crate) fn own() -> Option<Arc<Self>> {
        Self::with(Settings::default())
    }

    /// Starts a server with these settings for one test.
    pub(crate) fn with(settings: Settings) -> Option<Arc<Self>> {
        let programs = programs();
        if programs.is_none() {
            let needed = std::env::var_os("SUPERSTEP_NEEDS_POSTGRES").is_some();
            assert!(!needed, "there is no Postgres in /usr/lib/postgresql: install it");
            let said = writeln!(std::io::stderr(), "not tested: there is no Postgres in /usr/lib/postgresql");
            said.expect("a test can say so");
        }
        programs.map(|programs| Arc::new(Self::make(programs, &settings)))
    }

    fn make(programs: PathBuf, settings: &Settings) -> Self {
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
        let port = settings.port.unwrap_or(5432);
        let listens = settings.port.map_or("", |_| "127.0.0.1");
        let mut lines = format!(
            "listen_addresses = '{listens}'\nport = {port}\nmax_connections = 200\nlc_messages = 'C'\n"
        );
        if let Some((certificate, key)) = &settings.certificate {
            for (name, file) in [("server.crt", certificate), ("server.key", key)] {
                let copy = data.join(name);
                std::fs::copy(file, &copy).expect("the file is copied");
                std::fs::set_permissions(&copy, Permissions::from_mode(0o600))
                    .expect("it is a file of the user");
                if let Some((user, group)) = owner {
                    chown(copy, Some(user), Some(group)).expect("root may give a file away");
                }
            }
            lines.push_str("ssl = on\n");
        }
        let mut file =
            OpenOptions::new().append(true).open(data.join("postgresql.conf")).expect("it has settings");
        file.write_all(lines.as_bytes()).expect("they are written");
        if let Some(access) = settings.access {
            std::fs::write(data.join("pg_hba.conf"), access).expect("they are written");
        }
        let server = Self::serve(&programs, folder.path(), owner);
        Self { programs, folder, owner, server: Mutex::new(server), port }
    }

    /// Starts a replica of this server, which only reads.
    pub(crate) fn standby(&self) -> Arc<Self> {
        let folder = tempfile::tempdir().expect("a folder for the cluster");
        if let Some((user, group)) = self.owner {
            chown(folder.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        let mut copy = command(&self.programs, "pg_basebackup", self.owner);
        copy.args(["-U", "superstep", "-R", "--no-sync", "-c", "fast", "-h"]).arg(self.folder.path());
        let copied = copy.arg("-D").arg(folder.path().join("data")).output().expect("pg_basebackup runs");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let server = Mutex::new(Self::serve(&self.programs, folder.path(), self.owner));
        Arc::new(Self { programs: self.programs.clone(), folder, owner: self.owner, server, port: self.port })
    }

    /// Starts the server, and waits until it accepts connections.
    fn serve(programs: &Path, folder: &Path, owner: Option<(u32, u32)>) -> Child {
        let mut server = command(programs, "postgres", owner);
        server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
        let mut server =
            server.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts");
        until_says(&mut server, "ready to accept");
        server
    }

    /// Ends the server as a crash does, and starts it again.
    pub(crate) fn crash(&self) {
        self.stop();
        self.start();
    }

    /// Ends the server as a crash does.
    pub(crate) fn stop(&self) {
        self.end(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the server again.
    pub(crate) fn start(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        *server = Self::serve(&self.programs, self.folder.path(), self.owner);
    }

    fn end(&self, server: &mut Child) {
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
        format!("host={} port={} user={user} dbname=postgres", self.folder.path().display(), self.port)
    }

    /// Returns the address of the database over the loopback interface, as this user.
    pub(crate) fn network_url(&self, user: &str) -> String {
        format!("host=localhost hostaddr=127.0.0.1 port={} user={user} dbname=postgres", self.port)
    }

    /// Runs statements as the owner of the cluster, and returns their rows, a line each.
    pub(crate) fn execute(&self, sql: &str) -> String {
        let mut psql = command(&self.programs, "psql", self.owner);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "superstep", "-d", "postgres"]);
        psql.args(["-p", &self.port.to_string(), "-c", sql, "-h"]).arg(self.folder.path());
        let done = psql.output().expect("psql runs");
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    /// Replaces a part of a function of a schema.
    pub(crate) fn replace_in(&self, schema: &str, (function, part, instead): Defect) {
        let text = self.execute(&format!("SELECT pg_get_functiondef('{schema}.{function}'::regproc)"));
        assert_eq!(text.matches(part).count(), 1, "{text}");
        self.execute(&text.replace(part, instead));
    }

    /// Returns the ids of the user and the group as which the server runs, if they are not those of the test.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        self.owner
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        // A test that fails may leave it stopped.
        if matches!(server.try_wait(), Ok(None)) {
            self.end(&mut server);
        }
    }
}

/// Waits until a process has said this on its standard error.
pub(crate) fn until_says(process: &mut Child, text: &str) {
    let mut log = BufReader::new(process.stderr.take().expect("it is piped")).lines();
    let mut before = Vec::new();
    loop {
        let line = log.next().unwrap_or_else(|| panic!("the process ended: {before:#?}")).expect("a text");
        if line.contains(text) {
            break;
        }
        before.push(line);
    }
    std::thread::spawn(move || log.for_each(drop));
}

/// Returns a port of the loopback interface that was free.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there are free ports");
    listener.local_addr().expect("it has an address").port()
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
