//! Outgoing requests and their HTTP/1.1 and HTTP/2 forms.

use std::sync::Arc;

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
};
use http::uri::PathAndQuery;
use http::{Method, Request};

use crate::destination::Destination;
use crate::error::EgressError;
use crate::http1::{self, Http1Request};
use crate::origin::Origin;
use crate::outgoing::{Held, OutboundBody, OutgoingBody};
use crate::proxy::Route;

pub struct Outbound {
    pub destination: Arc<Destination>,
    pub method: Method,
    /// Relative to the base path; starts with a slash.
    pub path_and_query: String,
    pub headers: Headers,
    pub body: OutboundBody,
}

/// Headers without hop-by-hop ones, ready to be sent; cheap to clone.
#[derive(Clone, Default)]
pub struct Headers(Arc<EncodedHeaders>);

#[derive(Default)]
struct EncodedHeaders {
    map: HeaderMap,
    /// The header lines as HTTP/1.1 writes them.
    lines: Vec<u8>,
}

impl Headers {
    pub fn to_map(&self) -> HeaderMap {
        self.0.map.clone()
    }

    /// A copy with one header added or replaced.
    #[must_use]
    pub fn with(&self, name: HeaderName, value: HeaderValue) -> Self {
        let mut headers = self.to_map();
        headers.insert(name, value);
        Self::from(headers)
    }
}

impl From<HeaderMap> for Headers {
    fn from(mut headers: HeaderMap) -> Self {
        for name in PER_HOP {
            headers.remove(name);
        }
        let mut lines = Vec::new();
        headers
            .iter()
            .for_each(|(name, value)| http1::write_header(&mut lines, name.as_str(), value.as_bytes()));
        Self(Arc::new(EncodedHeaders { map: headers, lines }))
    }
}

/// A request that can be sent on more than one connection.
#[derive(Clone)]
pub(crate) struct Prepared {
    method: Method,
    target: PathAndQuery,
    headers: Headers,
    body: Held,
}

/// Headers that belong to one connection; they are set here and removed from the caller's headers.
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
        Ok((Self { method, target, headers, body: body.into() }, destination))
    }

    /// True if everything taken from the body can still be sent again.
    pub(crate) fn is_whole(&self) -> bool {
        self.body.is_whole()
    }

    pub(crate) fn into_http1(self, origin: &Origin) -> Http1Request {
        let (origin_form, body) = (self.target.as_str(), self.body.into_body());
        let mut request = match origin.route() {
            Route::Forward(proxy) => {
                let absolute_form = [origin.scheme(), "://", origin.authority(), origin_form];
                let mut request = Http1Request::new(self.method, &absolute_form, body);
                if let Some(value) = &proxy.authorization {
                    request.add_header(PROXY_AUTHORIZATION.as_str(), value.as_bytes());
                }
                request
            }
            Route::Direct | Route::Tunnel(_) => Http1Request::new(self.method, &[origin_form], body),
        };
        request.add_header(HOST.as_str(), origin.host_header().as_bytes());
        request.add_lines(&self.headers.0.lines);
        request
    }

    pub(crate) fn into_http2(self, origin: &Origin) -> Result<Request<OutgoingBody>, EgressError> {
        let mut request = Request::new(self.body.into_body());
        *request.method_mut() = self.method;
        *request.uri_mut() = origin.absolute(self.target)?;
        *request.headers_mut() = self.headers.to_map();
        Ok(request)
    }
}
