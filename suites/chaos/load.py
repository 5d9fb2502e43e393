"""The load: paced workers in three formats that check the content of every answer."""

import dataclasses
import json
import random
import threading
import time

import http1
import rig
import sse

MIX = ["text", "text", "text", "long-20", "long-20", "drip-5", "drip-5", "tools", "tools"]
TOOL = "look_at"


@dataclasses.dataclass
class Call:
    request_id: str
    route: str
    strategy: str
    model: str
    format: str
    stream: bool
    start: float = 0.0
    end: float = 0.0
    status: int = 0
    attempts: int = 0
    provider: str = ""
    # Reason of the failure.
    fault: str = ""

    @property
    def seconds(self):
        return self.end - self.start


class Load:
    def __init__(self, port, routes, rate, workers, seed):
        self.port, self.routes, self.seed = port, routes, seed
        self.pause = workers / rate
        self.stopping = threading.Event()
        self.calls = [[] for _ in range(workers)]
        self.probes = []
        self.threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(workers)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def probe(self, routes, seconds):
        """Calls these routes in turn, repeatedly, so that a recovered provider does not have to wait for traffic."""
        until = time.monotonic() + seconds
        with http1.Connection(self.port, timeout=30) as connection:
            while time.monotonic() < until:
                for model, route in routes.items():
                    format = sorted(sse.PATHS)[len(self.probes) % 3]
                    name = f"chaos-{self.seed}-probe-{len(self.probes)}"
                    call = Call(name, route, "primary_fallback", model, format, len(self.probes) % 2 == 0, time.monotonic())
                    self.probes.append(call)
                    make(connection, call)
                    call.end = time.monotonic()
                time.sleep(0.25)

    def stop(self):
        """Waits for the calls in flight and returns all calls in order of their start."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=40)
            if thread.is_alive():
                raise AssertionError("a worker hangs: an answer neither came nor broke off")
        return sorted((call for calls in [*self.calls, self.probes] for call in calls), key=lambda call: call.start)

    def _work(self, number):
        chance = random.Random(f"{self.seed}-{number}")
        time.sleep(self.pause * number / len(self.threads))
        connection = None
        while not self.stopping.is_set():
            due = time.monotonic() + self.pause * chance.uniform(0.5, 1.5)
            call = self._next(chance, f"chaos-{self.seed}-{number}-{len(self.calls[number])}")
            self.calls[number].append(call)
            try:
                connection = connection or http1.Connection(self.port, timeout=30)
                make(connection, call)
            except (OSError, http1.Broken) as fault:
                call.fault = f"broken: {fault}"
            except (ValueError, KeyError, IndexError, TypeError) as fault:
                call.fault = f"unreadable: {fault!r}"
            call.end = time.monotonic()
            if call.fault and connection:
                connection.close()
                connection = None
            time.sleep(max(0.0, due - time.monotonic()))

    def _next(self, chance, request_id):
        route = chance.choice(sorted(self.routes))
        strategy, names = self.routes[route]
        model = chance.choice(MIX)
        format = chance.choice(sorted(sse.PATHS))
        return Call(request_id, names[model], strategy, model, format, chance.random() < 0.5, time.monotonic())


def make(connection, call):
    text = f"{call.request_id} says hello"
    body = sse.request(call.format, call.route, text, call.stream, TOOL if call.model == "tools" else None)
    headers = rig.bearer(rig.MASTER_KEY) | {"content-type": "application/json", "x-request-id": call.request_id}
    connection.request("POST", sse.PATHS[call.format], headers, json.dumps(body).encode())
    response = connection.head()
    call.status = response.status
    call.attempts = int(response.headers.get("x-gateway-attempts", 0))
    call.provider = response.headers.get("x-gateway-provider", "")
    for piece in connection.pieces(response):
        response.body += piece
    if response.status != 200:
        call.fault = f"{response.status}: {response.body[:300].decode(errors='replace')}"
        return
    answer = (sse.read_stream if call.stream else sse.read_document)(call.format, response.body)
    call.fault = judge(call, answer, text)


def judge(call, answer, text):
    """Returns the fault, or an empty string if the answer is complete and correct."""
    if answer.error:
        return f"in-band: {answer.error}"
    if answer.faults:
        return f"grammar: {answer.faults[0]}"
    calls = [(TOOL, {"city": "Paris"})] if call.model == "tools" else []
    expected = {
        "text": f"Hello from the upstream. You said: {text}",
        "tools": "",
    }.get(call.model, "".join(f"word{number} " for number in range(20)))
    if answer.text != expected:
        return f"says {answer.text!r} instead of {expected!r}"
    if [(name, json.loads(arguments)) for name, arguments in answer.calls] != calls:
        return f"calls {answer.calls} instead of {calls}"
    if answer.finish != sse.FINISHES[call.format][bool(calls)] or answer.ends != 1:
        return f"ends {answer.ends} times with {answer.finish}"
    if call.attempts < 1 or not call.provider:
        return f"attempts {call.attempts}, provider {call.provider!r} in the headers"
    return ""
