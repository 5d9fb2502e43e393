//! Tests of event classification and usage detection.

use super::*;

#[track_caller]
fn check(data: &str, class: Class, finish: bool, content_bytes: usize) -> Option<String> {
    let seen = classify(data.as_bytes());
    assert_eq!((seen.class, seen.finish, seen.content_bytes), (class, finish, content_bytes), "{data}");
    seen.usage.map(|range| data[range].to_owned())
}

#[test]
fn events_are_classified() {
    let piece =
        |parts: &str, more: &str| format!(r#"{{"candidates":[{{"content":{{"parts":{parts}}}{more}}}]}}"#);
    check(&piece(r#"[{"text":"h\u00e9"}]"#, ""), Class::Content, false, 4);
    check(&piece(r#"[{"text":"hm","thought":true}]"#, ""), Class::Content, false, 2);
    check(&piece(r#"[{"text":""}]"#, ""), Class::Lifecycle, false, 0);
    check(&piece(r#"[{"text":"","thoughtSignature":"x"}]"#, ""), Class::Content, false, 0);
    check(&piece(r#"[{"text":""}]"#, r#","finishReason":"STOP""#), Class::Content, true, 0);
    check(&piece(r#"[{"functionCall":{"name":"ab","args":{"c":1}}}]"#, ""), Class::Content, false, 9);
    check(r#"{"candidates":[{"finishReason":"SAFETY","index":0}]}"#, Class::Content, true, 0);
    check(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, Class::Content, true, 0);
    check(r#"{"promptFeedback":{"safetyRatings":[]}}"#, Class::Lifecycle, false, 0);
    check(r#"{"error":{"code":503}}"#, Class::Error, false, 0);
    check("<html>", Class::Error, false, 0);
    check(" ", Class::Ignorable, false, 0);
}

#[test]
fn usage_and_id_are_found() {
    let data = r#"{"usageMetadata": {"promptTokenCount": 5},"responseId": "r-1"}"#;
    assert_eq!(check(data, Class::Lifecycle, false, 0).as_deref(), Some(r#"{"promptTokenCount": 5}"#));
    assert_eq!(event_id(data.as_bytes()).as_deref(), Some("r-1"));
    assert_eq!(event_id(br#"{"responseId":""}"#), None);
    // The key's name inside the model's text is not a key.
    assert_eq!(event_id(br#"{"text":"\"responseId\":\"x\""}"#), None);
}
