//! The servers that may be asked.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use superstep_nodes::tool::ToolFailure;

use super::address_policy::is_public;

/// The servers that may be asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    /// If there are any, no others.
    only: Option<BTreeSet<String>>,
    /// Those that may be at an address that is not public, each with the port, if only that.
    internal: BTreeSet<(String, Option<u16>)>,
}

/// An error of a rule of [`HttpRequest`](super::HttpRequest).
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

impl Hosts {
    pub(super) fn allow_only(&mut self, host: &str) -> Result<(), HttpRuleError> {
        self.only.get_or_insert_default().insert(self::host(host)?);
        Ok(())
    }

    pub(super) fn allow_internal(&mut self, host: &str) -> Result<(), HttpRuleError> {
        let named = host_and_port(host)?;
        self.internal.insert(named);
        Ok(())
    }

    /// Refuses an address that may not be asked for, as far as can be said without asking for what a name stands for.
    /// Returns the server's name.
    pub(super) fn check(&self, url: &Url) -> Result<String, ToolFailure> {
        let refuse = |text: String| Err(ToolFailure::new(text));
        if !matches!(url.scheme(), "http" | "https") {
            return refuse(format!("`{}:` is not asked for, only http and https are", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("an address with a name and a password is not asked for".to_owned());
        }
        let Some(host) = url.host_str().map(plain) else {
            return refuse("the address names no host".to_owned());
        };
        if self.only.as_ref().is_some_and(|only| !only.contains(&host)) {
            let allowed = self.only.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
            return refuse(format!("`{host}` is none of the hosts that may be asked: {allowed}"));
        }
        if self.is_internal(&host) {
            let port = url.port_or_known_default();
            let named = |port: Option<u16>| self.internal.contains(&(host.clone(), port));
            return match named(None) || named(port) {
                true => Ok(host),
                false => refuse(format!("`{host}` may not be asked on this port")),
            };
        }
        match host.parse() {
            Ok(address) if !is_public(address) => Err(not_public(&host)),
            _ => Ok(host),
        }
    }

    /// Returns `true` if a server may be at an address that is not public.
    pub(super) fn is_internal(&self, host: &str) -> bool {
        self.internal.iter().any(|(internal, _)| internal == host)
    }

    /// Takes from the addresses of a name those that may not be asked.
    pub(super) fn choose(&self, host: &str, found: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
        let internal = self.is_internal(&plain(host));
        found.filter(|address| internal || is_public(*address)).collect()
    }
}

/// Returns the error for the model when a server is at an address that is not public.
pub(super) fn not_public(host: &str) -> ToolFailure {
    ToolFailure::new(format!("`{host}` is not on the public internet, and only what is may be asked"))
}

/// Returns a host for comparison: without the brackets of an IPv6 address, and without the dot at the end of a name.
fn plain(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

/// Returns the host that a text names, for comparison.
pub(super) fn host(text: &str) -> Result<String, HttpRuleError> {
    host_and_port(text).map(|(host, _)| host)
}

/// Takes a host and its port apart, in the same way as addresses are.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), HttpRuleError> {
    let wrong = || HttpRuleError::Host { host: text.to_owned() };
    let bare_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let whole = if bare_v6 { format!("http://[{text}]/") } else { format!("http://{text}/") };
    let url = Url::parse(&whole).map_err(|_| wrong())?;
    let plain_form = url.path() == "/" && url.query().is_none() && url.username().is_empty();
    let host = url.host_str().filter(|host| plain_form && !host.is_empty() && !text.contains(['/', '#']));
    // The port of the scheme is left out when an address is parsed.
    let port = url.port().or_else(|| text.ends_with(":80").then_some(80).filter(|_| !bare_v6));
    host.map(|host| (plain(host), port)).ok_or_else(wrong)
}

/// Looks names up, and leaves out the addresses that may not be asked.
///
/// A connection is made to the addresses that this returns and to no other, so a name that stands for something else a
/// moment later changes nothing.
pub(super) struct PublicResolver(pub(super) Hosts);

/// The error of a name without an address that may be asked, in words for a model.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotAsked(String);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let hosts = self.0.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found = tokio::net::lookup_host((host, 0)).await;
            let found = found.map_err(|error| NotAsked(format!("`{host}` cannot be looked up: {error}")))?;
            let chosen: Vec<IpAddr> = hosts.choose(host, found.map(|address| address.ip()));
            if chosen.is_empty() {
                return Err(NotAsked(not_public(host).to_string()).into());
            }
            let addresses: Addrs = Box::new(chosen.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(hosts: &Hosts, url: &str) -> String {
        match hosts.check(&Url::parse(url).unwrap()) {
            Ok(host) => host,
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn every_way_to_write_an_address_of_this_machine_is_refused() {
        let hosts = Hosts::default();
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://0/",
            "http://169.254.169.254/latest/meta-data/",
            "http://127.0.0.1./",
        ] {
            assert!(
                said(&hosts, url).ends_with("is not on the public internet, and only what is may be asked"),
                "{url}"
            );
        }
        assert_eq!(said(&hosts, "https://Example.com./a"), "example.com");
        assert_eq!(said(&hosts, "http://8.8.8.8/"), "8.8.8.8");
    }

    #[test]
    fn of_the_addresses_of_a_name_only_public_ones_are_asked() {
        let found = || {
            ["10.0.0.1", "8.8.8.8", "::1", "127.0.0.1"].map(|address| address.parse().unwrap()).into_iter()
        };
        let mut hosts = Hosts::default();
        assert_eq!(hosts.choose("rebound.example", found()), ["8.8.8.8".parse::<IpAddr>().unwrap()]);
        hosts.allow_internal("inside.example:8080").unwrap();
        assert_eq!(hosts.choose("Inside.Example.", found()).len(), 4);
        assert_eq!(hosts.choose("other.example", found()).len(), 1);
    }

    #[test]
    fn only_http_is_asked_for_and_without_a_password() {
        let hosts = Hosts::default();
        for url in ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com/"] {
            assert!(said(&hosts, url).ends_with("is not asked for, only http and https are"), "{url}");
        }
        for url in ["http://a@example.com/", "http://a:b@example.com/", "http://:b@example.com/"] {
            assert!(said(&hosts, url).contains("a name and a password"), "{url}");
        }
    }

    #[test]
    fn a_program_says_which_hosts_are_asked() {
        let mut hosts = Hosts::default();
        hosts.allow_internal("127.0.0.1:8080").unwrap();
        hosts.allow_internal("[::1]").unwrap();
        hosts.allow_internal("printer.local:80").unwrap();
        assert_eq!(said(&hosts, "http://127.0.0.1:8080/"), "127.0.0.1");
        assert_eq!(said(&hosts, "http://127.0.0.1:8081/"), "`127.0.0.1` may not be asked on this port");
        assert_eq!(said(&hosts, "http://[::1]:9/"), "::1");
        assert_eq!(said(&hosts, "http://printer.local/"), "printer.local");
        assert_eq!(said(&hosts, "https://printer.local/"), "`printer.local` may not be asked on this port");
        hosts.allow_only("Example.com").unwrap();
        assert_eq!(said(&hosts, "https://example.com:444/"), "example.com");
        assert_eq!(
            said(&hosts, "https://example.org/"),
            "`example.org` is none of the hosts that may be asked: example.com"
        );
        for wrong in ["", "http://a", "a/b", "a@b", "a:x", "a?b", "a b"] {
            assert!(hosts.allow_only(wrong).is_err(), "{wrong}");
        }
    }
}
