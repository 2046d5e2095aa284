//! The endpoint of a server, and the connection to it.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use futures_util::future::BoxFuture;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{DynamicTransportError, Transport};
use rmcp::{RoleClient, serve_client};
use tokio::io::{AsyncRead, AsyncWrite};

use super::child::{LastWords, ServerProcess};
use super::handler::Handler;
use super::lines::{CloseReason, Lines};
use super::transport::Answered;
#[cfg(feature = "http")]
use super::url::McpUrl;
use super::{McpCommand, McpError, McpOptions};

/// The endpoint of a server: a [command](McpCommand), an address (`McpUrl`, with the feature `http`), or a
/// [stream](McpStream).
#[derive(Debug)]
pub struct McpEndpoint(Kind);

#[derive(Debug)]
enum Kind {
    Command(McpCommand),
    Stream(McpStream),
    #[cfg(feature = "http")]
    Url(McpUrl),
}

/// A server at the other end of a stream of bytes, such as a socket, or a pipe within the program. It cannot be
/// connected to a second time.
pub struct McpStream(Mutex<Option<Ends>>);

/// The reader and the writer of a stream.
type Ends = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

impl McpStream {
    /// Makes an endpoint of what is read from the server and what is written to it.
    pub fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self(Mutex::new(Some((Box::new(read), Box::new(write)))))
    }
}

impl fmt::Debug for McpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("McpStream(..)")
    }
}

impl From<McpCommand> for McpEndpoint {
    fn from(command: McpCommand) -> Self {
        Self(Kind::Command(command))
    }
}

impl From<McpStream> for McpEndpoint {
    fn from(stream: McpStream) -> Self {
        Self(Kind::Stream(stream))
    }
}

#[cfg(feature = "http")]
impl From<McpUrl> for McpEndpoint {
    fn from(url: McpUrl) -> Self {
        Self(Kind::Url(url))
    }
}

/// A connection. Dropped, it is ended, and so is the server if it is a command.
pub(super) struct Link {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) process: Option<ServerProcess>,
    pub(super) fault: CloseReason,
}

impl McpEndpoint {
    /// Connects, as long as it may take, and agrees on a version with the server.
    pub(super) async fn open(
        &self,
        server: &str,
        options: &McpOptions,
        handler: Handler,
    ) -> Result<Link, McpError> {
        let after = options.connect_time;
        let words = LastWordsSlot::default();
        match tokio::time::timeout(after, self.link(server, options, handler, &words)).await {
            Ok(link) => link,
            Err(_) => Err(McpError::TimedOut { server: server.to_owned(), after, wrote: words.as_clause() }),
        }
    }

    async fn link(
        &self,
        server: &str,
        options: &McpOptions,
        handler: Handler,
        words: &LastWordsSlot,
    ) -> Result<Link, McpError> {
        let unreachable = |reason: String| McpError::Unreachable { server: server.to_owned(), reason };
        let fault = CloseReason::default();
        match &self.0 {
            Kind::Command(command) => {
                let (process, output, input) = ServerProcess::start(command).map_err(|error| {
                    McpError::Start { server: server.to_owned(), reason: error.to_string() }
                })?;
                words.set(process.last_words());
                let lines = Lines::new(output, options.most_bytes, Arc::clone(&fault));
                match serve(handler, transport(lines, input), &fault).await {
                    Ok(service) => Ok(Link { service, process: Some(process), fault }),
                    Err(error) => {
                        // What it says of its end may still be on its way.
                        process.end().await;
                        Err(unreachable(format!("{}{}", reason(&error, &fault), words.as_clause())))
                    }
                }
            }
            Kind::Stream(stream) => {
                let ends = stream.0.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (read, write) = ends.ok_or_else(|| unreachable("its stream has ended".to_owned()))?;
                let lines = Lines::new(read, options.most_bytes, Arc::clone(&fault));
                let service = serve(handler, transport(lines, write), &fault).await;
                let service = service.map_err(|error| unreachable(reason(&error, &fault)))?;
                Ok(Link { service, process: None, fault })
            }
            #[cfg(feature = "http")]
            Kind::Url(url) => {
                let service = serve(handler, url.transport(options)?, &fault).await;
                let service = service.map_err(|error| unreachable(url.redact(&reason(&error, &fault))))?;
                Ok(Link { service, process: None, fault })
            }
        }
    }

    /// Returns `true` if each request is sent separately, rather than over one stream.
    pub(super) const fn is_of_requests(&self) -> bool {
        match &self.0 {
            Kind::Command(_) | Kind::Stream(_) => false,
            #[cfg(feature = "http")]
            Kind::Url(_) => true,
        }
    }

    /// Redacts the address and its key in a text.
    pub(super) fn redact(&self, text: String) -> String {
        match &self.0 {
            #[cfg(feature = "http")]
            Kind::Url(url) => url.redact(&text),
            _ => text,
        }
    }
}

/// Agrees on a version with the server. In a box, or the compiler does not see that the future may be sent between
/// threads.
fn serve<T: Transport<RoleClient> + 'static>(
    handler: Handler,
    transport: T,
    fault: &CloseReason,
) -> BoxFuture<'static, Result<RunningService<RoleClient, Handler>, ClientInitializeError>> {
    Box::pin(serve_client(handler, Answered::new(transport, Arc::clone(fault))))
}

/// Speaks in lines. None is dropped for its length: [`Lines`] sees to that.
fn transport<R, W>(read: R, write: W) -> AsyncRwTransport<RoleClient, R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    AsyncRwTransport::new(read, write).with_max_line_length(usize::MAX)
}

/// Returns the client information for the handshake. The version is the newest that begins with a handshake, which
/// every server knows.
pub(super) fn introduction() -> ClientConfig {
    let program = Implementation::new("superstep", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), program)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn reason(error: &ClientInitializeError, fault: &CloseReason) -> String {
    match (fault.get(), error) {
        (Some(fault), _) => fault.clone(),
        (None, ClientInitializeError::ConnectionClosed(_)) => "it has ended the connection".to_owned(),
        (None, ClientInitializeError::JsonRpcError(error)) => format!("it answered: {}", error.message),
        (None, ClientInitializeError::TransportError { error, .. }) => of_transport(error),
        (None, error) => error.to_string(),
    }
}

/// Describes the error of a transport with its causes. Texts that the ones before them already contain are left out.
pub(super) fn of_transport(error: &DynamicTransportError) -> String {
    let error: &(dyn Error + 'static) = &*error.error;
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return "it has ended the connection".to_owned();
    }
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

/// The last standard error output of a server that may have to be ended before it is connected to.
#[derive(Default)]
struct LastWordsSlot(Mutex<Option<LastWords>>);

impl LastWordsSlot {
    fn set(&self, words: LastWords) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    fn as_clause(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        words.map(|words| words.as_clause()).unwrap_or_default()
    }
}
