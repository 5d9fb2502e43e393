//! Redaction of streams by the decoder, the stages and the renderer of each format: however the texts of an answer are
//! cut, the client gets the same as of the whole text, and nothing of a value before.

mod samples;

use std::sync::{Arc, LazyLock};

use ::guardrails::kind::PiiKind;
use ::guardrails::placeholder::ScopeKey;
use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Block, Content, Delta, StopReason};
use domain::fault::FaultCode;
use serde_json::{Value, json};
use wire::codec::{Decoding, EchoedRequest, IdGenerator, Rendering};
use wire::formats;
use wire::renames::Renames;

use super::*;
use crate::guardrails::{CallGuardrails, CompiledGuardrail, FilterInputs};
use crate::streaming::{Continuity, TranslationReason};
use samples::{Random, Sample};

const FORMATS: [Format; 4] = [Format::Chat, Format::Responses, Format::Messages, Format::Gemini];
const EVENT_LIMIT: usize = 1 << 20;
/// Random splits of each sample.
const RANDOM_SPLITS: usize = 2;

fn guardrails(document: Value) -> CallGuardrails {
    let compiled = CompiledGuardrail::compile(serde_json::from_value(document).unwrap());
    let step = vec![Arc::new(compiled.unwrap_or_else(|error| panic!("{error:?}")))];
    CallGuardrails { request: Vec::new(), answer: vec![step], record: Vec::new() }
}

fn all_kinds(action: &str) -> CallGuardrails {
    let kinds = PiiKind::ALL.map(PiiKind::name);
    guardrails(json!({"name": "pii", "type": "pii_redact", "config": {"kinds": kinds, "action": action}}))
}

static REDACT: LazyLock<CallGuardrails> = LazyLock::new(|| all_kinds("redact"));
static BLOCK: LazyLock<CallGuardrails> = LazyLock::new(|| all_kinds("block"));
static SANITIZE: LazyLock<CallGuardrails> = LazyLock::new(|| {
    let config = json!({"patterns": samples::PATTERNS, "action": "sanitize"});
    guardrails(json!({"name": "patterns", "type": "regex_block", "config": config}))
});

fn decoding() -> Decoding {
    Decoding { provider: "acme".into(), model: "m".into(), schema_tool: None, ids: IdGenerator::new("seed") }
}

fn rendering() -> Rendering {
    Rendering {
        ids: IdGenerator::new("seed"),
        created: 1_700_000_000,
        provider: "acme".into(),
        model: "m".into(),
        requested_model: "asked".into(),
        latency_ms: 1,
        include_usage: true,
        tools: Arc::from([]),
        request: EchoedRequest::default(),
    }
}

fn translated(upstream: Format, client: Format, guardrails: &CallGuardrails) -> Translated {
    let filter = AnswerFilter::new(&FilterInputs {
        guardrails: Some(guardrails),
        placeholders: None,
        key: &ScopeKey::new(&[7; 32]),
        is_recorded: false,
        is_json: false,
    });
    Translated::new(Translation {
        upstream: formats::upstream(upstream),
        client: formats::client(client),
        client_format: client,
        decoding: decoding(),
        rendering: rendering(),
        renames: Renames::default(),
        why: TranslationReason::Guardrails,
        continuity: Continuity::Single,
        filter: Some(Box::new(filter)),
    })
}

/// The answer of a provider: a text and the arguments of a tool call, each in pieces.
struct Answer {
    text: Vec<String>,
    arguments: Vec<String>,
}

impl Answer {
    fn events(&self) -> Vec<Event> {
        let tool = Block::ToolCall { id: "call_1".into(), name: "save".into(), custom: false, opaque: None };
        let delta = |index, delta| Event::Delta { index, delta };
        let mut events = vec![Event::Begin { id: Some("answer_1".into()), model: Some("m".into()) }];
        events.push(Event::Open { index: 0, block: Block::Text });
        events.extend(self.text.iter().map(|piece| delta(0, Delta::Text(piece.clone()))));
        events.extend([Event::Close { index: 0 }, Event::Open { index: 1, block: tool }]);
        events.extend(self.arguments.iter().map(|piece| delta(1, Delta::Arguments(piece.clone()))));
        events.extend([Event::Close { index: 1 }, Event::Finish { reason: StopReason::ToolCalls }]);
        events.push(Event::End);
        events
    }

    /// The stream of a provider with this format.
    fn stream(&self, format: Format) -> Vec<sse::Event> {
        let mut renderer = formats::client(format).renderer(rendering());
        let mut bytes = BytesMut::new();
        self.events().iter().for_each(|event| renderer.write(event, &mut bytes));
        split(bytes.freeze())
    }
}

fn split(bytes: Bytes) -> Vec<sse::Event> {
    let mut splitter = sse::Splitter::new(EVENT_LIMIT);
    splitter.push(bytes);
    let next = || splitter.next().unwrap();
    std::iter::from_fn(next).filter(|event| !event.is_comment_only()).collect()
}

/// A client that reads the bytes as they arrive.
struct Client {
    decoder: Box<dyn Decoder>,
    collector: Collector,
    received: Vec<u8>,
}

impl Client {
    fn new(format: Format) -> Self {
        let decoder = formats::upstream(format).decoder(decoding());
        Self { decoder, collector: Collector::default(), received: Vec::new() }
    }

    fn read(&mut self, bytes: Option<Bytes>) {
        let Some(bytes) = bytes else { return };
        self.received.extend_from_slice(&bytes);
        let mut events = Vec::new();
        for event in split(bytes) {
            self.decoder.decode_event(&event, &mut events).unwrap();
        }
        events.iter().for_each(|event| self.collector.take(event));
    }

    /// The text and the arguments so far.
    fn texts(&self) -> (String, String) {
        let (mut text, mut arguments) = (String::new(), String::new());
        for part in &self.collector.so_far().parts {
            match &part.content {
                Content::Text(more) => text += more,
                Content::ToolCall(call) => arguments += &call.arguments,
                other => panic!("{other:?}"),
            }
        }
        (text, arguments)
    }
}

fn arguments(note: &str) -> String {
    json!({"note": note, "n": 1}).to_string()
}

/// Text as it stands in a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Sends an answer through the gateway's part of the stream. After every event, the client has a part of the redacted
/// answer and nothing else; at the end it has all of it.
#[track_caller]
fn check(formats: (Format, Format), guardrails: &CallGuardrails, sample: &Sample, answer: &Answer) {
    let context = || format!("{} {formats:?} {:?} {:?}", sample.name, answer.text, answer.arguments);
    let (expected_text, expected_arguments) = (sample.redacted(), arguments(&sample.redacted()));
    let mut gateway = translated(formats.0, formats.1, guardrails);
    let mut client = Client::new(formats.1);
    for event in answer.stream(formats.0) {
        gateway.decode_event(&event).unwrap_or_else(|fault| panic!("{fault}: {}", context()));
        client.read(gateway.take());
        let (text, arguments) = client.texts();
        assert!(expected_text.starts_with(&text), "{text:?} is sent: {}", context());
        // Gemini's are sent as a whole.
        let is_begun = expected_arguments.starts_with(&arguments) || formats.1 == Format::Gemini;
        assert!(is_begun, "{arguments:?} is sent: {}", context());
    }
    if !gateway.has_ended() {
        gateway.close().unwrap();
        client.read(gateway.take());
    }
    let (text, arguments) = client.texts();
    assert_eq!(text, expected_text, "{}", context());
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&arguments), value(&expected_arguments), "{}", context());
    // Some formats repeat the texts at the end.
    let received = String::from_utf8_lossy(&client.received);
    for form in [escaped(&sample.value), escaped(&escaped(&sample.value))] {
        assert!(!received.contains(&form), "the value is in the bytes: {}", context());
    }
}

fn cut(text: &str, position: usize) -> Vec<String> {
    let (first, second) = text.split_at(text.floor_char_boundary(position));
    [first, second].into_iter().filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// The answers with a sample's text, cut in two at every position.
fn every_split(sample: &Sample) -> impl Iterator<Item = Answer> {
    let (text, arguments) = (sample.text(), arguments(&sample.text()));
    (0..arguments.len()).map(move |position| Answer {
        text: cut(&text, position.min(text.len())),
        arguments: cut(&arguments, position),
    })
}

fn pieces(text: &str, random: &mut Random) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(random.between(1, 12).min(rest.len())));
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces
}

fn random_split(sample: &Sample, random: &mut Random) -> Answer {
    Answer { text: pieces(&sample.text(), random), arguments: pieces(&arguments(&sample.text()), random) }
}

fn all_kinds_detector() -> ::guardrails::detector::Detector {
    ::guardrails::pii::detector(&PiiKind::ALL).unwrap()
}

/// All splits of one value of each kind and of each pattern's match, in one format.
fn check_every_split(format: Format) {
    let detector = all_kinds_detector();
    let mut cases = 0;
    let values = samples::of_kinds(&detector, &mut Random::new(1));
    let matches = samples::of_patterns();
    let of_values = values.iter().map(|sample| (&*REDACT, sample));
    for (guardrails, sample) in of_values.chain(matches.iter().map(|sample| (&*SANITIZE, sample))) {
        for answer in every_split(sample) {
            check((format, format), guardrails, sample, &answer);
            cases += 1;
        }
    }
    println!("{format:?}: {cases} splits of {} texts", values.len() + matches.len());
}

#[test]
fn every_split_of_every_kind_equals_the_whole_in_chat() {
    check_every_split(Format::Chat);
}

#[test]
fn every_split_of_every_kind_equals_the_whole_in_responses() {
    check_every_split(Format::Responses);
}

#[test]
fn every_split_of_every_kind_equals_the_whole_in_messages() {
    check_every_split(Format::Messages);
}

#[test]
fn every_split_of_every_kind_equals_the_whole_in_gemini() {
    check_every_split(Format::Gemini);
}

/// Splits of each sample at every fourth position, with the formats in turn. `crates/guardrails` tests all positions.
#[test]
fn splits_of_every_vendor_and_country_equal_the_whole() {
    let mut cases = 0;
    let samples = samples::of_vendors_and_countries(&all_kinds_detector(), &mut Random::new(2));
    for (number, sample) in samples.iter().enumerate() {
        for answer in every_split(sample).skip(number % 4).step_by(4) {
            let format = FORMATS[cases % FORMATS.len()];
            check((format, format), &REDACT, sample, &answer);
            cases += 1;
        }
    }
    println!("{cases} splits of {} texts", samples.len());
}

#[test]
fn random_splits_equal_the_whole_between_all_formats() {
    let (detector, mut random) = (all_kinds_detector(), Random::new(3));
    let mut values = samples::of_vendors_and_countries(&detector, &mut random);
    for _ in 0..4 {
        values.extend(samples::of_kinds(&detector, &mut random));
    }
    let matches = samples::of_patterns();
    let of_values = values.iter().map(|sample| (&*REDACT, sample));
    let mut cases = 0;
    for (guardrails, sample) in of_values.chain(matches.iter().map(|sample| (&*SANITIZE, sample))) {
        for _ in 0..RANDOM_SPLITS {
            let formats = (FORMATS[random.below(4)], FORMATS[random.below(4)]);
            check(formats, guardrails, sample, &random_split(sample, &mut random));
            cases += 1;
        }
    }
    println!("{cases} random splits of {} texts", values.len() + matches.len());
}

#[test]
fn a_blocked_stream_ends_before_the_value() {
    let mut random = Random::new(4);
    let mut cases = 0;
    for sample in &samples::of_kinds(&all_kinds_detector(), &mut random) {
        for format in FORMATS {
            let answer = random_split(sample, &mut random);
            let mut gateway = translated(format, format, &BLOCK);
            let mut client = Client::new(format);
            let fault = answer.stream(format).iter().find_map(|event| {
                let outcome = gateway.decode_event(event);
                client.read(gateway.take());
                outcome.err()
            });
            assert_eq!(fault.unwrap().code, FaultCode::GuardrailBlocked, "{} {format:?}", sample.name);
            let (text, arguments) = client.texts();
            assert!(sample.before.starts_with(&text) && arguments.is_empty(), "{text:?} {arguments:?}");
            cases += 1;
        }
    }
    println!("{cases} blocked streams");
}
