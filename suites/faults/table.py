"""The fault table, row by row: the expected outcome of each upstream behaviour."""

import dataclasses

from faults.app import BACKOFFS, IDLE, TOTAL_OF_BAD, TTFT
from faults.outcomes import Cut, Refused, Served

INVALID = ("upstream_invalid_response",)
UNREACHABLE = ("upstream_unreachable",)
# The table allows either code for a connection that ended before an answer began.
BROKEN = UNREACHABLE + INVALID
TIMEOUT = ("upstream_timeout",)


@dataclasses.dataclass
class Row:
    name: str
    behaviour: str
    # Outcomes without a fallback: a document, a stream.
    document: object
    stream: object
    # Retries share a budget, so few of these rows run at a time; "alone" measures memory.
    lane: str = "wait"
    # The upstream types it applies to.
    kinds: tuple = ("oa", "an", "ge")
    # Whether the upstream's connection must be closed once the client has its answer.
    hangs: bool = False
    # Memory limit in MiB.
    memory: int | None = None
    # Outcome with a fallback, if it does not follow from the others.
    with_another: object = None
    # The faulty side: "bad", or an unreachable one.
    side: str = "bad"


def same(name, behaviour, outcome, **more):
    return Row(name, behaviour, outcome, outcome, **more)


def retried(status, codes, retry_after=None):
    """Three attempts in all; with a fallback, at most three before it is used."""
    return Refused(
        (status,), codes, tries=(3, 3), within=BACKOFFS, retry_after=retry_after, tries_before_moving=(1, 3)
    )


def at_once(status, codes, **more):
    return Refused((status,), codes, tries_before_moving=(1, 1), **more)


def broken(codes=INVALID, **more):
    """Neither listed as retried nor excluded from it."""
    return Refused((502,), codes, tries=(1, 3), within=BACKOFFS, tries_before_moving=(1, 3), **more)


def late(seconds):
    return Refused((504,), TIMEOUT, within=seconds, least=seconds * 0.9)


LIMITED = ("rate_limit_exceeded",)
REAL_STATUS = Refused(
    (500, 502, 503),
    ("overloaded", "server_overloaded", "server_error", "upstream_error"),
    tries=(1, 3),
    within=BACKOFFS,
    retry_after="any",
    tries_before_moving=(1, 3),
)


def statuses():
    for status in (408, 409, 425):
        yield same(f"status {status}", f"error-{status}", retried(status, ("scripted", "upstream_error")), lane="retry")
    for status in (500, 502, 504):
        yield same(f"status {status}", f"error-{status}", retried(status, ("upstream_error",)), lane="retry")
    for status in (503, 529):
        overloaded = retried(503, ("overloaded",), retry_after=(1, 120))
        yield same(f"status {status}", f"error-{status}", overloaded, lane="retry")
    yield same("status 503, wait 7 s", "error-503-7", at_once(503, ("overloaded",), retry_after=(5, 7)))
    refused = Refused((400,), ("scripted", "upstream_error"), moves=False, final=False)
    yield same("status 400", "error-400", refused)
    for behaviour in ("unauthorized", "error-403"):
        auth = at_once(502, ("upstream_auth_failed",))
        yield same(f"our credential refused ({behaviour})", behaviour, auth)


def waiting_times():
    codes = (*LIMITED, "upstream_error")
    for name, form, bounds in (
        ("seconds", "error-429-7", (5, 7)),
        ("milliseconds", "error-429-ms-7000", (5, 7)),
        ("a date", "error-429-date-60", (55, 60)),
        ("absurd", "error-429-absurd", (295, 300)),
    ):
        yield same(f"429, Retry-After: {name}", form, at_once(429, codes, retry_after=bounds))
    for name, form in (("past", "error-429-past"), ("garbage", "error-429-garbage"), ("none", "error-429-none")):
        refused = Refused((429,), codes, tries=(3, 3), within=BACKOFFS, retry_after="any")
        yield same(f"429, Retry-After: {name}", form, refused, lane="retry")
    quota = at_once(429, ("insufficient_quota", "upstream_error"), retry_after=(1, 600))
    # Google has one code for both limits, and Anthropic uses a 400.
    yield same("429, quota spent", "insufficient-quota", quota, kinds=("oa",))


def connections():
    for side in ("refused", "dns", "tls"):
        refused = Refused((502,), UNREACHABLE, tries=(3, 3), within=BACKOFFS + 3.0)
        yield same(f"connect: {side}", "text", refused, lane="retry", kinds=("oa", "an"), side=side)
    yield same("reset before the head", "reset-before-head", broken(BROKEN), lane="retry")
    yield same("FIN before the head", "cut-before-head", broken(BROKEN), lane="retry")
    for word, behaviour in (("reset", "reset"), ("cut", "cut"), ("EOF", "eof")):
        yield same(f"{word} before content", f"{behaviour}-before-content", broken(), lane="retry")
        yield Row(f"{word} after content", f"{behaviour}-mid-stream", broken(), Cut(INVALID), lane="retry")


def silences():
    document = late(TOTAL_OF_BAD)
    yield Row("accepted, then silent", "hang", document, late(TTFT), hangs=True)
    yield Row("headers, then silent", "hang-after-head", document, late(TTFT), hangs=True)
    # Google's streams begin with content: there it is silence after the head.
    yield Row("lifecycle events, then silent", "hang-before-content", document, late(IDLE), hangs=True)
    cut = Cut(TIMEOUT, within=IDLE, least=IDLE * 0.9)
    yield Row("silent after content", "hang-mid-stream", document, cut, hangs=True)
    yield Row("endless comments", "pings", document, late(TTFT), hangs=True)
    yield Row("a byte every 200 ms", "bytewise-200", document, late(TTFT), hangs=True)
    yield Row("slow, in time", "slow-400", Served(within=0.9), Served(within=0.9))


def lies():
    yield same("error inside a 200, before content", "error-in-stream", REAL_STATUS, lane="retry")
    after = Cut(("upstream_error", "overloaded", "server_overloaded", "server_error", *INVALID), own_end=True)
    whole = retried(500, ("upstream_error",))
    yield Row("error inside a 200, after content", "error-after-content", whole, after, lane="retry")
    for behaviour in ("html", "bad-json", "bad-sse", "empty-body", "wrong-type", "swapped"):
        yield same(behaviour, behaviour, broken(), lane="retry")
    for behaviour in ("truncated-json", "bad-event-mid-stream"):
        yield Row(behaviour, behaviour, broken(), Cut(INVALID), lane="retry")


def counts():
    yield same("no usage", "no-usage", Served(estimated=True))
    yield same("negative and huge usage", "weird-usage", Served(caveat=True, estimated=True))


def framings():
    for behaviour in ("sse-crlf", "sse-cr", "sse-bom", "sse-lines", "sse-comments"):
        yield same(behaviour, behaviour, Served())
    yield same("one byte at a time", "bytewise", Served(within=2.5))


def floods():
    # A complete answer or an error, depending on the limits; memory and time are what is checked.
    big = Refused(
        (502, 504), INVALID + TIMEOUT, tries=(1, 3), within=TOTAL_OF_BAD * 3, tries_before_moving=(1, 3)
    )
    yield same("64 MiB in one event", "huge-event", big, lane="alone", memory=256, kinds=("oa", "an"))
    bomb = Refused((502,), INVALID, tries=(1, 3), within=3.0, tries_before_moving=(1, 3))
    yield same("gzip bomb", "gzip-bomb", bomb, lane="alone", memory=256)


def recoveries():
    either = Served("either", tries=(1, 3), within=1.5)
    for behaviour in ("flaky-2-error-503", "flaky-2-error-500", "flaky-1-error-408"):
        tries = (3, 3) if "-2-" in behaviour else (2, 2)
        outcome = Served(tries=tries, within=1.5)
        yield same(f"then it works: {behaviour}", behaviour, outcome, lane="retry", with_another=either)
    # A rate-limited target is not waited for while another can answer.
    at_once = Served("good", within=0.5)
    limited = Served(tries=(3, 3), within=1.5)
    yield same("then it works: 429", "flaky-2-error-429-none", limited, lane="retry", with_another=at_once)
    waited = Served(tries=(2, 2), least=0.3, within=1.3)
    name = "then it works: 429, wait 300 ms"
    yield same(name, "flaky-1-error-429-ms-300", waited, lane="retry", with_another=at_once)


def rows():
    for part in (statuses, waiting_times, connections, silences, lies, counts, framings, floods, recoveries):
        yield from part()
