//! Golden tests: requests sent to each vendor, and recorded provider streams.

#![expect(clippy::unwrap_used, reason = "a golden that cannot be read should stop the test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use domain::call::{Format, Surface};
use wire::codec::{self, Target};
use wire::formats;
use wire::formats::chat;
use wire::sse::Splitter;
use wire::{provider_error, splice, vendors};

fn fixtures(folder: &str) -> Vec<(String, Bytes)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Bytes::from(fs::read(path).unwrap()))).collect()
}

#[test]
fn each_vendor_is_sent_what_it_takes() {
    for vendor in vendors::list().iter().filter(|vendor| vendor.paths.chat.is_some()) {
        let mut sent = String::new();
        for (name, body) in fixtures("requests") {
            let native = formats::native(Surface::Converse(Format::Chat));
            let request = native.peek(body).unwrap();
            let stream = name.contains("stream");
            let prompt_cache = Default::default();
            let target = Target { model: "gpt-5-mini", stream, vendor, max_output: None, prompt_cache };
            let upstream = splice::concat(&native.splice(&request, &target));
            wire::json::scan(&upstream).unwrap();
            writeln!(sent, "--- {name}\n{}", std::str::from_utf8(&upstream).unwrap()).unwrap();
        }
        insta::assert_snapshot!(format!("request_{}", vendor.name), sent);
    }
}

#[test]
fn streams_are_decoded() {
    for (name, stream) in fixtures("streams") {
        let mut splitter = Splitter::new(1 << 16);
        splitter.push(stream.clone());
        let (mut read, mut length) = (String::new(), 0);
        while let Some(event) = splitter.next().unwrap() {
            length += event.raw.len();
            let data = event.data();
            let seen = chat::classify(&data);
            write!(read, "{:?} finish={} bytes={}", seen.class, seen.finish, seen.content_bytes).unwrap();
            if let Some(range) = seen.usage {
                let usage = chat::read_usage(&data[range]).unwrap();
                write!(read, " usage={}", serde_json::to_string(&usage).unwrap()).unwrap();
            }
            if seen.class == codec::Class::Error {
                write!(read, " fault={}", provider_error::read_stream_error(&data, "acme")).unwrap();
            }
            read.push('\n');
        }
        assert!(splitter.is_empty());
        assert_eq!(length, stream.len(), "every byte of {name} belongs to an event");
        insta::assert_snapshot!(format!("stream_{name}"), read);
    }
}
