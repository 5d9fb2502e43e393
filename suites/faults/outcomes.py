"""The possible outcomes of a call as data, each with its checks."""

import dataclasses
import re

from faults.clients import ANTHROPIC_TYPES, GREETING, exception_for, exception_in_band, type_for

# The specified grace is 100 ms after the deadline. The slack is for the measurement: an unoptimised build on a busy
# machine.
GRACE = 0.1
SLACK = 0.3


def several(*checks):
    """Runs all checks, so that one miss does not hide the next."""
    missed = []
    for check in checks:
        try:
            check()
        except AssertionError as error:
            missed.append(str(error))
    assert not missed, "\n  ".join(missed)


def fits(name, found, expected):
    assert found in expected, f"{name}: expected {' or '.join(map(repr, expected))}, found {found!r}"


def between(name, found, bounds):
    low, high = bounds
    assert isinstance(found, int) and low <= found <= high, f"{name}: expected {low}..{high}, found {found!r}"


@dataclasses.dataclass
class Served:
    """A complete answer from this side ("good", "bad" or "either")."""

    by: str = "bad"
    # Calls of the faulty target.
    tries: tuple = (1, 1)
    within: float = 1.0
    least: float = 0.0
    estimated: bool = False
    # Whether a usage value was implausible and is flagged.
    caveat: bool = False
    text: str = GREETING

    def judge(self, case, received):
        assert received.error is None, f"expected a whole answer, found {received.short()}"
        assert received.status == 200, f"expected 200, found {received.short()}"
        assert received.finished, f"expected the dialect's end, found {received.short()}"
        if self.text is not None:
            assert received.text == self.text, f"text: expected {self.text!r}, found {received.text[:200]!r}"
        by = self.served_by(case, received)
        instance, model = case.target(by)
        several(
            lambda: fits("X-Gateway-Provider", received.header("x-gateway-provider"), [instance]),
            lambda: fits("X-Gateway-Model", received.header("x-gateway-model"), [f"{instance}/{model}"]),
            lambda: judge_tries(case, received, self.tries, extra=1 if by == "good" else 0),
            lambda: judge_end(case, received),
        )

    def served_by(self, case, received):
        if self.by != "either":
            return self.by
        return "good" if received.header("x-gateway-provider") == case.target("good")[0] else "bad"

    def judge_row(self, case, received, row):
        fits("row status_code", row["status_code"], [200])
        fits("row provider_name", row["provider_name"], [case.target(self.served_by(case, received))[0]])
        # No model here has a price; an attempt that had begun to answer before another one served the call is charged
        # by estimate.
        caveats = [caveat for caveat in (row.get("caveat") or "").split("; ") if caveat not in ("", "unpriced")]
        lost = "an answer was lost" in caveats and received.header("x-gateway-attempts") != "1"
        if lost:
            caveats.remove("an answer was lost")
        fits("row estimated", row["estimated"], [self.estimated or lost])
        low = 0 if self.caveat else 1
        sane = all(low <= row[name] <= 1 << 40 for name in ("input_tokens", "output_tokens"))
        assert sane, f"row tokens: {tokens(row)}"
        assert bool(caveats) == self.caveat, f"row caveat: expected {self.caveat}, found {caveats!r}"


@dataclasses.dataclass
class Refused:
    """An error status before anything was sent."""

    status: tuple
    codes: tuple
    tries: tuple = (1, 1)
    within: float = 0.5
    least: float = 0.0
    # Bounds of Retry-After; None forbids it, "any" allows it (1..300 if present).
    retry_after: object = None
    # Whether another target could have served the call.
    moves: bool = True
    # Calls of the faulty target if there is another; one means immediate failover.
    tries_before_moving: tuple = (1, 1)
    # Whether the error follows attempts of the gateway, so that x-should-retry must be false.
    final: bool = True

    def judge(self, case, received):
        assert received.status in self.status, f"status: expected {self.status}, found {received.short()}"
        kind = exception_for(case.dialect, received.status)
        assert type(received.error) is kind, f"exception: expected {kind.__name__}, found {received.short()}"
        assert not received.text
        several(
            lambda: self.judge_envelope(case, received),
            lambda: judge_retry_after(received, self.retry_after),
            lambda: self.judge_advice(received),
            lambda: judge_tries(case, received, self.tries),
        )

    def judge_envelope(self, case, received):
        inside = received.inside
        fits("error.type", inside.get("type"), [type_for(case.dialect, received.status)])
        assert inside.get("message"), f"error.message: {inside}"
        assert "<html" not in received.raw.decode(errors="replace"), "the provider's page is shown to the client"
        if case.dialect != "messages":
            assert {"type", "message", "param", "code"} <= set(inside), f"the envelope lacks a key: {inside}"
            # Google's codes are numbers and are kept as text.
            kept = (str(received.status),) if "upstream_error" in self.codes else ()
            fits("error.code", inside.get("code"), self.codes + kept)

    def judge_advice(self, received):
        if self.final:
            has_hint = received.header("retry-after") is not None
            fits("x-should-retry", received.header("x-should-retry"), [None, "true"] if has_hint else ["false"])

    def judge_row(self, case, received, row):
        fits("row status_code", row["status_code"], [received.status])


@dataclasses.dataclass
class Cut:
    """Some content, then an error in the client's format, and no regular end."""

    codes: tuple
    within: float = 1.0
    least: float = 0.0
    # Whether the upstream ended it with an event of its own, which a native Responses stream forwards unchanged.
    own_end: bool = False

    def judge(self, case, received):
        assert received.status == 200, f"expected 200, found {received.short()}"
        assert received.text and GREETING.startswith(received.text), f"expected the beginning, found {received.text[:200]!r}"
        if self.own_end and case.dialect == "responses" and case.route == "own" and received.error is None:
            assert received.failed and not received.finished, f"expected response.failed, found {received.short()}"
        else:
            judge_in_band(case, received, self.codes)
        fits("X-Gateway-Provider", received.header("x-gateway-provider"), [case.target("bad")[0]])

    def judge_row(self, case, received, row):
        if not self.own_end:
            assert row["status_code"] >= 400, f"row status_code: expected an error, found {row['status_code']}"
        fits("row estimated", row["estimated"], [True])
        assert row["output_tokens"] > 0, f"row tokens: {tokens(row)}"


def judge_in_band(case, received, codes):
    kind = exception_in_band(case.dialect)
    assert isinstance(received.error, kind), f"exception: expected {kind.__name__} in band, found {received.short()}"
    assert not received.finished, "the answer ends as if it were whole, and then in an error"
    raw = received.raw.decode(errors="replace")
    assert "[DONE]" not in raw, "[DONE] after a stream that died"
    assert not re.search(r'"finish_reason":\s*"', raw), "a finish reason in a stream that died"
    inside = received.inside
    assert inside.get("message") and inside.get("type"), f"error object: {inside}"
    if case.dialect == "messages":
        fits("error.type in band", inside["type"], [*ANTHROPIC_TYPES.values(), "api_error"])
    else:
        code = inside.get("code")
        assert code in codes or str(code).isdigit(), f"error.code in band: expected one of {codes}, found {code!r}"
    if case.dialect == "responses":
        names = re.findall(r"^event: (\S+)", raw, re.M)
        assert names[-2:] == ["response.failed", "error"], f"the last events: {names[-3:]}"


def judge_end(case, received):
    """Checks that a stream has exactly one end of its format."""
    if not case.stream:
        return
    raw = received.raw.decode(errors="replace")
    ends = {"chat": "data: [DONE]", "responses": "event: response.completed", "messages": "event: message_stop"}
    if len(received.raw) < 1 << 20:
        assert raw.count(ends[case.dialect]) == 1, f"{raw.count(ends[case.dialect])} ends"


def judge_retry_after(received, bounds):
    value = received.header("retry-after")
    if bounds == "any":
        if value is None:
            return
        bounds = (0, 300)
    if bounds is None:
        assert value is None, f"Retry-After: expected none, found {value!r}"
        return
    assert value is not None and value.isdigit(), f"Retry-After: expected {bounds[0]}..{bounds[1]}, found {value!r}"
    between("Retry-After", int(value), bounds)


def judge_tries(case, received, tries, extra=0):
    """Checks the upstream's own count, and the attempts header against it."""
    attempts = received.attempts
    low, high = tries
    if case.countable:
        found = case.calls_of_bad()
        between("calls of the faulty target", found, tries)
        low = high = found
    between("X-Gateway-Attempts", attempts, (low + extra, high + extra))


def tokens(row):
    return {name: row[name] for name in ("input_tokens", "output_tokens", "estimated", "caveat", "status_code")}
