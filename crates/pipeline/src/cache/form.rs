//! The form of a cached answer that a call asks for: a document or a stream, with the ids of the call.

use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::Fault;
use memchr::memmem;
use wire::codec::{Decoding, EchoedRequest, IdGenerator, Rendering};

use super::conversion;
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::services::response_cache::{CacheLayer, CachedAnswer, ReplayedAnswer};

/// A cached answer in the form that a call asks for; `None` if it cannot be sent in that.
pub async fn replayed(
    cached: Arc<CachedAnswer>,
    layer: CacheLayer,
    call: &Call,
    context: &CallContext,
) -> Result<Option<ReplayedAnswer>, Fault> {
    let (form, source) = (Form::of(call, context), cached.clone());
    let size = cached.answer.body().len();
    let body = context.gateway().with_bytes(size, move || form.body(&source)).await?;
    Ok(body.map(|body| ReplayedAnswer { cached, layer, body, streams: call.stream }))
}

/// Whether a cached answer can be sent in the form that a call asks for.
pub fn is_available(cached: &CachedAnswer, call: &Call, context: &CallContext) -> bool {
    Form::of(call, context).body(cached).is_some()
}

/// The form of an answer that a call asks for, and the ids of the call.
struct Form {
    surface: Surface,
    streams: bool,
    includes_usage: bool,
    requested_model: Arc<str>,
    request: EchoedRequest,
    seed: String,
    created: i64,
}

impl Form {
    fn of(call: &Call, context: &CallContext) -> Self {
        let request = call.original.as_deref().unwrap_or(&call.request);
        Self {
            surface: call.surface,
            streams: call.stream,
            includes_usage: call.request.include_usage,
            requested_model: call.request.model.as_deref().unwrap_or_default().into(),
            request: match call.surface {
                Surface::Converse(Format::Responses) => EchoedRequest::new(request),
                _ => EchoedRequest::default(),
            },
            seed: context.seed(),
            created: context.created(),
        }
    }

    /// The body of the reply: as it was recorded, if its form is the same, with a new id where that is an address.
    fn body(self, cached: &CachedAnswer) -> Option<Bytes> {
        let is_same = self.streams == cached.is_stream
            && (!self.streams || self.includes_usage == cached.includes_usage);
        let body = cached.answer.body();
        match (self.surface, &cached.response_id) {
            (Surface::Converse(Format::Responses), Some(id)) if is_same => {
                Some(replace_all(body, id.as_bytes(), format!("resp_{}", self.seed).as_bytes()))
            }
            _ if is_same => Some(body.clone()),
            (Surface::Converse(format), _) => self.convert(cached, format),
            _ => None,
        }
    }

    fn convert(self, cached: &CachedAnswer, format: Format) -> Option<Bytes> {
        let target = cached.answer.target();
        let ids = IdGenerator::new(self.seed);
        let decoding = Decoding {
            provider: target.instance.clone(),
            model: target.model.clone(),
            schema_tool: None,
            ids: ids.clone(),
        };
        let rendering = Rendering {
            ids,
            created: self.created,
            provider: target.instance,
            model: target.model,
            requested_model: self.requested_model,
            latency_ms: 0,
            include_usage: self.includes_usage,
            tools: Arc::default(),
            request: self.request,
        };
        let reply = conversion::read(cached, format, decoding)?;
        Some(conversion::write(reply, format, rendering, self.streams))
    }
}

/// Replaces every occurrence of a text.
fn replace_all(body: &Bytes, old: &[u8], new: &[u8]) -> Bytes {
    let mut replaced = Vec::with_capacity(body.len());
    let mut kept = 0;
    for at in memmem::find_iter(body, old) {
        replaced.extend_from_slice(&body[kept..at]);
        replaced.extend_from_slice(new);
        kept = at + old.len();
    }
    replaced.extend_from_slice(&body[kept..]);
    replaced.into()
}
