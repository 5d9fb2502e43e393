//! Tests of response heads.

use http::Response;

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_795_000_000);

fn written(
    response: Response<()>,
    body: SizeHint,
    answers_head: bool,
    keep_alive: bool,
) -> (String, BodyFraming) {
    let mut head = Vec::new();
    let framing = write(&mut head, &response.into_parts().0, body, answers_head, keep_alive, NOW);
    (String::from_utf8(head).unwrap(), framing)
}

fn response(status: u16, headers: &[(&'static str, &'static str)]) -> Response<()> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(()).unwrap()
}

#[test]
fn heads_have_a_date_and_the_length_of_their_body() {
    let (head, framing) = written(response(200, &[("x", "y")]), SizeHint::with_exact(7), false, true);
    let expected =
        "HTTP/1.1 200 OK\r\nx: y\r\ndate: Wed, 18 Nov 2026 11:06:40 GMT\r\ncontent-length: 7\r\n\r\n";
    assert_eq!((head.as_str(), framing), (expected, BodyFraming::Length(7)));
}

#[test]
fn the_framing_follows_status_headers_and_body() {
    let unknown = SizeHint::default;
    let lines = |head: &str| {
        let names = ["content-length", "transfer-encoding", "connection"];
        head.lines()
            .filter(|line| names.iter().any(|name| line.starts_with(name)))
            .collect::<Vec<_>>()
            .join("|")
    };
    for (status, headers, body, answers_head, keep_alive, expected, framing) in [
        (200, &[][..], unknown(), false, true, "transfer-encoding: chunked", BodyFraming::Chunked),
        (
            200,
            &[],
            unknown(),
            false,
            false,
            "connection: close|transfer-encoding: chunked",
            BodyFraming::Chunked,
        ),
        (
            200,
            &[("content-length", "3")],
            unknown(),
            false,
            true,
            "content-length: 3",
            BodyFraming::Length(3),
        ),
        (200, &[], SizeHint::with_exact(3), true, true, "content-length: 3", BodyFraming::Absent),
        (200, &[("content-length", "3")], unknown(), true, true, "content-length: 3", BodyFraming::Absent),
        (204, &[], SizeHint::with_exact(0), false, true, "", BodyFraming::Absent),
        (304, &[], SizeHint::with_exact(0), false, true, "", BodyFraming::Absent),
        (
            400,
            &[("connection", "close")],
            SizeHint::with_exact(0),
            false,
            false,
            "connection: close|content-length: 0",
            BodyFraming::Length(0),
        ),
    ] {
        let (head, found) = written(response(status, headers), body, answers_head, keep_alive);
        assert_eq!((lines(&head).as_str(), found), (expected, framing), "{status} {headers:?}");
    }
}

#[test]
fn statuses_without_a_reason_are_written() {
    let (head, _) = written(response(529, &[]), SizeHint::with_exact(0), false, true);
    assert!(head.starts_with("HTTP/1.1 529 \r\n"), "{head}");
}
