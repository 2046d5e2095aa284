//! The client that calls webhooks.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use superstep_nodes::__private::hosts::{HostError, Hosts};
use superstep_nodes::__private::{TlsError, tls};
use tokio::sync::OnceCell;

use crate::wire::Failure;

/// The time limit of a call.
const TIME: Duration = Duration::from_secs(10);

/// The times from a failed call to the next one. There is one call more than these.
const WAITS: [Duration; 4] =
    [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120), Duration::from_secs(300)];

/// The hosts that webhooks may name, and the client that calls them. Cheap to clone.
///
/// A host is called at an address of the public internet, unless the program allows it elsewhere. The addresses of a name
/// are checked when it is looked up, and the connection is made to a checked one. No proxy is used, and no redirect is
/// followed.
#[derive(Clone)]
pub(crate) struct Webhooks {
    hosts: Hosts,
    names: Arc<dyn Resolve>,
    /// Made for the first call.
    client: Arc<OnceCell<Client>>,
    /// The times from a failed call to the next one.
    pub(crate) waits: Vec<Duration>,
}

/// An error of a call. Its text has nothing of the address but the host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    NotAllowed(#[from] HostError),
    #[error("the address is not a URL: {0}")]
    NoUrl(String),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{}", root(.0))]
    Failed(reqwest::Error),
    #[error("the receiver answered with status {0}")]
    Status(u16),
}

/// Returns the text of the cause of an error. Those above it have the address.
fn root(error: &reqwest::Error) -> String {
    let mut error: &dyn Error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

impl Webhooks {
    /// Creates the client, which also calls these hosts of private networks.
    ///
    /// # Errors
    /// Returns a text that is not a host.
    pub(crate) fn new(internal: &[String]) -> Result<Self, String> {
        let mut hosts = Hosts::default();
        for host in internal {
            hosts.allow_internal(host).map_err(|error| error.0)?;
        }
        let (names, client) = (Arc::new(System), Arc::default());
        Ok(Self { hosts, names, client, waits: WAITS.to_vec() })
    }

    /// Checks the address of a webhook, as far as this is possible before its name is looked up.
    pub(crate) fn check(&self, address: &str) -> Result<(), Failure> {
        self.url(address).map(drop).map_err(|error| {
            let hint = match error {
                CallError::NotAllowed(HostError::NotPublic(_)) => {
                    "; the server's program can allow the host with `allow_webhook_host`"
                }
                _ => "",
            };
            Failure::invalid(format!("webhook: {error}{hint}"))
        })
    }

    fn url(&self, address: &str) -> Result<Url, CallError> {
        let url = Url::parse(address).map_err(|error| CallError::NoUrl(error.to_string()))?;
        let host = self.hosts.check(&url)?;
        // The names of this machine need not be looked up.
        let is_local = host == "localhost" || host.ends_with(".localhost");
        if is_local && !self.hosts.is_internal(&host) {
            return Err(HostError::NotPublic(host).into());
        }
        Ok(url)
    }

    /// Sends a body to an address.
    ///
    /// # Errors
    /// Fails if the address may not be called, or the receiver does not answer with a status of success in time.
    pub(crate) async fn post(&self, address: &str, body: String) -> Result<(), CallError> {
        let url = self.url(address)?;
        let client = self.client.get_or_try_init(|| async { self.new_client() }).await?;
        let request = client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        let status = request.send().await.map_err(CallError::Failed)?.status();
        if status.is_success() { Ok(()) } else { Err(CallError::Status(status.as_u16())) }
    }

    fn new_client(&self) -> Result<Client, CallError> {
        let names = Checked { hosts: self.hosts.clone(), names: Arc::clone(&self.names) };
        let client = Client::builder()
            .user_agent(concat!("superstep/", env!("CARGO_PKG_VERSION")))
            .timeout(TIME)
            // A proxy would look names up by itself.
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .dns_resolver(names)
            .tls_backend_preconfigured(tls(&[])?);
        client.build().map_err(CallError::Failed)
    }
}

impl Default for Webhooks {
    fn default() -> Self {
        Self::new(&[]).expect("an empty list has only hosts")
    }
}

#[cfg(test)]
impl Webhooks {
    /// Looks names up elsewhere, and waits for these times after failed calls.
    pub(crate) fn for_tests(internal: &[&str], names: impl Resolve + 'static, waits: &[Duration]) -> Self {
        let internal: Vec<String> = internal.iter().map(|host| (*host).to_owned()).collect();
        let webhooks = Self::new(&internal).expect("these are hosts");
        Self { names: Arc::new(names), waits: waits.to_vec(), ..webhooks }
    }
}

/// Returns the host of an address, for the log.
pub(crate) fn host(address: &str) -> String {
    let url = Url::parse(address).ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// The resolver of the system.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A resolver that leaves out the addresses that may not be called.
struct Checked {
    hosts: Hosts,
    names: Arc<dyn Resolve>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (hosts, host) = (self.hosts.clone(), name.as_str().to_owned());
        let found = self.names.resolve(name);
        Box::pin(async move {
            let chosen = hosts.choose(&host, found.await?.map(|address| address.ip()))?;
            Ok(Box::new(chosen.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_may_not_be_called_is_refused_before_it_is_looked_up() {
        let webhooks = Webhooks::new(&["127.0.0.1:80".to_owned(), "hooks.internal".to_owned()]).unwrap();
        for address in
            ["https://example.com/a?b=c", "http://8.8.8.8/", "http://127.0.0.1/", "http://hooks.internal:9/"]
        {
            assert_eq!(webhooks.check(address), Ok(()), "{address}");
        }
        for (address, text) in [
            ("http://10.0.0.1/?token=t", "`10.0.0.1` is not on the public internet"),
            ("http://169.254.169.254/latest/", "`169.254.169.254` is not on the public internet"),
            ("http://[::1]:8080/", "`::1` is not on the public internet"),
            ("http://[fd00::1]/", "`fd00::1` is not on the public internet"),
            ("http://100.64.0.1/", "`100.64.0.1` is not on the public internet"),
            ("http://224.0.0.1/", "`224.0.0.1` is not on the public internet"),
            ("http://0x7f000001:81/", "`127.0.0.1` may not be asked on this port"),
            ("http://LocalHost/", "`localhost` is not on the public internet"),
            ("http://a.localhost/", "`a.localhost` is not on the public internet"),
            ("ftp://example.com/", "`ftp:` is not asked for, only http and https are"),
            ("https://user:secret@example.com/", "an address with a name and a password is not asked for"),
            ("/hook", "the address is not a URL: relative URL without a base"),
            ("", "the address is not a URL: relative URL without a base"),
        ] {
            let refused = webhooks.check(address).unwrap_err();
            let expected = format!("webhook: {text}");
            assert!(refused.status == 422 && refused.detail.starts_with(&expected), "{address}: {refused}");
            assert!(!refused.detail.contains("token") && !refused.detail.contains("secret"), "{refused}");
        }
        assert_eq!(Webhooks::new(&["a/b".to_owned()]).err().as_deref(), Some("a/b"));
    }
}
