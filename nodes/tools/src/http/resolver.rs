//! The name resolver, which returns only permitted addresses.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::hosts::{Hosts, not_public};

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
