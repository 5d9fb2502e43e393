"""Stops, freezes, locks, fills and restarts the database under load: inference continues and the accounting is complete
afterwards."""

import argparse
import collections
import pathlib
import random
import sys
import tempfile
import time

import rig
import traffic
from kill9.audit import drained_rows
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
    parser = argparse.ArgumentParser(prog="storage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each fault for 1.5 s instead of 10 s")
    parser.add_argument("--only", action="append", help="faults whose name contains this text")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    options.seconds = 1.5 if options.quick else 10.0
    known = [fault for fault in faults.ALL if fault.brief or not options.quick]
    chosen = [fault for fault in known if not options.only or any(text in fault.name for text in options.only)]
    passed = failed = 0
    print(f"storage: {len(chosen)} faults of {options.seconds:g} s, seed {options.seed}", flush=True)
    for number, kind in enumerate(chosen):
        missing = kind.missing()
        checks = None
        if not missing:
            try:
                checks = suffer(kind, options, number)
            except faults.Impossible as why:
                missing = str(why)
        if missing:
            print(f"storage: {kind.name}: SKIPPED: {missing}", flush=True)
            continue
        for what, wrong in checks:
            print(f"{'MISSED' if wrong else 'ok    '} {kind.name}: {what}")
            for detail in wrong[:6]:
                print(f"         {detail}"[:600])
        passed += sum(not wrong for _, wrong in checks)
        failed += sum(bool(wrong) for _, wrong in checks)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def suffer(kind, options, number):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="storage-"))
    upstream, fault, gateway, checks = rig.Upstream(), None, None, None
    try:
        fault = kind(directory)
        gateway = rig.Gateway(directory, upstream, **fault.settings)
        gateway.start(models=["openai/text"])
        checks = judge(kind, *load_through(gateway, fault, options, number))
    finally:
        if gateway:
            gateway.stop()
        upstream.stop()
        if fault:
            fault.end_all()
        if checks is None or any(wrong for _, wrong in checks):
            print(f"storage: the files of '{kind.name}' stay in {directory}", file=sys.stderr)
        else:
            rig.remove(directory)
    return checks


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
    healed = time.monotonic()
    try:
        rig.eventually(lambda: is_well(gateway), RECOVERY, 0.05, "/ready to say ok again")
        recovered = time.monotonic() - healed
    except AssertionError:
        recovered = None
    time.sleep(0.5)
    calls = load.stop()
    watch.stop()
    rows = drained_rows(gateway, len(calls), "/storage", patience=20, quiet=1.0)
    return calls, rows, watch, begun, ended, recovered


def is_well(gateway):
    return gateway.is_ready() and gateway.http.get("/ready").json()["status"] == "ok"


def status_of(body):
    return body.get("status") if isinstance(body, dict) else body


def judge(kind, calls, rows, watch, begun, ended, recovered):
    amid = [call for call in calls if begun <= call.started <= ended]
    slow = max((call.ended - call.started for call in amid), default=0.0)
    print(f"storage: {kind.name}: {len(calls)} calls, {len(amid)} of them during it, the slowest {slow:.2f} s, back after {recovered or 0:.2f} s", flush=True)
    failed = [f"{call.status} {call.code} {call.told}: {call}" for call in calls if not call.served]
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
    told = collections.Counter((status, status_of(body)) for status, body, _ in watch.asked(begun + NOTICE, ended, "ready"))
    checks.append(("/ready says degraded", [] if told[200, "degraded"] else [f"it said {dict(told)}"]))
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
