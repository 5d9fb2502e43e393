//! Requests to a provider instance: the only place where its headers and credentials are added.

use std::sync::Arc;

use domain::resources::provider::Provider;
use egress::{Destination, Headers, Outbound, OutboundBody};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use wire::vendors::Vendor;

use super::InstanceConfig;
use crate::routing::client_credential::ClientCredential;

/// A request to an instance, without the instance's headers and credentials.
pub struct InstanceRequest {
    pub destination: Arc<Destination>,
    pub method: Method,
    /// Relative to the base path of the destination; starts with a slash.
    pub path_and_query: String,
    pub accept: Accept,
    pub body: OutboundBody,
    /// The client's own credential, in place of the instance's.
    pub client_credential: Option<Arc<ClientCredential>>,
}

/// The kind of answer that is requested.
#[derive(Clone, Copy)]
pub enum Accept {
    Document,
    Stream,
}

/// The headers of all requests to an instance: with its credentials, and for calls with the client's own credential
/// without them and without configured headers, which may hold credentials too.
pub(super) struct InstanceHeaders {
    document: Headers,
    stream: Headers,
    client_document: Headers,
    client_stream: Headers,
}

impl InstanceHeaders {
    pub(super) fn new(provider: &Provider, vendor: &Vendor) -> Self {
        let accepting = |provider: Option<&Provider>, media_type: &'static str| {
            let mut headers = headers(provider, vendor);
            headers.insert(http::header::ACCEPT, HeaderValue::from_static(media_type));
            Headers::from(headers)
        };
        let (document, stream) = ("application/json", vendor.framing.media_type());
        Self {
            document: accepting(Some(provider), document),
            stream: accepting(Some(provider), stream),
            client_document: accepting(None, document),
            client_stream: accepting(None, stream),
        }
    }
}

impl InstanceConfig {
    /// Adds the instance's headers and credentials to a request; `edit` adds the headers of the call. Today's
    /// credentials are headers that are the same for every request; one that depends on the request, or expires, would
    /// be computed here.
    pub fn outbound(&self, request: InstanceRequest, edit: impl FnOnce(Headers) -> Headers) -> Outbound {
        let headers = match (request.accept, &request.client_credential) {
            (Accept::Document, None) => &self.headers.document,
            (Accept::Stream, None) => &self.headers.stream,
            (Accept::Document, Some(_)) => &self.headers.client_document,
            (Accept::Stream, Some(_)) => &self.headers.client_stream,
        };
        let headers = match &request.client_credential {
            None => headers.clone(),
            Some(credential) => {
                let mut headers = headers.to_map();
                credential.replace_in(&mut headers);
                Headers::from(headers)
            }
        };
        Outbound {
            destination: request.destination,
            method: request.method,
            path_and_query: request.path_and_query,
            headers: edit(headers),
            body: request.body,
        }
    }
}

/// The headers of a vendor, with those and the credentials of an instance.
fn headers(provider: Option<&Provider>, vendor: &Vendor) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(
        http::header::USER_AGENT,
        HeaderValue::from_static(concat!("gatehouse/", env!("CARGO_PKG_VERSION"))),
    );
    let fixed = vendor.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let own = provider.into_iter().flat_map(|provider| &provider.headers);
    let own = own.map(|(name, value)| (name.clone(), value.clone()));
    let key = provider.and_then(|provider| provider.api_key.as_ref());
    let credentials = key.and_then(|key| vendor.credentials.header(key.reveal()));
    let credentials = credentials.map(|(name, value)| (name.to_owned(), value));
    for (name, value) in fixed.chain(own).chain(credentials) {
        if let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            // Configured headers may hold credentials and must not be logged.
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers
}
