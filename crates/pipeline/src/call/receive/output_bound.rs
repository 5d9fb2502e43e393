//! Rewrites the output token limit of a request, in the client's API format.

use std::sync::OnceLock;

use domain::fault::Fault;
use wire::codec::Request;
use wire::{formats, splice};

use super::Call;

impl Call {
    /// The same call with this output limit. The rest of the body is unchanged.
    pub fn with_max_output(self, bound: u64) -> Result<Box<Self>, Fault> {
        let native = formats::native(self.surface);
        let Some(patch) = native.limit_output(&self.request, bound) else { return Ok(Box::new(self)) };
        let body = splice::concat(&patch.apply(&self.request.body));
        let request = native.peek(body)?;
        let model = self.request.model.clone();
        Ok(Box::new(Self { request: Request { model, ..request }, prompt: OnceLock::new(), ..self }))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::call::{Format, Surface};

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
        let gemini = Surface::Converse(Format::Gemini);
        check(
            gemini,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":99,"topK":1}}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7,"topK":1}}"#,
        );
        check(
            gemini,
            r#"{"contents":[{}],"generation_config":{"topK":1}}"#,
            r#"{"contents":[{}],"generation_config":{"topK":1,"maxOutputTokens":7}}"#,
        );
        check(
            gemini,
            r#"{"contents":[{}],"generationConfig":null}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7}}"#,
        );
        check(
            gemini,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":null}}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7}}"#,
        );
        // The provider may read either spelling.
        check(
            gemini,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":9},"generation_config":{"max_output_tokens":99}}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7},"generation_config":{"max_output_tokens":7}}"#,
        );
        check(
            gemini,
            r#"{"contents":[{}]}"#,
            r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":7}}"#,
        );
    }
}
