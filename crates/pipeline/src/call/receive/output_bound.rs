//! Rewrites the output token limit of a request, in the client's API format.

use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use domain::call::{Format, Surface};
use domain::fault::Fault;
use wire::codec::Request;
use wire::formats;
use wire::json;
use wire::splice::Patch;

use super::Call;

/// All names under which a provider may read the limit.
pub const OUTPUT_LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
const CONFIGS: [&str; 2] = ["generationConfig", "generation_config"];
const CONFIG_NAMES: [&str; 2] = ["maxOutputTokens", "max_output_tokens"];

impl Call {
    /// The same call with this output limit. The rest of the body is unchanged.
    pub fn with_max_output(self, bound: u64) -> Result<Box<Self>, Fault> {
        let patch = match self.surface {
            Surface::Embeddings | Surface::EmbedContent { .. } | Surface::Rerank => {
                return Ok(Box::new(self));
            }
            Surface::Converse(Format::Generate) => in_config(&self.request, bound),
            Surface::Converse(Format::Responses) => top_level(&self.request, "max_output_tokens", bound),
            Surface::Converse(Format::Chat | Format::Messages) | Surface::Completions => {
                top_level(&self.request, "max_tokens", bound)
            }
        };
        let body = joined(&patch.apply(&self.request.body));
        let request = formats::native(self.surface).peek(body)?;
        let model = self.request.model.clone();
        Ok(Box::new(Self { request: Request { model, ..request }, prompt: OnceLock::new(), ..self }))
    }
}

fn top_level(request: &Request, own: &str, bound: u64) -> Patch {
    let (object, body) = (&request.object, &request.body);
    let mut patch = Patch::new();
    let mut given = OUTPUT_LIMITS.iter().filter_map(|name| object.value(body, name)).peekable();
    if given.peek().is_some() {
        given.for_each(|value| patch.replace(value, bound.to_string()));
    } else if let Some(null) = object.get(body, own) {
        patch.replace(null.value.clone(), bound.to_string());
    } else {
        patch.insert_member(object, format!("\"{own}\":{bound}"));
    }
    patch
}

fn in_config(request: &Request, bound: u64) -> Patch {
    let mut patch = Patch::new();
    let place = CONFIGS.iter().find_map(|name| request.object.value(&request.body, name));
    let Some(Ok(config)) = place.map(|place| json::scan_within(&request.body, place)) else {
        patch.insert_member(&request.object, format!("\"generationConfig\":{{\"maxOutputTokens\":{bound}}}"));
        return patch;
    };
    match CONFIG_NAMES.iter().find_map(|name| config.value(&request.body, name)) {
        Some(value) => patch.replace(value, bound.to_string()),
        None => patch.insert_member(&config, format!("\"maxOutputTokens\":{bound}")),
    }
    patch
}

fn joined(pieces: &[Bytes]) -> Bytes {
    let mut body = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| body.extend_from_slice(piece));
    body.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(surface: Surface, body: &str, expected: &str) {
        let request = formats::native(surface).peek(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let call = Call::new(surface, request, false);
        let call = call.with_max_output(7).unwrap();
        assert_eq!(std::str::from_utf8(&call.request.body).unwrap(), expected);
        assert_eq!(call.request.max_output, Some(7));
    }

    #[test]
    fn the_bound_is_written_in_the_dialect_of_the_client() {
        let chat = Surface::Converse(Format::Chat);
        check(
            chat,
            r#"{"model":"m","messages":[{}],"max_tokens":32000}"#,
            r#"{"model":"m","messages":[{}],"max_tokens":7}"#,
        );
        check(chat, r#"{"model":"m","messages":[{}]}"#, r#"{"model":"m","messages":[{}],"max_tokens":7}"#);
        // Providers refuse requests that set both.
        check(
            chat,
            r#"{"max_completion_tokens":9,"max_tokens":null,"messages":[{}]}"#,
            r#"{"max_completion_tokens":7,"max_tokens":null,"messages":[{}]}"#,
        );
        check(chat, r#"{"max_tokens":null,"messages":[{}]}"#, r#"{"max_tokens":7,"messages":[{}]}"#);
        check(
            Surface::Converse(Format::Responses),
            r#"{"model":"m","input":"a"}"#,
            r#"{"model":"m","input":"a","max_output_tokens":7}"#,
        );
        let generate = Surface::Converse(Format::Generate);
        check(
            generate,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":99,"topK":1}}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7,"topK":1}}"#,
        );
        check(
            generate,
            r#"{"contents":[{}],"generation_config":{"topK":1}}"#,
            r#"{"contents":[{}],"generation_config":{"topK":1,"maxOutputTokens":7}}"#,
        );
        check(
            generate,
            r#"{"contents":[{}]}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7}}"#,
        );
    }
}
