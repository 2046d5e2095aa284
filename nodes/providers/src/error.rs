//! The errors of making a client.

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
