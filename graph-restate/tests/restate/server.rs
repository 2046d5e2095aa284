//! Servers of Restate for one test, each in a temporary folder, on free ports of this machine.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{get, post};

/// A running server. It is ended when it is dropped.
pub(crate) struct Server {
    program: PathBuf,
    folder: TempDir,
    /// The ports of the admin API, of the ingress, and for other servers.
    ports: [u16; 3],
    /// The settings of a node of a cluster.
    settings: Vec<(&'static str, String)>,
    process: Mutex<Child>,
}

impl Server {
    /// Starts a server; returns `None` where there is none.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// Starts a server with these settings, by their variables; returns `None` where there is none.
    pub(crate) async fn start_with(settings: &[(&'static str, &str)]) -> Option<Self> {
        let settings =
            |_, _: &[_; 1]| settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let [server] = Self::spawn_all(settings)?;
        server.ready().await;
        Some(server)
    }

    /// Starts a cluster of three nodes, in which each entry is stored by two; returns `None` where there is no server.
    pub(crate) async fn cluster() -> Option<[Self; 3]> {
        let nodes = Self::spawn_all(|number, ports: &[[u16; 3]; 3]| {
            let address = |ports: &[u16; 3]| format!("http://127.0.0.1:{}", ports[2]);
            let all = ports.each_ref().map(address);
            vec![
                ("RESTATE_CLUSTER_NAME", "test".to_owned()),
                ("RESTATE_NODE_NAME", format!("node-{number}")),
                ("RESTATE_AUTO_PROVISION", (number == 0).to_string()),
                ("RESTATE_ADVERTISED_ADDRESS", all[number].clone()),
                ("RESTATE_METADATA_CLIENT__TYPE", "replicated".to_owned()),
                ("RESTATE_METADATA_CLIENT__ADDRESSES", format!("{all:?}")),
                ("RESTATE_DEFAULT_REPLICATION", "2".to_owned()),
            ]
        })?;
        for node in &nodes {
            node.ready().await;
        }
        Some(nodes)
    }

    /// Starts so many servers, with settings by their number and the ports of all.
    #[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
    fn spawn_all<const N: usize>(
        settings: impl Fn(usize, &[[u16; 3]; N]) -> Vec<(&'static str, String)>,
    ) -> Option<[Self; N]> {
        let Some(program) = program() else {
            let needed = std::env::var_os("SUPERSTEP_NEEDS_RESTATE").is_some();
            assert!(!needed, "there is no server of Restate in target/restate: run .ci/run restate");
            eprintln!("not tested: there is no server of Restate in target/restate");
            return None;
        };
        let free = free_ports(3 * N);
        let ports = std::array::from_fn(|number| std::array::from_fn(|port| free[3 * number + port]));
        Some(std::array::from_fn(|number| {
            let folder = tempfile::tempdir().expect("a folder for the server");
            let (program, settings) = (program.clone(), settings(number, &ports));
            let process = Mutex::new(spawn(&program, &folder, ports[number], &settings));
            Self { program, folder, ports: ports[number], settings, process }
        }))
    }

    /// Ends the server as a crash does, and starts it again.
    pub(crate) async fn crash(&self) {
        {
            let mut process = self.process.lock().expect("no test panics here");
            process.kill().expect("it runs");
            process.wait().expect("it has ended");
            *process = spawn(&self.program, &self.folder, self.ports, &self.settings);
        }
        self.ready().await;
    }

    /// Waits until it takes requests.
    async fn ready(&self) {
        for url in [self.admin() + "/health", self.ingress() + "/restate/health"] {
            while !matches!(get(&url).await, Ok((200, _))) {
                let ended =
                    self.process.lock().expect("no test panics here").try_wait().expect("it is a child");
                assert!(ended.is_none(), "the server has ended: {}", self.log());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// Returns the address of the admin API.
    pub(crate) fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    /// Returns the address for callers.
    pub(crate) fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[1])
    }

    /// Calls a handler, and returns the status and the response.
    pub(crate) async fn call(&self, handler: &str, input: &Value) -> (u16, Value) {
        let url = format!("{}/{handler}", self.ingress());
        post(&url, input).await.unwrap_or_else(|error| panic!("{handler}: {error}; {}", self.log()))
    }

    /// Calls a handler without waiting for the response. Returns the invocation.
    pub(crate) async fn send(&self, handler: &str, input: &Value) -> String {
        let (status, sent) = self.call(&format!("{handler}/send"), input).await;
        assert_eq!(status, 202, "{sent}");
        sent["invocationId"].as_str().expect("a sent call has an id").to_owned()
    }

    /// Waits for the response of an invocation.
    pub(crate) async fn response(&self, invocation: &str) -> (u16, Value) {
        let url = format!("{}/restate/invocation/{invocation}/attach", self.ingress());
        get(&url).await.unwrap_or_else(|error| panic!("{invocation}: {error}; {}", self.log()))
    }

    /// Returns the rows of a query of the server's tables.
    pub(crate) async fn rows(&self, query: &str) -> Vec<Value> {
        let rows = post(&(self.admin() + "/query"), &json!({ "query": query })).await.expect("it answers");
        rows.1["rows"].as_array().unwrap_or_else(|| panic!("{}", rows.1)).clone()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().expect("no test panics with it");
        process.kill().and_then(|()| process.wait()).expect("it is a child");
    }
}

/// Returns ports on which nothing listens.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    // All are open at once, so they differ.
    let open = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let open: Vec<TcpListener> = open.collect();
    open.iter().map(|port| port.local_addr().expect("it is bound").port()).collect()
}

/// Returns the program, which npm installs beside the other outputs of the build.
fn program() -> Option<PathBuf> {
    let packages = target().join("restate/node_modules/@restatedev");
    let mut packages = std::fs::read_dir(packages).ok()?;
    packages.find_map(|package| {
        Some(package.ok()?.path().join("bin/restate-server")).filter(|file| file.exists())
    })
}

/// Returns the folder of the outputs of builds.
pub(crate) fn target() -> PathBuf {
    let tests = std::env::current_exe().expect("a test knows its program");
    tests.ancestors().nth(3).expect("it is in target/debug/deps").to_owned()
}

fn spawn(
    program: &PathBuf,
    folder: &TempDir,
    [admin, ingress, own]: [u16; 3],
    settings: &[(&'static str, String)],
) -> Child {
    let log = std::fs::File::options().create(true).append(true).open(folder.path().join("log"));
    let local = |port| format!("127.0.0.1:{port}");
    Command::new(program)
        .args(["--no-logo", "--listen-mode=tcp", "--base-dir"])
        .arg(folder.path().join("data"))
        .current_dir(folder.path())
        .envs([
            ("RESTATE_ADMIN__BIND_ADDRESS", local(admin)),
            ("RESTATE_INGRESS__BIND_ADDRESS", local(ingress)),
            ("RESTATE_BIND_ADDRESS", local(own)),
        ])
        // Telemetry tries the network even when it is off; this address takes no connections.
        .envs([("RESTATE_DISABLE_TELEMETRY", "true"), ("HTTPS_PROXY", "http://127.0.0.1:1")])
        .envs([("RESTATE_DEFAULT_NUM_PARTITIONS", "4"), ("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "64MiB")])
        // As docs/restate.md says: a new connection takes no more calls than it will run.
        .env("RESTATE_WORKER__INVOKER__HTTP2_INITIAL_MAX_SEND_STREAMS", "4")
        .env("RESTATE_LOG_DISABLE_ANSI_CODES", "true")
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(log.expect("a file for the log"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts")
}
