//! The names by which the server may be addressed, and the pages that may use it.
//!
//! A page of a foreign site that gives its own name the address of this machine (DNS rebinding) sends that name as
//! host. A page that calls the server directly sends its origin. Both are compared with the lists here.

use std::net::IpAddr;

use axum::http::uri::Authority;

/// The allowed hosts and origins, beside those of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    names: Vec<String>,
    origins: Vec<String>,
}

impl Hosts {
    /// Allows a host: `name` with any port, or `name:port`. Returns `false` for a text that no request names as its host.
    pub(crate) fn allow_host(&mut self, host: &str) -> bool {
        self.names.push(host.to_ascii_lowercase());
        name_of(host).is_some_and(|name| !name.is_empty())
    }

    /// Allows an origin, such as `https://app.example.org`. Returns `false` for a text that is not the origin of a page.
    pub(crate) fn allow_origin(&mut self, origin: &str) -> bool {
        let origin = origin.trim_end_matches('/').to_ascii_lowercase();
        let is_origin = origin.split_once("://").is_some_and(|(scheme, host)| {
            !scheme.is_empty() && name_of(host).is_some_and(|name| !name.is_empty())
        });
        self.origins.push(origin);
        is_origin
    }

    /// Returns `true` for a host that names this machine or that was allowed. `local` is the address at which the
    /// request arrived.
    pub(crate) fn admits_host(&self, host: &str, local: Option<IpAddr>) -> bool {
        let host = host.to_ascii_lowercase();
        let Some(name) = name_of(&host) else { return false };
        let is_allowed = |allowed: &String| *allowed == host || *allowed == name;
        is_loopback(name)
            || local.is_some_and(|local| address_of(name) == Some(local.to_canonical()))
            || self.names.iter().any(is_allowed)
    }

    /// Returns `true` for the origin of a page of this machine, of the server itself, or that was allowed. `host` is
    /// the admitted host of the request.
    pub(crate) fn admits_origin(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Some(page) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
            return false;
        };
        page == host.to_ascii_lowercase() || name_of(page).is_some_and(is_loopback)
    }
}

/// Returns the name in `name` or `name:port`.
fn name_of(host: &str) -> Option<&str> {
    let authority: Authority = host.parse().ok()?;
    let name_length = authority.host().len();
    // A name behind user information is not where a client connects to.
    (!host.contains('@')).then(|| &host[..name_length])
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || address_of(name).is_some_and(|address| address.is_loopback())
}

/// Returns the address in an address written as a host.
fn address_of(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_admitted_with_any_port() {
        let hosts = Hosts::default();
        for host in ["localhost", "LOCALHOST:2024", "127.0.0.1:1", "127.8.8.8", "[::1]", "[::1]:2024"] {
            assert!(hosts.admits_host(host, None), "{host}");
        }
    }

    #[test]
    fn other_names_are_rejected() {
        let hosts = Hosts::default();
        let rebound =
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:2024"];
        for host in
            rebound.into_iter().chain(["", ":2024", "a@localhost", "192.168.1.5", "localhost/", "0.0.0.0"])
        {
            assert!(!hosts.admits_host(host, None), "{host}");
        }
    }

    #[test]
    fn the_address_of_the_connection_and_allowed_names_are_admitted() {
        let mut hosts = Hosts::default();
        let local = Some("192.168.1.5".parse().unwrap());
        assert!(hosts.admits_host("192.168.1.5:2024", local));
        assert!(!hosts.admits_host("192.168.1.6:2024", local));
        assert!(hosts.allow_host("Graphs.example") && hosts.allow_host("other.example:8080"));
        assert!(hosts.admits_host("graphs.example:99", None));
        assert!(hosts.admits_host("other.example:8080", None));
        assert!(!hosts.admits_host("other.example:8081", None));
    }

    #[test]
    fn pages_of_this_machine_of_the_server_and_allowed_ones_are_admitted() {
        let mut hosts = Hosts::default();
        assert!(hosts.allow_origin("https://App.example/"));
        let own = "graphs.example:2024";
        for origin in
            ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173", "http://graphs.example:2024"]
        {
            assert!(hosts.admits_origin(origin, own), "{origin}");
        }
        assert!(hosts.admits_origin("https://app.example", own));
        for origin in
            ["null", "*", "", "https://evil.example", "http://app.example", "http://localhost.evil.example"]
        {
            assert!(!hosts.admits_origin(origin, own), "{origin}");
        }
        assert!(!hosts.admits_origin("file://localhost", own));
        assert!(!hosts.admits_origin("http://graphs.example:2025", own));
    }

    #[test]
    fn a_text_that_no_client_sends_as_host_or_origin_is_reported() {
        let mut hosts = Hosts::default();
        for host in ["", "https://app.example", "app.example/", ":2024", "a@app.example", "::1"] {
            assert!(!hosts.allow_host(host), "{host}");
        }
        for origin in ["", "app.example", "localhost:3000", "https://", "https://app.example/page", "null"] {
            assert!(!hosts.allow_origin(origin), "{origin}");
        }
        assert!(hosts.allow_host("[fd00::1]:2024") && hosts.allow_origin("capacitor://localhost"));
    }
}
