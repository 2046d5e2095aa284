//! The resolver of names, which leaves out the addresses that may not be asked.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use superstep_nodes::__private::hosts::Hosts;

/// Looks names up, and leaves out the addresses that may not be asked.
///
/// A connection is made to the addresses that this returns and to no other, so a name that stands for something else a
/// moment later changes nothing.
pub(super) struct PublicResolver(pub(super) Hosts);

/// The error of a name that cannot be looked up, in words for a model.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` cannot be looked up: {1}")]
struct Unknown(String, std::io::Error);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let hosts = self.0.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found = tokio::net::lookup_host((host, 0)).await;
            let found = found.map_err(|error| Unknown(host.to_owned(), error))?;
            let chosen = hosts.choose(host, found.map(|address| address.ip()))?;
            let addresses: Addrs = Box::new(chosen.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
