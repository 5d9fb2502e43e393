//! Tests that events do not depend on the chunking of the stream.

use proptest::prelude::*;

use super::*;

type Seen = (Vec<u8>, Vec<u8>, Option<Vec<u8>>, bool);

fn seen(event: &Event) -> Seen {
    (event.raw.to_vec(), event.data().into_owned(), event.name().map(<[u8]>::to_vec), event.is_comment_only())
}

fn split(chunks: &[&[u8]]) -> Vec<Seen> {
    let mut splitter = Splitter::new(1 << 20);
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = splitter.next().unwrap() {
            events.push(seen(&event));
        }
    }
    events.extend(splitter.finish().as_ref().map(seen));
    assert!(splitter.is_empty());
    events
}

/// The specification's algorithm over the whole text: data and name of each event, without comments.
fn reference(text: &[u8]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let text = String::from_utf8(text.to_vec()).unwrap().replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let (mut data, mut name) = (Vec::new(), None);
    for line in text.split('\n').chain([""]) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() && (!data.is_empty() || name.is_some()) => {
                events.push((data.join("\n").into_bytes(), name.take()));
                data.clear();
            }
            "data" => data.push(value),
            "event" => name = Some(value.as_bytes().to_vec()),
            _ => {}
        }
    }
    events
}

fn contents(events: Vec<Seen>) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    events.into_iter().filter(|event| !event.3).map(|(_, data, name, _)| (data, name)).collect()
}

#[test]
fn every_split_point_gives_the_same_events() {
    for text in [
        "data: {\"a\":1}\n\ndata: [DONE]\n\n",
        "data: one\r\n\r\nevent: x\r\ndata: two\r\ndata: lines\r\n\r\n: note\r\n\r\n",
        "data: one\r\rdata: two\r\r",
        "\u{feff}data: é\n\n\n\n: keep-alive\n\ndata:no space\n\ndata\n\nid: 3\n\n",
        "data: mixed\r\n\ndata: ends\n\r\ndata: here\r\r\n\r\ndata: cut o",
        "data: a\r\n\r\r\n\ndata: b\r\n\r",
        "\u{feff}",
        "\n\r\n",
    ] {
        let text = text.as_bytes();
        let whole = split(&[text]);
        assert_eq!(contents(whole.clone()), reference(text));
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let cut = split(&[&text[..first], &text[first..second], &text[second..]]);
                assert_eq!(cut, whole, "{:?} cut at {first} and {second}", String::from_utf8_lossy(text));
            }
        }
    }
}

#[test]
fn an_event_within_a_chunk_is_a_slice_of_it() {
    let chunk = Bytes::from_static(b"data: one\n\ndata: two\n\ndata: th");
    let mut splitter = Splitter::new(100);
    splitter.push(chunk.clone());
    for offset in [0, 11] {
        let event = splitter.next().unwrap().unwrap();
        assert_eq!(event.raw.as_ptr(), chunk[offset..].as_ptr());
        assert!(matches!(event.data(), std::borrow::Cow::Borrowed(_)));
    }
    assert_eq!(splitter.next(), Ok(None));
    assert!(!splitter.is_empty());
    splitter.push(Bytes::from_static(b"ree\n\n"));
    assert_eq!(&*splitter.next().unwrap().unwrap().data(), b"three");
    assert!(splitter.is_empty());
}

#[test]
fn the_blank_line_of_crlf_streams_stays_whole() {
    let mut splitter = Splitter::new(100);
    splitter.push(Bytes::from_static(b"data: x\r\n\r"));
    assert_eq!(splitter.next(), Ok(None));
    splitter.push(Bytes::from_static(b"\n"));
    assert_eq!(&*splitter.next().unwrap().unwrap().raw, b"data: x\r\n\r\n");
}

#[test]
fn long_events_are_refused_whether_they_end_or_not() {
    for text in ["data: 0123456789\n\n", "data: 0123456789"] {
        let mut splitter = Splitter::new(15);
        for byte in text.bytes() {
            splitter.push(Bytes::copy_from_slice(&[byte]));
        }
        assert_eq!(splitter.next(), Err(TooLong { limit: 15 }));
        assert_eq!(splitter.next(), Err(TooLong { limit: 15 }));
    }
    let mut splitter = Splitter::new(15);
    splitter.push(Bytes::from("\n".repeat(100) + "data: 1\n\n"));
    assert!(splitter.next().unwrap().is_some());
}

fn stream() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "data: x", "data:", "data", ":", ": c", "event: e", "id: 1",
        " ", "é", "\u{feff}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_stream_in_any_chunks(text in stream(), mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let text = text.as_bytes();
        let whole = split(&[text]);
        prop_assert_eq!(contents(whole.clone()), reference(text));
        let mut at: Vec<usize> = cuts.drain(..).map(|cut| cut.index(text.len() + 1)).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let chunks: Vec<&[u8]> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(split(&chunks), whole);
    }
}
