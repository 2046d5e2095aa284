//! The tool, and what it may.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::__private::hosts::{Hosts, NotAHost, host_of};
use superstep_nodes::__private::tls;
use superstep_nodes::tool::{
    InvalidInput, Pattern, Permission, PermissionMatcher, PermissionParts, ToolContext, ToolEffect,
    ToolFailure, ToolOutput, Touch,
};

use super::exchange::Exchange;
use super::resolver::PublicResolver;
use crate::built_in::{BuiltIn, built_in};
use crate::wildcard::fits;

/// The tool `http_request`: asks a server of the public internet.
///
/// Addresses of this machine, of a local network or inside of a cloud provider are refused, however they are written
/// and whatever name stands for them, unless the program [allows them](Self::allow_internal). The tool looks names up
/// itself, and connects to no address that it has not checked; each redirect is checked again. No proxy is used.
///
/// `GET` and `HEAD` look and change nothing. Every other method needs a person's permission, unless the program
/// [allows](Self::allow_method) it.
///
/// A request may leak what the model knows, even in its URL: [`only_host`](Self::only_host) limits the hosts that
/// it may reach.
#[derive(Clone)]
pub struct HttpRequest {
    hosts: Hosts,
    methods: BTreeSet<HttpMethod>,
    secret: Vec<(String, HeaderMap)>,
    time: Duration,
    most_bytes: usize,
}

/// The input of [`HttpRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequestInput {
    /// The URL, which begins with `http://` or `https://`.
    pub url: String,
    /// The method.
    #[serde(default)]
    pub method: HttpMethod,
    /// Headers, such as `accept`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body, if the method has one.
    pub body: Option<String>,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum HttpMethod {
    /// Requests a resource.
    #[default]
    Get,
    /// Requests only the headers.
    Head,
    /// Sends data.
    Post,
    /// Creates or replaces a resource.
    Put,
    /// Changes a part of a resource.
    Patch,
    /// Deletes a resource.
    Delete,
}

/// An error of a rule of [`HttpRequest`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpRuleError {
    /// It names no host. Write a name or an address, without `http://`.
    #[error("`{host}` is not a host: write a name or an address, with :PORT to allow only that port")]
    Host {
        /// The host as given.
        host: String,
    },
    /// It names no header, or the value is none that a header may have.
    #[error("`{name}` is not a header name, or its value is not valid")]
    Header {
        /// The name that was written.
        name: String,
    },
}

impl From<NotAHost> for HttpRuleError {
    fn from(NotAHost(host): NotAHost) -> Self {
        Self::Host { host }
    }
}

impl HttpMethod {
    /// Tells whether it only looks.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

impl From<HttpMethod> for Method {
    fn from(method: HttpMethod) -> Self {
        match method {
            HttpMethod::Get => Self::GET,
            HttpMethod::Head => Self::HEAD,
            HttpMethod::Post => Self::POST,
            HttpMethod::Put => Self::PUT,
            HttpMethod::Patch => Self::PATCH,
            HttpMethod::Delete => Self::DELETE,
        }
    }
}

impl HttpRequest {
    /// The name of the tool.
    pub const NAME: &'static str = "http_request";

    /// The default time limit of a request with its redirects and its answer.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(30);

    /// The default maximum number of bytes of an answer.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Makes a tool that asks any server of the public internet.
    pub fn new() -> Self {
        Self {
            hosts: Hosts::default(),
            methods: BTreeSet::new(),
            secret: Vec::new(),
            time: Self::DEFAULT_TIME,
            most_bytes: Self::MAX_BYTES,
        }
    }

    /// Asks this host, and others that are named like this, and no other. Its subdomains are others.
    ///
    /// # Errors
    ///
    /// Fails if it is no host.
    pub fn only_host(mut self, host: &str) -> Result<Self, HttpRuleError> {
        self.hosts.allow_only(host)?;
        Ok(self)
    }

    /// Asks this host wherever it is, also on this machine and in a local network: a name or an address, such as
    /// `wiki.corp` or `127.0.0.1:8080`. With a port it is asked on that one alone.
    ///
    /// # Errors
    ///
    /// Fails if it is no host.
    pub fn allow_internal(mut self, host: &str) -> Result<Self, HttpRuleError> {
        self.hosts.allow_internal(host)?;
        Ok(self)
    }

    /// Lets requests with this method be made without a person's permission.
    #[must_use]
    pub fn allow_method(mut self, method: HttpMethod) -> Self {
        self.methods.insert(method);
        self
    }

    /// Sends a header with each request to a host, such as a key that the model does not know: over `https`, or to a
    /// host that is [allowed to be internal](Self::allow_internal).
    ///
    /// # Errors
    ///
    /// Fails if it is no host, or the header is none.
    pub fn with_header(mut self, host: &str, name: &str, value: &str) -> Result<Self, HttpRuleError> {
        let host = host_of(host)?;
        let parsed = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
        let (Ok(name), Ok(mut value)) = parsed else {
            return Err(HttpRuleError::Header { name: name.to_owned() });
        };
        value.set_sensitive(true);
        self.secret.push((host, HeaderMap::from_iter([(name, value)])));
        Ok(self)
    }

    /// Sets how long a request may take with its redirects and its answer.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Sets how many bytes of an answer are read.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    fn client(&self) -> Result<Client, ToolFailure> {
        let client = Client::builder()
            .user_agent(concat!("superstep/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.time)
            // A proxy would look names up by itself.
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .dns_resolver(PublicResolver(self.hosts.clone()))
            .tls_backend_preconfigured(tls(&[])?);
        Ok(client.build()?)
    }
}

impl Default for HttpRequest {
    /// The same as [`HttpRequest::new`].
    fn default() -> Self {
        Self::new()
    }
}

/// The call that rules are compared with, and the rule to offer for its host.
struct HttpPart {
    call: String,
    host: String,
    offer: String,
}

impl PermissionParts for HttpPart {
    fn count(&self) -> usize {
        1
    }

    fn fits(&self, _: usize, pattern: &Pattern) -> bool {
        let pattern = pattern.as_str();
        match pattern.contains([' ', '/', ':']) || pattern == "*" {
            true => fits(pattern, &self.call),
            false => fits(pattern, &self.host),
        }
    }

    fn touches(&self, pattern: &Pattern) -> Touch {
        if self.fits(0, pattern) { Touch::Yes } else { Touch::No }
    }

    /// Offers the method and the host. An address with a user name is not of this form, so nothing is offered for it.
    fn offer(&self, _: usize) -> Option<String> {
        fits(&self.offer, &self.call).then(|| self.offer.clone())
    }
}

#[async_trait]
impl BuiltIn for HttpRequest {
    type Input = HttpRequestInput;

    fn describe(&self) -> String {
        format!(
            "Makes an HTTP request to a server of the public internet and returns the status, some headers and the body. GET \
             follows redirects. It may take {} seconds, and of an answer {} bytes are read.",
            self.time.as_secs(),
            self.most_bytes
        )
    }

    fn effect_of(&self, input: &HttpRequestInput) -> ToolEffect {
        if input.method.is_read_only() { ToolEffect::ReadOnly } else { ToolEffect::Changes }
    }

    fn in_short(&self, input: &HttpRequestInput) -> String {
        format!("send the request {} {}", Method::from(input.method), input.url)
    }

    /// A rule is about the method, a space and the address, where `*` is anything: `GET https://example.com/*`; or
    /// about a host, with any method: `api.example.com`, `*.example.com`.
    fn matcher(&self, input: &HttpRequestInput) -> Option<PermissionMatcher> {
        let url = Url::parse(&input.url).ok()?;
        let method = Method::from(input.method);
        Some(PermissionMatcher::of(HttpPart {
            host: url.host_str()?.to_owned(),
            offer: format!("{method} {}/*", url.origin().ascii_serialization()),
            call: format!("{method} {url}"),
        }))
    }

    fn permission(&self, input: &HttpRequestInput) -> Permission {
        let method = input.method;
        if method.is_read_only() || self.methods.contains(&method) {
            return Permission::Passthrough;
        }
        Permission::Ask(format!("it sends a {} request", Method::from(method)))
    }

    fn time(&self, _: &HttpRequestInput) -> Duration {
        self.time
    }

    async fn validate(&self, input: &HttpRequestInput, _: &ToolContext) -> Result<(), InvalidInput> {
        let checked = address(&input.url).and_then(|url| Ok(self.hosts.check(&url).map(drop)?));
        let checked = checked.and_then(|()| headers(&input.headers).map(drop));
        checked.map_err(|refused| InvalidInput::new(refused.to_string()))?;
        if input.body.is_some() && input.method.is_read_only() {
            return Err(InvalidInput::new("a request with a body has the method POST, PUT, PATCH or DELETE"));
        }
        Ok(())
    }

    async fn run(&self, input: HttpRequestInput, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let exchange = Exchange {
            client: &self.client()?,
            hosts: &self.hosts,
            method: input.method.into(),
            url: address(&input.url)?,
            headers: headers(&input.headers)?,
            secret: &self.secret,
            body: input.body,
            most_bytes: self.most_bytes,
        };
        exchange.run().await
    }
}

built_in!(HttpRequest);

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("hosts", &self.hosts)
            .field("methods", &self.methods)
            .field("time", &self.time)
            .field("most_bytes", &self.most_bytes)
            .finish_non_exhaustive()
    }
}

fn address(text: &str) -> Result<Url, ToolFailure> {
    Url::parse(text.trim()).map_err(|error| ToolFailure::new(format!("`{text}` is no address: {error}")))
}

/// The headers of a model. Those that say how a request is sent and to whom are not its to say.
fn headers(named: &BTreeMap<String, String>) -> Result<HeaderMap, ToolFailure> {
    const OURS: [&str; 9] = [
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let header = |(name, value): (&String, &String)| {
        let wrong = || ToolFailure::new(format!("`{name}` is not a header that may be sent"));
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        if OURS.contains(&parsed.as_str()) || parsed.as_str().starts_with("proxy-") {
            return Err(wrong());
        }
        Ok((parsed, HeaderValue::from_str(value).map_err(|_| wrong())?))
    };
    named.iter().map(header).collect()
}

#[cfg(test)]
mod tests;
