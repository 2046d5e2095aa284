//! PgBouncer in transaction mode, in front of a server of the tests.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::cluster::{Cluster, until_says};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A running pooler. It is ended when it is dropped.
pub(crate) struct Pooler {
    folder: TempDir,
    process: Child,
}

impl Pooler {
    /// Starts a pooler; `None` where PgBouncer is not installed.
    #[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
    pub(crate) fn of(cluster: &Cluster) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            let needed = std::env::var_os("SUPERSTEP_NEEDS_POSTGRES").is_some();
            assert!(!needed, "there is no {PROGRAM}: install pgbouncer");
            eprintln!("not tested: there is no {PROGRAM}");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder for the pooler");
        let (server, own) = (cluster.folder().display(), folder.path().display());
        let settings = format!(
            "[databases]\npostgres = host={server} user=superstep\n[pgbouncer]\npool_mode = transaction\n\
             auth_type = any\nlisten_port = 5432\nunix_socket_dir = {own}\ndefault_pool_size = 20\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("they are written");
        let mut pooler = Command::new(PROGRAM);
        // It refuses to run as root.
        if let Some((user, group)) = cluster.owner() {
            chown(folder.path(), Some(user), Some(group)).expect("root may give a folder away");
            pooler.uid(user).gid(group);
        }
        let mut process = pooler.arg(file).stderr(Stdio::piped()).spawn().expect("the pooler starts");
        until_says(&mut process, "process up");
        Some(Self { folder, process })
    }

    /// Returns the address of the database through the pooler.
    pub(crate) fn url(&self) -> String {
        format!("host={} user=superstep dbname=postgres", self.folder.path().display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).expect("it ends");
    }
}
