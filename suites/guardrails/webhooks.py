"""Webhooks that do not answer, fail or answer nonsense: `on_error` applies within the timeout."""

import http.server
import threading
import time

import http1
import machine_time
import rig
from guardrails import calls

MODEL = "openai/text"
TIMEOUT_MS = 400
# Seconds that a call may take beside the timeout.
SLACK, SLACK_QUICK = 0.25, 5.0
FAULTS = {"silent": None, "failing": (500, b"{}"), "invalid": (200, b"not JSON"), "unknown": (200, b'{"action": "maybe"}')}


def run(app):
    webhook = app.add(Webhook())
    gateway = app.start_gateway(app.upstream(), models=[MODEL], ALLOW_PRIVATE_UPSTREAMS="true")
    for fault in FAULTS:
        for on_error in ("block", "allow"):
            for direction in ("input", "output"):
                name = f"{fault}-{on_error}-{direction}"
                config = {"url": f"{webhook.url}/{fault}", "timeout_ms": TIMEOUT_MS}
                document = {"type": "webhook", "on_error": on_error, "direction": direction, "config": config}
                calls.put_guardrail(gateway, name, document)
                calls.put_workflow(gateway, f"/{name}", name)
                for stream in (False, True):
                    check(app, gateway, name, on_error, fault, stream)


def check(app, gateway, name, on_error, fault, stream):
    with http1.Connection(gateway.port, timeout=60) as connection:
        watch = machine_time.Stopwatch()
        response = connection.ask("POST", calls.CHAT, calls.headers(f"/{name}"), calls.body(MODEL, stream=stream))
        seconds = watch.seconds()
    is_blocked = b"guardrail_error" in response.body or b"guardrail_blocked" in response.body
    least = TIMEOUT_MS / 1000 if fault == "silent" else 0.0
    most = least + (SLACK_QUICK if app.quick else SLACK)
    app.check(
        f"{name}{', streamed' if stream else ''}: {response.status} in {1000 * seconds:.0f} ms (at most {1000 * most:.0f} ms)",
        is_blocked != (on_error == "block") and f"{response.status}: {response.body[:300]}",
        seconds > most and "too late",
    )


class Webhook:
    """A server that answers by the last part of the path."""

    def __init__(self):
        self.stopping = threading.Event()
        stopping = self.stopping

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                answer = FAULTS[self.path.strip("/")]
                if answer is None:
                    stopping.wait(30)
                    self.close_connection = True
                    return
                status, body = answer
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", rig.free_port()), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.stopping.set()
        time.sleep(0.05)
        self.server.shutdown()
        self.server.server_close()
