//! The upstream over TLS: HTTP/2 with a stream limit, or HTTP/1.1, chosen by ALPN.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::resettable_stream::ResetSwitch;
use super::serve::serve;
use super::state::UpstreamState;

/// A certificate and its key as PEM files.
#[derive(Clone, Debug)]
pub struct TlsIdentity {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// `SETTINGS_MAX_CONCURRENT_STREAMS`.
    pub max_streams: u32,
}

pub(super) fn acceptor(identity: &TlsIdentity) -> io::Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_file(&identity.certificate).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(&identity.key).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves connections until it is aborted. Scripts that reset the connection only close it here.
pub(super) async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    max_streams: u32,
    state: Arc<UpstreamState>,
) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let (acceptor, state) = (acceptor.clone(), Arc::clone(&state));
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service =
                service_fn(move |request| serve(Arc::clone(&state), ResetSwitch::default(), request));
            let mut builder = auto::Builder::new(TokioExecutor::new());
            builder.http2().max_concurrent_streams(max_streams);
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
