//! Tests that a patched text equals the same edits on a parsed map.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::json::{quote, scan, scan_within};

fn patched(body: &str, edit: impl FnOnce(&mut Patch, &Object)) -> String {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let object = scan(&body).unwrap();
    let mut patch = Patch::new();
    edit(&mut patch, &object);
    let rope = patch.apply(&body);
    assert_eq!(rope_len(&rope), concat(&rope).len());
    String::from_utf8(concat(&rope).to_vec()).unwrap()
}

#[track_caller]
fn removed(body: &str, indexes: &[usize], expected: &str) {
    let text =
        patched(body, |patch, object| indexes.iter().for_each(|index| patch.remove_member(object, *index)));
    assert_eq!(text, expected);
}

#[test]
fn removal_takes_the_right_comma() {
    let body = r#"{ "a":1, "b":2 , "c":3 }"#;
    removed(body, &[0], r#"{ "b":2 , "c":3 }"#);
    removed(body, &[1], r#"{ "a":1 , "c":3 }"#);
    removed(body, &[2], r#"{ "a":1, "b":2 }"#);
    removed(body, &[1, 0], r#"{ "c":3 }"#);
    removed(body, &[2, 1], r#"{ "a":1 }"#);
    removed(body, &[0, 2], r#"{ "b":2 }"#);
    removed(body, &[0, 1, 2, 2], r#"{  }"#);
}

#[test]
fn insertion_adds_a_comma_only_if_needed() {
    let insert = |body, removals: &[usize]| {
        patched(body, |patch, object| {
            patch.insert_member(object, "\"x\":0");
            removals.iter().for_each(|index| patch.remove_member(object, *index));
            patch.insert_member(object, "\"y\":1");
        })
    };
    assert_eq!(insert("{}", &[]), r#"{"x":0,"y":1}"#);
    assert_eq!(insert("{\"a\":1\n}", &[]), "{\"a\":1,\"x\":0,\"y\":1\n}");
    assert_eq!(insert("{\"a\":1\n}", &[0]), "{\"x\":0,\"y\":1\n}");
    assert_eq!(insert(r#"{"a":1,"b":2}"#, &[1]), r#"{"a":1,"x":0,"y":1}"#);
}

#[test]
fn members_are_appended_as_by_a_patch() {
    for body in ["{}", " { } ", r#"{"a":1}"#, "{\"a\":{\"b\":1} ,\"c\":[]\n}\n"] {
        let expected = patched(body, |patch, object| patch.insert_member(object, "\"x\":0,\"y\":1"));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let pieces = append_members(&body, &scan(&body).unwrap(), b",\"x\":0,\"y\":1".to_vec());
        assert_eq!(concat(&pieces), expected);
    }
}

#[test]
fn an_untouched_body_is_not_copied() {
    let body = Bytes::from_static(b"{\"a\":1}");
    let rope = Patch::new().apply(&body);
    assert_eq!((rope.len(), rope[0].as_ptr()), (1, body.as_ptr()));
    assert!(Patch::new().is_empty());
}

#[test]
fn edits_inside_a_removed_member_go_with_it() {
    let text = patched(r#"{"a":{"b":1},"c":2}"#, |patch, object| {
        let body = br#"{"a":{"b":1},"c":2}"#;
        let inner = scan_within(body, object.members[0].value.clone()).unwrap();
        patch.replace(inner.members[0].value.clone(), "9");
        patch.insert_member(&inner, "\"d\":4");
        patch.replace(object.members[0].key.clone(), "renamed");
        patch.remove_member(object, 0);
    });
    assert_eq!(text, r#"{"c":2}"#);
}

#[derive(Clone, Debug)]
enum Action {
    Keep,
    Remove,
    Replace(i64),
    Rename,
    InsertInside,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Keep),
        Just(Action::Remove),
        any::<i64>().prop_map(Action::Replace),
        Just(Action::Rename),
        Just(Action::InsertInside),
    ]
}

proptest! {
    #[test]
    fn a_patch_equals_the_same_changes_on_a_map(
        actions in prop::collection::vec(action(), 0..9),
        inserted in prop::collection::vec(any::<bool>(), 0..4),
        pretty: bool,
    ) {
        let start: Map<String, Value> =
            (0..actions.len()).map(|index| (format!("k{index}"), json!({"in": [index, "},"]}))).collect();
        let text = if pretty { serde_json::to_string_pretty(&start) } else { serde_json::to_string(&start) }.unwrap();
        let body = Bytes::from(text);
        let object = scan(&body).unwrap();
        let (mut patch, mut expected) = (Patch::new(), Map::new());
        for (index, member) in object.members.iter().enumerate() {
            let name = std::str::from_utf8(&body[member.key.clone()]).unwrap();
            let mut value = start[name].clone();
            match &actions[index] {
                Action::Keep => drop(expected.insert(name.to_owned(), value)),
                Action::Remove => patch.remove_member(&object, index),
                Action::Replace(number) => {
                    patch.replace(member.value.clone(), number.to_string());
                    expected.insert(name.to_owned(), json!(number));
                }
                Action::Rename => {
                    patch.replace(member.key.clone(), format!("r{index}"));
                    expected.insert(format!("r{index}"), value);
                }
                Action::InsertInside => {
                    let inner = scan_within(&body, member.value.clone()).unwrap();
                    patch.insert_member(&inner, "\"new\":true");
                    value["new"] = json!(true);
                    expected.insert(name.to_owned(), value);
                }
            }
        }
        for (index, value) in inserted.iter().enumerate() {
            patch.insert_member(&object, format!("{}:{value}", quote(&format!("i{index}"))));
            expected.insert(format!("i{index}"), json!(value));
        }
        let result = concat(&patch.apply(&body));
        prop_assert_eq!(serde_json::from_slice::<Value>(&result).unwrap(), Value::Object(expected));
        prop_assert!(scan(&result).is_ok());
    }
}
