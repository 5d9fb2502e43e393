//! HTTP requests of commands to a running gateway.

use std::sync::Arc;
use std::time::Duration;

use domain::secret::Secret;
use egress::{Egress, EgressConfig, Headers, Outbound, OutboundBody, Trust};
use tokio_util::task::TaskTracker;

use crate::system::SystemClock;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest answer: an explanation shows at most 64 KiB of a body, and lists of targets.
const ANSWER_LIMIT: usize = 32 << 20;

/// A client for one gateway; the URL includes its base path.
pub struct GatewayHttp {
    egress: Egress,
    pub url: String,
}

/// The key of a request, and the place that it was read from, for messages.
#[derive(Debug)]
pub struct GatewayKey {
    pub value: Secret,
    pub origin: String,
}

impl GatewayHttp {
    pub fn new(config: EgressConfig, url: &str) -> Result<Self, String> {
        let egress = Egress::new(config, Arc::new(SystemClock), TaskTracker::new())
            .map_err(|error| format!("The HTTP client cannot be started: {}.", error.reason()))?;
        Ok(Self { egress, url: url.trim_end_matches('/').to_owned() })
    }

    /// Sends a request and returns the status and the body of the answer.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        key: &GatewayKey,
        body: Option<String>,
        if_match: Option<&str>,
    ) -> Result<(u16, String), String> {
        let exchange = async {
            let unreachable = |reason: &str| {
                format!(
                    "The gateway at {} cannot be reached: {reason}. Start it with `gatehouse`, or give its address with --url.",
                    self.url
                )
            };
            let destination = self.egress.destination(&self.url, Trust::Operator).map_err(|error| {
                format!("{} is not the address of a gateway: {}.", self.url, error.reason())
            })?;
            let request = Outbound {
                destination,
                method: method.parse().map_err(|_| format!("{method} is not a method."))?,
                path_and_query: path.to_owned(),
                headers: headers(key, if_match)?,
                body: OutboundBody::Parts(body.into_iter().map(Into::into).collect()),
            };
            let answer = self.egress.send(request).await.map_err(|error| unreachable(error.reason()))?;
            let status = answer.status.as_u16();
            let body =
                answer.body.collect(ANSWER_LIMIT).await.map_err(|error| unreachable(error.reason()))?;
            Ok((status, String::from_utf8_lossy(&body).into_owned()))
        };
        tokio::time::timeout(TIMEOUT, exchange).await.unwrap_or_else(|_| {
            Err(format!("The gateway at {} did not answer within {} s.", self.url, TIMEOUT.as_secs()))
        })
    }
}

fn headers(key: &GatewayKey, if_match: Option<&str>) -> Result<Headers, String> {
    let invalid = || format!("The key from {} has characters that no key has.", key.origin);
    let authorization = format!("Bearer {}", key.value.reveal()).parse().map_err(|_| invalid())?;
    let json = "application/json".parse().map_err(|_| invalid())?;
    let headers = Headers::default()
        .with("authorization".parse().map_err(|_| invalid())?, authorization)
        .with("content-type".parse().map_err(|_| invalid())?, json);
    Ok(match if_match {
        Some(etag) => {
            headers.with("if-match".parse().map_err(|_| invalid())?, etag.parse().map_err(|_| invalid())?)
        }
        None => headers,
    })
}
