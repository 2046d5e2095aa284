//! The command line of a server.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use superstep_core::checkpoint::StoreError;
use tokio_util::sync::CancellationToken;

use crate::serve::{ServeError, Server};
use crate::{Token, TokenError};

/// The variable with the token.
const TOKEN: &str = "SUPERSTEP_TOKEN";

/// Serve the graphs of this program to clients of LangGraph's API.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "serve")]
struct Arguments {
    #[command(flatten)]
    options: ServeOptions,
}

/// The options of a server's command line, for a program that has them in a command line of its own:
/// [`Server::run_with`].
#[derive(Debug, clap::Args)]
pub struct ServeOptions {
    /// Listen at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Listen at this port; 0 chooses a free one
    #[arg(long, default_value_t = 2024)]
    port: u16,
    /// Read the token that clients must send from this file (default: the variable SUPERSTEP_TOKEN)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Allow browsers to use the server from pages of this origin, such as `https://app.example.org`
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Allow requests that name this host, beside names and addresses of this machine
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Keep threads and runs in this Postgres database, such as `postgres://essays@db/essays?schema=essays`, and not where
    /// the program keeps them
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Have Restate drive the runs, whose ingress is at this address, such as <http://127.0.0.1:8080>
    #[arg(long, value_name = "URL")]
    restate: Option<String>,
    /// Admit every client, also at an address that other machines can reach
    #[arg(long)]
    insecure: bool,
    /// Let running supersteps finish for this time at the end
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
    /// Serve the studio, too: a page on the threads, at an address that is printed
    #[cfg(feature = "studio")]
    #[arg(long)]
    studio: bool,
}

/// An error of a server that was started from a command line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandLineError {
    /// The server cannot start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The token cannot be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The variable with the token does not hold a token. Set it to one, or unset it.
    #[error(
        "the variable {TOKEN} must hold one line of visible ASCII characters without spaces; unset it to need no token"
    )]
    Variable,
    /// The program decides itself which clients it admits: see [`Server::auth`].
    #[error("this program decides itself which clients it admits: omit --token-file")]
    Auth,
    /// The database of `--store` cannot be used.
    #[error("the database of --store cannot be used: {0}")]
    Store(#[source] StoreError),
    /// The server only reads the threads that it was given: see [`Server::read_only`].
    #[error("this server only reads the threads that it was given: omit --store and --restate")]
    ReadOnly,
    /// The program was built without the feature `postgres`, which `--store` needs.
    #[error(
        "this program was built without Postgres, which --store needs: build it with the feature `postgres` of superstep"
    )]
    NoPostgres,
    /// The program was built without the feature `restate`, which `--restate` needs.
    #[error(
        "this program cannot call Restate: build it with the feature `restate` of superstep, or omit --restate"
    )]
    NoRestate,
    /// The signals of the process cannot be received.
    #[error("the signals of the process cannot be received: {0}")]
    Signals(#[source] io::Error),
}

/// The end of a server that was started from a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It was stopped by a signal, and everything has ended.
    Gracefully,
    /// It was stopped at once, by a second signal.
    AtOnce,
}

impl Server {
    /// Runs with the arguments and signals of the process, until it is stopped. For a program that is only a server.
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
    /// | `--port PORT` | the port; the default is 2024, which the clients expect |
    /// | `--token-file FILE` | the file with the token that clients must send; the default is the variable `SUPERSTEP_TOKEN` |
    /// | `--cors-origin ORIGIN` | an origin whose pages may use the server, [repeatable](Self::allow_origin) |
    /// | `--allow-host HOST` | a host that requests may name, [repeatable](Self::allow_host) |
    /// | `--store URL` | keeps threads and runs in this Postgres database (feature `postgres`) |
    /// | `--restate URL` | has Restate drive the runs, whose ingress is at this address (feature `restate`) |
    /// | `--insecure` | admits [every client](Self::insecure) |
    /// | `--grace SECONDS` | the time that running supersteps have [to finish](Self::grace) |
    /// | `--studio` | also serves [the studio](Self::studio), and prints its address with a new token (feature `studio`) |
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
            Ok(Stopped::Gracefully) => ExitCode::SUCCESS,
            Ok(Stopped::AtOnce) => ExitCode::FAILURE,
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
    /// Returns an error if the server cannot start.
    pub async fn run_with(mut self, options: ServeOptions) -> Result<Stopped, CommandLineError> {
        #[cfg(feature = "studio")]
        let studio = match options.studio {
            true => Some(crate::studio::new_token()?),
            false => None,
        };
        #[cfg(not(feature = "studio"))]
        let studio: Option<(Token, String)> = None;
        let ServeOptions { host, port, token_file, cors_origin, allow_host, insecure, grace, .. } = options;
        if let Some(url) = options.store {
            self = self.kept_at(&url).await?;
        }
        if let Some(url) = options.restate {
            self = self.handing_to(&url)?;
        }
        let token = match (token_file, std::env::var(TOKEN)) {
            (Some(_), _) if self.auth.is_some() => return Err(CommandLineError::Auth),
            (Some(path), _) => Some(Token::from_file(path)?),
            // The program's own rules may admit less than the holder of a token.
            (None, _) if self.auth.is_some() => None,
            (None, Ok(token)) => Some(Token::new(token).map_err(|_| CommandLineError::Variable)?),
            (None, Err(std::env::VarError::NotPresent)) => None,
            (None, Err(std::env::VarError::NotUnicode(_))) => return Err(CommandLineError::Variable),
        };
        if let Some(token) = token {
            self = self.auth(token);
        }
        if insecure {
            self = self.insecure();
        }
        self = cors_origin.iter().fold(self, Self::allow_origin);
        self = allow_host.iter().fold(self, Self::allow_host);
        if let Some(seconds) = grace {
            self = self.grace(Duration::from_secs(seconds));
        }
        #[cfg(feature = "studio")]
        if let Some((token, _)) = &studio {
            self = self.studio(token.clone());
        }
        let mut signals = Signals::new().map_err(CommandLineError::Signals)?;
        let (names, manner) = (self.names(), if self.is_read_only { ", read-only" } else { "" });
        let listening = self.listen(SocketAddr::new(host, port)).await?;
        // A closed standard output is no reason to stop.
        drop(writeln!(io::stdout(), "Serving {names} at http://{}{manner}", listening.address()));
        if let Some((_, secret)) = studio {
            let address = listening.address();
            drop(writeln!(io::stdout(), "The studio is at http://{address}/studio#token={secret}"));
        }
        let stop = CancellationToken::new();
        let stopped = async {
            signals.next().await;
            drop(writeln!(io::stderr(), "Stopping; a second signal stops at once"));
            stop.cancel();
            signals.next().await;
        };
        Ok(tokio::select! {
            () = listening.until(stop.cancelled()) => Stopped::Gracefully,
            () = stopped => Stopped::AtOnce,
        })
    }
}

impl Server {
    /// Has the graphs keep their threads, and the values of their stores, in a database.
    #[cfg(feature = "postgres")]
    async fn kept_at(self, url: &str) -> Result<Self, CommandLineError> {
        if self.is_read_only {
            return Err(CommandLineError::ReadOnly);
        }
        let saver = superstep_checkpoint::PostgresSaver::open(url).await.map_err(CommandLineError::Store)?;
        let store = saver.store();
        Ok(self.on(std::sync::Arc::new(saver), store.into()))
    }

    /// Has Restate drive the runs.
    #[cfg(feature = "restate")]
    fn handing_to(self, url: &str) -> Result<Self, CommandLineError> {
        if self.is_read_only { Err(CommandLineError::ReadOnly) } else { Ok(self.restate(url)) }
    }

    #[cfg(not(feature = "restate"))]
    fn handing_to(self, _url: &str) -> Result<Self, CommandLineError> {
        Err(if self.is_read_only { CommandLineError::ReadOnly } else { CommandLineError::NoRestate })
    }

    #[cfg(not(feature = "postgres"))]
    async fn kept_at(self, _url: &str) -> Result<Self, CommandLineError> {
        Err(if self.is_read_only { CommandLineError::ReadOnly } else { CommandLineError::NoPostgres })
    }
}

/// The signals that stop a server.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    #[cfg(not(unix))]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
