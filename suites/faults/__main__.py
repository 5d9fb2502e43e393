"""Runs the fault table; prints a line per row, and every failed case in full."""

import collections
import concurrent.futures
import os
import sys
import time
import traceback

from faults import bodies, cases, passthrough, sequences, table
from faults.app import ROUNDS, FaultsApp
from faults.outcomes import GRACE, SLACK
from harness import Suite
from measure import MachineLoad

# Concurrency per lane: retries share a budget of at least three, and memory is measured alone.
LANES = (("wait", 12), ("retry", 2), ("slow", 3), ("alone", 1))


def main():
    only = "cases whose name contains this text"
    suite = Suite("faults", __doc__, quick="each row once with another target and once without", only=only)
    suite.add_argument("--keep", action="store_true", help="keep the directory with the logs")
    suite.parse()
    suite.run("", lambda app: run(app, suite))
    return suite.finish()


def run(test_app, suite):
    begun = time.monotonic()
    test_app.keep_files = suite.options.keep
    found = selected(suite)
    app = FaultsApp(test_app)
    app.start(found)
    app.machine_load = test_app.add(MachineLoad(app.origin).start())
    with concurrent.futures.ThreadPoolExecutor(sum(size for _, size in LANES)) as pool:
        for lanes in (("wait", "retry"), ("alone",), ("slow",)):
            perform_lanes(app, pool, found, lanes)
        repeated = repeat(app, pool, found)
    app.machine_load.stop()
    audit(app, found)
    for gateway in (app.gateway, app.impatient):
        if gateway.process.poll() is not None or "panicked" in gateway.log():
            app.note(f"the gateway ended or panicked; its log: {gateway.log()[-2000:]}")
            found[0].faults.append("the gateway ended or panicked")
    show(found)
    for note in app.notes:
        print(f"\nnote: {note}")
    for case in found:
        suite.count(case.faults)
    test_app.keep_files |= any(case.faults for case in found)
    print(f"\ndeadlines: + {GRACE * 1000:.0f} ms promised, + {SLACK * 1000:.0f} ms for the measurement")
    seconds = time.monotonic() - begun
    print(f"{len(found)} cases in {seconds:.0f} s, {repeated} repeated because the machine was busy")


def selected(suite):
    found = [*cases.grid(table.rows(), suite.options.quick)]
    for module in (sequences, bodies, passthrough):
        found += module.cases(suite.options.quick)
    return [case for case in found if suite.selects(case.name)]


def perform_lanes(app, pool, found, lanes):
    pending = []
    for lane, size in LANES:
        if lane in lanes:
            own = [case for case in found if case.lane == lane]
            pending += [pool.submit(perform_all, app, own[start::size]) for start in range(size)]
    for future in pending:
        future.result()


def perform_all(app, own):
    for case in own:
        perform(app, case)


def perform(app, case):
    begun = time.monotonic()
    case.faults, case.received, case.seconds = [], [], 0.0
    try:
        case.run(app)
    except Exception as error:  # Any exception is the case's result.
        case.faults.append(described(error))
    ended = time.monotonic()
    case.seconds = case.seconds or ended - begun
    case.repeats = bool(case.faults) and case.ready and app.machine_load.was_busy(begun, ended)


def described(error):
    if isinstance(error, AssertionError) and str(error):
        return str(error)
    frames = reversed(traceback.extract_tb(error.__traceback__))
    frame = next((frame for frame in frames if "/faults/" in frame.filename), None)
    where = f" [{os.path.basename(frame.filename)}:{frame.lineno} {frame.line}]" if frame else ""
    return f"{type(error).__name__}: {str(error)[:300]}{where}"


def repeat(app, pool, found):
    """Repeats cases that failed while the machine was busy, a few at a time."""
    repeated = 0
    for attempt in range(1, ROUNDS):
        again = [case for case in found if case.repeats]
        repeated += len(again)
        for case in again:
            case.round = attempt
        for gateway in (app.gateway, app.impatient):
            app.configure(gateway, [case for case in again if case.gateway_of(app) is gateway])
        shared = [case for case in again if case.lane != "alone"]
        list(pool.map(lambda own: perform_all(app, own), [shared[0::2], shared[1::2]]))
        perform_all(app, [case for case in again if case.lane == "alone"])
    return repeated


def audit(app, found):
    for gateway in (app.gateway, app.impatient):
        own = [case for case in found if case.gateway_of(app) is gateway and case.received]
        rows = app.rows(gateway, [received.request_id for case in own for received, _ in case.received])
        for case in own:
            try:
                case.audit(app, rows)
            except AssertionError as error:
                case.faults.append(str(error))


def show(found):
    groups = collections.defaultdict(list)
    for case in found:
        groups[case.group].append(case)
    width = max(map(len, groups), default=0)
    for name, members in groups.items():
        failed = sum(1 for case in members if case.faults)
        slowest = max(case.seconds for case in members)
        verdict = "ok" if not failed else f"{failed} MISSED"
        print(f"{name:{width}}  {len(members):3} cases  slowest {slowest:5.2f} s  {verdict}")
    for case in found:
        for fault in case.faults:
            print(f"\nMISSED {case.name}\n  {case.description()}\n  {fault}")


if __name__ == "__main__":
    sys.exit(main())
