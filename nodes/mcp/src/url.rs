//! A server behind an address, and the bearer token for it.

use std::collections::HashMap;
use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::{ExposeSecret, SecretString};
use superstep_nodes::__private::{redact, tls};

use super::{McpError, McpOptions};

/// A server behind an address, which is asked over streamable HTTP. Redirects are not followed. A proxy that the
/// environment names (`HTTPS_PROXY`, `NO_PROXY`) is used.
#[derive(Clone)]
pub struct McpUrl {
    url: Url,
    token: Option<BearerToken>,
    headers: HashMap<HeaderName, HeaderValue>,
    certificates: Vec<Vec<u8>>,
}

impl McpUrl {
    /// Makes an endpoint of an address, such as `https://wiki.example.org/mcp`.
    ///
    /// # Errors
    ///
    /// Fails if it is no address that begins with `http://` or `https://`, or has a name or a password in it.
    pub fn new(address: &str) -> Result<Self, McpError> {
        let refused = |reason: &str| McpError::Address { reason: reason.to_owned() };
        let url = Url::parse(address.trim()).map_err(|error| refused(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it begins with neither http:// nor https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it has a name or a password in it; give the server a token"));
        }
        Ok(Self { url, token: None, headers: HashMap::new(), certificates: Vec::new() })
    }

    /// Sends a token with each request. It is sent over `https`, or to this machine.
    ///
    /// # Errors
    ///
    /// Fails if it would go to another machine over `http`, where others can read it, or is no valid
    /// header.
    pub fn bearer(mut self, token: BearerToken) -> Result<Self, McpError> {
        let refused = |reason: &str| McpError::Address { reason: reason.to_owned() };
        if self.url.scheme() == "http" && !self.is_this_machine() {
            return Err(refused("a token is not sent to another machine over http://"));
        }
        if HeaderValue::from_str(token.expose()).is_err() {
            return Err(refused("the token has letters that no header has"));
        }
        self.token = Some(token);
        Ok(self)
    }

    /// Sends a header with each request. It is not shown.
    ///
    /// # Errors
    ///
    /// Fails if it is no header, or is `Authorization`, which [`bearer`](Self::bearer) sends.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, McpError> {
        let refused = |_| McpError::Address { reason: format!("`{name}` with that value is not a header") };
        let value = HeaderValue::from_str(value).map_err(|_| refused(()))?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused(()))?;
        if name == AUTHORIZATION {
            let reason = "`Authorization` is not set as a header; give the token with `bearer`".to_owned();
            return Err(McpError::Address { reason });
        }
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Trusts the certificates of a PEM file, too, beside those that the system trusts.
    #[must_use]
    pub fn trust_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    pub(super) fn transport(
        &self,
        options: &McpOptions,
    ) -> Result<StreamableHttpClientTransport<Client>, McpError> {
        let refused = |reason: String| McpError::Address { reason };
        let client = Client::builder()
            .user_agent(concat!("superstep/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(options.connect_time)
            // A token is for the server that it was given for.
            .redirect(Policy::none())
            .tls_backend_preconfigured(tls(&self.certificates).map_err(|error| refused(error.to_string()))?)
            .build()
            .map_err(|error| refused(error.to_string()))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .max_sse_event_size(options.most_bytes)
            .custom_headers(self.headers.clone());
        if let Some(token) = &self.token {
            config = config.auth_header(token.expose());
        }
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }

    /// Redacts the token, the values of headers, and the query of the address, which may hold keys, too.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.replace(self.url.as_str(), &self.shown());
        if let Some(query) = self.url.query() {
            text = redact(&text, query, "[query]");
        }
        if let Some(token) = &self.token {
            text = token.redact(&text);
        }
        let headers = self.headers.values().filter_map(|value| value.to_str().ok());
        headers.fold(text, |text, value| redact(&text, value, "[header]"))
    }

    fn shown(&self) -> String {
        let mut shown = self.url.clone();
        shown.set_query(None);
        shown.set_fragment(None);
        shown.to_string()
    }

    fn is_this_machine(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Debug for McpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("McpUrl").field(&self.shown()).finish()
    }
}

/// The bearer token that lets a program in at a server. Nothing shows it, and its memory is overwritten when it is
/// dropped.
#[derive(Clone)]
pub struct BearerToken(SecretString);

impl BearerToken {
    /// Makes a token of its text; white space at the ends, as of a line read from a file, is left out.
    pub fn new(token: impl AsRef<str>) -> Self {
        Self(token.as_ref().trim().into())
    }

    /// Reads the token from an environment variable; `None` where that is not set or blank.
    pub fn from_env(variable: &str) -> Option<Self> {
        let token = std::env::var(variable).ok()?;
        (!token.trim().is_empty()).then(|| Self::new(token))
    }

    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The text without the token.
    pub(super) fn redact(&self, text: &str) -> String {
        redact(text, self.expose(), "[token]")
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_http_and_has_no_password() {
        for wrong in ["wiki", "ftp://wiki", "https://me:secret@wiki/mcp", "https://me@wiki/mcp"] {
            let error = McpUrl::new(wrong).unwrap_err().to_string();
            assert!(error.starts_with("the address of the MCP server cannot be used: "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_token_goes_over_https_or_to_this_machine() {
        let with = |url: &str| McpUrl::new(url).unwrap().bearer(BearerToken::new("hunter2"));
        for fine in ["https://wiki/mcp", "http://127.0.0.1:1/mcp", "http://localhost/", "http://[::1]:8/"] {
            with(fine).unwrap();
        }
        for wrong in
            ["http://wiki/mcp", "http://10.0.0.1/", "http://localhost.evil/", "http://127.0.0.1.evil/"]
        {
            assert!(with(wrong).unwrap_err().to_string().contains("another machine"), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_not_given_as_a_header() {
        let error =
            McpUrl::new("http://wiki/mcp").unwrap().header("authorization", "Bearer hunter2").unwrap_err();
        let said = error.to_string();
        assert!(said.contains("with `bearer`") && !said.contains("hunter2"), "{said}");
    }

    #[test]
    fn values_of_headers_are_not_shown_and_words_are_left_whole() {
        let url = McpUrl::new("https://wiki/mcp?a").unwrap();
        let url = url.header("X-Key", "hunter2").unwrap().header("X-Team", "at").unwrap();
        assert_eq!(url.redact("what a hunter2 at bay"), "what a [header] at bay");
        assert_eq!(url.redact("no answer of https://wiki/mcp?a"), "no answer of https://wiki/mcp");
    }

    #[test]
    fn neither_the_token_nor_the_query_is_shown() {
        let url =
            McpUrl::new("https://wiki/mcp?key=abc").unwrap().bearer(BearerToken::new("hunter2")).unwrap();
        let said = url.redact("error for https://wiki/mcp?key=abc with hunter2, key=abc");
        assert_eq!(said, "error for https://wiki/mcp with [token], [query]");
        let shown = format!("{url:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("abc"), "{shown}");
    }
}
