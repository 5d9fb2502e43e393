"""Invalid requests over raw sockets: a clear 4xx, and a connection that is either usable or closed."""

import json

import pytest

import http1
import rig

AUTH = {"authorization": f"Bearer {rig.MASTER_KEY}", "content-type": "application/json"}
CHAT = "/v1/chat/completions"
GOOD = json.dumps({"model": "openai/text", "messages": [{"role": "user", "content": "hi"}]}).encode()
MESSAGES = b'"messages":[{"role":"user","content":"hi"}]'
DEEP = b'{"model":"openai/text",' + MESSAGES + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def check_envelope(response, status, code):
    assert response.status == status, response.body[:300]
    error = response.json()["error"]
    assert {"type", "message", "param", "code"} <= set(error)
    assert error["code"] == code, error
    assert response.headers["x-request-id"]
    assert response.headers["content-type"].startswith("application/json")


def check_honest(connection, response):
    """Checks that the connection either announces its close and closes, or serves the next request."""
    if response.closes:
        assert connection.at_end()
        return
    again = connection.ask("POST", CHAT, AUTH, GOOD)
    assert again.status == 200 and again.json()["object"] == "chat.completion"


@pytest.mark.parametrize(
    # Without a code, any descriptive 400 is accepted.
    ("body", "code"),
    [
        (b"{", "invalid_json"),
        (b"", None),
        (b"[]", "invalid_json"),
        (b'"text"', "invalid_json"),
        (GOOD + b"}", "invalid_json"),
        (GOOD[:-1] + b',"x":"\xff\xfe"}', "invalid_json"),
        (b'{"model":"openai/text","model":"openai/long",' + MESSAGES + b"}", None),
        (b'{"mod\\u0065l":"openai/text","model":"openai/long",' + MESSAGES + b"}", None),
        (DEEP, "invalid_json"),
        (DEEP[: len(DEEP) // 2], "invalid_json"),
        (b'{"model":7,' + MESSAGES + b"}", None),
        (b'{"model":"openai/text",' + MESSAGES + b',"stream":"yes"}', None),
    ],
    ids=[
        "cut", "nothing", "array", "string", "trailing", "not-utf8", "two-models", "two-models-escaped", "deep",
        "deep-and-cut", "model-is-a-number", "stream-is-a-text",
    ],
)
def test_a_faulty_body_is_400(gateway, body, code):
    with http1.Connection(gateway.port) as connection:
        response = connection.ask("POST", CHAT, AUTH | {"content-length": str(len(body))}, body)
        check_envelope(response, 400, code or response.json()["error"]["code"])
        check_honest(connection, response)


def test_a_body_over_the_limit_is_413_before_it_is_read(gateway):
    with http1.Connection(gateway.port) as connection:
        connection.request("POST", CHAT, AUTH | {"content-length": "11000000"}, b"{")
        response = connection.response("POST")
        check_envelope(response, 413, "request_too_large")
        assert response.closes or connection.at_end()


def test_a_chunked_body_over_the_limit_is_413(gateway):
    with http1.Connection(gateway.port) as connection:
        connection.request("POST", CHAT, AUTH | {"transfer-encoding": "chunked"})
        chunk = b"%x\r\n%s\r\n" % (65536, b" " * 65536)
        try:
            for _ in range(11_000_000 // 65536):
                connection.send(chunk)
        except http1.Broken:
            pass  # The rejection may arrive, and the connection close, before everything is sent.
        response = connection.response("POST")
        check_envelope(response, 413, "request_too_large")
        assert response.closes or connection.at_end()


def test_a_large_body_below_the_limit_passes(gateway):
    body = json.dumps({"model": "openai/text", "messages": [{"role": "user", "content": "x" * 9_000_000}]}).encode()
    with http1.Connection(gateway.port, timeout=60) as connection:
        assert connection.ask("POST", CHAT, AUTH, body).status == 200


def test_multipart_is_415(gateway):
    with http1.Connection(gateway.port) as connection:
        headers = AUTH | {"content-type": "multipart/form-data; boundary=x"}
        response = connection.ask("POST", CHAT, headers, b"--x--\r\n")
        check_envelope(response, 415, "unsupported_media_type")
        check_honest(connection, response)


def test_any_other_media_type_is_read_as_json(gateway):
    with http1.Connection(gateway.port) as connection:
        assert connection.ask("POST", CHAT, AUTH | {"content-type": "text/plain"}, GOOD).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/nowhere", 404, "not_found"),
        ("GET", "/admin/api/v1/nowhere", 404, "not_found"),
        ("GET", CHAT, 405, "method_not_allowed"),
        ("DELETE", "/health", 405, "method_not_allowed"),
    ],
)
def test_what_is_not_served_has_the_envelope(gateway, method, path, status, code):
    with http1.Connection(gateway.port) as connection:
        response = connection.ask(method, path, AUTH)
        check_envelope(response, status, code)
        check_honest(connection, response)


def test_head_of_the_root_needs_no_key(gateway):
    with http1.Connection(gateway.port) as connection:
        response = connection.ask("HEAD", "/")
        assert response.status == 200
        assert connection.ask("GET", "/health").json()["status"] == "ok"


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n",
        b"content-length: 5\r\ncontent-length: 6\r\n",
        b"content-length: -1\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        b"transfer-encoding: gzip, chunked\r\n",
        b"host: other\r\ntransfer-encoding: chunked\r\n",
    ],
    ids=["length-and-chunked", "two-lengths", "negative-length", "odd-coding", "chunked-and-length", "gzip-and-chunked", "two-hosts"],
)
def test_smuggling_shapes_never_yield_two_answers(gateway, head):
    """Request smuggling: the second request is hidden in what an ambiguous framing could take for the first one's body.
    """
    hidden = b"GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n"
    request = f"POST {CHAT} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {rig.MASTER_KEY}\r\n".encode()
    # The call itself is valid: a rejection can only be due to its framing.
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)
    with http1.Connection(gateway.port) as connection:
        connection.send(request + head + b"\r\n" + chunks + hidden)
        response = connection.response("POST")
        assert response.status == 400
        assert connection.at_end(), "the connection must not be used on"


def test_pipelined_requests_are_answered_in_order(gateway):
    with http1.Connection(gateway.port) as connection:
        connection.request("POST", CHAT, AUTH, GOOD)
        connection.request("GET", "/health")
        assert connection.response().json()["object"] == "chat.completion"
        assert connection.response().json()["status"] == "ok"
