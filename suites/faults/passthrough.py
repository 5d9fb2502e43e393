"""The rules of the passthrough route: one attempt, the status kept, an interrupted body is cut."""

import time

import http1
from faults.app import IDLE, TOTAL
from faults.clients import DIALECTS, PATHS
from faults.outcomes import GRACE, SLACK, fits
from faults.sequence import CallSequence, ExpectedRow, RawCall
from measure import PeakMemory


class PassthroughCall(CallSequence):
    @property
    def name(self):
        return f"{super().name} | /p/"

    @property
    def path(self):
        return f"/p/{self.target('bad')[0]}{PATHS[self.dialect]}"

    def description(self):
        model = self.target("bad")[1]
        return f'POST {self.path} {{"model": "{model}", "stream": {str(self.stream).lower()}}}'

    def ask(self, expected, within=0.7):
        """Returns the answer, or its beginning and the error that interrupted it."""
        request_id = self.next_id()
        begun = time.monotonic()
        broken = None
        body = self.body(self.target("bad")[1])
        if self.dialect == "chat" and self.stream:
            # The passthrough does not request usage on the client's behalf.
            body["stream_options"] = {"include_usage": True}
        connection = self.raw(request_id, body, self.path)
        with connection:
            answer = connection.head()
            pieces = []
            try:
                for piece in arriving(connection, answer):
                    pieces.append(piece)
            except (http1.Broken, ValueError) as error:
                broken = error
            answer.body = b"".join(pieces)
        self.seconds = time.monotonic() - begun
        limit = within + GRACE + SLACK
        assert self.seconds <= limit, f"time: expected ≤ {limit:.2f} s, took {self.seconds:.2f} s"
        self.received.append((RawCall(request_id), expected))
        if self.side == "bad":
            fits("calls of the upstream", self.calls_of(), [1])
        return answer, broken


def arriving(connection, answer):
    """Yields the body in pieces: collecting a huge one first would take long."""
    if "content-length" not in answer.headers:
        yield from connection.pieces(answer)
        return
    missing = int(answer.headers["content-length"])
    while missing > 0:
        piece = connection._more()
        if not piece:
            raise http1.Broken("the connection was closed")
        missing -= len(piece)
        yield piece


def keeps_status(status, retry_after=None):
    def act(sequence):
        answer, broken = sequence.ask(ExpectedRow((status,)))
        assert broken is None, broken
        fits("status", answer.status, [status])
        assert isinstance(answer.json()["error"], dict), answer.body[:200]
        fits("Retry-After", answer.headers.get("retry-after"), [retry_after])
        fits("X-Gateway-Attempts", answer.headers.get("x-gateway-attempts"), ["1"])

    return act


def unreachable(sequence):
    answer, broken = sequence.ask(ExpectedRow((502,)), within=3.0 if sequence.side == "dns" else 0.7)
    assert broken is None, broken
    fits("status", answer.status, [502])
    fits("error.code", answer.json()["error"].get("code"), ["upstream_unreachable", "upstream_invalid_response"])


def times_out(sequence):
    answer, broken = sequence.ask(ExpectedRow((504,)), within=TOTAL)
    assert broken is None, broken
    fits("status", answer.status, [504])
    assert sequence.app.closed(sequence.target("bad")[1], GRACE + SLACK) is not None, "the upstream's connection stays open"


def is_cut(within):
    def act(sequence):
        answer, broken = sequence.ask(ExpectedRow(tuple(range(400, 600)), estimated=True), within=within)
        fits("status", answer.status, [200])
        assert broken is not None, f"the body ends as if it were whole: {answer.body[-200:]!r}"
        assert b"event: error" not in answer.body and b'data: {"error"' not in answer.body, "an event was put in"

    return act


def passes(holds, estimated):
    def act(sequence):
        answer, broken = sequence.ask(ExpectedRow((200,), estimated), within=2.0)
        assert broken is None, broken
        fits("status", answer.status, [200])
        assert holds in answer.body, f"expected {holds!r} in {answer.body[:200]!r}"

    return act


def passes_huge(sequence):
    memory = PeakMemory(sequence.gateway)
    answer, broken = sequence.ask(ExpectedRow((200,), False), within=20)
    assert broken is None, broken
    assert len(answer.body) > 64 << 20, f"{len(answer.body)} bytes"
    assert memory.growth() < 32, f"memory: +{memory.growth():.0f} MiB for a body that should stream"


def cuts_bomb(sequence):
    """Checks that compressed answers are decoded up to 64 MiB and then cut."""
    memory = PeakMemory(sequence.gateway)
    answer, broken = sequence.ask(ExpectedRow((502,), estimated=True), within=5)
    assert broken is not None, f"the body ends as if it were whole: {answer.body[-200:]!r}"
    assert len(answer.body) <= 64 << 20, len(answer.body)
    assert memory.growth() < 32, f"memory: +{memory.growth():.0f} MiB"


STATUSES = {"error-500": 500, "error-503": 503, "error-529": 529, "error-404": 404, "error-408": 408}


def cases(quick):
    found = []
    for index, dialect in enumerate(DIALECTS):
        for stream in (False, True):
            if quick and stream != (index % 2 == 0):
                continue

            def add(group, act, bad, **more):
                found.append(PassthroughCall(f"passthrough: {group}", act, dialect, stream, bad, **more))

            for bad, status in STATUSES.items():
                add(f"status {status}", keeps_status(status), bad)
            add("status 429", keeps_status(429, "7"), "error-429-7")
            add("status 401", keeps_status(401), "unauthorized")
            for bad in ("reset-before-head", "cut-before-head"):
                add(bad, unreachable, bad)
            for side in ("refused", "dns", "tls"):
                add(f"connect: {side}", unreachable, "text", side=side)
            add("accepted, then silent", times_out, "hang", side="calm")
            add("headers, then silent", is_cut(TOTAL), "hang-after-head", side="calm")
            add("silent after content", is_cut(IDLE if stream else TOTAL), "hang-mid-stream", side="calm")
            for bad in ("reset-mid-stream", "cut-mid-stream"):
                add(bad, is_cut(0.7), bad)
            add("html", passes(b"<html>", None), "html")
            add("truncated-json", passes(b"{", True), "truncated-json")
            if stream:
                add("EOF after content", passes(b"from ", True), "eof-mid-stream")
            add("no usage", passes(b"Hello", True), "no-usage")
            add("text", passes(b"Hello", False), "text")
            add("crlf", passes(b"Hello", False), "sse-crlf")
            add("one byte at a time", passes(b"Hello", False), "bytewise")
            if stream:
                add("error inside a 200", passes(b"verloaded", None), "error-in-stream")
            if dialect == "chat":
                add("64 MiB in one event", passes_huge, "huge-event", lane="alone")
                add("gzip bomb", cuts_bomb, "gzip-bomb", lane="alone")
    return found
