//! The configuration of TLS, and the certificates that it trusts.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

/// An error of setting up TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM file has no certificate, or one that cannot be read.
    #[error("the certificates cannot be used: {0}")]
    Certificates(String),
    /// The system's verifier or the protocol cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    SetUp(String),
}

/// Makes a TLS configuration that trusts the system's certificates and those of these PEM files.
pub fn tls(certificates: &[Vec<u8>]) -> Result<ClientConfig, TlsError> {
    let crypto: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
    let mut extra = Vec::new();
    for file in certificates {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(file).collect();
        match read {
            Ok(found) if !found.is_empty() => extra.extend(found),
            Ok(_) => return Err(TlsError::Certificates("there is none in it".into())),
            Err(error) => return Err(TlsError::Certificates(error.to_string())),
        }
    }
    let failed = |error: rustls::Error| TlsError::SetUp(error.to_string());
    let verifier = Verifier::new_with_extra_roots(extra, Arc::clone(&crypto)).map_err(failed)?;
    let config =
        ClientConfig::builder_with_provider(crypto).with_safe_default_protocol_versions().map_err(failed)?;
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}
