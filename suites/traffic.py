"""Continuous calls in every format, some abandoned before their end; each records how far its answer came."""

import dataclasses
import json
import random
import threading
import time

import http1
import rig
import sse

PASSTHROUGH = "/p/openai/chat/completions"
PATHS = sse.PATHS | {"passthrough": PASSTHROUGH}
# The terminal event of a stream, by format; a passthrough stream ends with its body.
ENDS = {"chat": b"data: [DONE]", "responses": b"event: response.completed", "messages": b"event: message_stop"}
PAUSE = 0.01


@dataclasses.dataclass
class Call:
    request_id: str
    # chat, responses, messages or passthrough
    format: str
    model: str
    stream: bool
    # Disconnects after this many pieces of the answer; zero is before its head.
    leave: int | None = None
    max_tokens: int | None = None
    # The prompt, if it is not to name the call.
    prompt: str = ""
    # Additional headers, e.g. the user path.
    extra: dict = dataclasses.field(default_factory=dict, repr=False)
    # Whether the answer was received to its end, even if it is an error.
    acknowledged: bool = False
    status: int = 0
    code: str = ""
    headers: dict = dataclasses.field(default_factory=dict, repr=False)
    started: float = 0.0
    ended: float = 0.0
    # The answer, if it is not successful.
    error_text: str = ""

    @property
    def served(self):
        return self.acknowledged and self.status == 200 and not self.code


def body_of(call):
    """The body; the request id is the first word of the prompt, by which the upstream's bill identifies the call."""
    text = call.prompt or f"{call.request_id} {' '.join(['word'] * (len(call.request_id) * 7 % 11))}"
    format = "chat" if call.format == "passthrough" else call.format
    model = call.model.removeprefix("openai/") if call.format == "passthrough" else call.model
    body = sse.request(format, model, text, call.stream)
    if call.format == "passthrough" and call.stream:
        body["stream_options"] = {"include_usage": True}
    if call.max_tokens:
        body["max_output_tokens" if format == "responses" else "max_tokens"] = call.max_tokens
    return json.dumps(body).encode()


def make(connection, call, headers):
    """Makes a call. Raises http1.Broken if the answer is interrupted, or when this client disconnects."""
    call.started = time.monotonic()
    try:
        headers = headers | call.extra | {"content-type": "application/json", "x-request-id": call.request_id}
        connection.request("POST", PATHS[call.format], headers, body_of(call))
        if call.leave == 0:
            time.sleep(0.005)
            raise http1.Broken("left before the head")
        response = connection.head()
        call.status, call.headers = response.status, response.headers
        take(connection, response, call)
        call.acknowledged = True
    finally:
        call.ended = time.monotonic()


def take(connection, response, call):
    """Reads the answer. A stream is acknowledged with its last event, even if the connection breaks right after it."""
    streams = "event-stream" in response.headers.get("content-type", "")
    mark = ENDS.get(call.format) if streams else None
    tail, pieces = b"", 0
    for piece in connection.pieces(response):
        pieces += 1
        tail += piece
        if streams:
            if mark and mark in tail:
                call.acknowledged = True
            if b'data: {"error"' in tail or b"event: error" in tail or b"event: response.failed" in tail:
                call.code = call.code or "in-band"
                call.error_text = call.error_text or tail[:400].decode(errors="replace")
            tail = tail[-200:]
        if call.leave is not None and pieces >= call.leave and not call.acknowledged:
            raise http1.Broken("left in the middle")
    if call.status != 200:
        call.error_text = tail[:400].decode(errors="replace")
        call.code = code_of(tail)


def code_of(body):
    """The error's code; Anthropic's format has none, and its type is used instead."""
    try:
        error = json.loads(body)["error"]
        return error.get("code") or error["type"]
    except (ValueError, KeyError, TypeError):
        return "unreadable"


class Load:
    """Workers that each make the next call once the last one is complete, until stopped or a number of calls is
    reached."""

    def __init__(self, port, workers, seed, plan, headers=None, most=None, pause=PAUSE):
        """`plan(chance, request_id)` returns the next Call; `most` is the total number of calls; `pause` is the time
        between attempts to connect, in seconds."""
        self.port, self.seed, self.plan, self.most, self.pause = port, seed, plan, most, pause
        self.headers = headers or rig.bearer(rig.MASTER_KEY)
        self.stopping = threading.Event()
        self.calls = [[] for _ in range(workers)]
        self.faults = []
        self.threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(workers)]
        self.held = threading.Event()
        self.held.set()

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def made(self):
        return sum(len(calls) for calls in self.calls)

    def acknowledged(self):
        return sum(call.acknowledged for calls in self.calls for call in list(calls))

    def hold(self):
        """Pauses new calls until `go_on`; returns once none is in flight."""
        self.held.clear()
        rig.eventually(lambda: all(not calls or calls[-1].ended for calls in self.calls), 30, what="the last answers")

    def go_on(self):
        self.held.set()

    def join(self, timeout=60):
        for thread in self.threads:
            thread.join(timeout=timeout)
            if thread.is_alive():
                raise AssertionError("a worker hangs: an answer neither came nor broke off")
        if self.faults:
            raise self.faults[0]
        return [call for calls in self.calls for call in calls]

    def stop(self):
        """Waits for the calls in flight and returns all calls."""
        self.stopping.set()
        self.held.set()
        return self.join()

    def _work(self, number):
        try:
            self._call_on(number)
        except Exception as fault:  # a worker's failure must be reported to the suite
            self.faults.append(fault)

    def _call_on(self, number):
        chance = random.Random(f"{self.seed}-{number}")
        share = None if self.most is None else self.most // len(self.calls) + (number < self.most % len(self.calls))
        connection = None
        while not self.stopping.is_set() and (share is None or len(self.calls[number]) < share):
            self.held.wait()
            try:
                connection = connection or http1.Connection(self.port, timeout=30)
            except OSError:
                time.sleep(self.pause)
                continue
            call = self.plan(chance, f"c-{self.seed}-{number}-{len(self.calls[number])}")
            self.calls[number].append(call)
            try:
                make(connection, call, self.headers)
                if call.headers.get("connection") == "close":
                    raise http1.Broken("closed")
            except http1.Broken:
                connection.close()
                connection = None
        if connection:
            connection.close()
