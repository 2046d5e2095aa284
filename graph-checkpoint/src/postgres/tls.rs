//! Connections with TLS, as `sslmode` and `sslrootcert` of an address ask for them.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

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

    /// Returns what makes connections secure.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, PostgresError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        if self.roots.is_none() && self.check != Check::IfRoots {
            return Err(PostgresError::NoRootCertificate);
        }
        let trusted = match &self.roots {
            Some(roots) => Some(Trusted::read(roots, self.check == Check::Name, Arc::clone(&provider))?),
            None => None,
        };
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let config = config.with_safe_default_protocol_versions();
        let config = config.map_err(|error| PostgresError::Other(error.to_string()))?;
        let verifier = Arc::new(Verifier { provider, trusted });
        let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        // `sslnegotiation=direct` needs it.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(MakeRustlsConnect::new(config))
    }
}

/// Prepares an address for TLS: a Unix socket needs none, and a server without a name has its IP address as one.
pub(crate) fn prepare(config: &mut Config) {
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    if config.get_hosts().is_empty() {
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    } else if config.get_hosts().iter().all(is_socket) {
        config.ssl_mode(SslMode::Disable);
    }
}

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trusted: Option<Trusted>,
}

#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    verifier: Arc<WebPkiServerVerifier>,
    checks_name: bool,
}

impl Trusted {
    fn read(file: &PathBuf, checks_name: bool, provider: Arc<CryptoProvider>) -> Result<Self, PostgresError> {
        let failed = |reason: String| PostgresError::RootCertificate { file: file.clone(), reason };
        let bytes = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        let certificates = certificates.map_err(|error| failed(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| failed(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(failed("it contains no certificate in the format PEM".into()));
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let verifier = verifier.map_err(|error| failed(error.to_string()))?;
        Ok(Self { certificates, verifier, checks_name })
    }

    /// Accepts a certificate that signs itself, if it is a trusted one. This error comes after the check of its dates.
    fn is_itself_trusted(&self, certificate: &CertificateDer<'_>, error: &CertificateError) -> bool {
        matches!(error, CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity")
            && self.certificates.contains(certificate)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        match trusted.verifier.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is checked last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !trusted.checks_name => Ok(ServerCertVerified::assertion()),
            Err(Error::InvalidCertificate(error)) if trusted.is_itself_trusted(certificate, &error) => {
                if trusted.checks_name {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the reason why a handshake failed; `None` if its connection failed.
pub(crate) fn refused(error: &tokio_postgres::Error) -> Option<String> {
    let cause = std::error::Error::source(error)?;
    let Some(io) = cause.downcast_ref::<std::io::Error>() else { return Some(cause.to_string()) };
    let text = match io.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate was not issued by a trusted one".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another host".to_owned(),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        error => error.to_string(),
    };
    Some(text)
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
