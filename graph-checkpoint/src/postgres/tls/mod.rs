//! Connections with TLS, as `sslmode` and `sslrootcert` of an address ask for them.

#[cfg(any(test, not(feature = "postgres-tls")))]
mod absent;
#[cfg(feature = "postgres-tls")]
mod rustls;

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

#[cfg(not(feature = "postgres-tls"))]
pub(crate) use self::absent::{Connector, refused};
#[cfg(feature = "postgres-tls")]
pub(crate) use self::rustls::{Connector, refused};
use super::address::{with, without};
use super::error::PostgresError;

/// The checks of the server's certificate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    /// The file with the trusted certificates; without one no certificate is checked.
    pub(crate) roots: Option<PathBuf>,
    check: Check,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Check {
    /// The certificate, if there are trusted ones.
    #[default]
    IfRoots,
    /// The certificate.
    Certificate,
    /// The certificate, and that it is for the host of the address.
    Name,
}

impl Tls {
    /// Takes the parameters from an address that the client library does not know, and returns the rest of it.
    pub(crate) fn take_from(&mut self, address: &str) -> String {
        let (mut rest, taken) = without(address, &["sslmode", "sslrootcert"]);
        for (name, value) in taken {
            let mode = match (&*name, &*value) {
                ("sslrootcert", _) => {
                    self.roots = Some(value.into());
                    continue;
                }
                (_, "verify-ca") => {
                    self.check = Check::Certificate;
                    "require"
                }
                (_, "verify-full") => {
                    self.check = Check::Name;
                    "require"
                }
                // The client library returns an error for a value that does not exist.
                _ => &value,
            };
            rest = with(&rest, "sslmode", mode);
        }
        rest
    }

    /// Completes an address for TLS.
    ///
    /// # Errors
    /// Returns an error if the address needs TLS, and the program was built without it.
    pub(crate) fn prepare(&self, config: &mut Config) -> Result<(), PostgresError> {
        complete(config);
        #[cfg(not(feature = "postgres-tls"))]
        absent::check(self, config)?;
        Ok(())
    }
}

/// Completes an address for TLS: a Unix socket needs none, and a server without a name has its IP address as one.
fn complete(config: &mut Config) {
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    if config.get_hosts().is_empty() {
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    } else if config.get_hosts().iter().all(is_socket) {
        config.ssl_mode(SslMode::Disable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(address: &str) -> (String, Check, Option<String>) {
        let mut tls = Tls::default();
        let rest = tls.take_from(address);
        (rest, tls.check, tls.roots.map(|roots| roots.display().to_string()))
    }

    #[test]
    fn parameters_of_tls_are_taken_from_an_address() {
        let all = |rest: &str, check, roots: Option<&str>| (rest.to_owned(), check, roots.map(str::to_owned));
        let (none, chain, name) = (Check::IfRoots, Check::Certificate, Check::Name);
        for (address, expected) in [
            ("postgres://u@h/d", all("postgres://u@h/d", none, None)),
            ("postgres://u@h/d?connect_timeout=3", all("postgres://u@h/d?connect_timeout=3", none, None)),
            ("postgres://u@h/d?sslmode=disable", all("postgres://u@h/d?sslmode=disable", none, None)),
            (
                "postgresql://h/d?sslrootcert=/a%20b.pem&connect_timeout=3&sslmode=verify-full",
                all("postgresql://h/d?connect_timeout=3&sslmode=require", name, Some("/a b.pem")),
            ),
            ("host=h user=u", all("host=h user=u", none, None)),
            ("host=h sslmode=verify-ca user=u", all("host=h user=u sslmode='require'", chain, None)),
            (
                "sslrootcert = '/it\\'s here.pem' password='a \\' sslmode=disable' user=u",
                all(" password='a \\' sslmode=disable' user=u", none, Some("/it's here.pem")),
            ),
            ("host=h nothing", all("host=h nothing", none, None)),
        ] {
            assert_eq!(taken(address), expected, "{address}");
        }
    }
}
