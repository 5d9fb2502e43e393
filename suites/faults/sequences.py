"""Cases of several calls: cooldowns, breakers, clients that disconnect or do not read, early heads."""

import concurrent.futures
import time

import rig
from faults.app import IDLE, TOTAL, TTFT
from faults.clients import DIALECTS, GREETING
from faults.outcomes import GRACE, SLACK, fits, judge_in_band, judge_retry_after
from faults.sequence import CallSequence, ExpectedRow, RawCall
from measure import PeakMemory

BREAKER = 5
LIMITED = ["rate_limit_exceeded", "upstream_error"]
STORM = 30


def cools_down(sequence):
    first = sequence.refused(429, LIMITED)
    judge_retry_after(first, (28, 30))
    second = sequence.call()
    assert second.status == 429, f"expected 429, found {second.short()}"
    judge_retry_after(second, (25, 30))
    fits("calls of the upstream", sequence.calls_of(), [1])
    sequence.served(sequence.beside)


def cools_down_and_moves(sequence):
    sequence.served(by="good", attempts=2)
    sequence.served(by="good", attempts=1)
    fits("calls of the faulty target", sequence.calls_of(), [1])
    # The combo avoids the target in cooldown; a direct call gets its Retry-After.
    judge_retry_after(sequence.refused(429, LIMITED, "/".join(sequence.target("bad"))), (25, 30))


def does_not_cool_down(sequence):
    sequence.call()
    before = sequence.calls_of()
    sequence.call()
    assert sequence.calls_of() > before, "a 429 without a waiting time cooled the target down"


def quota_cools_down(sequence):
    first = sequence.call()
    assert first.status == 429, f"expected 429, found {first.short()}"
    second = sequence.call()
    assert second.status == 429, f"expected 429, found {second.short()}"
    judge_retry_after(second, (1, 600))
    fits("calls of the upstream", sequence.calls_of(), [1])


def breaker_opens(sequence):
    for _ in range(BREAKER):
        received = sequence.call()
        if received.status == 503:
            break
        assert received.status == 500, f"expected 500 until the breaker opens, found {received.short()}"
    opened = sequence.refused(503, ["circuit_open"])
    judge_retry_after(opened, (1, 30))
    assert opened.seconds < 0.3, f"an open breaker answers at once, not after {opened.seconds:.2f} s"
    fits("calls until the breaker opened", sequence.calls_of(), [BREAKER])
    sequence.served(sequence.beside)


def breaker_is_gone_round(sequence):
    for _ in range(BREAKER + 1):
        sequence.served(by="good")
    fits("calls until the breaker opened", sequence.calls_of(), [BREAKER])
    sequence.served(by="good", attempts=1)


def breaker_recovers(sequence):
    for _ in range(BREAKER):
        received = sequence.call()
        fits("status", received.status, [500])
    judge_retry_after(sequence.refused(503, ["circuit_open"]), (1, 2))
    time.sleep(1.1)
    for _ in range(3):
        sequence.served()
    fits("calls of the upstream", sequence.calls_of(), [BREAKER + 3])


def breaker_stays_closed(sequence):
    for _ in range(BREAKER + 2):
        sequence.call()
    before = sequence.calls_of()
    assert before >= BREAKER + 2, f"{before} calls reached the upstream, of {BREAKER + 2}"
    sequence.call()
    assert sequence.calls_of() > before, "the breaker opened on what is no failure of the provider"


def all_fail(status, codes, bounds):
    def act(sequence):
        received = sequence.refused(status, codes)
        judge_retry_after(received, bounds)
        fits("calls of the second target", sequence.calls_of("good") > 0, [True])

    return act


def leaves_before_the_first_byte(sequence):
    for _ in range(2):
        leave(sequence, lambda connection: time.sleep(0.1), lines=sequence.calls_made + 1)


def leaves_after_the_first_byte(sequence):
    def read(connection):
        for piece in connection.pieces(connection.head()):
            if b"Hello" in piece or b"word" in piece or not sequence.stream:
                return

    leave(sequence, read, lines=1)


def leave(sequence, until, lines):
    """Sends a request, waits until it reaches the upstream, disconnects, and measures the time to the upstream's
    cancellation."""
    request_id = sequence.next_id()
    connection = sequence.raw(request_id)
    model = sequence.target("bad")[1]
    rig.eventually(lambda: len(sequence.app.bill(model)) == lines, what="the call at the upstream")
    until(connection)
    begun = time.monotonic()
    connection.close()
    took = sequence.app.closed(model, 2.0)
    sequence.seconds = time.monotonic() - begun
    assert took is not None and took <= GRACE + SLACK, f"upstream cancelled: expected ≤ 100 ms, took {took} s"
    sequence.received.append((RawCall(request_id), ExpectedRow((499,), estimated=True)))


def leaving_is_no_failure(sequence):
    for count in range(BREAKER + 1):
        leave(sequence, lambda connection: time.sleep(0.02), lines=count + 1)
    sequence.served(by="bad")


def late_error_goes_in_band(sequence):
    received = sequence.call(expected=ExpectedRow((504,)))
    assert received.status == 200 and b": keep-alive" in received.raw, f"expected comments, found {received.short()}"
    assert received.seconds <= TTFT + GRACE + SLACK, f"took {received.seconds:.2f} s"
    assert not received.text
    judge_in_band(sequence, received, ("upstream_timeout",))


def late_failover(sequence):
    received = sequence.call()
    assert received.status == 200 and b": keep-alive" in received.raw, f"expected comments, found {received.short()}"
    assert received.error is None and received.finished and received.text == GREETING, f"found {received.short()}"


def late_failover_is_named(sequence):
    named_at_the_end(sequence, "good", "2")


def slow_start(sequence):
    received = sequence.call()
    assert received.error is None and received.finished and received.text == GREETING, f"found {received.short()}"
    assert received.raw.count(b": keep-alive") >= 2, f"comments: {received.raw[:200]!r}"


def slow_start_is_named(sequence):
    named_at_the_end(sequence, "bad", "1")


def named_at_the_end(sequence, side, attempts):
    """Checks the final comment with the values missing in the head; it follows the end, so that SDKs do not read it."""
    request_id = sequence.next_id()
    with sequence.raw(request_id) as connection:
        text = connection.response().body.decode()
    sequence.received.append((RawCall(request_id), ExpectedRow((200,))))
    last = text.rstrip().splitlines()[-1]
    served = "/".join(sequence.target(side))
    rest = last.replace(served, "")
    assert last.startswith(":") and served in last and attempts in rest, f"the last line: {last!r}"


def pings_without_content(sequence):
    """Checks that ping events satisfy the first-event and idle timeouts: the stream continues in bounded memory until
    the client disconnects."""
    memory = PeakMemory(sequence.gateway)
    request_id = sequence.next_id()
    connection = sequence.raw(request_id)
    time.sleep(TTFT + IDLE + 0.5)
    grown = memory.growth()
    connection.close()
    took = sequence.app.closed(sequence.target("bad")[1], 2.0)
    assert took is not None and took <= GRACE + SLACK, f"upstream cancelled: expected ≤ 100 ms, took {took} s"
    assert grown < 32, f"memory: +{grown:.0f} MiB while nothing but pings came"
    sequence.received.append((RawCall(request_id), ExpectedRow((499, 502, 503, 504))))


def slow_reader(sequence):
    """Checks that buffering for a client that does not read is bounded, and that it is closed after a minute without
    progress."""
    memory = PeakMemory(sequence.gateway)
    request_id = sequence.next_id()
    # The kernel's buffers absorb some megabytes before backpressure takes effect.
    connection = sequence.raw(request_id)
    model = sequence.target("bad")[1]
    rig.eventually(lambda: sequence.app.bill(model), what="the call at the upstream")
    time.sleep(3)
    sent = sequence.app.bill(model)[0]["completion_tokens"]
    time.sleep(2)
    assert sequence.app.bill(model)[0]["completion_tokens"] == sent, "the upstream is still read though nobody reads"
    grown = memory.growth()
    assert grown < 16, f"memory: +{grown:.0f} MiB for readers that do not read"
    begun = time.monotonic()
    took = sequence.app.closed(model, 62)
    sequence.seconds = 5 + time.monotonic() - begun
    connection.close()
    assert took is not None, "not closed after 60 s without progress"
    sequence.received.append((RawCall(request_id), ExpectedRow((499,), estimated=True)))


def huge_stream_in_order(sequence):
    received = sequence.call(timeout=30)
    assert received.error is None and received.finished, f"found {received.short()}"
    assert received.text == "".join(f"word{index} " for index in range(2000)), "the text has changed"


def deadline_covers_all(sequence):
    """Each attempt takes 1.4 s and fails; three would take 4.2 s."""
    received = sequence.call()
    assert received.status in (503, 504), f"expected 503 or 504, found {received.short()}"
    limit = TOTAL + GRACE + SLACK
    assert received.seconds <= limit, f"time: expected ≤ {limit:.2f} s for all attempts, took {received.seconds:.2f} s"


def storm_is_stopped(sequence):
    """All thirty calls fail at the same time: the retry budget allows only a few retries, not one for each."""
    with concurrent.futures.ThreadPoolExecutor(STORM) as pool:
        begun = [pool.submit(sequence.call, f"{instance}/{model}") for instance, model in sequence.more]
        statuses = {one.result().status for one in begun}
    fits("statuses", statuses, [{503}])
    calls = sum(sequence.app.calls(model) for _, model in sequence.more)
    assert STORM < calls <= STORM * 1.5, f"calls of the upstream: expected {STORM + 1}..{STORM * 3 // 2}, found {calls}"


def both_forms(group, act, dialects, forms=(False, True), **more):
    return [CallSequence(group, act, dialect, stream, **more) for dialect in dialects for stream in forms]


def cooling(dialects):
    yield from both_forms("cooldown after 429", cools_down, dialects, bad="error-429-30")
    yield from both_forms("cooldown after 429", cools_down_and_moves, dialects, bad="error-429-30", good="text")
    one = {"forms": (False,), "lane": "retry"}
    yield from both_forms("no cooldown without a time", does_not_cool_down, dialects, bad="error-429-none", **one)
    one = {"forms": (False,), "bad": "insufficient-quota"}
    yield from both_forms("cooldown of a spent quota", quota_cools_down, ("chat", "responses"), **one)
    limited = all_fail(429, LIMITED, (5, 7))
    yield from both_forms("all candidates 429", limited, dialects, bad="error-429-20", good="error-429-7")
    mixed = all_fail(503, ["overloaded"], (1, 120))
    yield from both_forms("429 and 503", mixed, dialects, bad="error-429-20", good="error-503", lane="retry")


def breaking(dialects):
    failing = {"bad": "error-500", "lane": "retry"}
    yield from both_forms("breaker opens", breaker_opens, dialects, **failing)
    yield from both_forms("breaker opens, another target", breaker_is_gone_round, dialects, good="text", **failing)
    yield from both_forms("breaker recovers", breaker_recovers, dialects, bad="flaky-5", side="fragile", lane="retry")
    one = {"forms": (False,)}
    yield from both_forms("no breaker on 4xx", breaker_stays_closed, dialects, bad="error-400", **one)
    limited = {"bad": "error-429-none", "side": "fragile", "lane": "retry", **one}
    yield from both_forms("no breaker on 429", breaker_stays_closed, dialects, **limited)


def leaving(dialects):
    silent = {"bad": "hang", "side": "calm"}
    yield from both_forms("client leaves before the first byte", leaves_before_the_first_byte, DIALECTS, **silent)
    talking = {"bad": "drip-50", "forms": (True,)}
    yield from both_forms("client leaves after the first byte", leaves_after_the_first_byte, DIALECTS, **talking)
    yield from both_forms("leaving is no failure", leaving_is_no_failure, dialects, bad="slow-500")


def waiting():
    silent = {"bad": "hang", "forms": (True,), "impatient": True}
    slow = silent | {"bad": "slow-700"}
    past = "silence past a heartbeat"
    yield from both_forms(past, late_error_goes_in_band, DIALECTS, **silent)
    yield from both_forms(past, late_failover, DIALECTS, good="text", **silent)
    yield from both_forms(f"{past}, named", late_failover_is_named, DIALECTS, good="text", **silent)
    yield from both_forms("a slow start past heartbeats", slow_start, DIALECTS, **slow)
    yield from both_forms("a slow start past heartbeats, named", slow_start_is_named, DIALECTS, **slow)


def retrying():
    slow = {"bad": "late-1400-error-503", "side": "calm", "forms": (False,), "lane": "retry"}
    yield from both_forms("one deadline for all attempts", deadline_covers_all, DIALECTS, **slow)
    storm = [f"late-300-error-503@storm-{number}" for number in range(STORM)]
    yield CallSequence("a storm of retries", storm_is_stopped, side="calm", lane="alone", more=storm)


def flooding(dialects):
    alone = {"forms": (True,), "lane": "alone"}
    yield from both_forms("endless ping events", pings_without_content, ("messages",), bad="ping-events", **alone)
    yield from both_forms("a flood of pings", pings_without_content, ("messages",), bad="ping-flood", **alone)
    yield from both_forms("2000 events in order", huge_stream_in_order, dialects, bad="long-2000")


def cases(quick):
    dialects = DIALECTS[:1] if quick else DIALECTS
    found = [*cooling(dialects), *breaking(dialects), *leaving(dialects), *waiting(), *retrying(), *flooding(dialects)]
    if not quick:
        found += both_forms("slow reader", slow_reader, DIALECTS, (True,), bad="endless", lane="slow")
    return found
