//! Connections with TLS, by rustls.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
pub(crate) use tokio_postgres_rustls::MakeRustlsConnect as Connector;

use super::{Check, Tls};
use crate::postgres::error::PostgresError;

impl Tls {
    /// Returns what makes connections secure.
    pub(crate) fn connector(&self) -> Result<Connector, PostgresError> {
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
        Ok(Connector::new(config))
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
