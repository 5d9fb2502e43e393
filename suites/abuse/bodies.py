"""Hostile bodies: megabytes of tiny JSON values on every endpoint, several at once, alongside regular requests."""

import concurrent.futures
import threading
import time

import http1
import rig
from harness import Case
from measure import percentile, rss_bytes

MIB = 1 << 20
# Just below the default BODY_SIZE_LIMIT of 10M.
SIZE = int(9.5 * MIB)
AT_ONCE = 8

USER = '[{"role":"user","content":"Hi"}]'

# Values that take many times their length once parsed.
SHAPES = {
    "small numbers": "1",
    "empty objects": "{}",
    "one-member objects": '{"":0}',
    "empty strings": '""',
    "nested arrays": "[[[]]]",
    # About 98,000 elements, just below the limit, so that they are parsed and translated.
    "strings below the bound": '"' + "x" * 99 + '"',
    "parts below the bound": '{"type":"text","text":"' + "x" * 485 + '"}',
}

# Body around one hostile value, by endpoint. `{x}` is a JSON array.
ENDPOINTS = {
    "/v1/chat/completions": '{"model":"openai/text","messages":' + USER + ',"tools":[{"type":"function","function":{"name":"f","parameters":{"x":{x}}}}]}',
    "/v1/chat/completions#translated": '{"model":"anthropic/text","messages":' + USER + ',"tools":[{"type":"function","function":{"name":"f","parameters":{"x":{x}}}}]}',
    "/v1/chat/completions#messages": '{"model":"anthropic/text","messages":{x}}',
    "/v1/chat/completions#content": '{"model":"anthropic/text","messages":[{"role":"user","content":{x}}]}',
    "/v1/completions": '{"model":"openai/text","prompt":{x}}',
    "/v1/responses": '{"model":"openai/text","input":{x}}',
    "/v1/responses#translated": '{"model":"anthropic/text","input":"Hi","tools":[{"type":"function","name":"f","parameters":{"x":{x}}}]}',
    "/v1/responses/input_tokens": '{"model":"openai/text","input":{x}}',
    "/v1/responses/compact": '{"model":"openai/text","input":{x}}',
    "/v1/messages": '{"model":"openai/text","max_tokens":9,"messages":' + USER + ',"tools":[{"name":"f","input_schema":{"x":{x}}}]}',
    "/v1/messages#native": '{"model":"anthropic/text","max_tokens":9,"messages":' + USER + ',"metadata":{x}}',
    "/v1/messages/count_tokens": '{"model":"openai/text","messages":' + USER + ',"tools":[{"name":"f","input_schema":{"x":{x}}}]}',
    "/v1beta/models/text:generateContent": '{"provider":"openai","contents":[{"role":"user","parts":[{"text":"Hi"}]}],"x":{x}}',
    "/v1beta/models/text:countTokens": '{"provider":"openai","contents":{x}}',
    "/v1/embeddings": '{"model":"openai/text","input":{x}}',
    "/v1/rerank": '{"model":"openai/text","query":"q","documents":{x}}',
    "/p/openai/v1/chat/completions": '{"model":"text","messages":' + USER + ',"x":{x}}',
    "/admin/api/v1/explain": '{"body":{"model":"anthropic/text","messages":{x}}}',
    "/admin/api/v1/auth-keys": '{"name":"x","allowed_models":{x}}',
}


def hostile(template, shape, size=SIZE):
    value = SHAPES[shape]
    count = (size - len(template)) // (len(value) + 1)
    return template.replace("{x}", "[" + (value + ",") * (count - 1) + value + "]").encode()


class Watch:
    """Samples the gateway's peak memory and the latency of /health during the attack."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.peak = 0
        self.latencies = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.sample), threading.Thread(target=self.probe)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def sample(self):
        while not self.stopping.is_set():
            self.peak = max(self.peak, rss_bytes(self.gateway))
            time.sleep(0.005)

    def probe(self):
        while not self.stopping.is_set():
            begun = time.monotonic()
            with http1.Connection(self.gateway.port) as connection:
                connection.ask("GET", "/health")
            self.latencies.append(time.monotonic() - begun)
            time.sleep(0.01)


def post(gateway, path, body):
    """Returns the status. A rejection may be sent before the body was read, in which case the connection may break
    (None)."""
    headers = {"content-type": "application/json", **rig.bearer(rig.MASTER_KEY)}
    try:
        with http1.Connection(gateway.port, timeout=120) as connection:
            return connection.ask("POST", path.split("#")[0], headers, body).status
    except http1.Broken:
        return None


def settings(upstream, **more):
    return {
        "ANTHROPIC_API_KEY": rig.PROVIDER_KEY,
        "ANTHROPIC_BASE_URL": upstream.url,
        "ANTHROPIC_MODELS": "text",
        "LOGGING_ENABLED": "true",
        **more,
    }


def endpoints(app):
    """Measures RSS growth and /health while eight hostile bodies are sent to each endpoint at once."""
    upstream = app.upstream()
    gateway = app.start_gateway(upstream, **settings(upstream))
    shapes = ["small numbers", "parts below the bound"] if app.quick else list(SHAPES)
    quick = ("/v1/chat/completions#content", "/v1/messages", "/v1/messages/count_tokens")
    paths = [path for path in ENDPOINTS if not app.quick or path in quick]
    # Warms up buffers and threads, which are not part of the measurement.
    post(gateway, "/v1/chat/completions", hostile(ENDPOINTS["/v1/chat/completions"], "small numbers"))
    time.sleep(0.5)
    sent = SIZE * AT_ONCE
    worst, latencies, unexpected = (0, ""), [], []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for path in paths:
            for shape in shapes:
                body = hostile(ENDPOINTS[path], shape)
                before = rss_bytes(gateway)
                with Watch(gateway) as watch:
                    statuses = list(pool.map(lambda _: post(gateway, path, body), range(AT_ONCE)))
                growth = (watch.peak - before) / sent
                worst = max(worst, (growth, f"{path}, {shape}"))
                latencies += watch.latencies
                if not set(statuses) <= {200, 400, 413, 501, 502, 503, None} or 500 in statuses:
                    unexpected.append(f"{path}, {shape}: {statuses}")
                app.note(
                    f"{path}, {shape}: RSS +{growth:.2f} × bytes sent, "
                    f"/health max {max(watch.latencies) * 1000:.0f} ms, statuses {sorted(set(map(str, statuses)))}"
                )
    app.check_at_most(f"RSS growth over bytes sent, worst ({worst[1]})", worst[0], 4.0, " ×")
    # A debug build parses about ten times slower.
    bound = 50 if "release" in rig.binary("gatehouse") else 500
    app.check_at_most("/health p99", percentile(latencies, 0.99) * 1000, bound, " ms")
    app.note(f"/health maximum {max(latencies) * 1000:.1f} ms of {len(latencies)} probes")
    app.check("every answer has an expected status", *unexpected)
    app.check("/health answers afterwards", gateway.http.get("/health").status_code != 200 and "it does not")


def memory_limit(app):
    """Checks that large bodies beyond the memory limit get 503 with Retry-After, and that the memory is released."""
    upstream = app.upstream()
    gateway = app.start_gateway(upstream, BODY_MEMORY_LIMIT="20M")
    body = hostile('{"model":"openai/slow-1500","messages":' + USER + ',"x":{x}}', "small numbers")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = list(pool.map(lambda _: post(gateway, "/v1/chat/completions", body), range(AT_ONCE)))
    served, refused = statuses.count(200), statuses.count(503) + statuses.count(None)
    app.check(f"{served} of {AT_ONCE} large bodies served, {refused} refused", served + refused != AT_ONCE and str(statuses), not 1 <= served <= 2 and str(statuses))
    again = post(gateway, "/v1/chat/completions", body)
    app.check("a large body is served afterwards", again != 200 and f"status {again}")


CASES = [
    Case("hostile bodies", endpoints),
    Case("memory limit of bodies", memory_limit),
]
