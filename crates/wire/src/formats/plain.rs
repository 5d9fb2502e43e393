//! Shared code of the operations without a conversation: renaming the model and reading usage.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::Fault;

use crate::codec::{Answer, Fields, MemberIndexes, Request, RequestShape, Target};
use crate::json::{self, ScanError};
use crate::splice::Patch;

/// Reads the model and the provider hint; `check` validates the fields of the operation.
pub fn peek(body: Bytes, check: impl Fn(&Fields<'_>) -> Result<(), Fault>) -> Result<Request, Fault> {
    let object = json::scan(&body)?;
    let at = |name| object.position(&body, name);
    let places = MemberIndexes {
        model: at("model"),
        provider: at("provider"),
        stream: at("stream"),
        ..MemberIndexes::default()
    };
    let fields = Fields { body: &body, object: &object };
    let model = fields.string(places.model, "model")?.filter(|model| !model.is_empty());
    let provider_hint = fields.hint(places.provider);
    check(&fields)?;
    Ok(Request {
        format: Format::Chat,
        model,
        stream: None,
        include_usage: false,
        provider_hint,
        max_output: Some(1),
        choices: 1,
        places,
        object,
        body,
    })
}

/// The shape of an operation that generates no text.
pub fn shape(request: &Request) -> RequestShape<'_> {
    RequestShape { generates: false, ..RequestShape::of(request) }
}

/// Sets the provider's model name and removes the gateway's hint; the rest is unchanged.
pub fn splice(request: &Request, target: &Target<'_>) -> Vec<Bytes> {
    let mut patch = Patch::new();
    let model = json::quote(target.model);
    match request.places.model {
        Some(index) => patch.replace(request.object.members[index].value.clone(), model),
        None => patch.insert_member(&request.object, format!("\"model\":{model}")),
    }
    if let (Some(_), Some(index)) = (&request.provider_hint, request.places.provider) {
        patch.remove_member(&request.object, index);
    }
    patch.apply(&request.body)
}

/// Reads an answer, which must have an array with this name.
pub fn read_answer(body: &[u8], list: &'static str) -> Result<Answer, ScanError> {
    let object = json::scan(body)?;
    let error = object.value(body, "error");
    let has_list = object.value(body, list).is_some_and(|range| body[range.start] == b'[');
    if !has_list && error.is_none() {
        return Err(ScanError::Syntax { at: object.close, expected: list });
    }
    let usage = object.value(body, "usage").filter(|range| body[range.start] == b'{');
    let id = object.get(body, "id").and_then(|member| json::string_at(body, &member.value));
    Ok(Answer { id: id.map(|id| id.into_owned()), usage, content_bytes: 0, error, object })
}
