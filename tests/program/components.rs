//! Real components: MCP servers over stdio, models over HTTP, proxies, certificates, and ssh.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use superstep_testkit::{MockServer, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::desk::{Desk, bash, call, say};

/// The variable that makes this test program an MCP server.
const SERVER: &str = "SUPERSTEP_TEST_SERVER";

/// The server. What the test harness prints before it is garbage on its output.
#[test]
fn the_mcp_server_itself() {
    if std::env::var_os(SERVER).is_none() {
        return;
    }
    // The harness has begun a line.
    println!();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "itself", "version": "1" },
            }),
            "tools/list" => {
                json!({ "tools": [{ "name": "title", "description": "Returns the title of an issue.",
                "inputSchema": { "type": "object" } }] })
            }
            "tools/call" => json!({ "content": [{ "type": "text", "text": "The title is Rust." }] }),
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        let mut output = std::io::stdout().lock();
        writeln!(output, "{answer}").unwrap();
        output.flush().unwrap();
    }
    // The harness would print a report without a reader.
    std::process::exit(0);
}

#[test]
fn the_tools_of_an_mcp_server_are_asked_about_and_called() {
    let desk = Desk::with_script(json!([call("c1", "issues__title", json!({})), say("Rust.")]));
    let program = std::env::current_exe().unwrap();
    desk.settings(&format!(
        "[mcp.issues]\ncommand = [{:?}, \"components::the_mcp_server_itself\", \"--exact\", \"--nocapture\", \
         \"--test-threads=1\"]\nenvironment = {{ {SERVER} = \"1\" }}\n[mcp.gone]\ncommand = [\"no-such-server\"]\n",
        program.to_str().unwrap(),
    ));
    let said = desk.agent(&["-p", "What is it?"]);
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("warning: the MCP server `gone` cannot be started"), "{}", said.err);
    let said = desk.agent(&["answer", "allow", "--json"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let result =
        said.lines().into_iter().find(|line| line["type"] == "result" && line["tool"] == "issues__title");
    assert_eq!(result.unwrap()["text"], "The title is Rust.");
}

#[test]
fn a_local_server_that_is_compatible_with_openai_is_a_model() {
    let server = MockServer::builder().any_key().start_in_thread().unwrap();
    server.reply(Reply::text("From here."));
    let mut desk = Desk::new();
    // Another machine would be reached by the proxy, which does not exist.
    desk.set("HTTP_PROXY", "http://127.0.0.1:1");
    desk.set("NO_PROXY", "127.0.0.1");
    let model = format!("openai-compatible:open-test-1@{}", server.openai_url());
    let said = desk.agent(&["-p", "Where?", "--model", &model]);
    assert_eq!((said.code, said.out.as_str()), (0, "From here.\n"), "{}", said.err);
}

/// Runs where `strace` is, as on the machine of the gate.
#[test]
fn the_program_connects_to_its_model_and_to_nothing_else() {
    let is_needed = std::env::var_os("SUPERSTEP_TORTURE_NEEDS_STRACE").is_some();
    if !is_needed && std::process::Command::new("strace").arg("-V").output().is_err() {
        return println!("skipped: there is no strace");
    }
    let server = MockServer::builder().any_key().start_in_thread().unwrap();
    server.reply(Reply::text("From here."));
    let desk = Desk::new();
    let model = format!("openai-compatible:open-test-1@{}", server.openai_url());
    let (agent, trace) = (desk.command(&["-p", "Where?", "--model", &model]), desk.beside("trace"));
    let mut traced = std::process::Command::new("strace");
    traced.args(["-f", "-e", "trace=connect,sendto,sendmsg", "-o"]).arg(&trace);
    traced.arg(agent.get_program()).args(agent.get_args()).current_dir(desk.folder());
    traced.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(traced.output().unwrap().status.success());
    let trace = std::fs::read_to_string(trace).unwrap();
    let reached: Vec<_> = trace.lines().filter(|line| line.contains("AF_INET")).collect();
    let port = format!("sin_port=htons({}), sin_addr=inet_addr(\"127.0.0.1\")", server.address().port());
    assert!(!reached.is_empty() && reached.iter().all(|line| line.contains(&port)), "{reached:#?}");
}

#[test]
fn a_proxy_of_the_environment_is_used() {
    let proxy = MockServer::builder().any_key().start_in_thread().unwrap();
    proxy.reply(Reply::text("Through the proxy."));
    let mut desk = Desk::new();
    desk.set("HTTP_PROXY", &proxy.url());
    let said =
        desk.agent(&["-p", "Where?", "--model", "openai-compatible:open-test-1@http://models.invalid/v1"]);
    assert_eq!((said.code, said.out.as_str()), (0, "Through the proxy.\n"), "{}", said.err);
    assert_eq!(proxy.received()[0].header("host"), Some("models.invalid"));
}

/// An authority, and a certificate of it for `models.test`, both valid until 2126.
const AUTHORITY: &str = include_str!("certificates/authority.pem");
const CERTIFICATE: &str = include_str!("certificates/models.test.pem");
const KEY: &str = include_str!("certificates/models.test.key");

/// Serves as the proxy for `models.test`, whose TLS ends here, in front of a server.
async fn tunnel(listener: TcpListener, server: std::net::SocketAddr) {
    let certificates =
        CertificateDer::pem_slice_iter(CERTIFICATE.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(crypto).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(certificates, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    while let Ok((mut client, _)) = listener.accept().await {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"CONNECT models.test:443 "), "{}", String::from_utf8_lossy(&head));
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        // A client that does not trust the certificate goes away.
        let Ok(mut client) = acceptor.accept(client).await else { continue };
        let mut server = TcpStream::connect(server).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

#[test]
fn an_https_proxy_and_a_file_of_certificates_are_used() {
    let server = MockServer::builder().any_key().start_in_thread().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let proxy = listener.local_addr().unwrap();
    runtime.spawn(tunnel(listener, server.address()));
    let mut desk = Desk::new();
    desk.set("HTTPS_PROXY", &format!("http://{proxy}"));
    let arguments = ["-p", "Where?", "--model", "openai-compatible:open-test-1@https://models.test/v1"];
    let authority = desk.home().join("authority.pem");
    std::fs::write(&authority, AUTHORITY).unwrap();
    desk.set("SSL_CERT_FILE", authority.to_str().unwrap());
    server.reply(Reply::text("Behind TLS."));
    let said = desk.agent(&arguments);
    assert_eq!((said.code, said.out.as_str()), (0, "Behind TLS.\n"), "{}", said.err);
}

/// Reads a request: its first line and its body.
fn request(client: &std::net::TcpStream) -> (String, String) {
    let mut lines = BufReader::new(client);
    let (mut first, mut length) = (String::new(), 0);
    lines.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    (first.trim().to_owned(), String::from_utf8(body).unwrap())
}

/// The first model of the list was taken, also if it only makes embeddings.
#[test]
fn a_model_of_a_local_server_that_answers_messages_is_found_at_the_first_start() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut desk = Desk::new();
    // A server listens on all addresses; a client calls this machine.
    desk.set("OLLAMA_HOST", &format!("http://0.0.0.0:{}/", listener.local_addr().unwrap().port()));
    let server = std::thread::spawn(move || {
        loop {
            let (mut client, _) = listener.accept().unwrap();
            let (first, body) = request(&client);
            let answer = match first.split(' ').nth(1).unwrap() {
                "/v1/models" => json!({ "data": [
                    { "id": "nomic-embed-text" }, { "id": "hidden", "type": "embeddings" }, { "id": "all-minilm" },
                    { "id": "qwen-test" }, { "id": "other-test" },
                ] }),
                "/api/show" if body.contains("all-minilm") => json!({ "capabilities": ["embedding"] }),
                "/api/show" => json!({ "capabilities": ["completion", "tools"] }),
                _ => return body,
            };
            let answer = answer.to_string();
            write!(client, "HTTP/1.0 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
        }
    });
    let said = desk.agent(&["-p", "x"]);
    // The request to the model itself is not answered.
    assert_eq!(said.code, 5, "{}", said.err);
    let asked: Value = serde_json::from_str(&server.join().unwrap()).unwrap();
    assert_eq!(asked["model"], "qwen-test");
}

/// A program that takes the options of `ssh`, and runs the command here.
const SSH: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\necho \"$2\" > \"${0%/*}/host\"\nshift 2\nexec sh -c \"$*\"\n";

#[test]
fn commands_run_over_ssh_if_the_settings_say_so() {
    let mut desk = Desk::with_script(json!([bash("c1", "echo from there"), say("Done.")]));
    let programs = desk.beside("bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::write(programs.join("ssh"), SSH).unwrap();
    std::fs::set_permissions(programs.join("ssh"), PermissionsExt::from_mode(0o755)).unwrap();
    desk.set("PATH", &format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    desk.settings("ssh = \"me@build.example.org\"\n");
    let said = desk.agent(&["-p", "Where?", "--allow", "bash(echo *)", "--json"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let result = said.lines().into_iter().find(|line| line["type"] == "result" && line["tool"] == "bash");
    assert_eq!(result.unwrap()["text"], "from there\n");
    assert_eq!(std::fs::read_to_string(programs.join("host")).unwrap(), "me@build.example.org\n");
}

/// Runs where the system gives a program a network of its own, as on the machine of the gate.
#[test]
fn the_demo_needs_no_network() {
    let mut alone = std::process::Command::new("unshare");
    if !alone.args(["-rn", "true"]).output().is_ok_and(|output| output.status.success()) {
        return println!("skipped: no network namespace can be made here");
    }
    let mut desk = Desk::new();
    let temporary = desk.beside("tmp");
    std::fs::create_dir(&temporary).unwrap();
    desk.set("TMPDIR", temporary.to_str().unwrap());
    let demo = desk.command(&["--demo", "--yes"]);
    let mut alone = std::process::Command::new("unshare");
    alone.arg("-rn").arg(demo.get_program()).args(demo.get_args()).current_dir(desk.folder());
    alone.env_clear().envs(demo.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = alone.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && out.contains("The test passes."), "{out}");
}
