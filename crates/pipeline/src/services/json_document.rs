//! Small documents from addresses that the operator configured: key sets, discovery, tokens of a login.

use std::time::Duration;

use bytes::Bytes;
use domain::secret::Secret;
use egress::{Egress, Outbound, Trust};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method};

use super::webhooks;

const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: usize = 1 << 20;

/// Reads a document. Redirects are not followed.
pub async fn get(egress: &Egress, address: &str) -> Result<Bytes, String> {
    exchange(egress, address, Method::GET, HeaderMap::new(), Bytes::new()).await
}

/// Sends a form and reads the answer.
pub async fn post_form(
    egress: &Egress,
    address: &str,
    form: String,
    authorization: Option<&Secret>,
) -> Result<Bytes, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    if let Some(authorization) = authorization {
        let value = HeaderValue::try_from(authorization.reveal());
        let mut value = value.map_err(|_| "the client secret is not valid in a header".to_owned())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    exchange(egress, address, Method::POST, headers, form.into()).await
}

async fn exchange(
    egress: &Egress,
    address: &str,
    method: Method,
    mut headers: HeaderMap,
    body: Bytes,
) -> Result<Bytes, String> {
    let (destination, path_and_query) = webhooks::destination(address, egress, Trust::Operator)?;
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("gatehouse"));
    let body = if body.is_empty() { Vec::new().into() } else { vec![body].into() };
    let request = Outbound { destination, method, path_and_query, headers: headers.into(), body };
    let answered = async {
        let answer = egress.send(request).await.map_err(|error| error.reason().to_owned())?;
        let status = answer.status;
        let body = answer.body.collect(LONGEST).await.map_err(|error| error.reason().to_owned())?;
        match status.is_success() {
            true => Ok(body),
            // The body may repeat what was sent.
            false => Err(format!("{address} returned HTTP {}", status.as_u16())),
        }
    };
    match tokio::time::timeout(TIMEOUT, answered).await {
        Ok(answered) => answered,
        Err(_) => Err(format!("{address} did not answer within {} s", TIMEOUT.as_secs())),
    }
}
