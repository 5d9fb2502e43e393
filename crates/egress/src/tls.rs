//! TLS to upstreams: the certificate authorities of the host (the bundled ones if it has none) and those of the
//! operator.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio_rustls::TlsConnector;

use crate::config::EgressConfig;
use crate::error::EgressError;

/// TLS connectors, one for each set of protocols offered by ALPN.
pub(crate) struct Connectors {
    pub(crate) http1: TlsConnector,
    pub(crate) http2: TlsConnector,
}

pub(crate) fn connectors(config: &EgressConfig) -> Result<Connectors, EgressError> {
    let mut roots = host_roots();
    if let Some(path) = &config.extra_roots {
        add_file(&mut roots, path)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| EgressError::tls(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut with_http2 = tls.clone();
    with_http2.alpn_protocols.insert(0, b"h2".to_vec());
    Ok(Connectors {
        http1: TlsConnector::from(Arc::new(tls)),
        http2: TlsConnector::from(Arc::new(with_http2)),
    })
}

fn host_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        tracing::info!("no host certificate authorities found, using the bundled ones");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), EgressError> {
    let fault = |what: String| {
        EgressError::tls(format!("extra certificate authorities in {}: {what}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| fault(error.to_string()))?;
    let mut added = 0;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| fault(error.to_string()))?;
        roots.add(certificate).map_err(|error| fault(error.to_string()))?;
        added += 1;
    }
    if added == 0 {
        return Err(fault("no certificate found".to_owned()));
    }
    Ok(())
}
