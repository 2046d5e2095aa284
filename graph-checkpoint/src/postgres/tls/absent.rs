//! Replaces TLS in a program that was built without it.

use std::net::IpAddr;

use tokio_postgres::Config;
#[cfg(not(feature = "postgres-tls"))]
pub(crate) use tokio_postgres::NoTls as Connector;
use tokio_postgres::config::{Host, SslMode};

use super::{Check, Tls};
use crate::postgres::error::PostgresError;

#[cfg(not(feature = "postgres-tls"))]
impl Tls {
    pub(crate) fn connector(&self) -> Result<Connector, PostgresError> {
        Ok(Connector)
    }
}

/// Returns an error if an address asks for TLS, or names another machine and does not say that TLS is not needed.
pub(super) fn check(tls: &Tls, config: &Config) -> Result<(), PostgresError> {
    let is_here = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
    };
    let are_here =
        config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    let asks_for_none = tls.roots.is_none() && tls.check == Check::IfRoots;
    match config.get_ssl_mode() {
        SslMode::Disable => Ok(()),
        SslMode::Prefer if are_here && asks_for_none => Ok(()),
        _ => Err(PostgresError::NoTls),
    }
}

/// Returns `None`: there are no handshakes.
#[cfg(not(feature = "postgres-tls"))]
pub(crate) fn refused(_: &tokio_postgres::Error) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_reached_without_tls_only_if_the_address_says_so() {
        let is_refused = |address: &str| {
            let mut tls = Tls::default();
            let mut config: Config = tls.take_from(address).parse().expect("an address");
            super::super::complete(&mut config);
            check(&tls, &config).is_err()
        };
        for allowed in [
            "host=/run user=u sslmode=require",
            "postgres://u@localhost/d",
            "postgres://u@127.0.0.1,[::1]/d",
            "hostaddr=127.0.0.1",
            "postgres://u@db.internal/d?sslmode=disable",
        ] {
            assert!(!is_refused(allowed), "{allowed}");
        }
        for refused in [
            "postgres://u@db.internal/d",
            "postgres://u@localhost,db.internal/d",
            "host=localhost hostaddr=10.0.0.1",
            "hostaddr=10.0.0.1",
            "postgres://u@localhost/d?sslmode=require",
            "postgres://u@localhost/d?sslmode=verify-full&sslrootcert=/ca.pem",
            "postgres://u@localhost/d?sslrootcert=/ca.pem",
        ] {
            assert!(is_refused(refused), "{refused}");
        }
    }
}
