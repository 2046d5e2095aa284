//! The verb `studio` of a command line.

use std::error::Error;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::json;
use superstep_cli::{CheckpointSource, Documents, Exit, Extension, Screen};
use superstep_core::run::AnyGraph;
use tokio::net::TcpListener;

use crate::command_line::Signals;
use crate::listen::Listening;
use crate::serve::Workers;
use crate::service::{Service, ServiceOptions};

use super::{Program, new_token, pages};

/// The port, unless another one is asked for.
const PORT: &str = "2025";

/// The number of ports that are tried.
const PORTS: u16 = 100;

type Ended = Result<Exit, Box<dyn Error + Send + Sync>>;

/// The verb `studio`: opens a page on a checkpoint file. For the program `superstep` the page only reads; in a
/// [debugger](superstep_cli::Debugger::with) it also runs, answers, edits and replays with the graphs.
#[derive(Clone, Copy, Debug)]
pub struct StudioVerb;

fn command(about: &'static str, example: &'static str) -> Command {
    let port =
        Arg::new("port").long("port").value_name("PORT").default_value(PORT).value_parser(value_parser!(u16));
    let no_open = Arg::new("no_open").long("no-open").action(ArgAction::SetTrue);
    let licences = Arg::new("licences").long("licences").action(ArgAction::Version);
    Command::new("studio")
        .about(about)
        .long_about(format!(
            "{about}\n\nThe page shows threads, timelines, states, differences, graphs and model calls, finds who wrote \
             a value and where it went wrong, and follows the file while it changes. It is in this program: nothing is \
             loaded from elsewhere. Ctrl-C ends it."
        ))
        .version(superstep_studio::LICENCES)
        .disable_version_flag(true)
        .after_help(example)
        .arg(port.help("Listen at this port of 127.0.0.1; if it is taken, at the next free one; 0 for any"))
        .arg(no_open.help("Only print the address"))
        .arg(licences.help("Print the licences of the libraries in the page"))
}

#[async_trait(?Send)]
impl Extension<CheckpointSource> for StudioVerb {
    fn command(&self) -> Command {
        command(
            "Open a page in the browser that shows the file or the database",
            "Example: superstep studio essays.db",
        )
    }

    async fn run(&self, source: CheckpointSource, options: &ArgMatches, screen: Screen<'_>) -> Ended {
        present(Documents::open(source)?, None, options, screen).await
    }
}

#[async_trait(?Send)]
impl Extension<Vec<AnyGraph>> for StudioVerb {
    fn command(&self) -> Command {
        command(
            "Open a page in the browser that shows the threads, and runs, answers, edits and replays them",
            "Example: superstep studio essays.db",
        )
    }

    async fn run(&self, graphs: Vec<AnyGraph>, options: &ArgMatches, screen: Screen<'_>) -> Ended {
        let documents = Documents::of_graphs(&graphs)?;
        let service = Service::new(graphs.clone(), ServiceOptions::default())?;
        present(documents, Some(Program { graphs, service }), options, screen).await
    }
}

/// Serves the studio until Ctrl-C.
async fn present(
    documents: Documents,
    program: Option<Program>,
    options: &ArgMatches,
    screen: Screen<'_>,
) -> Ended {
    let mut signals = Signals::new()?;
    let wanted = options.get_one::<u16>("port").copied().unwrap_or_default();
    let (listener, address) = bind(wanted).await?;
    let (token, secret) = new_token()?;
    let page = format!("http://{address}/studio#token={secret}");
    let file = documents.path().display().to_string();
    let said = match options.get_flag("json") {
        true => json!({ "file": file, "address": page, "program": program.is_some() }).to_string(),
        false => told(&file, program.as_ref(), &page, (wanted, address.port())),
    };
    let workers = program.as_ref().map(|program| Workers { service: program.service.clone() });
    let (router, guard) = pages(documents, program, token)?;
    let listening =
        Listening { listener, address, router, guard, workers: workers.clone(), grace: Duration::ZERO };
    writeln!(screen.out, "{said}")?;
    screen.out.flush()?;
    if !options.get_flag("no_open") {
        open(&page);
    }
    tokio::select! {
        () = listening.until(std::future::pending()) => {}
        () = signals.next() => {}
    }
    if let Some(workers) = workers {
        // Unfinished runs are given back, and continue with the next start.
        workers.shutdown(Duration::ZERO).await;
    }
    Ok(Exit::Fine)
}

/// Binds the first free port from this one on.
async fn bind(wanted: u16) -> Result<(TcpListener, SocketAddr), Box<dyn Error + Send + Sync>> {
    let last = if wanted == 0 { 0 } else { wanted.saturating_add(PORTS - 1) };
    for port in wanted..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => {
                let address = listener.local_addr()?;
                return Ok((listener, address));
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => {
                return Err(format!("port {port} cannot be used: {error}; choose another with --port").into());
            }
        }
    }
    Err(format!("the ports {wanted} to {last} are taken: choose another with --port").into())
}

/// Returns the text for people at the start.
fn told(file: &str, program: Option<&Program>, page: &str, (wanted, port): (u16, u16)) -> String {
    let moved = match wanted == 0 || wanted == port {
        true => String::new(),
        false => format!("Port {wanted} is taken, so it is at port {port}.\n"),
    };
    let can = match program {
        None => "It only reads the file.".to_owned(),
        Some(program) => {
            let names: Vec<&str> = program.graphs.iter().map(|graph| graph.name().as_str()).collect();
            format!("It can run, answer, edit and replay threads of {}.", names.join(", "))
        }
    };
    format!("The studio of {file} is at\n\n  {page}\n\n{moved}{can} Ctrl-C ends it.")
}

/// Opens a page with the opener of the desktop, if there is one. The address was printed, so a failure is none.
fn open(page: &str) {
    let Some(opener) = opener() else { return };
    let spawned = std::process::Command::new(opener)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match spawned {
        // Some openers stay until the browser ends.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => tracing::debug!(%error, opener, "the page was not opened"),
    }
}

/// Returns the opener of the desktop; `None` without a desktop.
fn opener() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")).then_some("xdg-open")
}
