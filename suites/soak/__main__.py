"""Makes a million mixed calls: memory stays flat, and file handles, threads and tasks return to their number at the start."""

import itertools
import sys
import time

import rig
from harness import Suite, print_table
from measure import open_files, rss_bytes, threads
from soak.mix import SETTINGS, Mix

MIB = 1 << 20
MOST_GROWTH = 5.0
# Tolerance: connections to storage and provider that are kept for reuse.
KEPT_FILES = 20
KEPT_THREADS = 4
# Tolerance: connections to clients and providers that are kept for reuse. A task per call would be thousands.
KEPT_TASKS = 20


def main():
    suite = Suite("soak", __doc__, quick="4,000 calls")
    suite.add_argument("--requests", type=int, help="number of calls (default 1,000,000, quick 4,000)")
    options = suite.parse()
    options.requests = options.requests or (4_000 if options.quick else 1_000_000)
    suite.run("", lambda app: run(app, options.requests))
    return suite.finish()


def marks(requests):
    """After how many calls is measured: powers of ten, and a first mark that the others are compared with."""
    base = 10_000 if requests >= 100_000 else requests // 4
    return [base, *itertools.takewhile(lambda mark: mark < requests, (base * 10**power for power in itertools.count(1))), requests]


def run(app, requests):
    gateway = app.start_gateway(app.upstream(), models=["openai/text"], **SETTINGS, OPENAI_MODELS="text,drip-5,error-500")
    mix, rows, made = Mix(gateway), [], 0
    mix.make(200)
    start = settle(gateway)
    for mark in marks(requests):
        begun = time.monotonic()
        mix.make(mark - made, first=made)
        rate = (mark - made) / (time.monotonic() - begun)
        made = mark
        rows.append([mark, *settle(gateway), rate])
        app.note(f"{mark} calls, {rate:.0f} per second, RSS {rows[-1][1] / MIB:.1f} MiB")
    shown = [[calls, f"{rss / MIB:.1f}", *counts, f"{rate:.0f}"] for calls, rss, *counts, rate in [["start", *start, 0.0], *rows]]
    print_table(["calls", "RSS MiB", "file handles", "threads", "tasks", "calls/s"], shown)
    base, last = rows[0], rows[-1]
    for row in rows[1:]:
        app.check_at_most(f"RSS after {row[0]} calls above that after {base[0]}", (row[1] - base[1]) / MIB, MOST_GROWTH, " MiB")
    app.check_at_most("file handles more than at the start", last[2] - start[1], KEPT_FILES)
    app.check_at_most("threads more than at the start", last[3] - start[2], KEPT_THREADS)
    app.check_at_most("tasks more than at the start", last[4] - start[3], KEPT_TASKS)
    in_flight = gateway.metrics()["gatehouse_requests_in_flight"]
    app.check("no call is in progress", in_flight and f"{in_flight:.0f} are")
    app.check("every connection was answered", *mix.failures)


def settle(gateway):
    """RSS, file handles, threads and tasks, once the journal is drained and the memory is stable."""
    rig.eventually(lambda: gateway.metrics()["gatehouse_journal_lag_records"] == 0, 600, 0.2, "the journal to be drained")
    last = None
    for _ in range(20):
        time.sleep(0.5)
        now = rss_bytes(gateway)
        if last is not None and abs(now - last) < MIB // 4:
            break
        last = now
    return now, open_files(gateway), threads(gateway), int(gateway.metrics()["gatehouse_tasks"])


if __name__ == "__main__":
    sys.exit(main())
