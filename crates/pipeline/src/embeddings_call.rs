//! Calls of embeddings that the semantic cache makes on behalf of a caller. They pass all steps of a call, and have receipts
//! of their own.

use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use domain::fault::{self, Fault};
use domain::ids;
use http_body_util::Full;

use crate::call::arrival::{Arrival, RequestId};
use crate::delivery::reply::ReplyBody;
use crate::gateway::{EmbeddingsCall, Gateway};

/// Sends a call and returns the body of its answer.
pub fn send(
    gateway: Arc<Gateway>,
    call: EmbeddingsCall,
) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send>> {
    Box::pin(async move {
        let EmbeddingsCall { headers, client_ip, endpoint, surface, body } = call;
        let at = gateway.clock.now();
        let arrival = Arrival {
            request_id: RequestId::made(ids::unique(at, &*gateway.entropy)),
            at,
            tick: gateway.clock.tick(),
            method: "POST",
            endpoint,
            surface,
            addressed: None,
            client_credential: None,
            path: None,
            query: None,
            client_ip,
            headers,
        };
        let reply = crate::run(&gateway, arrival, Full::new(body)).await.map_err(|refused| refused.fault)?;
        let ReplyBody::Whole { pieces, .. } = reply.body else { return Err(fault::internal_error()) };
        let joined = pieces.iter().fold(BytesMut::new(), |mut joined, piece| {
            joined.extend_from_slice(piece);
            joined
        });
        Ok(joined.freeze())
    })
}
