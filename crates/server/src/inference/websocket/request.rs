//! Reads a request from a WebSocket message without parsing it into a tree.

use bytes::Bytes;
use domain::fault::{self, Fault};
use wire::formats::responses as format;
use wire::json::{self, Member, Object};

/// The last response of a connection and the conversation up to it, as JSON arrays of items.
#[derive(Clone)]
pub struct Turn {
    pub id: String,
    pub items: Vec<Bytes>,
}

impl Turn {
    /// Size of the conversation in bytes.
    pub fn len(&self) -> usize {
        self.items.iter().map(Bytes::len).sum()
    }
}

/// A request from one message, ready to run as a call.
pub struct SocketRequest {
    /// The body of the equivalent `POST /v1/responses`.
    pub body: Bytes,
    /// False when the client only sends its prompt in advance.
    pub generate: bool,
    /// The conversation including this request's input.
    pub items: Vec<Bytes>,
    pub model: Option<String>,
    pub instructions: Option<String>,
}

/// Members of the message that are not part of the request.
const OWN: [&str; 4] = ["type", "response", "stream", "generate"];

impl SocketRequest {
    /// Reads a message. A previous response is looked up in this connection first.
    pub fn read(message: &Bytes, last: Option<&Turn>) -> Result<Self, Fault> {
        let outer = json::scan(message)?;
        match text(message, &outer, "type").as_deref() {
            Some("response.create") => {}
            _ => return Err(fault::invalid_parameter("type", "'type' must be response.create.")),
        }
        // Some clients nest the request, as the realtime API does.
        let nested = outer.value(message, "response").filter(|range| message[range.start] == b'{');
        let inner = nested.map(|range| json::scan_within(message, range)).transpose()?;
        let lookup = |name: &str| {
            let found = inner.as_ref().and_then(|inner| inner.value(message, name));
            found.or_else(|| outer.value(message, name))
        };
        let string = |name: &str| {
            lookup(name).and_then(|range| json::string_at(message, &range)).map(|text| text.into_owned())
        };
        let body = assemble(message, &outer, inner.as_ref());
        let new_items = format::input_items(message, lookup("input"))?;
        let here = last.filter(|turn| string("previous_response_id").as_ref() == Some(&turn.id));
        let (mut items, body) = match here {
            Some(turn) => (turn.items.clone(), format::with_history(&body, &turn.items)),
            None => (Vec::new(), body),
        };
        items.push(new_items);
        Ok(Self {
            body,
            items,
            generate: lookup("generate").is_none_or(|range| &message[range] != b"false"),
            model: string("model"),
            instructions: string("instructions"),
        })
    }
}

fn text(body: &[u8], object: &Object, name: &str) -> Option<String> {
    json::string_at(body, &object.value(body, name)?).map(|text| text.into_owned())
}

/// Merges the members of both objects into a streaming request; the inner object's members win.
fn assemble(message: &[u8], outer: &Object, inner: Option<&Object>) -> Bytes {
    let name = |member: &Member| {
        let quoted = member.key.start - 1..member.key.end + 1;
        json::string_at(message, &quoted).map(|name| name.into_owned()).unwrap_or_default()
    };
    let overridden = |name: &str| inner.is_some_and(|inner| inner.position(message, name).is_some());
    let outer = outer.members.iter().filter(|member| {
        let name = name(member);
        !OWN.contains(&&*name) && !overridden(&name)
    });
    let inner = inner.map(|inner| inner.members.as_slice()).unwrap_or_default().iter();
    let inner = inner.filter(|member| !OWN.contains(&&*name(member)));
    let mut body = Vec::with_capacity(message.len() + 16);
    body.push(b'{');
    for member in outer.chain(inner) {
        body.extend_from_slice(&message[member.member.clone()]);
        body.push(b',');
    }
    body.extend_from_slice(b"\"stream\":true}");
    body.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, last: Option<&Turn>, expected: &str) -> SocketRequest {
        let request = SocketRequest::read(&Bytes::copy_from_slice(message.as_bytes()), last).unwrap();
        assert_eq!(std::str::from_utf8(&request.body).unwrap(), expected);
        request
    }

    #[test]
    fn the_request_is_taken_out_of_the_message() {
        let plain =
            r#"{"type":"response.create", "model":"m","input":[1, 2],"stream":false,"generate":false}"#;
        let request = check(plain, None, r#"{"model":"m","input":[1, 2],"stream":true}"#);
        assert_eq!((request.generate, request.model.as_deref()), (false, Some("m")));
        assert_eq!(request.items, ["[1, 2]"]);
        let nested = r#"{"ty\u0070e":"response.create","model":"outer","store":false,"response":{"model":"m","input":"x"}}"#;
        let request = check(nested, None, r#"{"store":false,"model":"m","input":"x","stream":true}"#);
        assert!(request.generate);
        assert!(request.items[0].starts_with(br#"[{"type":"message""#));
    }

    #[test]
    fn a_response_of_the_connection_can_be_continued() {
        let last = Turn { id: "resp_1".into(), items: vec!["[1]".into(), "[]".into()] };
        let message =
            |id: &str| format!(r#"{{"type":"response.create","previous_response_id":"{id}","input":[2]}}"#);
        let request = check(&message("resp_1"), Some(&last), r#"{"input":[1,2],"stream":true}"#);
        assert_eq!(request.items, ["[1]", "[]", "[2]"]);
        let other = r#"{"previous_response_id":"resp_2","input":[2],"stream":true}"#;
        assert_eq!(check(&message("resp_2"), Some(&last), other).items, ["[2]"]);
    }

    #[test]
    fn messages_that_are_no_requests_are_refused() {
        for (message, param) in [
            (r#"{"type":"session.update"}"#, Some("type")),
            (r#"{"model":"m"}"#, Some("type")),
            (r#"{"type":"response.create","input":5}"#, Some("input")),
            ("[]", None),
            ("{", None),
        ] {
            let fault = SocketRequest::read(&Bytes::from_static(message.as_bytes()), None).err().unwrap();
            assert_eq!((fault.status, fault.param.as_deref()), (400, param), "{message}");
        }
    }
}
