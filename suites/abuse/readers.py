"""Clients that stop reading: with HTTP/2 only their stream is reset, with HTTP/1.1 the connection is closed."""

import json
import time

import http1
import http2
import rig
from harness import Case

# WRITE_TIMEOUT of these cases, and the tolerance for the cancellation.
TIMEOUT = 2.0
SLACK = 3.0
MODELS = "endless,huge-event-1024"


def chat(model, stream):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    return json.dumps(body).encode()


def stalled_http2(app):
    gateway = app.start_gateway(app.upstream(), WRITE_TIMEOUT=f"{TIMEOUT:g}s", OPENAI_MODELS=MODELS)
    headers = {"authorization": f"Bearer {rig.MASTER_KEY}", "content-type": "application/json"}
    begun = time.monotonic()
    reset, received = {}, 0
    with http2.Connection(gateway.port, window=4096) as client:
        streams = [client.request("POST", "/v1/chat/completions", headers, chat(model, stream))
                   for model, stream in (("openai/endless", True), ("openai/huge-event-1024", True), ("openai/huge-event-1024", False))]
        for kind, _, stream, payload in client.frames():
            received += len(payload) if kind == http2.DATA else 0
            if kind == http2.RST_STREAM:
                reset[stream] = time.monotonic() - begun
            if len(reset) == len(streams):
                break
    app.check(f"{len(streams)} streams that are not read are reset", len(reset) < len(streams) and f"only {sorted(reset)}")
    app.check_at_most("time until the last reset", max(reset.values(), default=99.0), TIMEOUT + SLACK, " s")
    app.check_at_most("bytes received beyond the windows", received - len(streams) * 4096, 0)
    app.check("the provider's stream is cancelled", *still_running(app, "endless"))


def still_running(app, model):
    """Reports calls of the model that the provider is still sending."""
    upstream = app.processes[0]
    try:
        rig.eventually(lambda: all(line["ended_ms"] is not None for line in upstream.bill() if line["model"] == model), 3.0, 0.1)
    except AssertionError:
        yield "the provider is still sending"


def stalled_http1(app):
    gateway = app.start_gateway(app.upstream(), WRITE_TIMEOUT=f"{TIMEOUT:g}s", OPENAI_MODELS=MODELS)
    with http1.Connection(gateway.port, timeout=30) as client:
        headers = {"authorization": f"Bearer {rig.MASTER_KEY}"}
        client.request("POST", "/v1/chat/completions", headers, chat("openai/endless", True))
        time.sleep(TIMEOUT + SLACK)
        # The socket's buffers remain readable for a while, so the provider's side is checked.
        app.check("the provider's stream is cancelled", *still_running(app, "endless"))


CASES = [
    Case("stalled readers over HTTP/2", stalled_http2),
    Case("stalled readers over HTTP/1.1", stalled_http1),
]
