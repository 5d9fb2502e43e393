"""What the gateway tells about itself: metrics, JSON logs, traces."""

import http.server
import json
import re
import threading

import pytest

import rig
from sdk.conftest import sdk, user

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@pytest.fixture
def collector():
    """An OTLP endpoint that keeps what it is sent."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            server.received.append((self.path, json.loads(body)))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.received = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def spans(collector):
    for path, body in collector.received:
        assert path == "/v1/traces"
        for resource in body["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                yield from scope["spans"]


def attributes(span):
    return {entry["key"]: next(iter(entry["value"].values())) for entry in span["attributes"]}


def test_a_call_becomes_a_span_of_the_callers_trace(start_gateway, upstream, collector):
    gateway = start_gateway(upstream, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}")
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "traced-call"}
    with sdk(gateway) as client:
        answer = client.chat.completions.create(model="openai/text", messages=user(), extra_headers=headers)
    rig.eventually(lambda: list(spans(collector)), what="a span at the collector")
    (span,) = spans(collector)
    assert (span["traceId"], span["parentSpanId"]) == (TRACE, PARENT)
    found = attributes(span)
    assert found["gen_ai.operation.name"] == "chat" and found["gen_ai.provider.name"] == "openai"
    assert found["gen_ai.response.id"] == answer.id
    assert int(found["gen_ai.usage.input_tokens"]) == answer.usage.prompt_tokens
    assert int(found["gen_ai.usage.output_tokens"]) == answer.usage.completion_tokens
    # The provider sees our span as its parent.
    sent = [dict(call["headers"]) for call in upstream.requests() if call["path"].endswith("/chat/completions")][-1]
    assert sent["traceparent"].startswith(f"00-{TRACE}-{span['spanId']}")


def test_metrics_count_calls_tokens_and_lag(start_gateway, upstream):
    gateway = start_gateway(upstream)
    with sdk(gateway) as client:
        answer = client.chat.completions.create(model="openai/text", messages=user())
    assert gateway.http.get("/metrics").status_code == 401
    page = gateway.http.get("/metrics", headers=rig.bearer(rig.MASTER_KEY)).text

    def value(name, **labels):
        wanted = "".join(rf'(?=[^}}]*{key}="{re.escape(text)}")' for key, text in labels.items())
        found = re.search(rf"^gatehouse_{name}(?:\{{{wanted}[^}}]*\}})? (\S+)$", page, re.M)
        assert found, f"{name} {labels} is not on the page:\n{page}"
        return float(found.group(1))

    target = {"provider": "openai", "model": "text"}
    assert value("requests_total", status="200", **target) == 1
    assert value("upstream_attempts_total", outcome="ok", **target) == 1
    assert value("request_duration_seconds_count", **target) == 1
    assert value("time_to_first_byte_seconds_count", **target) == 1
    assert value("tokens_total", kind="output", **target) == answer.usage.completion_tokens
    assert value("overhead_seconds_count") == 1
    assert value("requests_in_flight") == 0
    value("cost_usd_total", **target)
    value("journal_lag_bytes")


def test_json_logs_carry_request_ids_and_no_secrets(start_gateway, upstream):
    gateway = start_gateway(upstream, LOG_FORMAT="json", LOG_LEVEL="debug")
    headers = rig.bearer(rig.MASTER_KEY) | {"x-request-id": "logged-call"}
    body = {"model": "openai/error-500", "messages": user()}
    assert gateway.http.post("/v1/chat/completions", json=body, headers=headers).status_code == 500
    lines = [line for line in gateway.log().splitlines() if line.startswith("{")]
    assert any(json.loads(line).get("request_id") == "logged-call" for line in lines)
    for secret in (rig.MASTER_KEY, rig.PROVIDER_KEY, rig.BACKUP_KEY):
        assert secret not in gateway.log()
