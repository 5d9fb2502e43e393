//! The context of a request that handlers receive, and the body of their response.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pipeline::call::arrival::RequestId;
use pipeline::call::credential_digest::CredentialDigest;
use pipeline::delivery::reply::ReplyBody;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Facts about a request that handlers read from its extensions.
#[derive(Clone)]
pub struct RequestContext {
    pub request_id: RequestId,
    pub client_ip: Option<IpAddr>,
    /// Whether the peer is one of `TRUSTED_PROXIES`, so that its forwarding headers are true.
    pub behind_proxy: bool,
    /// The connection's slot. A handler that takes the connection over (WebSocket) keeps it.
    pub slot: Option<Arc<ConnectionSlot>>,
}

/// A slot of the connection limit: while it is held, the connection counts and a graceful shutdown waits for it.
pub struct ConnectionSlot {
    _permit: OwnedSemaphorePermit,
    _token: TaskTrackerToken,
    /// The digest of the credential that the connection sent last.
    pub credential_digest: Arc<CredentialDigest>,
}

impl ConnectionSlot {
    pub fn new(permit: OwnedSemaphorePermit, token: TaskTrackerToken) -> Arc<Self> {
        Arc::new(Self { _permit: permit, _token: token, credential_digest: Arc::default() })
    }
}

/// A response body: from the pipeline, or from axum.
pub enum Outgoing {
    Reply(ReplyBody),
    Framework(Body),
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Reply(body) => Pin::new(body).poll_frame(context).map_err(axum::Error::new),
            Self::Framework(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Reply(body) => body.is_end_stream(),
            Self::Framework(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Reply(body) => body.size_hint(),
            Self::Framework(body) => body.size_hint(),
        }
    }
}
