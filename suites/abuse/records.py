"""Records of rejected calls and log lines: audit rows, usage rows, a blocked standard error."""

import json
import os
import subprocess
import threading
import time

import http1
import rig
from harness import Case


def refuse_many(gateway, count, headers, path="/v1/chat/completions", body=b"{}"):
    """Sends rejected calls over one connection and returns the statuses."""
    statuses = set()
    connection = http1.Connection(gateway.port)
    for _ in range(count):
        try:
            response = connection.ask("POST", path, headers, body)
        except http1.Broken:
            response = None
        if response is None or response.closes:
            connection.close()
            connection = http1.Connection(gateway.port)
        statuses.add(response and response.status)
    connection.close()
    return statuses


def data_bytes(gateway):
    return sum(path.stat().st_size for path in (gateway.directory / "data").rglob("*") if path.is_file())


def audit_flood(app):
    """Checks that unauthenticated calls with heads of 50 KB grow neither journal nor database."""
    gateway = app.start_gateway(LOGGING_ENABLED="true")
    count = 1_000 if app.quick else 10_000
    before = data_bytes(gateway)
    headers = {"authorization": "Bearer unknown", **{f"x-{index}": "v" * 6_000 for index in range(8)}}
    statuses = refuse_many(gateway, count, headers)
    app.check(f"{count} calls with an unknown key are refused", statuses - {401} and str(statuses))
    time.sleep(1)
    grown = data_bytes(gateway) - before
    app.check_at_most("growth of the data directory", grown / 1e6, 5.0, " MB")
    page = gateway.admin("GET", "/audit/log", params={"limit": 1}).json()
    app.note(f"{page['total']} of {count} refusals are in the audit log")


def user_paths(app):
    """Checks that rejected calls with distinct user paths are aggregated per key and status."""
    gateway = app.start_gateway()
    key = gateway.admin("POST", "/auth-keys", json={"name": "k"}).json()["key"]
    count = 200 if app.quick else 5_000
    for number in range(count):
        headers = {**rig.bearer(key), "x-gateway-user-path": f"/guess/{number}"}
        answer = gateway.http.post("/v1/chat/completions", headers=headers, json={"model": "no-such-model", "messages": [{"role": "user", "content": "x"}]})
        assert answer.status_code == 404, answer.text
    rig.eventually(lambda: gateway.usage_log(limit=1)["total"] >= count, what="the usage rows")
    paths = gateway.admin("GET", "/usage/user-paths", params={"days": 1}).json()
    app.check_at_most(f"user paths with sums after {count} refused calls", len(rig.entries(paths)), 1)


def blocked_stderr(app):
    """Checks that all calls are served while standard error is an unread pipe, and that dropped lines are counted."""
    gateway = rig.Gateway(app.directory, None, LOG_LEVEL="debug")
    app.add(gateway)
    reader, writer = os.pipe()
    with open(gateway.log_path, "ab") as log:
        gateway.process = subprocess.Popen([rig.binary("gatehouse"), "serve"], env=gateway.settings, cwd=gateway.directory, stdout=log, stderr=writer)
    os.close(writer)
    # The pipe is read until the gateway is ready, so that the start itself does not block.
    reading = threading.Event()
    reading.set()
    seen = bytearray()

    def read():
        while True:
            reading.wait()
            data = os.read(reader, 65536)
            if not data:
                return
            seen.extend(data)

    threading.Thread(target=read, daemon=True).start()
    rig.eventually(gateway.is_ready, timeout=20, what="/ready")
    reading.clear()
    count = 12_000 if app.quick else 40_000
    slowest, failed = 0.0, []
    body = json.dumps({"model": "demo-chat", "messages": [{"role": "user", "content": "x"}]}).encode()
    connection = http1.Connection(gateway.port, timeout=5)
    for _ in range(count):
        begun = time.monotonic()
        try:
            status = connection.ask("POST", "/v1/chat/completions", rig.bearer(rig.MASTER_KEY), body).status
            if status != 200:
                failed.append(f"status {status}")
        except (http1.Broken, TimeoutError) as fault:
            failed.append(str(fault))
            break
        slowest = max(slowest, time.monotonic() - begun)
    app.check(f"{count} calls are served while standard error is blocked", *failed)
    app.check_at_most("slowest of them", slowest * 1000, 1000, " ms")
    dropped = dropped_lines(gateway)
    app.check(f"the metrics count {dropped:.0f} dropped lines", dropped == 0 and "none")
    reading.set()
    gateway.http.get("/health")
    rig.eventually(lambda: b"log lines dropped" in seen, timeout=10, what="a log line about dropped lines")
    app.check("a log line says that lines were dropped")


def dropped_lines(gateway):
    page = gateway.http.get("/metrics", headers=rig.bearer(rig.MASTER_KEY), timeout=5).text
    lines = [line for line in page.splitlines() if line.startswith("gatehouse_log_lines_dropped_total")]
    return float(lines[0].split()[1]) if lines else 0.0


CASES = [
    Case("audit flood by unknown callers", audit_flood),
    Case("refused calls on unknown user paths", user_paths),
    Case("blocked standard error", blocked_stderr),
]
