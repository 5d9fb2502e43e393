//! Tests of the parser of request heads.

use super::*;

fn parsed(text: &str) -> (Parsed, BytesMut) {
    let mut buffer = BytesMut::from(text);
    (parse(&mut buffer), buffer)
}

#[track_caller]
fn supported(text: &str) -> (Box<RequestHead>, BytesMut) {
    match parsed(text) {
        (Parsed::Request(head), rest) => (head, rest),
        (Parsed::Incomplete, _) => panic!("incomplete: {text:?}"),
        (Parsed::Unsupported, _) => panic!("unsupported: {text:?}"),
    }
}

#[test]
fn a_head_is_taken_out_of_the_buffer() {
    let text = "\r\nPOST /v1/x?y=1 HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 5\r\n\r\nhello";
    let (head, rest) = supported(text);
    assert_eq!(
        (head.request.method().as_str(), head.request.uri().to_string()),
        ("POST", "/v1/x?y=1".to_owned())
    );
    assert_eq!((head.body_length, head.keep_alive, &rest[..]), (5, true, &b"hello"[..]));
    let values = |name| {
        head.request.headers().get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((values("host"), values("x-empty"), values("x-two")), (vec!["a"], vec![""], vec!["1", "2"]));
}

#[test]
fn connection_options_decide_about_the_next_request() {
    for (options, expected) in
        [("keep-alive", true), ("close", false), ("TE, Close", false), ("closed", true)]
    {
        let (head, _) = supported(&format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: {options}\r\n\r\n"));
        assert_eq!(head.keep_alive, expected, "{options}");
    }
}

#[test]
fn every_beginning_of_a_head_is_incomplete() {
    let text = "POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";
    for length in 0..text.len() {
        let (outcome, rest) = parsed(&text[..length]);
        assert!(matches!(outcome, Parsed::Incomplete), "{length}");
        assert_eq!(rest.len(), length);
    }
}

/// A server in front of the gateway may read these differently; hyper and `framing` decide about them.
#[test]
fn doubtful_framing_is_left_to_hyper() {
    let many = "x: y\r\n".repeat(MAX_HEADERS);
    for (line, headers) in [
        ("POST / HTTP/1.0", "host: a\r\n"),
        ("POST / HTTP/1.1", ""),
        ("POST / HTTP/1.1", "host: a\r\nhost: a\r\n"),
        ("POST http://a/ HTTP/1.1", "host: a\r\n"),
        ("OPTIONS * HTTP/1.1", "host: a\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ntransfer-encoding: chunked\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ncontent-length: 3\r\ncontent-length: 3\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ncontent-length: +3\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ncontent-length: 3, 3\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ncontent-length:\r\n"),
        ("POST / HTTP/1.1", "host: a\r\ncontent-length: 99999999999999999999\r\n"),
        ("POST / HTTP/1.1", "host: a\r\nexpect: 100-continue\r\n"),
        ("GET / HTTP/1.1", "host: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"),
        ("GET / HTTP/1.1", "host: a\r\nbad header: x\r\n"),
        ("GET / HTTP/1.1", "host: a\r\nx: \u{0}\r\n"),
        ("GET / HTTP/1.1", "host: a\r\n folded\r\n"),
        ("GET / HTTP/1.1", &format!("host: a\r\n{many}")),
    ] {
        let text = format!("{line}\r\n{headers}\r\n");
        let (outcome, rest) = parsed(&text);
        assert!(matches!(outcome, Parsed::Unsupported), "{text:?}");
        assert_eq!(&rest[..], text.as_bytes(), "the bytes are kept for hyper");
    }
}
