"""What one call cannot show: cooldowns, breakers, clients that leave or do not read, heads sent early."""

import time

import rig
from faults.clients import DIALECTS, GREETING
from faults.house import IDLE, TTFT, Memory
from faults.outcomes import GRACE, SLACK, fits, judge_in_band, judge_retry_after
from faults.scene import Booked, Noted, Scene

BREAKER = 5


def cools_down(scene):
    first = scene.refused(429, "rate_limit_exceeded")
    judge_retry_after(first, (28, 30))
    second = scene.call()
    assert second.status == 429, f"expected 429, found {second.short()}"
    judge_retry_after(second, (25, 30))
    fits("calls of the upstream", scene.calls_of(), [1])
    scene.served(scene.beside)


def cools_down_and_moves(scene):
    scene.served(by="good", attempts=2)
    scene.served(by="good", attempts=1)
    fits("calls of the faulty target", scene.calls_of(), [1])
    # The combo goes round the cooldown; who asks for the target itself is told how long.
    judge_retry_after(scene.refused(429, "rate_limit_exceeded", "/".join(scene.target("bad"))), (25, 30))


def does_not_cool_down(scene):
    scene.call()
    before = scene.calls_of()
    scene.call()
    assert scene.calls_of() > before, "a 429 without a waiting time cooled the target down"


def quota_cools_down(scene):
    first = scene.call()
    assert first.status == 429, f"expected 429, found {first.short()}"
    second = scene.call()
    assert second.status == 429, f"expected 429, found {second.short()}"
    judge_retry_after(second, (1, 600))
    fits("calls of the upstream", scene.calls_of(), [1])


def breaker_opens(scene):
    for _ in range(BREAKER):
        heard = scene.call()
        if heard.status == 503:
            break
        assert heard.status == 500, f"expected 500 until the breaker opens, found {heard.short()}"
    opened = scene.refused(503, "circuit_open")
    judge_retry_after(opened, (1, 30))
    assert opened.seconds < 0.3, f"an open breaker answers at once, not after {opened.seconds:.2f} s"
    fits("calls until the breaker opened", scene.calls_of(), [BREAKER])
    scene.served(scene.beside)


def breaker_is_gone_round(scene):
    for _ in range(BREAKER + 1):
        scene.served(by="good")
    fits("calls until the breaker opened", scene.calls_of(), [BREAKER])
    scene.served(by="good", attempts=1)


def breaker_recovers(scene):
    for _ in range(BREAKER):
        heard = scene.call()
        fits("status", heard.status, [500])
    judge_retry_after(scene.refused(503, "circuit_open"), (1, 2))
    time.sleep(1.1)
    for _ in range(3):
        scene.served()
    fits("calls of the upstream", scene.calls_of(), [BREAKER + 3])


def breaker_stays_closed(scene):
    for _ in range(BREAKER + 2):
        scene.call()
    before = scene.calls_of()
    assert before >= BREAKER + 2, f"{before} calls reached the upstream, of {BREAKER + 2}"
    scene.call()
    assert scene.calls_of() > before, "the breaker opened on what is no failure of the provider"


def all_fail(status, code, bounds):
    def act(scene):
        heard = scene.refused(status, code)
        judge_retry_after(heard, bounds)
        fits("calls of the second target", scene.calls_of("good") > 0, [True])

    return act


def leaves_before_the_first_byte(scene):
    for _ in range(2):
        leave(scene, lambda connection: time.sleep(0.1), lines=scene.calls_made + 1)


def leaves_after_the_first_byte(scene):
    def read(connection):
        for piece in connection.pieces(connection.head()):
            if b"Hello" in piece or b"word" in piece or not scene.stream:
                return

    leave(scene, read, lines=1)


def leave(scene, until, lines):
    """Sends, waits for the upstream to have it, hangs up, and measures until the upstream knows."""
    request_id = scene.next_id()
    connection = scene.raw(request_id)
    model = scene.target("bad")[1]
    rig.eventually(lambda: len(scene.house.bill(model)) == lines, what="the call at the upstream")
    until(connection)
    begun = time.monotonic()
    connection.close()
    took = scene.house.closed(model, 2.0)
    scene.seconds = time.monotonic() - begun
    assert took is not None and took <= GRACE + SLACK, f"upstream cancelled: expected ≤ 100 ms, took {took} s"
    scene.heard.append((Noted(request_id), Booked((499,), estimated=True)))


def leaving_is_no_failure(scene):
    for count in range(BREAKER + 1):
        leave(scene, lambda connection: time.sleep(0.02), lines=count + 1)
    scene.served(by="bad")


def late_error_goes_in_band(scene):
    heard = scene.call(booked=Booked((504,)))
    assert heard.status == 200 and b": keep-alive" in heard.raw, f"expected comments, found {heard.short()}"
    assert heard.seconds <= TTFT + GRACE + SLACK, f"took {heard.seconds:.2f} s"
    assert not heard.text
    judge_in_band(scene, heard, ("upstream_timeout",))


def late_failover(scene):
    heard = scene.call()
    assert heard.status == 200 and b": keep-alive" in heard.raw, f"expected comments, found {heard.short()}"
    assert heard.error is None and heard.finished and heard.text == GREETING, f"found {heard.short()}"


def late_failover_is_named(scene):
    named_at_the_end(scene, "good", "2")


def slow_start(scene):
    heard = scene.call()
    assert heard.error is None and heard.finished and heard.text == GREETING, f"found {heard.short()}"
    assert heard.raw.count(b": keep-alive") >= 2, f"comments: {heard.raw[:200]!r}"


def slow_start_is_named(scene):
    named_at_the_end(scene, "bad", "1")


def named_at_the_end(scene, side, attempts):
    """What the head could not say; after the end, so that an SDK does not read it."""
    request_id = scene.next_id()
    with scene.raw(request_id) as connection:
        text = connection.response().body.decode()
    scene.heard.append((Noted(request_id), Booked((200,))))
    last = text.rstrip().splitlines()[-1]
    served = "/".join(scene.target(side))
    told = last.replace(served, "")
    assert last.startswith(":") and served in last and attempts in told, f"the last line: {last!r}"


def pings_without_content(scene):
    """Alive, by the first event's limit and the idle one: it may go on, in bounded memory, until the client leaves."""
    memory = Memory(scene.gateway.process)
    request_id = scene.next_id()
    connection = scene.raw(request_id)
    time.sleep(TTFT + IDLE + 0.5)
    grown = memory.grown()
    connection.close()
    took = scene.house.closed(scene.target("bad")[1], 2.0)
    assert took is not None and took <= GRACE + SLACK, f"upstream cancelled: expected ≤ 100 ms, took {took} s"
    assert grown < 32, f"memory: +{grown:.0f} MiB while nothing but pings came"
    scene.heard.append((Noted(request_id), Booked((499, 502, 503, 504))))


def slow_reader(scene):
    """Reads nothing: what waits for it is bounded, and after a minute without progress it is closed."""
    memory = Memory(scene.gateway.process)
    request_id = scene.next_id()
    # The kernel's own buffers take some megabytes before anything is felt.
    connection = scene.raw(request_id)
    model = scene.target("bad")[1]
    rig.eventually(lambda: scene.house.bill(model), what="the call at the upstream")
    time.sleep(3)
    sent = scene.house.bill(model)[0]["completion_tokens"]
    time.sleep(2)
    assert scene.house.bill(model)[0]["completion_tokens"] == sent, "the upstream is still read though nobody reads"
    grown = memory.grown()
    assert grown < 16, f"memory: +{grown:.0f} MiB for readers that do not read"
    begun = time.monotonic()
    took = scene.house.closed(model, 62)
    scene.seconds = 5 + time.monotonic() - begun
    connection.close()
    assert took is not None, "not closed after 60 s without progress"
    scene.heard.append((Noted(request_id), Booked((499,), estimated=True)))


def huge_stream_in_order(scene):
    heard = scene.call(timeout=30)
    assert heard.error is None and heard.finished, f"found {heard.short()}"
    assert heard.text == "".join(f"word{index} " for index in range(2000)), "the text has changed"


def both_forms(group, act, dialects, forms=(False, True), **more):
    return [Scene(group, act, dialect, stream, **more) for dialect in dialects for stream in forms]


def cases(quick):
    dialects = DIALECTS[:1] if quick else DIALECTS
    found = both_forms("cooldown after 429", cools_down, dialects, bad="error-429-30")
    found += both_forms("cooldown after 429", cools_down_and_moves, dialects, bad="error-429-30", good="text")
    found += both_forms("no cooldown without a time", does_not_cool_down, dialects, (False,), bad="error-429-none", lane="retry")
    found += both_forms("cooldown of a spent quota", quota_cools_down, ("chat", "responses"), (False,), bad="insufficient-quota")
    found += both_forms("breaker opens", breaker_opens, dialects, bad="error-500", lane="retry")
    found += both_forms("breaker opens, another target", breaker_is_gone_round, dialects, bad="error-500", good="text", lane="retry")
    found += both_forms("breaker recovers", breaker_recovers, dialects, bad="flaky-5", side="fragile")
    found += both_forms("no breaker on 4xx", breaker_stays_closed, dialects, (False,), bad="error-400")
    found += both_forms("no breaker on 429", breaker_stays_closed, dialects, (False,), bad="error-429-none", side="fragile")
    limited = all_fail(429, "rate_limit_exceeded", (5, 7))
    found += both_forms("all candidates 429", limited, dialects, bad="error-429-20", good="error-429-7")
    mixed = all_fail(503, "overloaded", (1, 120))
    found += both_forms("429 and 503", mixed, dialects, bad="error-429-20", good="error-503", lane="retry")
    found += both_forms("client leaves before the first byte", leaves_before_the_first_byte, DIALECTS, bad="hang", side="calm")
    found += both_forms("client leaves after the first byte", leaves_after_the_first_byte, DIALECTS, (True,), bad="drip-50")
    found += both_forms("leaving is no failure", leaving_is_no_failure, dialects, bad="slow-500")
    late = {"in_haste": True}
    found += both_forms("silence past a heartbeat", late_error_goes_in_band, DIALECTS, (True,), bad="hang", **late)
    found += both_forms("silence past a heartbeat", late_failover, DIALECTS, (True,), bad="hang", good="text", **late)
    found += both_forms("silence past a heartbeat, named", late_failover_is_named, DIALECTS, (True,), bad="hang", good="text", **late)
    found += both_forms("a slow start past heartbeats, named", slow_start_is_named, DIALECTS, (True,), bad="slow-700", **late)
    found += both_forms("a slow start past heartbeats", slow_start, DIALECTS, (True,), bad="slow-700", **late)
    found += both_forms("endless ping events", pings_without_content, ("messages",), (True,), bad="ping-events", lane="alone")
    found += both_forms("a flood of pings", pings_without_content, ("messages",), (True,), bad="ping-flood", lane="alone")
    found += both_forms("2000 events in order", huge_stream_in_order, dialects, bad="long-2000")
    if not quick:
        found += both_forms("slow reader", slow_reader, DIALECTS, (True,), bad="endless", lane="slow")
    return found
