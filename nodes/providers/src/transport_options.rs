//! The options of a client, and the errors of making one.

use std::fmt;
use std::time::Duration;

/// The options for connections to providers: times, proxy and certificates.
///
/// Without a [`proxy`](Self::proxy), the usual environment variables name one: `HTTPS_PROXY`, `HTTP_PROXY` and
/// `ALL_PROXY`, except for the hosts in `NO_PROXY`. Certificates are checked against those that the system trusts.
#[derive(Clone)]
pub struct TransportOptions {
    pub(super) connect_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) proxy: Option<String>,
    pub(super) certificates: Vec<Vec<u8>>,
}

impl Default for TransportOptions {
    /// Ten seconds to connect, ten minutes of silence, the environment's proxy, the system's certificates.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(600),
            proxy: None,
            certificates: Vec::new(),
        }
    }
}

impl TransportOptions {
    /// Gives up a connection that is not there after so long.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Gives up a call during which nothing comes for so long: neither the beginning of an answer nor more of it. A
    /// model that thinks may be silent for minutes.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Goes through this proxy, whatever the environment says: `http://host:port`, or `https:`. A name and a password
    /// in it are not shown.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Trusts the certificates of a PEM file too, such as that of a company's proxy.
    #[must_use]
    pub fn certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }
}

impl fmt::Debug for TransportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportOptions")
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("proxy", &self.proxy.as_ref().map(|_| ".."))
            .field("certificates", &self.certificates.len())
            .finish()
    }
}

/// An error of making a client: one of its arguments is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// There is no key. Set the variable.
    #[error("there is no API key: set {variable}")]
    NoKey {
        /// The environment variable that is looked for.
        variable: &'static str,
    },
    /// The key has characters that a header cannot have.
    #[error("the API key has characters that a key cannot have; is it quoted, or a whole line of a file?")]
    Key,
    /// The address is none.
    #[error("`{url}` is not the address of a server: {reason}")]
    BaseUrl {
        /// The URL as given, without a name and a password.
        url: String,
        /// The defect of the URL.
        reason: String,
    },
    /// The proxy's address is none.
    #[error("the proxy address is not valid; use the form http://host:port")]
    Proxy,
    /// A header's name or value has characters that it cannot have.
    #[error("the header `{name}` cannot be sent: its name or value has characters that a header cannot have")]
    Header {
        /// The name.
        name: String,
    },
    /// The certificates cannot be read.
    #[error("the certificates cannot be read: {reason}; a PEM file is expected")]
    Certificates {
        /// The defect of the options.
        reason: String,
    },
    /// Connections cannot be encrypted.
    #[error("connections cannot be encrypted: {reason}")]
    Tls {
        /// The defect.
        reason: String,
    },
}
