//! Tests of streamed bodies: decisive members are inspected before they are sent.

use bytes::Bytes;
use domain::fault;
use egress::OutboundBody;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use super::*;

fn upload(content_type: &'static str, parts: &'static [&'static str]) -> Upload {
    let frames =
        parts.iter().map(|part| Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(part.as_bytes()))));
    let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    Upload::new(StreamBody::new(stream::iter(frames)), &headers, Duration::from_secs(5), None)
}

fn refuse_file_1(ids: Vec<String>) -> Checking {
    Box::pin(async move {
        tokio::task::yield_now().await;
        if ids.iter().any(|id| id == "file-1") { Err(fault::not_found("gone")) } else { Ok(()) }
    })
}

/// The bytes that were sent, and the code of the refusal.
async fn sent(mut upload: Upload, guarded: bool, strict: bool) -> (String, Option<String>) {
    let record = upload.sent();
    let refused = |fault: Fault| Some(fault.code.to_string());
    if let Err(fault) = upload.peek(guarded, strict).await {
        return (String::new(), refused(fault));
    }
    if let Err(fault) = upload.seal().await {
        return (String::new(), refused(fault));
    }
    let mut left = Vec::new();
    match upload.into_outbound() {
        OutboundBody::Streamed(mut body) => {
            while let Some(Ok(frame)) = body.frame().await {
                left.extend_from_slice(&frame.into_data().unwrap());
            }
        }
        OutboundBody::Parts(parts) => parts.iter().for_each(|part| left.extend_from_slice(part)),
    }
    (String::from_utf8(left).unwrap(), record.trouble().and_then(refused))
}

#[tokio::test]
async fn a_reference_is_checked_before_its_last_byte_leaves() {
    const MINE: &[&str] = &["{\"model\":\"m\",", "\"file_id\":\"fil", "e-2\"}"];
    const OTHERS: &[&str] = &["{\"model\":\"m\",", "\"file_id\":\"fil", "e-1\"}"];
    for (parts, last, allowed) in [(OTHERS, "e-1\"}", false), (MINE, "e-2\"}", true)] {
        for content_type in ["application/json", "text/plain"] {
            let mut upload = upload(content_type, parts);
            upload.check_references(Box::new(refuse_file_1), false).unwrap();
            let (left, code) = sent(upload, false, true).await;
            assert_eq!((left.ends_with(last), code.as_deref()), (allowed, (!allowed).then_some("not_found")));
        }
    }
}

#[tokio::test]
async fn a_second_model_in_a_later_part_stops_the_body() {
    let parts = &["{\"model\":\"a\",", "\"x\":1,", "\"Model\":\"b\"", "}"];
    let (left, code) = sent(upload("application/json", parts), false, false).await;
    // A value is known at its end, so what was sent is an incomplete body that no provider processes.
    assert_eq!((left.ends_with('}'), code.as_deref()), (false, Some("invalid_json")));
}

#[tokio::test]
async fn a_strict_body_that_is_cut_off_does_not_leave_whole() {
    let parts = &["{\"model\":\"a\",", "\"x\":1,", "\"y\":[1,2"];
    let (left, code) = sent(upload("application/json", parts), false, true).await;
    assert!(!left.ends_with("[1,2") || code.is_some(), "{left}");
    assert_eq!(code.as_deref(), Some("invalid_json"));
    let (left, code) = sent(upload("application/json", parts), false, false).await;
    assert_eq!((left.ends_with("[1,2"), code), (true, None));
}
