"""Observability: metrics, JSON logs, traces."""

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
    """An OTLP endpoint that records what it receives."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            server.headers = {name.lower(): value for name, value in self.headers.items()}
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


def traced_gateway(start_gateway, upstream, collector, **settings):
    return start_gateway(upstream, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}", **settings)


def of_kind(collector, kind, count=1):
    """The spans of a kind (2 server, 3 client) by start time, once there are that many."""
    found = lambda: [span for span in spans(collector) if span["kind"] == kind]
    rig.eventually(lambda: len(found()) >= count, what=f"{count} spans of kind {kind} at the collector")
    return sorted(found(), key=lambda span: int(span["startTimeUnixNano"]))


def test_a_call_becomes_a_span_of_the_callers_trace(start_gateway, upstream, collector):
    gateway = traced_gateway(start_gateway, upstream, collector)
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1", "x-request-id": "traced-call"}
    with sdk(gateway) as client:
        answer = client.chat.completions.create(
            model="openai/text", messages=user(), temperature=0.5, max_tokens=50, extra_headers=headers
        )
    (server,), (client_span,) = of_kind(collector, 2), of_kind(collector, 3)
    assert (server["traceId"], server["parentSpanId"]) == (TRACE, PARENT)
    assert (client_span["traceId"], client_span["parentSpanId"]) == (TRACE, server["spanId"])
    assert (server["name"], client_span["name"]) == ("chat openai/text", "chat text")
    for span in (server, client_span):
        found = attributes(span)
        assert found["gen_ai.operation.name"] == "chat" and found["gen_ai.provider.name"] == "openai"
        assert found["gen_ai.response.id"] == answer.id
        assert found["gen_ai.response.model"] == answer.model
        assert found["gen_ai.response.finish_reasons"]["values"] == [{"stringValue": "stop"}]
        assert (found["gen_ai.request.temperature"], found["gen_ai.request.max_tokens"]) == (0.5, "50")
        assert int(found["gen_ai.usage.input_tokens"]) == answer.usage.prompt_tokens
        assert int(found["gen_ai.usage.output_tokens"]) == answer.usage.completion_tokens
    found = attributes(server)
    assert found["gatehouse.user_path"] == "/" and found["gatehouse.cache"] == "off"
    # The provider gets the attempt's span as its parent.
    sent = [dict(call["headers"]) for call in upstream.requests() if call["path"].endswith("/chat/completions")][-1]
    assert sent["traceparent"] == f"00-{TRACE}-{client_span['spanId']}-01"
    assert sent["tracestate"] == "vendor=1"


def test_streams_and_other_operations_have_their_names(start_gateway, upstream, collector):
    gateway = traced_gateway(start_gateway, upstream, collector)
    with sdk(gateway) as client:
        for _ in client.chat.completions.create(model="openai/text", messages=user(), stream=True):
            pass
        client.embeddings.create(model="openai/text", input="x")
    stream, embedding = of_kind(collector, 3, count=2)
    assert attributes(stream)["gen_ai.response.finish_reasons"]["values"] == [{"stringValue": "stop"}]
    assert attributes(stream)["gen_ai.response.model"]
    assert attributes(embedding)["gen_ai.operation.name"] == "embeddings"


def test_every_attempt_has_its_span(start_gateway, upstream, collector):
    gateway = traced_gateway(start_gateway, upstream, collector)
    body = {"model": "openai/flaky-1", "messages": user()}
    answer = gateway.http.post("/v1/chat/completions", json=body, headers=rig.bearer(rig.MASTER_KEY))
    assert answer.status_code == 200
    (server,) = of_kind(collector, 2)
    failed, served = of_kind(collector, 3, count=2)
    assert attributes(failed)["http.response.status_code"] == "500" and failed["status"]["code"] == 2
    assert attributes(served)["http.response.status_code"] == "200" and served["status"] == {}
    assert "gen_ai.usage.input_tokens" not in attributes(failed)
    assert attributes(server)["gatehouse.attempts"] == "2"
    ids = [dict(call["headers"])["traceparent"].split("-")[2] for call in upstream.requests()[-2:]]
    assert ids == [failed["spanId"], served["spanId"]]


def test_export_headers_resource_and_sampling(start_gateway, upstream, collector):
    gateway = traced_gateway(
        start_gateway,
        upstream,
        collector,
        OTEL_EXPORTER_OTLP_HEADERS="authorization=Basic%20abc,x-scope=1",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment=prod,service.name=ignored",
        OTEL_SERVICE_NAME="edge",
    )
    body, bearer = {"model": "openai/text", "messages": user()}, rig.bearer(rig.MASTER_KEY)
    unsampled = f"00-{TRACE}-{PARENT}-00"
    gateway.http.post("/v1/chat/completions", json=body, headers=bearer | {"traceparent": unsampled})
    assert dict(upstream.requests()[-1]["headers"])["traceparent"] == unsampled
    gateway.http.post("/v1/chat/completions", json=body, headers=bearer)
    (server,) = of_kind(collector, 2)
    assert server["traceId"] != TRACE, "the unsampled call has no span"
    assert collector.headers["authorization"] == "Basic abc" and collector.headers["x-scope"] == "1"
    resource = collector.received[0][1]["resourceSpans"][0]["resource"]
    named = {entry["key"]: entry["value"]["stringValue"] for entry in resource["attributes"]}
    assert named["service.name"] == "edge" and named["deployment.environment"] == "prod"
    assert named["service.version"]


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
    assert value("storage_up") == 1
    assert value("circuit_breaker_state", **target) == 0
    assert value("build_info", edition="oss") == 1
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds"):
        assert re.search(rf"^process_{name} [0-9.]+$", page, re.M), name
    gateway.http.post(
        "/v1/chat/completions",
        json={"model": "openai/unauthorized", "messages": user()},
        headers=rig.bearer(rig.MASTER_KEY),
    )
    page = gateway.http.get("/metrics", headers=rig.bearer(rig.MASTER_KEY)).text
    assert value("upstream_failures_total", reason="auth_failed") == 1
    assert value("request_failures_total", reason="upstream_auth_failed") == 1


def test_json_logs_carry_request_ids_and_no_secrets(start_gateway, upstream):
    gateway = start_gateway(upstream, LOG_FORMAT="json", LOG_LEVEL="debug")
    headers = rig.bearer(rig.MASTER_KEY) | {"x-request-id": "logged-call"}
    body = {"model": "openai/error-500", "messages": user()}
    assert gateway.http.post("/v1/chat/completions", json=body, headers=headers).status_code == 500

    def logged():
        lines = [json.loads(line) for line in gateway.log().splitlines() if line.startswith("{") and line.endswith("}")]
        return any(line.get("request_id") == "logged-call" for line in lines)

    rig.eventually(logged, what="the request id in the log")
    for secret in (rig.MASTER_KEY, rig.PROVIDER_KEY, rig.BACKUP_KEY):
        assert secret not in gateway.log()
