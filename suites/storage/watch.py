"""State reported by the gateway during storage faults: readiness, and admin calls that read and write."""

import itertools
import threading
import time

import httpx

import rig

PATIENCE = 15.0
READS = ["/usage/log?limit=1", "/usage/summary", "/changes"]


class Watch:
    def __init__(self, gateway):
        self.gateway = gateway
        # (begun, ended, what, status, body)
        self.seen = []
        self.ending = threading.Event()
        looks = [self._ready, self._read, self._write]
        self.threads = [threading.Thread(target=self._look, args=(look,), daemon=True) for look in looks]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join(timeout=PATIENCE + 5)

    def _look(self, look):
        http = httpx.Client(base_url=self.gateway.http.base_url, trust_env=False, timeout=PATIENCE)
        for number in itertools.count():
            if self.ending.wait(0.1):
                return
            begun = time.monotonic()
            try:
                what, answer = look(http, number)
                self.seen.append((begun, time.monotonic(), what, answer.status_code, body_of(answer)))
            except httpx.HTTPError as fault:
                self.seen.append((begun, time.monotonic(), look.__name__[1:], 0, repr(fault)))

    def _ready(self, http, _):
        return "ready", http.get("/ready")

    def _read(self, http, number):
        path = READS[number % len(READS)]
        return "read", http.get(f"/admin/api/v1{path}", headers=rig.bearer(rig.MASTER_KEY))

    def _write(self, http, number):
        body = {"target": "openai/text", "description": f"number {number}"}
        return "write", http.put("/admin/api/v1/aliases/watched", headers=rig.bearer(rig.MASTER_KEY), json=body)

    def asked(self, begun, ended, what):
        """Answers to requests made during the fault: (status, body, time of the answer)."""
        return [(status, body, answered) for asked, answered, kind, status, body in self.seen if kind == what and begun <= asked <= ended]


def body_of(answer):
    try:
        return answer.json()
    except ValueError:
        return answer.text[:200]


def is_refusal(status, body):
    """Whether this is a 503 with the error envelope."""
    error = body.get("error") if isinstance(body, dict) else None
    return status == 503 and isinstance(error, dict) and {"type", "message", "param", "code"} <= set(error)
