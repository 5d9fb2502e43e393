//! Tests that the scanner agrees with a full parser and reports the right positions.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

fn keys(body: &str) -> Vec<&str> {
    let object = scan(body.as_bytes()).unwrap();
    object.members.iter().map(|member| &body[member.key.clone()]).collect()
}

#[track_caller]
fn refused(body: &[u8]) -> ScanError {
    scan(body).unwrap_err()
}

#[test]
fn positions_are_exact() {
    let body = " {\"a\" : [1, {\"x\":\"}\"}] ,\n\"b\\\"c\":\"d\\\\\"} ";
    let object = scan(body.as_bytes()).unwrap();
    assert_eq!(keys(body), ["a", "b\\\"c"]);
    assert_eq!(&body[object.members[0].value.clone()], "[1, {\"x\":\"}\"}]");
    assert_eq!(&body[object.members[0].member.clone()], "\"a\" : [1, {\"x\":\"}\"}]");
    assert_eq!(&body[object.members[1].value.clone()], "\"d\\\\\"");
    assert_eq!((&body[object.open..=object.open], &body[object.close..=object.close]), ("{", "}"));
    assert_eq!(object.position(body.as_bytes(), "b\"c"), Some(1));
    assert_eq!(string_at(body.as_bytes(), &object.members[1].value).unwrap(), "d\\");
    assert_eq!(string_at(body.as_bytes(), &object.members[0].value), None);
}

#[test]
fn an_inner_object_keeps_absolute_positions() {
    let body = br#"{"o": {"k": true, "n": null} }"#;
    let outer = scan(body).unwrap();
    let inner = scan_within(body, outer.members[0].value.clone()).unwrap();
    assert_eq!(&body[inner.get(body, "k").unwrap().value.clone()], b"true");
    assert_eq!(inner.value(body, "n"), None);
    assert_eq!(body[inner.close], b'}');
    assert_eq!(inner.close, outer.members[0].value.end - 1);
}

#[test]
fn a_path_leads_to_a_value_that_is_not_null() {
    let body = br#"{"r": {"\u0069d": "x", "n": null, "list": [{"id": 1}]}, "id": 2}"#;
    let text = |path: &[&str]| value_at(body, path).map(|range| std::str::from_utf8(&body[range]).unwrap());
    assert_eq!((text(&["r", "id"]), text(&["id"])), (Some("\"x\""), Some("2")));
    for path in [&["r", "n"][..], &["r", "list", "id"], &["id", "x"], &["x"], &[]] {
        assert_eq!(text(path), None, "{path:?}");
    }
    assert_eq!(value_at(b"[1]", &["r"]), None);
}

#[test]
fn a_string_extends_to_its_closing_quote() {
    for (data, expected) in [
        ("ab\" \"", Some((2, 2))),
        ("\"", Some((0, 0))),
        ("a\\\"b\\\\\"", Some((6, 4))),
        ("a\nb\"", Some((3, 3))),
        ("open", None),
        ("open\\", None),
        ("", None),
    ] {
        assert_eq!(string_extent(data.as_bytes(), 0), expected, "{data}");
    }
}

#[test]
fn arrays_yield_their_elements() {
    let body = br#"[1, "a,b" ,[2,3], {} ]"#;
    let elements = scan_array(body, 0..body.len()).unwrap();
    let texts: Vec<&[u8]> = elements.into_iter().map(|range| &body[range]).collect();
    assert_eq!(texts, [b"1".as_slice(), b"\"a,b\"", b"[2,3]", b"{}"]);
    assert_eq!(scan_array(b"[]", 0..2), Ok(vec![]));
    assert!(scan_array(b"[1,]", 0..4).is_err());
}

#[test]
fn the_elements_of_the_first_named_array_are_found_on_the_way() {
    for (body, list) in [
        (r#"{"a":1, "input": [ {"b":[1]}, "x" ] ,"messages":[2]}"#, Some("input")),
        (r#"{"input":"text","messages":[[],3.5]}"#, Some("messages")),
        (r#"{"messages":[]}"#, Some("messages")),
        (r#"{"a":[1]}"#, None),
    ] {
        let body = body.as_bytes();
        let (object, elements) = scan_with_elements(body, &["messages", "input"]).unwrap();
        assert_eq!(object, scan(body).unwrap());
        let expected = list.map(|name| scan_array(body, object.value(body, name).unwrap()).unwrap());
        assert_eq!(elements, expected.unwrap_or_default());
    }
    for body in [r#"{"messages":[1}"#, r#"{"messages":[1]} x"#, "[]", ""] {
        assert!(scan_with_elements(body.as_bytes(), &["messages"]).is_err(), "{body}");
    }
}

#[test]
fn elements_are_counted_at_every_depth() {
    for (body, elements) in [
        ("{}", 1),
        (r#"{"a":1}"#, 3),
        (r#"{"a":[1,2,[]],"b":{"c":null,"d":"x,y"}}"#, 12),
        (r#" { "a" : [ { } , { "b" : "c" } ] } "#, 7),
    ] {
        assert_eq!(scan(body.as_bytes()).unwrap().elements, elements, "{body}");
    }
}

#[test]
fn a_tree_of_too_many_elements_is_refused_with_the_bound() {
    let body = |values: usize| format!("{{\"a\":[{}1]}}", "1,".repeat(values - 1));
    let fits = scan(body(ELEMENT_LIMIT - 3).as_bytes()).unwrap();
    assert_eq!((fits.elements, fits.check_elements()), (ELEMENT_LIMIT, Ok(())));
    let object = scan(body(ELEMENT_LIMIT - 2).as_bytes()).unwrap();
    let error = object.check_elements().unwrap_err();
    assert_eq!(error, ScanError::TooManyElements { count: ELEMENT_LIMIT + 1, limit: ELEMENT_LIMIT });
    let fault = Fault::from(error);
    assert_eq!((fault.status, fault.code.as_str()), (400, "invalid_json"));
    assert!(fault.message.contains(&format!("at most {ELEMENT_LIMIT}")), "{fault}");
}

#[test]
fn members_of_one_object_are_bounded() {
    let body = |count: usize| {
        let members: Vec<String> = (0..count).map(|index| format!("\"k{index}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(scan(body(MEMBER_LIMIT).as_bytes()).is_ok());
    let error = refused(body(MEMBER_LIMIT + 1).as_bytes());
    assert_eq!(error, ScanError::TooManyMembers { limit: MEMBER_LIMIT });
    assert!(Fault::from(error).message.contains("10000"));
}

#[test]
fn depth_is_capped() {
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(scan(nested(DEPTH_LIMIT).as_bytes()).is_ok());
    assert_eq!(refused(nested(DEPTH_LIMIT + 1).as_bytes()), ScanError::TooDeep { limit: DEPTH_LIMIT });
    assert_eq!(refused(nested(100_000).as_bytes()), ScanError::TooDeep { limit: DEPTH_LIMIT });
}

#[test]
fn a_key_comes_once_however_it_is_written() {
    let duplicate = |key: &str| ScanError::DuplicateKey(key.to_owned());
    assert_eq!(refused(br#"{"a":1,"b":2,"a":3}"#), duplicate("a"));
    assert_eq!(refused(br#"{"model":1,"\u006dodel":2}"#), duplicate("model"));
    assert!(scan(br#"{"a":{"b":1},"b":1,"\ud800":1}"#).is_ok());
    let many = |last: &str| {
        let members: Vec<String> = (0..500).map(|index| format!("\"k{index}\":0")).collect();
        format!("{{{},\"{last}\":1}}", members.join(","))
    };
    assert!(scan(many("k500").as_bytes()).is_ok());
    assert_eq!(refused(many("k7").as_bytes()), duplicate("k7"));
}

#[test]
fn values_that_are_no_object_are_rejected() {
    assert_eq!(refused(b"[1]"), ScanError::NotAnObject);
    assert_eq!(refused(b"\"x\""), ScanError::NotAnObject);
    assert_eq!(refused(b""), ScanError::Empty);
    assert_eq!(refused(b" \r\n"), ScanError::Empty);
    assert!(matches!(refused(b"<html>"), ScanError::Syntax { at: 0, .. }));
    assert_eq!(refused(b"{\"a\":\"\xff\"}"), ScanError::NotUtf8 { at: 6 });
    assert!(matches!(refused(b"{} x"), ScanError::Syntax { at: 3, .. }));
}

#[test]
fn faults_name_the_place() {
    let fault = Fault::from(refused(br#"{"a":1,"a":2}"#));
    assert_eq!((fault.status, fault.code.as_str(), fault.param.as_deref()), (400, "invalid_json", Some("a")));
    let fault = Fault::from(refused(br#"{"a":tru}"#));
    assert_eq!(fault.message, "The body is not valid JSON: expected 'true' at byte 5.");
}

#[test]
fn lengths_are_of_the_text_not_its_escapes() {
    assert_eq!(decoded_len(b"plain"), 5);
    assert_eq!(decoded_len(br#"a\n\"b\\"#), 5);
    assert_eq!(decoded_len(br"\u4e2d"), 3);
    assert_eq!(decoded_len(br"\"), 0);
}

#[test]
fn every_syntax_error_has_its_position() {
    for (body, at, expected) in [
        ("{", 1, "a key in double quotes"),
        (r#"{"a":1,}"#, 7, "a key in double quotes"),
        (r#"{"a" 1}"#, 5, "':'"),
        (r#"{"a\n" 1}"#, 7, "':'"),
        (r#"{"a"#, 3, "'\"'"),
        (r#"{"a":"#, 5, "a value"),
        (r#"{"a":1 "b":2}"#, 7, "',' or '}'"),
        (r#"{"a":{"b":1]}"#, 11, "',' or '}'"),
        (r#"{"a":[1}"#, 7, "',' or ']'"),
        (r#"{"a":{"b" :-}}"#, 12, "a digit"),
        (r#"{"a":1.}"#, 7, "a digit"),
        (r#"{"a":1e+}"#, 8, "a digit"),
        (r#"{"a":01}"#, 6, "',' or '}'"),
        (r#"{"a":[nul]}"#, 6, "'null'"),
        (r#"{"a":fals"#, 5, "'false'"),
        (r#"{"a":"\x"}"#, 6, "a known escape after '\\'"),
        (r#"{"a":"\n\u00g0"}"#, 8, "four hexadecimal digits after '\\u'"),
        ("{\"a\":\"b\n\"}", 7, "no bare control character in a string"),
        (r#"{"a":"\"#, 6, "a known escape after '\\'"),
        (r#"{"a":"\n"#, 8, "'\"'"),
        (r#"{"a":1}}"#, 7, "the end of the text"),
    ] {
        assert_eq!(refused(body.as_bytes()), ScanError::Syntax { at, expected }, "{body}");
        // The same errors in an inner object, beyond the first blocks.
        if expected != "the end of the text" {
            let long = format!(r#"{{"{}":{body}"#, "k".repeat(40));
            let expected = ScanError::Syntax { at: at + 44, expected };
            assert_eq!(refused(long.as_bytes()), expected, "{long}");
        }
    }
}

/// Strings of every length with a special byte at every position: the searches in blocks and in the tail must agree.
#[test]
fn special_bytes_are_found_at_every_position() {
    for length in 0..150 {
        for at in 0..length {
            for (special, valid) in
                [("\\n", true), ("\"", false), ("\u{1}", false), ("\u{7f}", true), ("é", true)]
            {
                let text = format!("{}{special}{}", "x".repeat(at), "y".repeat(length - at - 1));
                for body in [format!("{{\"k\":\"{text}\"}}"), format!("{{\"{text}\" : [\"\\n\"]}}")] {
                    assert_eq!(scan(body.as_bytes()).is_ok(), valid, "{body}");
                }
            }
        }
    }
}

fn is_json_object(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok() && bytes.trim_ascii_start().starts_with(b"{")
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "[a-z\"\\\\\n/]{0,70}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(".{0,9}", inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    /// Escapes, half escapes and surrogates are read as a full parser reads them.
    #[test]
    fn strings_are_unescaped_as_by_a_parser(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "a", "é", "🦀", "\\n", "\\t", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\r", "\\u0041", "\\u00E9", "\\ud83e", "\\udd80",
                "\\u", "\\u12", "\\x", "0", "+",
            ]),
            0..8,
        ),
    ) {
        let raw = format!("\"{}\"", pieces.concat());
        let expected = serde_json::from_str::<String>(&raw).ok();
        let found = string_at(raw.as_bytes(), &(0..raw.len())).map(|text| text.into_owned());
        prop_assert_eq!(found, expected, "{}", raw);
    }

    #[test]
    fn every_json_object_is_taken_apart(value in prop::collection::hash_map(".{0,9}", any_json(), 0..8), pretty: bool) {
        let value: Value = value.into_iter().collect();
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let object = scan(text.as_bytes()).unwrap();
        let mut found = serde_json::Map::new();
        for member in &object.members {
            let key = member.key.start - 1..member.key.end + 1;
            let key = string_at(text.as_bytes(), &key).unwrap().into_owned();
            prop_assert_eq!(object.get(text.as_bytes(), &key), Some(member));
            prop_assert_eq!(object.get(text.as_bytes(), &format!("{key}!")), None);
            found.insert(key, serde_json::from_str(&text[member.value.clone()]).unwrap());
        }
        prop_assert_eq!(Value::Object(found), serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn mutated_text_is_judged_as_a_full_parser_does(
        value in any_json(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), mutation()), 1..4),
    ) {
        let mut bytes = serde_json::to_vec(&serde_json::json!({"key": value, "other": [1.5e-3, "x"]})).unwrap();
        for (index, mutation) in edits {
            // An earlier cut may have left nothing to edit.
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match mutation {
                Mutation::Set(byte) => bytes[at] = byte,
                Mutation::Insert(byte) => bytes.insert(at, byte),
                Mutation::Remove => drop(bytes.remove(at)),
                Mutation::Cut => bytes.truncate(at.max(1)),
            }
        }
        match scan(&bytes) {
            Err(ScanError::DuplicateKey(_) | ScanError::TooDeep { .. }) => {}
            verdict => prop_assert_eq!(verdict.is_ok(), is_json_object(&bytes), "{:?}", String::from_utf8_lossy(&bytes)),
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(scan(&bytes).is_ok(), is_json_object(&bytes));
    }
}

#[derive(Clone, Debug)]
enum Mutation {
    Set(u8),
    Insert(u8),
    Remove,
    Cut,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte = || prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\ \n\t0-+.eEtfnu/\x1f".to_vec())];
    prop_oneof![
        byte().prop_map(Mutation::Set),
        byte().prop_map(Mutation::Insert),
        Just(Mutation::Remove),
        Just(Mutation::Cut),
    ]
}
