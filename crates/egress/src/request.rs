//! An outgoing request, and the forms it takes on the wire.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
};
use http::uri::{PathAndQuery, Uri};
use http::{Method, Request};

use crate::destination::Destination;
use crate::error::EgressError;
use crate::origin::Origin;
use crate::proxy::Route;
use crate::rope::{Rope, RopeBody};

pub struct Outbound {
    pub destination: Arc<Destination>,
    pub method: Method,
    /// Below the base path; begins with a slash.
    pub path_and_query: String,
    pub headers: Headers,
    /// The parts of the body in order; the length is announced.
    pub body: Vec<Bytes>,
}

/// Headers ready to be sent, freed once of what belongs to a single hop; cheap to clone.
#[derive(Clone, Default)]
pub struct Headers(Arc<HeaderMap>);

impl Headers {
    /// The same with one more.
    #[must_use]
    pub fn with(&self, name: HeaderName, value: HeaderValue) -> Self {
        let mut headers = HeaderMap::clone(&self.0);
        headers.insert(name, value);
        Self::from(headers)
    }
}

impl From<HeaderMap> for Headers {
    fn from(mut headers: HeaderMap) -> Self {
        for name in PER_HOP {
            headers.remove(name);
        }
        Self(Arc::new(headers))
    }
}

/// A request that can be put on a connection more than once.
#[derive(Clone)]
pub(crate) struct Prepared {
    method: Method,
    target: PathAndQuery,
    headers: Headers,
    body: Rope,
}

/// What belongs to one connection and is decided here, whatever the caller copied in.
const PER_HOP: [HeaderName; 6] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
    HeaderName::from_static("keep-alive"),
];

impl Prepared {
    pub(crate) fn new(outbound: Outbound) -> Result<(Self, Arc<Destination>), EgressError> {
        let Outbound { destination, method, path_and_query, headers, body } = outbound;
        let target = destination.target(path_and_query)?;
        Ok((Self { method, target, headers, body: Rope::new(body) }, destination))
    }

    pub(crate) fn into_http1(self, origin: &Origin) -> Result<Request<RopeBody>, EgressError> {
        let mut headers = HeaderMap::clone(&self.headers.0);
        headers.insert(HOST, origin.host_header().clone());
        let uri = match origin.route() {
            Route::Forward(proxy) => {
                if let Some(value) = &proxy.authorization {
                    headers.insert(PROXY_AUTHORIZATION, value.clone());
                }
                origin.absolute(self.target)?
            }
            Route::Direct | Route::Tunnel(_) => Uri::from(self.target),
        };
        Ok(build(self.method, uri, headers, self.body))
    }

    pub(crate) fn into_http2(self, origin: &Origin) -> Result<Request<RopeBody>, EgressError> {
        let uri = origin.absolute(self.target)?;
        Ok(build(self.method, uri, HeaderMap::clone(&self.headers.0), self.body))
    }
}

fn build(method: Method, uri: Uri, headers: HeaderMap, body: Rope) -> Request<RopeBody> {
    let mut request = Request::new(body.into_body());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}
