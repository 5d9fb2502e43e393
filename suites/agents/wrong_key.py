"""A wrong key: every agent must give up after its first requests instead of retrying for minutes."""

import http.client
import http.server
import threading
import time

from agents.programs import AgentError
from agents.run import Run, finish, start

MOST_REQUESTS = 2
# Seconds from the first request until the program has ended.
MOST_SECONDS = 3.0
HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


class Recorder(http.server.ThreadingHTTPServer):
    """Proxy between an agent and the gateway that records every request with its time and status."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.gateway_port = port
        self.noted = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        at = time.monotonic()
        body = self.body()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        gateway = http.client.HTTPConnection("127.0.0.1", self.server.gateway_port, timeout=30)
        gateway.request(self.command, self.path, body=body or None, headers=headers)
        answer = gateway.getresponse()
        content = answer.read()
        self.server.noted.append((at, self.command, self.path, answer.status))
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        gateway.close()

    do_GET = do_HEAD = do_POST = forward

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def log_message(self, *_):
        pass


def run(agent, vendor, app):
    run = Run(agent.name, vendor.name, "wrong-key")
    recorder = Recorder(app.gateway.port)
    name = f"{agent.name}-wrong-key"
    # With the default retries.
    workspace = app.workspace(name, vendor.model, address=recorder.address, key="gh-not-a-key", retries=True)
    try:
        run.judge(lambda: list(faults(agent, workspace, app, recorder, run)))
    finally:
        recorder.shutdown()
        recorder.server_close()
    return run


def faults(agent, workspace, app, recorder, run):
    process = start(agent, workspace, app.commands, "Which bird stands longest on one leg?")
    try:
        output, errors = finish(process, run)
    except AgentError as fault:
        yield str(fault)
        output = errors = run.evidence
    ended = time.monotonic()
    # Claude Code first sends a HEAD request as a connectivity check.
    asked = [request for request in recorder.noted if request[1] != "HEAD"]
    run.calls = len(asked)
    if not asked:
        yield "it sent no request"
        return
    after = ended - asked[0][0]
    run.figures = f"{len(asked)} requests, ended {after:.1f} s after the first"
    if len(asked) > MOST_REQUESTS:
        yield f"{len(asked)} requests, at most {MOST_REQUESTS}: {[request[1:] for request in asked[:10]]}"
    if after > MOST_SECONDS:
        yield f"it ended {after:.1f} s after its first request"
    if any(status != 401 for *_, status in asked):
        yield f"not every request was refused: {asked}"
    if "valid" not in (output + errors) and "401" not in output + errors:
        yield "it does not say that the key was refused"
