"""The time that guardrails add until the first content of a stream arrives."""

import re
import time

import http1
from guardrails import calls
from measure import percentile

# Their answers start with a word that is no start of a match.
MODEL, SLOW_MODEL = "openai/text", "openai/drip-100"
CONTENT = re.compile(rb'"content":"([^"]+)"')
PATHS = {"none": "/plain", "regex": "/regex", "pii": "/pii"}
# Goal in milliseconds, and the limit of the bounded form, which checks the median alone.
MOST_ADDED, MOST_ADDED_QUICK = 1.0, 100.0
WARM_UP = 50


def run(app):
    count = 40 if app.quick else 2000
    upstream = app.upstream()
    gateway = app.start_gateway(upstream, models=[MODEL, SLOW_MODEL])
    patterns = [rf"\bproject-{number:03}-[a-z]{{1,16}}\b" for number in range(100)]
    calls.put_guardrail(gateway, "regex", {"type": "regex_block", "config": {"patterns": patterns}})
    calls.put_guardrail(gateway, "pii", {"type": "pii_redact", "direction": "both", "config": {}})
    for name in ("regex", "pii"):
        calls.put_workflow(gateway, PATHS[name], name)
    times = {name: [] for name in PATHS}
    request = calls.body(MODEL, stream=True)
    with http1.Connection(gateway.port, timeout=60) as connection:
        for number in range(WARM_UP + count):
            for name, path in PATHS.items():
                seconds = first_content(connection, path, request)
                if number >= WARM_UP:
                    times[name].append(1000 * seconds)
        check_hold_back(app, connection)
    for name in PATHS:
        p50, p99 = percentile(times[name], 0.5), percentile(times[name], 0.99)
        app.note(f"time to first content, guardrails: {name}: p50 {p50:.3f} ms, p99 {p99:.3f} ms, {count} streams")
    bound = MOST_ADDED_QUICK if app.quick else MOST_ADDED
    for name in ("regex", "pii"):
        for share in (0.5,) if app.quick else (0.5, 0.99):
            added = percentile(times[name], share) - percentile(times["none"], share)
            app.check_at_most(f"added by {name}, p{100 * share:.0f}", added, bound, " ms")


def first_content(connection, path, request):
    """The seconds from the request to the first content; the rest of the stream is read, too."""
    begun = time.perf_counter()
    connection.request("POST", calls.CHAT, calls.headers(path), request)
    response = connection.head()
    assert response.status == 200, f"{response.status}: {connection.buffer[:500]}"
    seconds, text = None, b""
    for piece in connection.pieces(response):
        text += piece
        if seconds is None and CONTENT.search(text):
            seconds = time.perf_counter() - begun
    assert seconds is not None, text[:500]
    return seconds


def check_hold_back(app, connection):
    """Text of the first event that starts no match is sent before the second one arrives; a digit may start one."""
    first = {}
    for name, path in PATHS.items():
        connection.request("POST", calls.CHAT, calls.headers(path), calls.body(SLOW_MODEL, stream=True))
        contents = [CONTENT.findall(piece) for piece in connection.pieces(connection.head())]
        first[name] = next((content for content in contents if content), [])
    for name in ("regex", "pii"):
        app.check(
            f"guardrails: {name}: {first[name]} is sent before the second word arrives",
            len(first["none"]) != 1 and f"without guardrails: {first['none']}",
            (len(first[name]) != 1 or not first["none"][0].startswith(first[name][0])) and f"instead of {first['none']}",
        )
