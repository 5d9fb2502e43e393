//! Reads the few fields of a Messages request the gateway acts on; the body is kept unchanged.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::Fault;

use crate::codec::{Fields, MemberIndexes, Request};
use crate::json;

pub fn peek(body: Bytes) -> Result<Request, Fault> {
    let object = json::scan(&body)?;
    let at = |name| object.position(&body, name);
    let places = MemberIndexes {
        model: at("model"),
        messages: at("messages"),
        stream: at("stream"),
        provider: at("provider"),
        temperature: at("temperature"),
        max_tokens: at("max_tokens"),
        ..MemberIndexes::default()
    };
    let fields = Fields { body: &body, object: &object };
    let model = fields.string(places.model, "model")?.filter(|model| !model.is_empty());
    let stream = fields.boolean(places.stream, "stream")?;
    fields.filled(places.messages, "messages", "message")?;
    let max_output = fields.positive(places.max_tokens, "max_tokens")?;
    let provider_hint = fields.hint(places.provider);
    Ok(Request {
        format: Format::Messages,
        model,
        stream,
        include_usage: true,
        provider_hint,
        max_output,
        choices: 1,
        places,
        object,
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &'static str, param: &str) {
        let fault = peek(Bytes::from_static(body.as_bytes())).unwrap_err();
        assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}");
    }

    #[test]
    fn the_few_fields_are_read_and_checked() {
        let body =
            br#"{"model":"claude-opus-4-8","max_tokens":7,"stream":true,"provider":"a","messages":[{}]}"#;
        let request = peek(Bytes::from_static(body)).unwrap();
        assert_eq!(request.model.as_deref(), Some("claude-opus-4-8"));
        assert_eq!((request.max_output, request.stream), (Some(7), Some(true)));
        assert_eq!(request.provider_hint.as_deref(), Some("a"));
        assert_eq!(request.format, Format::Messages);
        assert_eq!(peek(Bytes::from_static(br#"{"messages":[{}]}"#)).unwrap().max_output, None);
        refused(r#"{"model":1,"messages":[{}]}"#, "model");
        refused(r#"{"model":"m","messages":[]}"#, "messages");
        refused(r#"{"model":"m"}"#, "messages");
        refused(r#"{"model":"m","messages":[{}],"stream":"yes"}"#, "stream");
        refused(r#"{"model":"m","messages":[{}],"max_tokens":0}"#, "max_tokens");
    }
}
