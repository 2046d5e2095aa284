//! The hosts that a program may call.

mod address_policy;

use std::collections::BTreeSet;
use std::net::IpAddr;

use url::Url;

use address_policy::is_public;

/// The hosts that may be called: those of the public internet, unless others are allowed.
///
/// A name may stand for any address. The caller looks it up, and connects only to the addresses that
/// [`choose`](Self::choose) returns.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// If there are any, no others.
    only: Option<BTreeSet<String>>,
    /// Those that may be at an address that is not public, each with the port, if only that.
    internal: BTreeSet<(String, Option<u16>)>,
}

/// An error of a text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host: write a name or an address, with :PORT to allow only that port")]
pub struct NotAHost(pub String);

/// An error of an address that may not be called. Its text has nothing of the address but its scheme and its host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The scheme is neither `http` nor `https`.
    #[error("`{0}:` is not asked for, only http and https are")]
    Scheme(String),
    /// The address has a name or a password.
    #[error("an address with a name and a password is not asked for")]
    Credentials,
    /// The address names no host.
    #[error("the address names no host")]
    NoHost,
    /// The host is not one of the allowed ones.
    #[error("`{host}` is none of the hosts that may be asked: {allowed}")]
    NotListed {
        /// The host.
        host: String,
        /// The allowed hosts.
        allowed: String,
    },
    /// The host may be called on another port.
    #[error("`{0}` may not be asked on this port")]
    Port(String),
    /// The host is in no public network.
    #[error("`{0}` is not on the public internet, and only what is may be asked")]
    NotPublic(String),
}

impl Hosts {
    /// Allows only this host, and others that were named like this.
    ///
    /// # Errors
    /// Fails if it is no host.
    pub fn allow_only(&mut self, host: &str) -> Result<(), NotAHost> {
        self.only.get_or_insert_default().insert(host_of(host)?);
        Ok(())
    }

    /// Allows this host also at an address that is not public; with a port, only on that one.
    ///
    /// # Errors
    /// Fails if it is no host.
    pub fn allow_internal(&mut self, host: &str) -> Result<(), NotAHost> {
        let named = host_and_port(host)?;
        self.internal.insert(named);
        Ok(())
    }

    /// Checks an address before its name is looked up, and returns the host.
    ///
    /// # Errors
    /// Fails if the address may not be called whatever its name stands for.
    pub fn check(&self, url: &Url) -> Result<String, HostError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HostError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HostError::Credentials);
        }
        let host = url.host_str().map(plain).ok_or(HostError::NoHost)?;
        if let Some(only) = self.only.as_ref().filter(|only| !only.contains(&host)) {
            let allowed = only.iter().cloned().collect::<Vec<_>>().join(", ");
            return Err(HostError::NotListed { host, allowed });
        }
        if self.is_internal(&host) {
            let port = url.port_or_known_default();
            let named = |port: Option<u16>| self.internal.contains(&(host.clone(), port));
            return if named(None) || named(port) { Ok(host) } else { Err(HostError::Port(host)) };
        }
        match host.parse() {
            Ok(address) if !is_public(address) => Err(HostError::NotPublic(host)),
            _ => Ok(host),
        }
    }

    /// Returns `true` if a host may be at an address that is not public.
    pub fn is_internal(&self, host: &str) -> bool {
        self.internal.iter().any(|(internal, _)| internal == host)
    }

    /// Returns the addresses of a name that may be called.
    ///
    /// # Errors
    /// Fails if none of them may be.
    pub fn choose(&self, host: &str, found: impl Iterator<Item = IpAddr>) -> Result<Vec<IpAddr>, HostError> {
        let internal = self.is_internal(&plain(host));
        let chosen: Vec<_> = found.filter(|address| internal || is_public(*address)).collect();
        if chosen.is_empty() { Err(HostError::NotPublic(host.to_owned())) } else { Ok(chosen) }
    }
}

/// Returns a host for comparison: without the brackets of an IPv6 address, and without the dot at the end of a name.
fn plain(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

/// Returns the host that a text names, for comparison.
///
/// # Errors
/// Fails if it is no host.
pub fn host_of(text: &str) -> Result<String, NotAHost> {
    host_and_port(text).map(|(host, _)| host)
}

/// Takes a host and its port apart, in the same way as addresses are.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), NotAHost> {
    let wrong = || NotAHost(text.to_owned());
    let bare_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let whole = if bare_v6 { format!("http://[{text}]/") } else { format!("http://{text}/") };
    let url = Url::parse(&whole).map_err(|_| wrong())?;
    let plain_form = url.path() == "/" && url.query().is_none() && url.username().is_empty();
    let host = url.host_str().filter(|host| plain_form && !host.is_empty() && !text.contains(['/', '#']));
    // The port of the scheme is left out when an address is parsed.
    let port = url.port().or_else(|| text.ends_with(":80").then_some(80).filter(|_| !bare_v6));
    host.map(|host| (plain(host), port)).ok_or_else(wrong)
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
        let public: IpAddr = "8.8.8.8".parse().unwrap();
        assert_eq!(hosts.choose("rebound.example", found()), Ok(vec![public]));
        hosts.allow_internal("inside.example:8080").unwrap();
        assert_eq!(hosts.choose("Inside.Example.", found()).unwrap().len(), 4);
        assert_eq!(hosts.choose("other.example", found()), Ok(vec![public]));
        let none = HostError::NotPublic("other.example".to_owned());
        assert_eq!(hosts.choose("other.example", found().filter(|address| *address != public)), Err(none));
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
