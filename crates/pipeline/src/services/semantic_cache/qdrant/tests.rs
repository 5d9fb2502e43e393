//! The points and filters of Qdrant. The requests are tested against a double in the API tests.

use store::KeptAnswer;

use super::payload::*;
use super::*;

fn row() -> SemanticRow {
    SemanticRow {
        id: "00112233445566778899aabbccddeeff".repeat(2),
        partition: "p".into(),
        embedder: "e".into(),
        tenant_id: "acme".into(),
        user_path: "/a/b".into(),
        model: "m".into(),
        min_score: 970_000,
        expires_at: Timestamp(1_800_000_000_000_001),
        vector: vec![0, 127, 129],
        facts: "{}".into(),
        prompt: "How far?".into(),
        answer: KeptAnswer { head: "{}".into(), body: Bytes::from_static(b"\0\xff") },
    }
}

#[test]
fn an_entry_is_read_back_from_its_point() {
    let point = point(&row());
    assert_eq!(point["id"], "00112233-4455-6677-8899-aabbccddeeff");
    assert_eq!(point["vector"], json!([0.0, 127.0, -127.0]));
    assert_eq!(read_row(&point["payload"]), Some(row()));
    assert_eq!(read_row(&json!({"id": "x"})), None);
}

#[test]
fn a_path_is_found_by_all_paths_above_it() {
    for (path, expected) in
        [("/", json!(["/"])), ("/a", json!(["/", "/a"])), ("/a/b", json!(["/", "/a", "/a/b"]))]
    {
        let point = point(&SemanticRow { user_path: path.into(), ..row() });
        assert_eq!(point["payload"]["paths"], expected, "{path}");
    }
}

#[test]
fn a_purge_names_all_of_its_conditions() {
    assert_eq!(purge_filter(&SemanticPurge::default()), json!({"must": []}));
    let named = |key: &str, value: &str| json!({"key": key, "match": {"value": value}});
    let purge = SemanticPurge {
        tenant_id: Some("acme".into()),
        user_path: Some("/a".into()),
        model: Some("m".into()),
    };
    let all = [named("tenant_id", "acme"), named("paths", "/a"), named("model", "m")];
    assert_eq!(purge_filter(&purge), json!({"must": all}));
}
