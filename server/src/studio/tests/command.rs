//! The verb `studio` of a debugger.

use std::io::{self, Write};
use std::net::SocketAddr;

use serde_json::Value;
use superstep_checkpoint::SqliteSaver;
use superstep_cli::{Exit, Look, Screen};
use superstep_core::checkpoint::MemorySaver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{essays, written};
use crate::StudioVerb;

/// Passes on what is printed.
struct Printed(UnboundedSender<String>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn get(address: &str, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn a_debugger_serves_its_graphs() {
    let file = written().await;
    let graph = essays(SqliteSaver::open(&file.path).await.unwrap());
    // A port that is taken.
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let (sender, mut printed) = unbounded_channel();
    let served = async {
        let (mut out, mut err) = (Printed(sender), Vec::new());
        let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
        let debugger = superstep_cli::debugger(&[&graph]).called("essays").with(StudioVerb);
        debugger.run_on(["studio", "--no-open", "--port", &port.to_string()], screen).await
    };
    let asked = async {
        let mut text = String::new();
        while !text.contains("Ctrl-C ends it.") {
            text += &printed.recv().await.unwrap();
        }
        text
    };
    let text = tokio::select! {
        exit = served => panic!("{exit:?}"),
        text = async {
            let text = asked.await;
            let page = text.lines().find_map(|line| line.trim().strip_prefix("http://")).unwrap().to_owned();
            let (address, rest) = page.split_once("/studio#token=").unwrap();
            let bound: SocketAddr = address.parse().unwrap();
            assert!(bound.ip().is_loopback() && bound.port() > port, "{text}");
            assert!(get(address, "/studio", "").await.starts_with("HTTP/1.1 200"));
            assert!(get(address, "/studio/api/session", "").await.starts_with("HTTP/1.1 401"));
            let session = get(address, "/studio/api/session", rest).await;
            let body = session.split("\r\n\r\n").nth(1).unwrap();
            let session: Value = serde_json::from_str(body.trim()).unwrap();
            assert_eq!(session["program"], true);
            text
        } => text,
    };
    assert!(text.starts_with(&format!("The studio of {} is at\n", file.path.display())), "{text}");
    assert!(text.contains(&format!("\nPort {port} is taken, so it is at port ")), "{text}");
    assert!(
        text.contains("\nIt can run, answer, edit and replay threads of essay. Ctrl-C ends it."),
        "{text}"
    );
}

/// Runs a debugger of a graph to its end.
async fn said(graph: &superstep_core::run::Graph<super::Essay>, words: &[&str]) -> (Exit, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let debugger = superstep_cli::debugger(&[graph]).called("essays").with(StudioVerb);
    let exit = debugger.run_on(words.iter().copied(), screen).await;
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[tokio::test]
async fn a_studio_that_cannot_begin_says_why() {
    let file = written().await;
    let graph = essays(SqliteSaver::open(&file.path).await.unwrap());
    let (exit, licences, _) = said(&graph, &["studio", "--licences"]).await;
    assert_eq!(exit, Exit::Fine);
    assert!(licences.contains("preact ") && licences.contains("MIT"), "{licences}");
    let (exit, help, _) = said(&graph, &["studio", "--help"]).await;
    assert_eq!(exit, Exit::Fine);
    for part in ["--port <PORT>", "--no-open", "--licences", "Example: essays studio"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let (exit, _, error) = said(&graph, &["studio", "--port", "many"]).await;
    assert_eq!(exit, Exit::Unusable);
    assert!(error.contains("--port <PORT>"), "{error}");
    let in_memory = graph.checkpointer(MemorySaver::new());
    let (exit, _, error) = said(&in_memory, &["studio", "--no-open"]).await;
    assert_eq!(exit, Exit::Unusable);
    assert!(
        error.starts_with("error: the graphs keep their threads in no file: give them a SqliteSaver, "),
        "{error}"
    );
}
