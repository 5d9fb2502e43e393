//! Encodes journal records: openings and receipts as JSON, written directly into the frame and without default values.
//!
//! A receipt has three lines, laid out for booking: the columns of the ledger, the label that it shares with other
//! receipts, and the details that no column holds, which are stored unchanged. A fourth line is for the audit log only.

use domain::money::Cost;
use domain::receipt::{Attempt, Audited, CostSource, OpeningRef, Receipt};
use domain::usage::{Tokens, Usage};
use serde::Serialize;

/// Encodes an opening; decodes as `domain::receipt::Opening`.
pub(crate) fn opening(out: &mut Vec<u8>, opening: OpeningRef<'_>) {
    let mut object = Object::begin(out);
    object.text("id", opening.id);
    object.text("request_id", opening.request_id);
    object.integer("at", opening.at.micros());
    object.text("endpoint", opening.endpoint);
    object.text("requested_model", opening.requested_model);
    object.text("model", opening.model);
    object.text("provider", opening.provider);
    object.text("provider_name", opening.provider_name);
    object.text("user_path", opening.user_path);
    object.some_text("auth_key_id", opening.auth_key_id);
    object.some_text("tenant_id", opening.tenant_id);
    object.some_text("run_id", opening.run_id);
    object.flag("stream", opening.stream);
    let Usage { tokens: counts, estimated, reported_cost, caveat, .. } = opening.reserved;
    object.nested("reserved", |usage| {
        usage.nested("tokens", |object| tokens(object, counts));
        usage.flag("estimated", *estimated);
        usage.some("reported_cost", reported_cost.as_ref());
        usage.some_text("caveat", caveat.as_deref());
    });
    if let Some(Cost { input, output }) = opening.reserved_cost {
        object.nested("reserved_cost", |cost| {
            cost.integer("input", input.0);
            cost.integer("output", output.0);
        });
    }
    object.flag("unbooked", opening.unbooked);
    object.flag("audited", opening.audited);
    object.some_text("follow", opening.follow);
    object.end();
}

/// Encodes a receipt; decodes as `ledger::booking::Booking`.
pub(crate) fn receipt(out: &mut Vec<u8>, receipt: &Receipt) {
    receipt_with(out, receipt, receipt.audit.as_deref());
}

/// Encodes a receipt with the given audit data instead of its own.
pub(crate) fn receipt_with(out: &mut Vec<u8>, receipt: &Receipt, audited: Option<&Audited>) {
    let mut object = Object::begin(out);
    object.text("id", &receipt.id);
    object.flag("unbooked", !receipt.is_booked());
    object.integer("at", receipt.at.micros());
    object.some_text("request_id", filled(&receipt.request_id));
    object.some_text("provider_id", filled(&receipt.provider_id));
    object.count("status", receipt.status.into());
    object.flag("stream", receipt.stream);
    object.flag("estimated", receipt.usage.estimated);
    object.nested("tokens", |object| tokens(object, &receipt.usage.tokens));
    if let Some(cost) = receipt.cost {
        object.integer("input_cost", cost.input.0);
        object.integer("output_cost", cost.output.0);
    }
    if receipt.cost_source != CostSource::None {
        object.text("cost_source", receipt.cost_source.as_str());
    }
    object.count("duration_us", receipt.duration_us);
    object.some("first_byte_us", receipt.first_byte_us.as_ref());
    object.some_text("run_id", receipt.run_id.as_deref());
    object.end();
    for write in [label, detail] {
        out.push(b'\n');
        let mut object = Object::begin(out);
        write(&mut object, receipt);
        object.end();
    }
    if let Some(audited) = audited {
        out.push(b'\n');
        let mut object = Object::begin(out);
        object.text("auth_method", &receipt.auth_method);
        object.some("audit", Some(audited));
        object.end();
    }
}

/// The line for the audit log, if there is one.
pub(crate) fn audit_line(text: &str) -> Option<&str> {
    text.split('\n').nth(3)
}

/// The first three lines of a receipt; missing ones are empty objects.
pub(crate) fn lines(text: &str) -> [&str; 3] {
    let mut lines = text.split('\n');
    [(); 3].map(|()| lines.next().unwrap_or("{}"))
}

/// The fields that receipts share with others; equal labels have equal text.
fn label(object: &mut Object<'_>, receipt: &Receipt) {
    object.some_text("model", filled(&receipt.model));
    object.some_text("requested_model", filled(&receipt.requested_model));
    object.some_text("provider", filled(&receipt.provider));
    object.some_text("provider_name", filled(&receipt.provider_name));
    object.some_text("endpoint", filled(&receipt.endpoint));
    object.some_text("user_path", filled(&receipt.user_path));
    object.some_text("auth_key_id", receipt.auth_key_id.as_deref());
    object.some_text("tenant_id", receipt.tenant_id.as_deref());
    object.some_text("cache_type", filled(&receipt.cache_type));
}

/// The fields that no column holds. Defaults are left out: the method POST, and the auth method implied by the presence
/// of a key.
fn detail(object: &mut Object<'_>, receipt: &Receipt) {
    let implied = if receipt.auth_key_id.is_some() { "api_key" } else { "master_key" };
    object.some_text("method", filled(&receipt.method).filter(|method| *method != "POST"));
    object.some_text("auth_method", filled(&receipt.auth_method).filter(|method| *method != implied));
    object.some_text("session_id", receipt.session_id.as_deref());
    object.some_text("client_ip", filled(&receipt.client_ip));
    object.some_text("user_agent", filled(&receipt.user_agent));
    object.some_text("error_type", receipt.error_type.as_deref());
    object.some_text("error_code", receipt.error_code.as_deref());
    object.some_text("error_message", receipt.error_message.as_deref());
    object.count("overhead_us", receipt.overhead_us);
    match &receipt.attempts[..] {
        // For a single successful attempt, the columns contain everything but the duration.
        [Attempt { error: None, duration_us, .. }] => object.count("attempt_us", *duration_us),
        [] => {}
        attempts => object.some("attempts", Some(attempts)),
    }
    object.count("resumed", u64::from(receipt.resumed));
    object.count("images", receipt.usage.images);
    object.some("reported_cost", receipt.usage.reported_cost.as_ref());
    object.some_text("caveat", receipt.usage.caveat.as_deref());
    if let Some(raw) = &receipt.raw_usage {
        object.one_line("raw_usage", raw.get());
    }
    object.flag("interrupted", receipt.interrupted);
    object.some_text("pricing_version", receipt.pricing_version.as_deref());
    object.flag("alias_used", receipt.alias_used);
    object.some_text("response_id", receipt.response_id.as_deref());
    object.some_text("previous_response_id", receipt.previous_response_id.as_deref());
    object.some("trace", receipt.trace.as_ref());
}

fn tokens(object: &mut Object<'_>, tokens: &Tokens) {
    for (bucket, count) in Tokens::BUCKETS.into_iter().zip(tokens.counts()) {
        object.count(bucket, count);
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// A JSON object being written. Keys are ours and need no escaping, and neither does most text.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Object<'a> {
    fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { start: out.len(), out }
    }

    fn end(self) {
        self.out.push(b'}');
    }

    #[inline]
    fn key(&mut self, key: &'static str) {
        self.out.extend_from_slice(if self.out.len() == self.start { b"\"" } else { b",\"" });
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    #[inline]
    fn text(&mut self, key: &'static str, text: &str) {
        self.key(key);
        if needs_escapes(text.as_bytes()) {
            return self.json(text);
        }
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    #[inline]
    fn some_text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    fn integer(&mut self, key: &'static str, number: i64) {
        self.key(key);
        self.json(&number);
    }

    fn count(&mut self, key: &'static str, count: u64) {
        if count != 0 {
            self.key(key);
            self.json(&count);
        }
    }

    fn flag(&mut self, key: &'static str, flag: bool) {
        if flag {
            self.key(key);
            self.out.extend_from_slice(b"true");
        }
    }

    fn some<T: Serialize + ?Sized>(&mut self, key: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.key(key);
            self.json(value);
        }
    }

    /// Copies raw JSON. Line breaks in JSON can only be whitespace between tokens, so they are replaced by spaces.
    fn one_line(&mut self, key: &'static str, json: &str) {
        self.key(key);
        let start = self.out.len();
        self.out.extend_from_slice(json.as_bytes());
        for byte in &mut self.out[start..] {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
    }

    /// Writes a nested object, or nothing if it is empty.
    fn nested(&mut self, key: &'static str, fill: impl FnOnce(&mut Object<'_>)) {
        let before = self.out.len();
        self.key(key);
        let mut inner = Object::begin(self.out);
        fill(&mut inner);
        if inner.out.len() == inner.start {
            self.out.truncate(before);
        } else {
            inner.end();
        }
    }

    fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        let before = self.out.len();
        if let Err(error) = serde_json::to_writer(&mut *self.out, value) {
            // Serialization of these types cannot fail; if it did, a partial value would corrupt the whole record.
            tracing::error!(%error, "serializing a record field failed");
            self.out.truncate(before);
            self.out.extend_from_slice(b"null");
        }
    }
}

/// True if the text contains a control character, a quote or a backslash. Checks eight bytes at a time by the borrow
/// that a subtraction leaves in the highest bit of each byte. A borrow from the previous byte can only cause false
/// positives.
fn needs_escapes(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let is_below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let suspicious = |word: u64| {
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        (is_below(word, 0x20) | is_below(quote, 1) | is_below(backslash, 1)) & (ONES << 7) != 0
    };
    let (words, rest) = text.as_chunks::<8>();
    words.iter().any(|word| suspicious(u64::from_le_bytes(*word)))
        || match text.last_chunk::<8>() {
            Some(last) => suspicious(u64::from_le_bytes(*last)),
            None => rest.iter().any(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\'),
        }
}

#[cfg(test)]
mod tests {
    use domain::fault::FaultCode;
    use domain::receipt::Opening;
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn any_opening()(
            texts in proptest::array::uniform9("\\PC{0,12}|[\\x00-\\x7f]{0,12}"), key in proptest::option::of("\\PC{0,9}"),
            stream: bool, estimated: bool, input: u64, output in prop_oneof![Just(0), any::<u64>()],
            cost in proptest::option::of((any::<i64>(), any::<i64>())),
        ) -> Opening {
            let [id, request_id, endpoint, requested_model, model, provider, provider_name, user_path, caveat] = texts;
            let tokens = Tokens { input, output, ..Tokens::default() };
            Opening {
                id, request_id, endpoint, requested_model, model, provider, provider_name, user_path, stream,
                at: domain::clock::Timestamp(input as i64 >> 8), tenant_id: key.clone(), run_id: key.clone(), follow: key.clone(), auth_key_id: key,
                reserved: Usage { tokens, estimated, caveat: Some(caveat), ..Usage::default() },
                reserved_cost: cost.map(|(input, output)| Cost {
                    input: domain::money::Nanos(input),
                    output: domain::money::Nanos(output),
                }),
                unbooked: stream, audited: estimated,
            }
        }
    }

    proptest! {
        #[test]
        fn an_opening_reads_back_as_it_was(written in any_opening()) {
            let mut out = Vec::new();
            opening(&mut out, written.as_ref());
            prop_assert_eq!(serde_json::from_slice::<Opening>(&out).unwrap(), written);
        }
    }

    #[test]
    fn every_field_of_a_receipt_is_in_its_record() {
        let text = |text: &str| text.to_owned();
        // All fields are listed by name, so that a new field fails to compile here first.
        let receipt = Receipt {
            id: text("id"),
            request_id: text("r"),
            at: domain::clock::Timestamp(5),
            method: text("GET"),
            endpoint: text("/v1"),
            requested_model: text("alias"),
            model: text("model"),
            provider: text("openai"),
            provider_name: text("main"),
            provider_id: text("cmpl"),
            user_path: text("/a"),
            auth_key_id: Some(text("key")),
            tenant_id: Some(text("tenant")),
            session_id: Some(text("\"s\"\n")),
            run_id: Some(text("run")),
            auth_method: text("other"),
            client_ip: text("::1"),
            user_agent: text("agent"),
            cache_type: text("exact"),
            stream: true,
            status: 499,
            error_type: Some(text("type")),
            error_code: Some(text("code")),
            error_message: Some(text("message")),
            duration_us: 10,
            first_byte_us: Some(11),
            overhead_us: 12,
            attempts: vec![Attempt { error: Some(FaultCode::read(&text("e"))), ..Attempt::default() }],
            resumed: 1,
            usage: Usage {
                tokens: Tokens { input: 1, ..Tokens::default() },
                estimated: true,
                reported_cost: Some(domain::money::Nanos(3)),
                caveat: Some(text("caveat")),
                ..Usage::default()
            },
            cost: Some(Cost { input: domain::money::Nanos(1), output: domain::money::Nanos(2) }),
            cost_source: CostSource::ProviderReported,
            raw_usage: serde_json::from_str("{\"a\":\n1}").unwrap(),
            interrupted: true,
            pricing_version: Some(text("p")),
            alias_used: true,
            response_id: Some(text("resp_1")),
            previous_response_id: Some(text("resp_0")),
            unbooked: true,
            audit: Some(Box::default()),
            trace: Some(domain::receipt::TraceContext { trace_id: text("t"), ..Default::default() }),
        };
        let record = read(&receipt);
        let serde_json::Value::Object(fields) = serde_json::to_value(&receipt).unwrap() else { panic!() };
        for (name, value) in fields {
            match name.as_str() {
                "usage" => {
                    for (name, value) in value.as_object().unwrap() {
                        let value = if name == "tokens" { &serde_json::json!({"input": 1}) } else { value };
                        assert_eq!(record.get(name), Some(value), "{name}");
                    }
                }
                "cost" => {
                    assert_eq!((&record["input_cost"], &record["output_cost"]), (&1.into(), &2.into()))
                }
                name => assert_eq!(record.get(name), Some(&value), "{name}"),
            }
        }
    }

    /// All lines merged into one object.
    fn read(receipt: &Receipt) -> serde_json::Map<String, serde_json::Value> {
        let mut out = Vec::new();
        super::receipt(&mut out, receipt);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 3 + usize::from(receipt.audit.is_some()), "{text}");
        let audit = audit_line(&text).unwrap_or("{}");
        let parts = lines(&text).into_iter().chain([audit]);
        parts.flat_map(|line| serde_json::from_str::<serde_json::Map<_, _>>(line).unwrap()).collect()
    }

    #[test]
    fn what_goes_without_saying_is_not_said() {
        let check = |receipt: &Receipt, expected: serde_json::Value| {
            assert_eq!(serde_json::Value::Object(read(receipt)), expected)
        };
        let usual = Receipt { method: "POST".into(), auth_method: "master_key".into(), ..Receipt::default() };
        check(&usual, serde_json::json!({"id": "", "at": 0}));
        let attempt = Attempt { status: 200, duration_us: 7, ..Attempt::default() };
        let keyed = Receipt { auth_key_id: Some("k".into()), attempts: vec![attempt], ..usual };
        check(
            &keyed,
            serde_json::json!({"id": "", "at": 0, "auth_key_id": "k", "auth_method": "master_key", "attempt_us": 7}),
        );
    }

    proptest! {
        #[test]
        fn every_character_that_needs_an_escape_is_found(text in "[\\x00-\\x7f]{0,40}|\\PC{0,40}") {
            let json = serde_json::to_string(&text).unwrap();
            let escaped = json.len() > text.len() + 2;
            // False positives are allowed, false negatives are not.
            prop_assert!(needs_escapes(text.as_bytes()) || !escaped);
        }
    }
}
