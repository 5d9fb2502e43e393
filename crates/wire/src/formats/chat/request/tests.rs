//! Tests of the fields of a chat request.

use super::*;

fn request(fields: &str) -> Result<Request, Fault> {
    peek(Bytes::from(format!(r#"{{"messages":[{{"role":"user","content":"hi"}}]{fields}}}"#)))
}

#[track_caller]
fn refused(fields: &str, param: &str) {
    let fault = request(fields).unwrap_err();
    assert_eq!(
        (fault.status, fault.code.as_str(), fault.param.as_deref()),
        (400, "invalid_parameter", Some(param)),
        "{fields}"
    );
}

#[test]
fn the_fields_we_act_on_are_read() {
    let read = request(
        r#","model":"gpt-4\u006f","stream":true,"stream_options":{"include_usage":true},"provider":"eu","max_tokens":5,"max_completion_tokens":7,"n":3"#,
    )
    .unwrap();
    assert_eq!((read.model.as_deref(), read.stream, read.include_usage), (Some("gpt-4o"), Some(true), true));
    assert_eq!((read.provider_hint.as_deref(), read.max_output, read.choices), (Some("eu"), Some(7), 3));
}

#[test]
fn absent_and_null_are_the_same() {
    for fields in [
        "",
        r#","model":null,"stream":null,"stream_options":null,"provider":null,"temperature":null,"n":null,"max_tokens":null"#,
    ] {
        let read = request(fields).unwrap();
        assert_eq!((&read.model, read.stream, read.include_usage, read.choices), (&None, None, false, 1));
        assert_eq!((read.provider_hint, read.max_output), (None, None));
    }
    assert_eq!(request(r#","model":"""#).unwrap().model, None);
    assert_eq!(request(r#","provider":{"order":["a"]}"#).unwrap().provider_hint, None);
}

#[test]
fn wrong_types_name_their_field() {
    refused(r#","model":4"#, "model");
    refused(r#","stream":"yes""#, "stream");
    refused(r#","stream_options":[]"#, "stream_options");
    refused(r#","stream_options":{"include_usage":1}"#, "stream_options.include_usage");
    for temperature in ["2.1", "-0.1", "\"1\"", "1e9", "true"] {
        refused(&format!(",\"temperature\":{temperature}"), "temperature");
    }
    for count in ["0", "-1", "1.5", "\"1\"", "99999999999999999999"] {
        refused(&format!(",\"max_tokens\":{count}"), "max_tokens");
        refused(&format!(",\"max_completion_tokens\":{count}"), "max_completion_tokens");
        refused(&format!(",\"n\":{count}"), "n");
    }
    refused(",\"n\":129", "n");
    for temperature in ["0", "2", "2.0", "0.7e0", "-0"] {
        assert!(request(&format!(",\"temperature\":{temperature}")).is_ok(), "{temperature}");
    }
}

#[test]
fn there_must_be_messages() {
    for body in [
        "{}",
        r#"{"messages":null}"#,
        r#"{"messages":[ ]}"#,
        r#"{"messages":"hi"}"#,
        r#"{"messages":{"a":1}}"#,
    ] {
        let fault = peek(Bytes::from_static(body.as_bytes())).unwrap_err();
        assert_eq!(
            (fault.code.as_str(), fault.param.as_deref()),
            ("invalid_parameter", Some("messages")),
            "{body}"
        );
    }
}

#[test]
fn json_faults_come_first() {
    let fault = peek(Bytes::from_static(b"{\"messages\":[],}")).unwrap_err();
    assert_eq!((fault.status, fault.code.as_str()), (400, "invalid_json"));
    let fault = peek(Bytes::from_static(br#"{"messages":[1],"model":"a","model":"b"}"#)).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.param.as_deref()), ("invalid_json", Some("model")));
}
