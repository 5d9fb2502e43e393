"""Memory after many mixed calls: complete answers, streams, disconnects and rejections."""

import concurrent.futures
import itertools
import json
import time

import http1
import rig
from harness import Case
from measure import open_files, rss_bytes

WORKERS = 8
MIB = 1 << 20


def question(model, stream=False, **more):
    return json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "How are you?"}], **more}).encode()


def mixed_calls(gateway, count):
    """Makes that many calls, reusing connections if the answer allows it."""
    numbers = iter(range(count))
    kinds = [whole, stream, disconnect, unknown_model, bad_body, unknown_key]

    def work(_):
        connection = None
        for number in numbers:
            try:
                connection = kinds[number % len(kinds)](gateway, connection or http1.Connection(gateway.port))
            except http1.Broken:
                connection = None

    # `next` on a shared iterator is atomic in CPython: each number is taken once.
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))


def ask(connection, body, key=rig.MASTER_KEY):
    response = connection.ask("POST", "/v1/chat/completions", rig.bearer(key), body)
    if response.closes:
        connection.close()
        return None
    return connection


def whole(_, connection):
    return ask(connection, question("openai/text"))


def stream(_, connection):
    return ask(connection, question("openai/text", stream=True))


def disconnect(_, connection):
    connection.request("POST", "/v1/chat/completions", rig.bearer(rig.MASTER_KEY), question("openai/drip-20", stream=True))
    connection.head()
    connection.close()
    return None


def unknown_model(_, connection):
    return ask(connection, question("no-such-model"))


def bad_body(_, connection):
    return ask(connection, b'{"model": 1}')


def unknown_key(_, connection):
    return ask(connection, question("openai/text"), key="unknown-key")


def settled(gateway):
    """RSS once it is stable, after the journal is drained and no call is in progress."""
    last = None
    for _ in itertools.repeat(None, 20):
        time.sleep(0.5)
        now = rss_bytes(gateway)
        if last is not None and abs(now - last) < MIB // 4:
            return now
        last = now
    return last


def soak(app):
    upstream = app.upstream()
    gateway = app.start_gateway(upstream, models=("openai/text",), LOGGING_ENABLED="true")
    first, rest = (2_000, 6_000) if app.quick else (10_000, 90_000)
    mixed_calls(gateway, first)
    early, files = settled(gateway), open_files(gateway)
    mixed_calls(gateway, rest)
    late = settled(gateway)
    app.note(f"RSS {early / MIB:.1f} MiB after {first} calls, {late / MIB:.1f} MiB after {first + rest}")
    app.check_at_most(f"RSS growth from {first} to {first + rest} calls", (late - early) / MIB, 5.0, " MiB")
    app.check_at_most("file handles more than then", open_files(gateway) - files, 20)


CASES = [Case("soak", soak)]
