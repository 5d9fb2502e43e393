//! Reranking: documents in the order of their relevance to a query.

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::usage::{Tokens, Usage};

use super::chat::{self, Chat};
use super::plain;
use crate::codec::{
    Answer, AnswerReader, Class, Fields, Native, Request, RequestReader, RequestShape, Seen, Served, Target,
};
use crate::json::{self, ScanError};
use crate::splice::Patch;
use crate::sse;

pub struct Rerank;

impl RequestReader for Rerank {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        plain::peek(body, check)
    }

    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a> {
        plain::shape(request)
    }

    fn limit_output(&self, _request: &Request, _limit: u64) -> Option<Patch> {
        None
    }
}

impl AnswerReader for Rerank {
    /// Never streamed.
    fn classify(&self, _event: &sse::Event) -> Seen {
        Seen::of(Class::Error)
    }

    fn event_id(&self, _data: &[u8]) -> Option<String> {
        None
    }

    fn read_usage(&self, raw: &[u8], _so_far: Option<&Usage>) -> Option<Usage> {
        chat::read_usage(raw).or_else(|| total_only(raw))
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        plain::read_answer(body, "results")
    }
}

impl Native for Rerank {
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        plain::splice(request, target)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        Chat.splice_answer(body, answer, served)
    }
}

/// Reads usage that consists of a total only, as some vendors report it.
fn total_only(raw: &[u8]) -> Option<Usage> {
    let object = json::scan(raw).ok()?;
    let total = object.value(raw, "total_tokens")?;
    let input = std::str::from_utf8(&raw[total]).ok()?.parse().ok()?;
    Some(Usage { tokens: Tokens { input, ..Tokens::default() }, ..Usage::default() })
}

fn check(fields: &Fields<'_>) -> Result<(), Fault> {
    let at = |name| fields.object.position(fields.body, name);
    let query = at("query");
    if fields.value(query).is_none() {
        return Err(fault::invalid_parameter("query", "'query' is missing."));
    }
    fields.filled(at("documents"), "documents", "document")?;
    let mut count = 0u64;
    if let Some(documents) = fields.value(at("documents")) {
        json::visit_array(fields.body, documents.clone(), |_| count += 1)?;
    }
    match fields.positive(at("top_n"), "top_n")? {
        Some(top_n) if top_n > count => Err(fault::invalid_parameter(
            "top_n",
            format!("'top_n' is {top_n}, and there are {count} documents: it must be at most that."),
        )),
        _ => fields.boolean(at("return_documents"), "return_documents").map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_rerank_requests_are_rejected() {
        for (fields, param) in [
            (r#""query":"q","documents":["a","b"],"top_n":2"#, None),
            (r#""query":"q","documents":[{"text":"a"}],"return_documents":true"#, None),
            (r#""documents":["a"]"#, Some("query")),
            (r#""query":"q","documents":[]"#, Some("documents")),
            (r#""query":"q","documents":["a"],"top_n":2"#, Some("top_n")),
            (r#""query":"q","documents":["a"],"top_n":0"#, Some("top_n")),
            (r#""query":"q","documents":["a"],"return_documents":1"#, Some("return_documents")),
        ] {
            let peeked = Rerank.peek(Bytes::from(format!("{{\"model\":\"m\",{fields}}}")));
            assert_eq!(peeked.err().and_then(|fault| fault.param).as_deref(), param, "{fields}");
        }
    }

    #[test]
    fn a_total_alone_is_input() {
        assert_eq!(Rerank.read_usage(br#"{"total_tokens":7}"#, None).unwrap().tokens.input, 7);
        assert_eq!(
            Rerank.read_usage(br#"{"prompt_tokens":5,"total_tokens":5}"#, None).unwrap().tokens.input,
            5
        );
    }
}
