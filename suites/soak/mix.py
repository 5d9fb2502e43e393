"""Mixed calls: complete answers and streams in every format, cached ones, disconnects, and rejections of every kind."""

import concurrent.futures
import itertools
import json

import http1
import rig
import sse

WORKERS = 8
PASSTHROUGH = "/p/openai/chat/completions"
# Settings and models that the calls need.
SETTINGS = {
    "LOGGING_ENABLED": "true",
    # The log of a million calls would fill the disk with their bodies.
    "LOGGING_LOG_BODIES": "false",
    "LOGGING_LOG_HEADERS": "false",
    # Full before the first measurement.
    "RESPONSE_CACHE_ENABLED": "true",
    "RESPONSE_CACHE_MAX_BYTES": "1M",
    "GATEWAY_EDITION": "enterprise",
}


class Mix:
    """Makes calls of each kind in turn."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.keys = {
            "plain": self.create_key(name="soak", user_path="/soak"),
            "limited": self.create_key(name="limited", user_path="/soak", rate_limits={"requests_per_minute": 60, "tokens_per_minute": 6000}),
        }
        answer = gateway.admin("PUT", "/budgets/%2Fsoak/daily", json={"amount": 1_000_000})
        assert answer.status_code in (200, 201), answer.text
        self.kinds = [
            self.ask("chat"), self.ask("chat", stream=True), self.ask("messages"), self.ask("messages", stream=True),
            self.ask("responses"), self.ask("responses", stream=True), self.ask("chat", path=PASSTHROUGH, model="text"),
            self.ask("chat", text="The same question as ever."), self.ask("chat", key="limited"), self.ask("chat", model="openai/error-500"),
            self.ask("chat", model="no-such-model"), self.ask("chat", body=b'{"model": 1}'), self.ask("chat", key=None), self.disconnect,
        ]
        self.failures = []

    def create_key(self, **fields):
        answer = self.gateway.admin("POST", "/auth-keys", json=fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["key"]

    def make(self, count, first=0):
        """Makes that many calls, reusing connections if the answer allows it."""
        # `next` on a shared iterator is atomic in CPython: each number is taken once.
        numbers = iter(range(first, first + count))
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(self.work, itertools.repeat(numbers, WORKERS)))

    def work(self, numbers):
        connection = None
        for number in numbers:
            try:
                connection = connection or http1.Connection(self.gateway.port, timeout=30)
                if not self.kinds[number % len(self.kinds)](connection, number):
                    connection.close()
                    connection = None
            except (http1.Broken, OSError) as fault:
                self.failures.append(str(fault))
                connection = None
        if connection:
            connection.close()

    def ask(self, format, stream=False, model="openai/text", path=None, text=None, key="plain", body=None):
        """A kind of call; it returns whether the connection can be used again."""
        headers = rig.bearer(self.keys[key] if key else "unknown-key") | {"content-type": "application/json"}

        def call(connection, number):
            content = body or json.dumps(sse.request(format, model, text or f"Question {number}?", stream)).encode()
            return not connection.ask("POST", path or sse.PATHS[format], headers, content).closes

        return call

    def disconnect(self, connection, _):
        body = json.dumps(sse.request("chat", "openai/drip-5", "Who is there?", True)).encode()
        connection.request("POST", sse.PATHS["chat"], rig.bearer(self.keys["plain"]), body)
        connection.head()
        return False
