//! A response and assertions on it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Fields that differ from run to run.
const VARYING: [&str; 15] = [
    "id",
    "request_id",
    "provider_id",
    "timestamp",
    "created_at",
    "updated_at",
    "deactivated_at",
    "at",
    "latency",
    "latency_ms",
    "key",
    "value",
    "redacted_value",
    "last_discovery_at",
    "auth_key_id",
];

const VARYING_HEADERS: [&str; 3] = ["content-length", "x-request-id", "x-gateway-overhead-us"];

impl Answer {
    #[track_caller]
    pub fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {} {}", self.status, self.text()),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Status, code and param of an error; its envelope must be complete.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String, Option<String>) {
        let body = self.json();
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert!(self.header("x-request-id").is_some());
        check_envelope(&body);
        let error = &body["error"];
        (self.status, error["code"].as_str().unwrap().to_owned(), error["param"].as_str().map(str::to_owned))
    }

    /// The data of every event of a stream; comments are left out.
    pub fn events(&self) -> Vec<String> {
        let text = self.text();
        let events = text.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':'));
        events.map(|event| event.strip_prefix("data: ").unwrap_or(event).to_owned()).collect()
    }

    /// Name (empty without an `event:` line) and data of every event; comments and `[DONE]` are left out.
    #[track_caller]
    pub fn named_events(&self) -> Vec<(String, Value)> {
        let text = self.text().replace("\r\n", "\n");
        let mut events = Vec::new();
        for block in text.split("\n\n").filter(|block| !block.is_empty()) {
            let field =
                |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            match field("data") {
                None => assert!(block.starts_with(':'), "neither event nor comment: {block:?} in {text}"),
                Some("[DONE]") => {}
                Some(data) => {
                    let data = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
                    events.push((field("event").unwrap_or_default().to_owned(), data));
                }
            }
        }
        events
    }

    /// The raw events of a stream without comments.
    pub fn without_comments(&self) -> String {
        self.text().split_inclusive("\n\n").filter(|block| !block.starts_with(':')).collect()
    }

    /// The type of an error in Anthropic's format, which must be complete.
    #[track_caller]
    pub fn anthropic_error(&self) -> String {
        let body = self.json();
        assert_eq!(self.header("content-type"), Some("application/json"), "{body}");
        assert_eq!(body["type"], "error", "{body}");
        assert_eq!(body["request_id"].as_str(), self.header("x-request-id"), "{body}");
        assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
        let kind = body["error"]["type"].as_str();
        kind.unwrap_or_else(|| panic!("no type: {body}")).to_owned()
    }

    /// Code and param of an error in Google's format, which must be complete.
    #[track_caller]
    pub fn google_error(&self) -> (String, Option<String>) {
        let body = self.json();
        let error = &body["error"];
        assert_eq!(self.header("content-type"), Some("application/json"), "{body}");
        assert!(self.header("x-request-id").is_some());
        assert_eq!(error["code"].as_u64(), Some(self.status.into()), "{body}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
        assert!(error["status"].as_str().is_some_and(|status| status == status.to_uppercase()), "{body}");
        let info = &error["details"][0];
        assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{body}");
        let reason = info["reason"].as_str().unwrap_or_else(|| panic!("no reason: {body}"));
        (reason.to_lowercase(), info["metadata"]["param"].as_str().map(str::to_owned))
    }

    /// The text of a chat completion, streamed or not.
    pub fn content(&self) -> String {
        if self.header("content-type") == Some("application/json") {
            return self.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
        }
        let chunks = self.events().into_iter().filter_map(|data| serde_json::from_str::<Value>(&data).ok());
        chunks
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect()
    }

    /// Compares the whole response with its snapshot: status, headers and body, without fields that vary.
    #[track_caller]
    pub fn snapshot(&self, name: &str) {
        let mut page = format!("{}\n", self.status);
        let headers: BTreeMap<&str, &[u8]> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value);
            let value = if VARYING_HEADERS.contains(&name) { "[varies]" } else { &*value };
            page.push_str(&format!("{name}: {value}\n"));
        }
        page.push('\n');
        match serde_json::from_slice::<Value>(&self.body) {
            Ok(body) => page.push_str(&pretty(body)),
            Err(_) => page.push_str(&events_without_ids(&self.text())),
        }
        check_snapshot(name, &page);
    }
}

#[track_caller]
pub fn check_envelope(body: &Value) {
    let error = body["error"].as_object().unwrap_or_else(|| panic!("not an envelope: {body}"));
    for field in ["type", "message", "code"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "'{field}' in {body}");
    }
    assert!(error.contains_key("param"), "'param' in {body}");
}

#[track_caller]
pub fn check_snapshot(name: &str, text: &str) {
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true}, {
        insta::assert_snapshot!(name.replace(' ', "_"), text);
    });
}

/// Formats JSON with sorted keys, independent of serde_json's map order.
pub fn pretty(value: Value) -> String {
    serde_json::to_string_pretty(&without_varying(value)).unwrap()
}

fn without_varying(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<String, Value> = fields.into_iter().collect();
            let quiet = |(name, value): (String, Value)| {
                let varies = VARYING.contains(&name.as_str()) && !value.is_null();
                let value = if varies { Value::from("[varies]") } else { without_varying(value) };
                (name, value)
            };
            Value::Object(sorted.into_iter().map(quiet).collect())
        }
        Value::Array(items) => items.into_iter().map(without_varying).collect(),
        other => other,
    }
}

/// The raw events without their ids, which contain the upstream's port.
fn events_without_ids(text: &str) -> String {
    let mut pieces = text.split("chatcmpl-");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str("chatcmpl-N");
        shown.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-'));
    }
    shown
}
