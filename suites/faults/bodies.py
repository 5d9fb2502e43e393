"""Invalid requests at byte level: too large, too deep, duplicate keys, invalid UTF-8, too slow, ambiguous."""

import json
import time

import http1
import rig
from faults.clients import DIALECTS, PATHS, type_for
from faults.outcomes import GRACE, SLACK, fits
from faults.sequence import CallSequence, ExpectedRow, RawCall


def head(path, request_id, *lines):
    return "\r\n".join(
        [
            f"POST {path} HTTP/1.1",
            "host: gateway",
            f"authorization: Bearer {rig.MASTER_KEY}",
            "content-type: application/json",
            f"x-request-id: {request_id}",
            *lines,
            "",
            "",
        ]
    ).encode()


def wrong(make, status, code, row=True, closes=False):
    """Returns an act that sends the body of `make(sequence)`."""

    def act(sequence):
        request_id = sequence.next_id()
        body = make(sequence)
        with http1.Connection(sequence.gateway.port) as connection:
            try:
                connection.send(head(PATHS[sequence.dialect], request_id, f"content-length: {len(body)}") + body)
            except http1.Broken:
                pass  # Rejected before all of it was sent.
            answer = connection.response()
            expect(sequence, answer, status, code)
            if closes:
                assert connection.at_end(), "the connection was not closed"
        if row:
            sequence.received.append((RawCall(request_id), ExpectedRow((status,))))

    return act


def expect(sequence, answer, status, code):
    assert answer.status == status, f"expected {status} {code}, found {answer.status} {answer.body[:300]!r}"
    error = answer.json()["error"]
    fits("error.type", error["type"], [type_for(sequence.dialect, status)])
    if sequence.dialect != "messages":
        fits("error.code", error["code"], [code])


def written(sequence, **more):
    return json.dumps(sequence.body(**more))


def twice(sequence):
    return written(sequence).replace('{"model"', '{"model": "text", "model"', 1).encode()


def twice_escaped(sequence):
    return written(sequence).replace('{"model"', '{"mod\\u0065l": "text", "model"', 1).encode()


def deep(sequence):
    return written(sequence, metadata="DEEP").replace('"DEEP"', "[" * 100_000 + "]" * 100_000).encode()


def not_text(sequence):
    return written(sequence, user="BYTES").encode().replace(b"BYTES", b"\xff\xfe")


def huge(sequence):
    return written(sequence, user="x" * (11 << 20)).encode()


def slow_body(sequence):
    request_id = sequence.next_id()
    begun = time.monotonic()
    with http1.Connection(sequence.gateway.port) as connection:
        connection.send(head(PATHS[sequence.dialect], request_id, "content-length: 1000") + b'{"model":')
        answer = connection.response()
        sequence.seconds = time.monotonic() - begun
        expect(sequence, answer, 408, "request_timeout")
        assert connection.at_end(), "the connection was not closed"
    assert sequence.seconds <= 1 + GRACE + SLACK, f"BODY_TIMEOUT is 1 s, it took {sequence.seconds:.2f} s"


def slow_head(sequence):
    begun = time.monotonic()
    with http1.Connection(sequence.gateway.port) as connection:
        connection.send(b"POST /v1/messages HTTP/1.1\r\nhost: gateway\r\n")
        try:
            fits("status", connection.response().status, [408])
        except http1.Broken:
            pass  # Closed without a response.
    sequence.seconds = time.monotonic() - begun
    assert sequence.seconds <= 1 + GRACE + SLACK, f"HEADER_TIMEOUT is 1 s, it took {sequence.seconds:.2f} s"


# Each is rejected although its body is a valid call: an empty one would be rejected for being empty.
SMUGGLED = {
    "two lengths": ["content-length: 2", "content-length: 4"],
    "length and chunks": ["content-length: 2", "transfer-encoding: chunked"],
    "chunks and length": ["transfer-encoding: chunked", "content-length: 2"],
    "gzip and chunks": ["transfer-encoding: gzip, chunked"],
    "two hosts": ["host: other", "transfer-encoding: chunked"],
    "unknown coding": ["transfer-encoding: xchunked"],
    "chunks not last": ["transfer-encoding: chunked, gzip"],
    "signed length": ["content-length: +2"],
}


def smuggled(lines):
    def act(sequence):
        with http1.Connection(sequence.gateway.port) as connection:
            call = written(sequence).encode()
            chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(call), call)
            hidden = b"GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n"
            connection.send(head(PATHS[sequence.dialect], sequence.next_id(), *lines) + chunks + hidden)
            try:
                fits("status", connection.response().status, [400, 501])
            except http1.Broken:
                return  # Closed without a response.
            assert connection.at_end(), "the connection was not closed: what follows could be taken for a request"

    return act


def cases(quick):
    found = []
    for dialect in DIALECTS[:1] if quick else DIALECTS:
        for group, act in (
            ("body of 11 MiB", wrong(huge, 413, "request_too_large", row=False, closes=True)),
            ("body 100,000 levels deep", wrong(deep, 400, "invalid_json")),
            ("model twice", wrong(twice, 400, "invalid_json")),
            ("model twice, once escaped", wrong(twice_escaped, 400, "invalid_json")),
            ("body not UTF-8", wrong(not_text, 400, "invalid_json")),
        ):
            found.append(CallSequence(group, act, dialect))
        found.append(CallSequence("slow body", slow_body, dialect, impatient=True))
    found.append(CallSequence("slow head", slow_head, impatient=True))
    found += [CallSequence(f"smuggling: {name}", smuggled(lines)) for name, lines in SMUGGLED.items()]
    return found
