"""A case of several calls, written as a function."""

import dataclasses
import json
import threading

import http1
import rig
from faults.cases import COUNTER, ROUTES, Marked
from faults.clients import GREETING, PATHS, PROMPT
from faults.outcomes import fits


@dataclasses.dataclass
class Booked:
    """Expected usage row of a call."""

    status: tuple
    estimated: bool | None = None

    def judge_row(self, _case, _heard, row):
        fits("row status_code", row["status_code"], self.status)
        if self.estimated is not None:
            fits("row estimated", row["estimated"], [self.estimated])


@dataclasses.dataclass
class Noted:
    """A call made without an SDK."""

    request_id: str


class Scene(Marked):
    """A case run by `act(scene)`. `bad` and `good` are behaviours; with `good` there is a combo of both."""

    by_rule = False

    def __init__(self, group, act, dialect="chat", stream=False, bad="text", good=None, lane="wait", **more):
        self.group, self.act, self.dialect, self.stream, self.lane = group, act, dialect, stream, lane
        self.side = more.get("side", "bad")
        self.in_haste = more.get("in_haste", False)
        self.options = more
        self.behaviours = {"bad": bad, "good": good}
        self.number = next(COUNTER)
        self.kind = ROUTES[dialect, "own"][0]
        self.faults, self.heard, self.seconds, self.ready = [], [], 0.0, True
        self.calls_made = 0
        self.round = 0
        self.lock = threading.Lock()

    @property
    def name(self):
        return self.place

    @property
    def fallback(self):
        return self.behaviours["good"] is not None

    def gateway_of(self, house):
        return house.hasty if self.in_haste else house.gateway

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
        return self.name_of_combo if self.fallback else "/".join(self.target("bad"))

    @property
    def beside(self):
        return f"{self.target('bad')[0]}/text@beside-{self.tag}"

    def said(self):
        stream = ', "stream": true' if self.stream else ""
        more = f" (faulty: {'/'.join(self.target('bad'))})" if self.fallback else ""
        return f'POST {PATHS[self.dialect]} {{"model": "{self.selector}"{stream}}}{more}'

    def run(self, house):
        assert self.ready, "the combo could not be created"
        self.house, self.gateway, self.calls_made = house, self.gateway_of(house), 0
        self.act(self)

    def audit(self, _house, rows):
        for heard, expected in self.heard:
            found = rows.get(heard.request_id, [])
            assert len(found) == 1, f"usage rows of {heard.request_id}: expected 1, found {len(found)}"
            expected.judge_row(self, heard, found[0])

    # Helpers for the act functions.

    def next_id(self):
        with self.lock:
            self.calls_made += 1
            return f"scene-{self.tag}-{self.calls_made}"

    def call(self, model=None, booked=None, **options):
        heard = self.house.call(
            self.gateway, self.dialect, model or self.selector, self.stream, self.next_id(), **options
        )
        if booked is None and heard.error is None:
            booked = Booked((200,))
        self.heard.append((heard, booked or Booked((heard.status,))))
        return heard

    def refused(self, status, codes, model=None):
        heard = self.call(model)
        assert heard.status == status, f"expected {status} {codes}, found {heard.short()}"
        if self.dialect != "messages":
            fits("error.code", heard.inside.get("code"), codes)
        return heard

    def served(self, model=None, by=None, attempts=None):
        heard = self.call(model)
        whole = heard.error is None and heard.finished and heard.text == GREETING
        assert whole, f"expected an answer, found {heard.short()}"
        if by is not None:
            fits("X-Gateway-Provider", heard.header("x-gateway-provider"), [self.target(by)[0]])
        if attempts is not None:
            fits("X-Gateway-Attempts", heard.attempts, [attempts])
        return heard

    def calls_of(self, side="bad"):
        return self.house.calls(self.target(side)[1])

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
