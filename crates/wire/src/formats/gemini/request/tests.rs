//! Tests of the fields that are read without translation, and of rejected requests.

use super::*;
use crate::formats::gemini::splice;

fn peeked(body: &str) -> Result<Request, Fault> {
    peek(Bytes::copy_from_slice(body.as_bytes()))
}

#[test]
fn both_spellings_are_read_and_model_and_method_come_from_the_url() {
    let request = peeked(
        r#"{"contents":[{"parts":[]}],"provider":"acme","generationConfig":{"maxOutputTokens":9,"candidateCount":2}}"#,
    )
    .unwrap();
    assert_eq!((request.max_output, request.choices), (Some(9), 2));
    assert_eq!((request.model, request.stream), (None, None));
    assert_eq!(request.provider_hint.as_deref(), Some("acme"));
    let request =
        peeked(r#"{"contents":{"parts":{"text":"x"}},"generation_config":{"max_output_tokens":7}}"#);
    assert_eq!(request.unwrap().max_output, Some(7));
}

#[test]
fn bad_requests_name_their_field() {
    for (body, param) in [
        ("{}", "contents"),
        (r#"{"contents":[]}"#, "contents"),
        (r#"{"contents":"hi"}"#, "contents"),
        (r#"{"contents":[{}],"generationConfig":3}"#, "generationConfig"),
        (r#"{"contents":[{}],"generationConfig":{"maxOutputTokens":0}}"#, "generationConfig.maxOutputTokens"),
    ] {
        let fault = peeked(body).unwrap_err();
        assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}");
    }
}

#[test]
fn only_the_hint_is_taken_out() {
    let spliced = |body: &str| {
        let request = peeked(body).unwrap();
        String::from_utf8(crate::splice::concat(&splice::splice(&request)).to_vec()).unwrap()
    };
    let body = "{ \"contents\" : [ {\"parts\":[{\"text\":\"\\u0041\"}]} ], \"odd\": 1.50 }";
    assert_eq!(spliced(body), body);
    assert_eq!(spliced(r#"{"provider":"acme", "contents":[{}]}"#), r#"{"contents":[{}]}"#);
    let object = r#"{"contents":[{}],"provider":{"order":[]}}"#;
    assert_eq!(spliced(object), object);
}
