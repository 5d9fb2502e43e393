//! Tests of response heads: framing, connection reuse, limits.

use super::*;

fn head(text: &str) -> Result<Option<ResponseHead>, EgressError> {
    HeadParser::default().parse(&mut BytesMut::from(text), &Method::POST)
}

fn framing(headers: &str) -> Option<(BodyDecoder, bool)> {
    let head = head(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n")).ok()?.unwrap();
    Some((head.body, head.keep_alive))
}

#[test]
fn the_framing_follows_the_headers() {
    let length = BodyDecoder::Length;
    for (headers, expected) in [
        ("content-length: 5\r\n", Some((length(5), true))),
        ("content-length: 5\r\ncontent-length: 5\r\n", Some((length(5), true))),
        ("content-length: 5, 5\r\n", Some((length(5), true))),
        ("content-length: 0\r\nConnection: Close\r\n", Some((BodyDecoder::Ended, false))),
        ("content-length: 5\r\nconnection: x, close\r\n", Some((length(5), false))),
        ("content-length: 5\r\ncontent-length: 6\r\n", None),
        ("content-length: +5\r\n", None),
        ("content-length: 99999999999999999999\r\n", None),
        ("content-length:\r\n", None),
        ("transfer-encoding: chunked\r\n", Some((BodyDecoder::chunked(), true))),
        ("transfer-encoding: gzip, Chunked\r\ncontent-length: 5\r\n", Some((BodyDecoder::chunked(), true))),
        ("transfer-encoding: chunked\r\ntransfer-encoding: gzip\r\n", Some((BodyDecoder::UntilClose, false))),
        ("", Some((BodyDecoder::UntilClose, false))),
    ] {
        assert_eq!(framing(headers), expected, "{headers:?}");
    }
}

#[test]
fn http_1_0_keeps_alive_only_if_it_says_so() {
    let keeps = |headers: &str| {
        head(&format!("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n{headers}\r\n")).unwrap().unwrap().keep_alive
    };
    assert!(!keeps(""));
    assert!(keeps("connection: keep-alive\r\n"));
    assert!(head("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
}

#[test]
fn some_responses_have_no_body() {
    let long = "content-length: 5\r\n\r\n";
    for status in ["204 No Content", "304 Not Modified"] {
        assert!(head(&format!("HTTP/1.1 {status}\r\n{long}")).unwrap().unwrap().body.is_ended());
    }
    let mut buffer = BytesMut::from(&*format!("HTTP/1.1 200 OK\r\n{long}"));
    assert!(HeadParser::default().parse(&mut buffer, &Method::HEAD).unwrap().unwrap().body.is_ended());
}

#[test]
fn informational_responses_are_skipped() {
    let mut buffer = BytesMut::from(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Created\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nhi",
    );
    let head = HeadParser::default().parse(&mut buffer, &Method::POST).unwrap().unwrap();
    assert_eq!(head.status, StatusCode::CREATED);
    assert_eq!(head.headers.get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(&buffer[..], b"hi");
    assert!(self::head("HTTP/1.1 101 Switching Protocols\r\n\r\n").is_err());
}

#[test]
fn every_cut_of_a_head_is_incomplete() {
    let whole = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-empty:\r\ncontent-length: 0\r\n\r\n";
    for cut in 0..whole.len() {
        assert!(head(&whole[..cut]).unwrap().is_none(), "{cut}");
    }
    assert_eq!(head(whole).unwrap().unwrap().headers["x-empty"], "");
}

#[test]
fn a_head_that_arrives_byte_by_byte_is_parsed_at_its_end() {
    let whole = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
    let (mut parser, mut buffer) = (HeadParser::default(), BytesMut::new());
    let heads: Vec<StatusCode> = whole
        .iter()
        .filter_map(|byte| {
            buffer.extend_from_slice(&[*byte]);
            parser.parse(&mut buffer, &Method::POST).unwrap().map(|head| head.status)
        })
        .take(1)
        .collect();
    assert_eq!((heads, buffer.len()), (vec![StatusCode::OK], 0));
}

#[test]
fn heads_are_bounded() {
    let many: String = (0..=MAX_HEADERS).map(|number| format!("x-{number}: 1\r\n")).collect();
    let kind = |text: &str| head(text).err().map(|error| error.kind());
    assert_eq!(kind(&format!("HTTP/1.1 200 OK\r\n{many}\r\n")), Some(EgressErrorKind::TooLarge));
    let long = "x".repeat(MAX_HEAD);
    assert_eq!(kind(&format!("HTTP/1.1 200 OK\r\nx: {long}")), Some(EgressErrorKind::TooLarge));
    assert_eq!(kind("SSH-2.0-OpenSSH\r\n"), Some(EgressErrorKind::Protocol));
}
