//! An outgoing request, and the forms it takes on the wire.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
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
    pub headers: HeaderMap,
    /// The parts of the body in order; the length is announced.
    pub body: Vec<Bytes>,
}

/// A request that can be put on a connection more than once.
#[derive(Clone)]
pub(crate) struct Prepared {
    method: Method,
    target: PathAndQuery,
    headers: HeaderMap,
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
        let Outbound { destination, method, path_and_query, mut headers, body } = outbound;
        let target = destination.target(path_and_query)?;
        for name in PER_HOP {
            headers.remove(name);
        }
        Ok((Self { method, target, headers, body: Rope::new(body) }, destination))
    }

    pub(crate) fn into_http1(mut self, origin: &Origin) -> Result<Request<RopeBody>, EgressError> {
        self.headers.insert(HOST, origin.host_header().clone());
        let uri = match origin.route() {
            Route::Forward(proxy) => {
                if let Some(value) = &proxy.authorization {
                    self.headers.insert(PROXY_AUTHORIZATION, value.clone());
                }
                origin.absolute(self.target)?
            }
            Route::Direct | Route::Tunnel(_) => Uri::from(self.target),
        };
        Ok(build(self.method, uri, self.headers, self.body))
    }

    pub(crate) fn into_http2(self, origin: &Origin) -> Result<Request<RopeBody>, EgressError> {
        let uri = origin.absolute(self.target)?;
        Ok(build(self.method, uri, self.headers, self.body))
    }
}

fn build(method: Method, uri: Uri, headers: HeaderMap, body: Rope) -> Request<RopeBody> {
    let mut request = Request::new(body.into_body());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}
