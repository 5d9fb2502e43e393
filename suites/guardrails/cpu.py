"""The CPU time of the gateway per call: with personal data searched in requests and answers, and from the cache."""

import statistics
import time

import http1
import rig
from guardrails import calls

MODEL = "openai/text"
SIZE = 1000
PLAIN, GUARDED = "/plain", "/pii"
# Goals as multiples of a call without guardrails, and of one of the older binary; limits of the bounded form.
MOST, MOST_QUICK = 1.5, 6.0
MOST_BEFORE = 1.05
MOST_OF_A_HIT, MOST_OF_A_HIT_QUICK = 0.6, 3.0


def run(app):
    """Compares calls of 1 KB with and without guardrails in one gateway. The answer repeats the text of the request."""
    options = app.suite.options
    gateway = app.start_gateway(app.upstream(), models=[MODEL])
    calls.put_guardrail(gateway, "pii", {"type": "pii_redact", "direction": "both", "config": {}})
    calls.put_workflow(gateway, GUARDED, "pii")
    make(gateway, GUARDED, options.calls)
    make(gateway, PLAIN, options.calls)
    rounds = [(make(gateway, PLAIN, options.calls), make(gateway, GUARDED, options.calls)) for _ in range(options.rounds)]
    report(app, "with personal data searched in request and answer", rounds, MOST_QUICK if app.quick else MOST)


def run_before(app):
    """Compares calls without guardrails with those of an older binary."""
    options = app.suite.options
    if not options.before:
        app.suite.skip(app.name, "no older binary: --before")
        return
    upstream = app.upstream()
    before = app.gateway(upstream, app.directory / "before")
    before.executable = options.before
    before.start(models=[MODEL])
    gateway = app.start_gateway(upstream, models=[MODEL])
    for process in (before, gateway):
        make(process, PLAIN, options.calls)
    rounds = [(make(before, PLAIN, options.calls), make(gateway, PLAIN, options.calls)) for _ in range(options.rounds)]
    report(app, "without guardrails, beside the older binary", rounds, MOST_BEFORE)


def run_cache_hit(app):
    """Compares calls that are answered from the cache with the same calls in a gateway without a cache."""
    options = app.suite.options
    upstream = app.upstream()
    plain = app.start_gateway(upstream, models=[MODEL])
    cached = app.start_gateway(upstream, models=[MODEL], directory=app.directory / "cached", RESPONSE_CACHE_ENABLED="true")
    for gateway in (plain, cached):
        make(gateway, PLAIN, options.calls)
    sent = len(upstream.bill())
    rounds = [(make(plain, PLAIN, options.calls), make(cached, PLAIN, options.calls)) for _ in range(options.rounds)]
    billed = len(upstream.bill()) - sent
    app.check("all calls are answered from the cache", billed != options.rounds * options.calls and f"{billed} calls were sent")
    report(app, "that is answered from the cache", rounds, MOST_OF_A_HIT_QUICK if app.quick else MOST_OF_A_HIT)


def report(app, what, rounds, bound):
    """Checks the median of the ratios of the rounds."""
    ratios = [after / before for before, after in rounds]
    first, second = (1e6 * statistics.median(values) for values in zip(*rounds))
    app.note(f"{first:.1f} µs and {second:.1f} µs of CPU per call, {len(rounds)} rounds of {app.suite.options.calls} calls each; "
             f"ratios {min(ratios):.3f} to {max(ratios):.3f}")
    app.check_at_most(f"CPU of a call {what}", statistics.median(ratios), bound, " ×")


def make(gateway, path, count):
    """Makes calls one after the other, and returns the seconds of CPU per call."""
    request, headers = calls.body(MODEL, SIZE), calls.headers(path)
    with http1.Connection(gateway.port, timeout=60) as connection:
        begun = cpu_seconds(gateway)
        for _ in range(count):
            response = connection.ask("POST", calls.CHAT, headers, request)
            assert response.status == 200, response.body[:500]
        return (cpu_seconds(gateway) - begun) / count


def cpu_seconds(gateway):
    """The CPU time of the process, ended threads included. /proc has hundredths of a second, which is too coarse here."""
    # The clock of another process, as `clock_getcpuclockid` makes it; 2 is the scheduler's count of nanoseconds.
    return time.clock_gettime(~gateway.process.pid << 3 | 2)
