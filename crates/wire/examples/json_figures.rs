//! Prints how long the JSON code takes per KiB of text, beside library functions that could replace it.
//!
//! Run it with `cargo run --release -p wire --example json_figures`. The candidates are measured in turns and the
//! smallest time counts, so that a busy machine disturbs the comparison little.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use serde::de::IgnoredAny;
use wire::json::{self, StreamValidator};
use wire::meter::JsonFieldExtractor;

const ROUNDS: usize = 100;
/// Bytes that a candidate processes in each round.
const BYTES_PER_ROUND: usize = 1 << 20;

/// A function under test: its name, and what it does with a text and a buffer.
type Candidate = (&'static str, fn(&str, &mut BytesMut) -> usize);

const FINDERS: [Candidate; 4] = [
    ("plain_prefix", |text, _| count(text, domain::json::plain_prefix)),
    ("memchr2 + control check", |text, _| count(text, memchr_and_controls)),
    ("memchr2 (no controls)", |text, _| count(text, memchr_only)),
    ("byte loop", |text, _| count(text, byte_loop)),
];

const ESCAPES: [Candidate; 2] = [
    ("push_string", |text, out| {
        out.clear();
        json::push_string(out, text);
        out.len()
    }),
    ("serde_json", |text, out| {
        out.clear();
        serde_json::to_writer(bytes::BufMut::writer(&mut *out), text).map_or(0, |()| out.len())
    }),
];

const WALKERS: [Candidate; 4] = [
    ("json::scan", |body, _| json::scan(body.as_bytes()).map_or(0, |object| object.elements)),
    ("StreamValidator", |body, _| validate(body.as_bytes()).map_or(0, |()| 1)),
    ("JsonFieldExtractor", |body, _| extract(body.as_bytes())),
    ("serde_json", |body, _| serde_json::from_str::<IgnoredAny>(body).map_or(0, |_| 1)),
];

const SIZES: [usize; 5] = [16, 256, 1 << 10, 64 << 10, 8 << 20];

fn main() -> io::Result<()> {
    for size in SIZES {
        compare("find, plain text", &"x".repeat(size), &FINDERS)?;
        compare("find, code", &code(size), &FINDERS)?;
    }
    for size in SIZES {
        compare("escape, plain text", &"x".repeat(size), &ESCAPES)?;
        compare("escape, code", &code(size).replace("\\n", "\n\""), &ESCAPES)?;
    }
    for size in &SIZES[2..] {
        compare("walk, chat body", &chat_body(*size), &WALKERS)?;
    }
    for size in &SIZES[3..] {
        compare("walk, body with an image", &image_body(*size), &WALKERS)?;
        compare("walk, numbers", &number_body(*size), &WALKERS)?;
    }
    Ok(())
}

fn compare(title: &str, text: &str, candidates: &[Candidate]) -> io::Result<()> {
    let mut best = vec![Duration::MAX; candidates.len()];
    let repeats = (BYTES_PER_ROUND / text.len()).clamp(1, 100_000);
    let mut out = BytesMut::with_capacity(2 * text.len());
    for _ in 0..ROUNDS {
        for ((_, run), best) in candidates.iter().zip(&mut best) {
            *best = (*best).min(time(repeats, || run(black_box(text), &mut out)));
        }
    }
    let mut stdout = io::stdout().lock();
    write!(stdout, "{title}, {} B, ns/KiB:", text.len())?;
    for ((name, _), best) in candidates.iter().zip(&best) {
        let nanos = best.as_nanos() as f64 / repeats as f64 / (text.len() as f64 / 1024.0);
        write!(stdout, "  {name} {nanos:.1}")?;
    }
    writeln!(stdout)
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the time itself")]
fn time(repeats: usize, mut run: impl FnMut() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..repeats {
        black_box(run());
    }
    start.elapsed()
}

/// The number of special bytes.
fn count(text: &str, find: impl Fn(&[u8]) -> usize) -> usize {
    let mut rest = text.as_bytes();
    let mut found = 0;
    loop {
        let plain = find(rest);
        match rest.get(plain + 1..) {
            Some(after) => rest = after,
            None => return found,
        }
        found += 1;
    }
}

fn memchr_only(text: &[u8]) -> usize {
    memchr::memchr2(b'"', b'\\', text).unwrap_or(text.len())
}

fn memchr_and_controls(text: &[u8]) -> usize {
    let end = memchr_only(text);
    let has_control = text[..end].iter().fold(false, |found, &byte| found | (byte < 0x20));
    if has_control { byte_loop(text) } else { end }
}

fn byte_loop(text: &[u8]) -> usize {
    let is_special = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    text.iter().position(is_special).unwrap_or(text.len())
}

fn validate(body: &[u8]) -> Result<(), json::ScanError> {
    let mut validator = StreamValidator::default();
    body.chunks(16 << 10).try_for_each(|chunk| validator.feed(chunk))?;
    validator.finish()
}

fn extract(body: &[u8]) -> usize {
    let mut extractor = JsonFieldExtractor::default();
    let mut members = 0;
    body.chunks(16 << 10).for_each(|chunk| extractor.feed(chunk, |_| members += 1));
    members
}

/// Source code as the content of a JSON string: an escape in every line.
fn code(size: usize) -> String {
    "    let value = compute(first, second)?;\\n    return Ok(value);\\n".repeat(size / 65 + 1)[..size]
        .to_owned()
}

fn chat_body(size: usize) -> String {
    let mut messages = vec![r#"{"role":"system","content":"You are a helpful assistant."}"#.to_owned()];
    let mut length = 170;
    while length + 320 < size {
        let role = if messages.len() % 2 == 1 { "user" } else { "assistant" };
        messages.push(format!(r#"{{"role":"{role}","content":"{}"}}"#, code(290)));
        length += 325;
    }
    format!(
        r#"{{"model":"gpt-4o-mini","messages":[{}],"temperature":0.7,"max_tokens":1024,"stream":true,"user":"u-1"}}"#,
        messages.join(",")
    )
}

fn image_body(size: usize) -> String {
    let url = "QUJDREVGR0hJSktM".repeat(size / 16);
    format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{url}"}}}}]}}]}}"#
    )
}

fn number_body(size: usize) -> String {
    format!(r#"{{"model":"m","input":[{}0]}}"#, "0.0123,-45,".repeat(size / 11))
}
