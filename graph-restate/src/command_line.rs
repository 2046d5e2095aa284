//! The command line of an endpoint.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use superstep_core::run::CancellationToken;

use crate::endpoint::{Endpoint, EndpointError};

/// The variable with the token.
const TOKEN: &str = "SUPERSTEP_TOKEN";

/// Let Restate run the graphs of this program.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "work")]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// The options of an endpoint's command line, for a program that has them in a command line of its own:
/// [`Endpoint::run_with`].
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Listen at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Listen at this port; 0 chooses a free one
    #[arg(long, default_value_t = 9080)]
    port: u16,
    /// Register the endpoint with Restate, whose admin API is at this address, such as <http://127.0.0.1:9070>
    #[arg(long, value_name = "URL")]
    register: Option<String>,
    /// Register this address instead of that of this program, such as that of a load balancer
    #[arg(long, value_name = "URL", requires = "register")]
    uri: Option<String>,
    /// Read the token that Restate must send from this file (default: the variable SUPERSTEP_TOKEN)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Admit every client, also at an address that other machines can reach
    #[arg(long)]
    insecure: bool,
    /// Run at most this many tasks of wide supersteps at the same time
    #[arg(long, value_name = "TASKS", value_parser = clap::value_parser!(u32).range(1..))]
    max_concurrent_tasks: Option<u32>,
    /// Let running supersteps finish for this time at the end
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
}

impl Endpoint {
    /// Runs with the arguments and signals of the process, until it is stopped. For a program that is only an
    /// endpoint.
    pub async fn main(self) -> ExitCode {
        self.run(std::env::args_os().skip(1)).await
    }

    /// Runs with the arguments of the process if the first of them is `name`; returns `None` otherwise.
    pub async fn subcommand(self, name: &str) -> Option<ExitCode> {
        let mut arguments = std::env::args_os().skip(1);
        match arguments.next()? == *name {
            true => Some(self.run(arguments).await),
            false => None,
        }
    }

    /// Runs with these arguments, until SIGTERM or SIGINT. A second signal ends it at once.
    ///
    /// | argument | meaning |
    /// |---|---|
    /// | `--host ADDRESS` | the address to listen at; the default is 127.0.0.1 |
    /// | `--port PORT` | the port; the default is 9080 |
    /// | `--register URL` | registers the endpoint with Restate, whose admin API is at this address |
    /// | `--uri URL` | registers this address instead of that of the program, such as that of a load balancer |
    /// | `--token-file FILE` | the file with the token that Restate must send; the default is the variable `SUPERSTEP_TOKEN` |
    /// | `--insecure` | admits [every client](Self::insecure) |
    /// | `--max-concurrent-tasks TASKS` | the [spread tasks](Self::max_concurrent_tasks) that run at the same time |
    /// | `--grace SECONDS` | the time that running supersteps have [to finish](Self::grace) |
    pub async fn run<A: Into<OsString> + Clone>(self, arguments: impl IntoIterator<Item = A>) -> ExitCode {
        let arguments = match Arguments::try_parse_from(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                // Help is an error here, too, with the code of a success.
                let code = if error.use_stderr() { 2 } else { 0 };
                return error.print().map_or(ExitCode::FAILURE, |()| ExitCode::from(code));
            }
        };
        match self.run_with(arguments.options).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // Without standard error nothing can be said.
                drop(writeln!(io::stderr(), "error: {error}"));
                ExitCode::FAILURE
            }
        }
    }

    /// Runs with these options, until SIGTERM or SIGINT. A second signal ends it at once.
    ///
    /// # Errors
    /// Returns an error if the endpoint cannot start, or Restate refuses it.
    pub async fn run_with(mut self, options: Options) -> Result<(), EndpointError> {
        let Options { host, port, register, uri, token_file, insecure, max_concurrent_tasks, grace } =
            options;
        if let Some(token) = token(token_file)? {
            self = self.token(token);
        }
        if insecure {
            self = self.insecure();
        }
        if let Some(tasks) = max_concurrent_tasks {
            self = self.max_concurrent_tasks(tasks as usize);
        }
        if let Some(seconds) = grace {
            self = self.grace(Duration::from_secs(seconds));
        }
        let names = self.names();
        let mut signals = Signals::new().map_err(EndpointError::Signals)?;
        let listening = self.listen(SocketAddr::new(host, port)).await?;
        let address = listening.address();
        let registered = register.as_deref().map(|admin| listening.register(admin, uri.as_deref()));
        let stop = CancellationToken::new();
        let started = async {
            if let Some(registered) = registered {
                registered.await?;
            }
            // A closed standard output is no reason to stop.
            drop(writeln!(io::stdout(), "Working on {names} at http://{address}"));
            signals.next().await;
            drop(writeln!(io::stderr(), "Stopping; a second signal stops at once"));
            stop.cancel();
            signals.next().await;
            Ok(())
        };
        tokio::select! {
            () = listening.until(stop.cancelled()) => Ok(()),
            ended = started => ended,
        }
    }
}

/// Returns the token that Restate must send.
fn token(file: Option<PathBuf>) -> Result<Option<String>, EndpointError> {
    let token = match file {
        Some(path) => std::fs::read_to_string(&path)
            .map_err(|error| EndpointError::Token { reason: format!("{}: {error}", path.display()) })?,
        None => match std::env::var_os(TOKEN) {
            Some(token) => token.into_string().unwrap_or_default(),
            None => return Ok(None),
        },
    };
    let token = token.trim();
    match !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Some(token.to_owned())),
        false => {
            Err(EndpointError::Token { reason: "it must be one line of visible ASCII characters".into() })
        }
    }
}

/// The signals that stop an endpoint.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
