"""Stops, freezes, locks, fills and restarts the database under load: inference continues and the accounting is complete
afterwards."""

import collections
import random
import sys
import time

import rig
import traffic
from harness import Suite
from usage import drained_rows
from storage import faults
from storage.watch import Watch, is_refusal

MIX = ["text", "text", "long-20", "drip-5"]
FORMATS = ["chat", "chat", "messages", "responses"]
# Seconds until a fault is noticed by the next operation.
NOTICE = 0.3
RECOVERY = 15.0
# Maximum seconds an admin call may hang after the end of the fault.
ADMIN_SECONDS = 10.0


def main():
    suite = Suite("storage", __doc__, quick="each fault for 1.5 s instead of 10 s", only="faults whose name contains this text")
    suite.add_argument("--workers", type=int, default=8)
    suite.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = suite.parse()
    options.seconds = 1.5 if options.quick else 10.0
    known = [fault for fault in faults.ALL if fault.brief or not options.quick]
    chosen = [fault for fault in known if suite.selects(fault.name)]
    suite.note(f"{len(chosen)} faults of {options.seconds:g} s, seed {options.seed}")
    for number, kind in enumerate(chosen):
        if missing := kind.missing():
            suite.skip(kind.name, missing)
        else:
            suite.run(kind.name, lambda app: run_under(app, kind, options, number))
    return suite.finish()


def run_under(app, kind, options, number):
    """Runs the load under one fault."""
    try:
        fault = app.add(kind(app.directory))
        gateway = app.start_gateway(app.upstream(), models=["openai/text"], **fault.settings)
        run = load_through(gateway, fault, options, number)
    except faults.Impossible as why:
        app.suite.skip(kind.name, why)
        return
    for what, found in judge(app, kind, *run):
        app.check(what, *found)


def plan(chance, request_id):
    time.sleep(0.005)
    return traffic.Call(request_id, chance.choice(FORMATS), f"openai/{chance.choice(MIX)}", chance.random() < 0.5)


def load_through(gateway, fault, options, number):
    made = gateway.admin("POST", "/auth-keys", json={"name": "load", "user_path": "/storage"})
    assert made.status_code == 201, made.text
    key = rig.bearer(made.json()["key"])
    load = traffic.Load(gateway.port, options.workers, f"{options.seed}-{number}", plan, key).start()
    time.sleep(0.5)
    watch = Watch(gateway).start()
    fault.begin()
    begun = time.monotonic()
    time.sleep(max(options.seconds, fault.least))
    ended = time.monotonic()
    fault.end()
    fault_ended = time.monotonic()
    try:
        rig.eventually(lambda: is_ok(gateway), RECOVERY, 0.05, "/ready to say ok again")
        recovered = time.monotonic() - fault_ended
    except AssertionError:
        recovered = None
    time.sleep(0.5)
    calls = load.stop()
    watch.stop()
    rows = drained_rows(gateway, len(calls), "/storage", patience=20, quiet=1.0)
    return calls, rows, watch, begun, ended, recovered


def is_ok(gateway):
    return gateway.is_ready() and gateway.http.get("/ready").json()["status"] == "ok"


def status_of(body):
    return body.get("status") if isinstance(body, dict) else body


def judge(app, kind, calls, rows, watch, begun, ended, recovered):
    amid = [call for call in calls if begun <= call.started <= ended]
    slow = max((call.ended - call.started for call in amid), default=0.0)
    app.note(f"{len(calls)} calls, {len(amid)} of them during it, the slowest {slow:.2f} s, ready again after {recovered or 0:.2f} s")
    failed = [f"{call.status} {call.code} {call.error_text}: {call}" for call in calls if not call.served]
    booked = collections.Counter(row["request_id"] for row in rows)
    wrong = [f"{booked[call.request_id]} rows: {call}" for call in calls if booked[call.request_id] != 1]
    estimated = [f"estimated: {row['request_id']}" for row in rows if row["estimated"]]
    checks = [
        ("every call is answered, none with 401", failed + ([] if amid else ["no calls were made meanwhile"])),
        ("each has exactly one row afterwards, none of them an estimate", wrong + estimated),
        ("/ready says ok again", [] if recovered is not None else [f"not within {RECOVERY:g} s"]),
    ]
    if not kind.degrades:
        return checks
    answers = collections.Counter((status, status_of(body)) for status, body, _ in watch.asked(begun + NOTICE, ended, "ready"))
    checks.append(("/ready says degraded", [] if answers[200, "degraded"] else [f"it said {dict(answers)}"]))
    for what in ("read", "write"):
        seen = watch.asked(begun + NOTICE, ended, what)
        # Calls still waiting when the fault ended may have been served then.
        possible = kind.readable if what == "read" else kind.fits
        fine = [answer for answer in seen if is_refusal(*answer[:2]) or answer[0] in (200, 201) and (possible or answer[2] > ended)]
        strange = [f"{answer[0]} {answer[1]}"[:300] for answer in seen if answer not in fine]
        slow = max((answered for *_, answered in seen), default=ended) - ended
        strange += [f"an answer came {slow:.1f} s after the fault's end"] if slow > ADMIN_SECONDS else []
        strange += [] if seen or ended - begun < ADMIN_SECONDS / 2 else ["none was made"]
        checks.append((f"admin calls that {what} are refused with 503 in the envelope", strange))
    return checks


if __name__ == "__main__":
    sys.exit(main())
