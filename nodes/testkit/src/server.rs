//! The server, as tests hold it.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::Value;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::admission::{Admission, Key};
use super::anthropic::ThinkingForm;
use super::connection::serve;
use super::desk::Desk;
use super::{Endpoint, HttpError, Received, Reply};

/// A server on loopback that speaks the protocols of model vendors and takes no request that they would not.
///
/// It has a port of its own, and stops when it is dropped. [The module](super) has an example.
pub struct MockServer {
    address: SocketAddr,
    desk: Arc<Desk>,
    running: Running,
}

enum Running {
    Task(JoinHandle<()>),
    /// `None` only while it is dropped.
    Thread(Option<(oneshot::Sender<()>, thread::JoinHandle<()>)>),
}

/// A builder of a [`MockServer`].
#[derive(Clone, Debug)]
pub struct MockServerBuilder {
    admission: Admission,
}

impl MockServer {
    /// The key that a server takes by default.
    pub const KEY: &'static str = "mock-key";

    /// Starts a server that takes [`KEY`](Self::KEY), as a task of the runtime that this is called in.
    ///
    /// # Errors
    ///
    /// As [`MockServerBuilder::start`].
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// Begins a server with another key, or another place to run.
    pub fn builder() -> MockServerBuilder {
        let key = Some(Key(Self::KEY.to_owned()));
        MockServerBuilder { admission: Admission { key, is_strict: true, thinking: ThinkingForm::Any } }
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, as clients of Anthropic want it: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL with `/v1`, as clients of OpenAI want it.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds a reply to the queue. Each request at which a model speaks takes one, if it is not refused.
    pub fn reply(&self, reply: impl Into<Reply>) -> &Self {
        self.desk.queue(reply.into());
        self
    }

    /// Adds a reply that only a request at this endpoint takes, before those of the queue. Where something is
    /// counted or embedded, it answers instead of the server.
    pub fn reply_at(&self, endpoint: Endpoint, reply: impl Into<Reply>) -> &Self {
        self.desk.reserve(endpoint, reply.into());
        self
    }

    /// Answers requests for which the queue has no reply with what a function makes of them.
    pub fn answer_with(&self, respond: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> &Self {
        self.desk.respond_with(Arc::new(respond));
        self
    }

    /// Takes blocks of Anthropic or items of OpenAI for said by this server, as those of a conversation that
    /// began elsewhere. Thinking that the server has not said it does not take.
    pub fn remember(&self, said: &[Value]) -> &Self {
        self.desk.remember(Endpoint::Messages, "", said);
        self.desk.remember(Endpoint::Responses, "", said);
        self
    }

    /// Returns all requests that came, also those that were refused, in their order.
    pub fn received(&self) -> Vec<Received> {
        self.desk.received()
    }

    /// Returns why requests were refused, in the order in which they came.
    pub fn errors(&self) -> Vec<HttpError> {
        self.received().iter().filter_map(|received| received.error().cloned()).collect()
    }

    /// Returns how many replies no request has taken.
    pub fn replies_left(&self) -> usize {
        self.desk.waiting()
    }

    /// Waits until so many requests came, and returns all that did.
    pub async fn requests(&self, count: usize) -> Vec<Received> {
        let mut came = self.desk.count.subscribe();
        came.wait_for(|came| *came >= count).await.expect("this server holds the other end");
        self.received()
    }
}

impl MockServerBuilder {
    /// Sets the key that clients must have.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.admission.key = Some(Key(key.into()));
        self
    }

    /// Takes clients with any key and without one, as servers in one's own house do.
    #[must_use]
    pub fn any_key(mut self) -> Self {
        self.admission.key = None;
        self
    }

    /// Takes any JSON, as servers that are only compatible may.
    #[must_use]
    pub fn any_request(mut self) -> Self {
        self.admission.is_strict = false;
        self
    }

    /// Sets the form in which requests for thinking are taken at Anthropic; the other form is refused.
    #[must_use]
    pub fn thinking_form(mut self, form: ThinkingForm) -> Self {
        self.admission.thinking = form;
        self
    }

    /// Starts the server as a task of the runtime that this is called in. It waits by the runtime's clock.
    ///
    /// # Errors
    ///
    /// Fails outside a runtime of tokio that has I/O and time, and if loopback has no port left.
    pub async fn start(self) -> io::Result<MockServer> {
        let runtime = runtime::Handle::try_current()
            .map_err(|_| io::Error::other("the mock server needs a tokio runtime: use `start_in_thread`"))?;
        let (listener, address) = bind()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let desk = Arc::new(Desk::new(self.admission));
        let running = Running::Task(runtime.spawn(serve(listener, desk.clone())));
        Ok(MockServer { address, desk, running })
    }

    /// Starts the server in a thread of its own, for clients that block or are other programs.
    ///
    /// # Errors
    ///
    /// Fails if there is no port or no thread left.
    pub fn start_in_thread(self) -> io::Result<MockServer> {
        let (listener, address) = bind()?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let desk = Arc::new(Desk::new(self.admission));
        let (stop, stopped) = oneshot::channel();
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let served = serve(listener, desk.clone());
        let thread = thread::Builder::new().name("mock-server".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = served => {}
                    // Also if the other end is gone.
                    _ = stopped => {}
                }
            });
        })?;
        Ok(MockServer { address, desk, running: Running::Thread(Some((stop, thread))) })
    }
}

fn bind() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.desk.is_stopping.store(true, Ordering::Relaxed);
        match &mut self.running {
            Running::Task(task) => task.abort(),
            Running::Thread(running) => {
                if let Some((stop, thread)) = running.take() {
                    // The thread ends in either case: it waits for this, or is over.
                    let _ = stop.send(());
                    let _ = thread.join();
                }
            }
        }
    }
}

impl fmt::Debug for MockServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockServer").field("address", &self.address).finish_non_exhaustive()
    }
}
