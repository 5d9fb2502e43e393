"""python -m faults [--quick] [--only TEXT]: runs the fault table; prints a line per row, and every miss in full."""

import argparse
import collections
import concurrent.futures
import os
import sys
import time
import traceback

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

from faults import bodies, cases, passthrough, scenes, table  # noqa: E402
from faults.house import ROUNDS, House  # noqa: E402
from faults.outcomes import GRACE, SLACK  # noqa: E402
from faults.weather import CALM, Weather  # noqa: E402

# Concurrency per lane: retries share a budget of at least three, and memory is measured alone.
LANES = (("wait", 12), ("retry", 2), ("slow", 3), ("alone", 1))


def chosen(options):
    found = [*cases.grid(table.rows(), options.quick)]
    for module in (scenes, bodies, passthrough):
        found += module.cases(options.quick)
    return [case for case in found if options.only in case.name]


def perform(house, case):
    begun = time.monotonic()
    case.faults, case.heard, case.seconds = [], [], 0.0
    try:
        case.run(house)
    except Exception as error:  # Any exception is the case's result.
        case.faults.append(told(error))
    ended = time.monotonic()
    case.seconds = case.seconds or ended - begun
    case.stormy = bool(case.faults) and case.ready and house.weather.worst(begun, ended) > CALM


def told(error):
    if isinstance(error, AssertionError) and str(error):
        return str(error)
    frames = reversed(traceback.extract_tb(error.__traceback__))
    place = next((frame for frame in frames if "/faults/" in frame.filename), None)
    where = f" [{os.path.basename(place.filename)}:{place.lineno} {place.line}]" if place else ""
    return f"{type(error).__name__}: {str(error)[:300]}{where}"


def audit(house, found):
    for gateway in (house.gateway, house.hasty):
        own = [case for case in found if case.gateway_of(house) is gateway and case.heard]
        rows = house.rows(gateway, [heard.request_id for case in own for heard, _ in case.heard])
        for case in own:
            try:
                case.audit(house, rows)
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
            print(f"\nMISSED {case.name}\n  {case.said()}\n  {fault}")


def main():
    parser = argparse.ArgumentParser(prog="faults")
    parser.add_argument("--quick", action="store_true", help="each row once with another target and once without")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--keep", action="store_true", help="keep the directory with the logs")
    options = parser.parse_args()
    begun = time.monotonic()
    found = chosen(options)
    house = House(options)
    repeated = 0
    try:
        house.start(found)
        house.weather = Weather(house.origin)
        house.weather.start()
        with concurrent.futures.ThreadPoolExecutor(sum(size for _, size in LANES)) as pool:
            for group in (("wait", "retry"), ("alone",), ("slow",)):
                waiting = []
                for lane, size in LANES:
                    if lane in group:
                        own = [case for case in found if case.lane == lane]
                        waiting += [pool.submit(work, house, own[start::size]) for start in range(size)]
                for one in waiting:
                    one.result()
            repeated = repeat(house, pool, found)
        house.weather.stop()
        audit(house, found)
        for gateway in (house.gateway, house.hasty):
            if gateway.process.poll() is not None or "panicked" in gateway.log():
                house.note(f"the gateway ended or panicked; its log: {gateway.log()[-2000:]}")
                found[0].faults.append("the gateway ended or panicked")
    finally:
        house.stop()
    show(found)
    for note in house.dropped:
        print(f"\nnote: {note}")
    failed = sum(1 for case in found if case.faults)
    print(f"\ndeadlines: + {GRACE * 1000:.0f} ms promised, + {SLACK * 1000:.0f} ms for the measurement")
    print(f"{len(found)} cases in {time.monotonic() - begun:.0f} s, {repeated} repeated because the machine was busy")
    print(f"{len(found) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def repeat(house, pool, found):
    """Repeats cases that missed while the machine was busy, a few at a time."""
    repeated = 0
    for attempt in range(1, ROUNDS):
        again = [case for case in found if case.stormy]
        repeated += len(again)
        for case in again:
            case.round = attempt
        for gateway in (house.gateway, house.hasty):
            house.furnish(gateway, [case for case in again if case.gateway_of(house) is gateway])
        shared = [case for case in again if case.lane != "alone"]
        list(pool.map(lambda own: work(house, own), [shared[0::2], shared[1::2]]))
        work(house, [case for case in again if case.lane == "alone"])
    return repeated


def work(house, own):
    for case in own:
        perform(house, case)


if __name__ == "__main__":
    main()
