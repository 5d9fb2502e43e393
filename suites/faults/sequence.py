"""A case of several calls, written as a function."""

import dataclasses
import json
import threading

import http1
import rig
from faults.cases import COUNTER, ROUTES, Identified
from faults.clients import GREETING, PATHS, PROMPT
from faults.outcomes import fits


@dataclasses.dataclass
class ExpectedRow:
    """Expected usage row of a call."""

    status: tuple
    estimated: bool | None = None

    def judge_row(self, _case, _heard, row):
        fits("row status_code", row["status_code"], self.status)
        if self.estimated is not None:
            fits("row estimated", row["estimated"], [self.estimated])


@dataclasses.dataclass
class RawCall:
    """A call made without an SDK."""

    request_id: str


class CallSequence(Identified):
    """A case run by `act(sequence)`. `bad` and `good` are behaviours; with `good` there is a combo of both."""

    by_rule = False

    def __init__(self, group, act, dialect="chat", stream=False, bad="text", good=None, lane="wait", **more):
        self.group, self.act, self.dialect, self.stream, self.lane = group, act, dialect, stream, lane
        self.side = more.get("side", "bad")
        self.impatient = more.get("impatient", False)
        self.options = more
        self.behaviours = {"bad": bad, "good": good}
        self.number = next(COUNTER)
        self.kind = ROUTES[dialect, "own"][0]
        self.faults, self.received, self.seconds, self.ready = [], [], 0.0, True
        self.calls_made = 0
        self.round = 0
        self.lock = threading.Lock()

    @property
    def name(self):
        return self.position

    @property
    def fallback(self):
        return self.behaviours["good"] is not None

    def gateway_of(self, app):
        return app.impatient if self.impatient else app.gateway

    def target(self, side):
        instance = self.side if side == "bad" else "good"
        return f"{instance}-{self.kind}", f"{self.behaviours[side]}@{self.tag}"

    def models(self):
        sides = ("bad", "good") if self.fallback else ("bad",)
        # A healthy model of the faulty instance, which must not be affected by the other one's failures.
        beside = (self.target("bad")[0], f"text@beside-{self.tag}")
        return [*(self.target(side) for side in sides), beside, *self.more]

    @property
    def more(self):
        """Additional models of the faulty instance."""
        return [(self.target("bad")[0], f"{model}-{self.tag}") for model in self.options.get("more", ())]

    @property
    def selector(self):
        return self.combo_name if self.fallback else "/".join(self.target("bad"))

    @property
    def beside(self):
        return f"{self.target('bad')[0]}/text@beside-{self.tag}"

    def description(self):
        stream = ', "stream": true' if self.stream else ""
        more = f" (faulty: {'/'.join(self.target('bad'))})" if self.fallback else ""
        return f'POST {PATHS[self.dialect]} {{"model": "{self.selector}"{stream}}}{more}'

    def run(self, app):
        assert self.ready, "the combo could not be created"
        self.app, self.gateway, self.calls_made = app, self.gateway_of(app), 0
        self.act(self)

    def audit(self, _house, rows):
        for received, expected in self.received:
            found = rows.get(received.request_id, [])
            assert len(found) == 1, f"usage rows of {received.request_id}: expected 1, found {len(found)}"
            expected.judge_row(self, received, found[0])

    # Helpers for the act functions.

    def next_id(self):
        with self.lock:
            self.calls_made += 1
            return f"sequence-{self.tag}-{self.calls_made}"

    def call(self, model=None, expected=None, **options):
        received = self.app.call(
            self.gateway, self.dialect, model or self.selector, self.stream, self.next_id(), **options
        )
        if expected is None and received.error is None:
            expected = ExpectedRow((200,))
        self.received.append((received, expected or ExpectedRow((received.status,))))
        return received

    def refused(self, status, codes, model=None):
        received = self.call(model)
        assert received.status == status, f"expected {status} {codes}, found {received.short()}"
        if self.dialect != "messages":
            fits("error.code", received.inside.get("code"), codes)
        return received

    def served(self, model=None, by=None, attempts=None):
        received = self.call(model)
        whole = received.error is None and received.finished and received.text == GREETING
        assert whole, f"expected an answer, found {received.short()}"
        if by is not None:
            fits("X-Gateway-Provider", received.header("x-gateway-provider"), [self.target(by)[0]])
        if attempts is not None:
            fits("X-Gateway-Attempts", received.attempts, [attempts])
        return received

    def calls_of(self, side="bad"):
        return self.app.calls(self.target(side)[1])

    def body(self, model=None, **more):
        body = {"model": model or self.selector, "stream": self.stream}
        if self.dialect == "responses":
            body["input"] = PROMPT
        else:
            body["messages"] = [{"role": "user", "content": PROMPT}]
        if self.dialect == "messages":
            body["max_tokens"] = 512
        return body | more

    def raw(self, request_id, body=None, path=None, timeout=15.0):
        """Sends the request on a new connection without reading the answer."""
        connection = http1.Connection(self.gateway.port, timeout=timeout)
        headers = rig.bearer(rig.MASTER_KEY) | {
            "content-type": "application/json",
            "x-request-id": request_id,
            "anthropic-version": "2023-06-01",
        }
        connection.request("POST", path or PATHS[self.dialect], headers, json.dumps(body or self.body()).encode())
        return connection
