"""Runs of a case of different length in one gateway, and the cost per call as their difference."""

import concurrent.futures
import contextlib
import time

import http1

# Seconds until the drainer has read the first call of a run and waits for the database.
FIRST_BATCH = 0.3
# The drainer gives up waiting for a locked database after 5 s.
LONGEST = 4.8
# A run that was too slow, because the machine was busy, is repeated.
ATTEMPTS = 5


class TooSlow(Exception):
    """The calls of a run took too long to be booked together."""


def cost(bench, case, short, long, repeats):
    """The counts per call of each repeat: the difference of a long and a short run that take equally long."""
    with contextlib.ExitStack() as stack:
        connect = lambda: stack.enter_context(http1.Connection(bench.gateway.port, timeout=120))
        connections = [connect() for _ in range(case.connections)]
        # A warm-up: prepares the statement for a batch of this size, and valgrind's translations.
        with contextlib.suppress(TooSlow):
            run(bench, case, connections, long)
        return [difference(bench, case, connections, short, long) for _ in range(repeats)]


def difference(bench, case, connections, short, long):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            seconds, more = run(bench, case, connections, long)
            _, less = run(bench, case, connections, short, seconds)
            break
        except TooSlow:
            if attempt == ATTEMPTS:
                raise
    names = more.keys() | less.keys()
    return {name: (more.get(name, 0) - less.get(name, 0)) / (long - short) for name in names}


def run(bench, case, connections, calls, least=0.0):
    """Makes calls until they are booked, for at least `least` seconds; returns the seconds and the counts."""
    # A checkpoint by the gateway would otherwise fall into some of the runs.
    bench.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = bench.rows()
    bench.gateway.begin()
    begun = time.monotonic()
    if len(connections) > 1:
        make_concurrently(bench, case, connections, calls)
    elif case.booked:
        make_in_one_batch(bench, case, connections[0], calls)
    else:
        make(bench, case, connections[0], calls)
    called = time.monotonic() - begun
    if case.booked:
        bench.wait_for_rows(before + calls)
    # Timers of the gateway cost the same in runs of the same duration.
    time.sleep(max(0.0, begun + least - time.monotonic()))
    seconds, counts = time.monotonic() - begun, bench.gateway.end()
    if case.booked and len(connections) == 1 and called > LONGEST:
        raise TooSlow(f"{case.name}: {calls} calls took {called:.1f} s, more than {LONGEST:g} s")
    return seconds, counts


def make(bench, case, connection, calls):
    for _ in range(calls):
        bench.call(connection, case)


def make_in_one_batch(bench, case, connection, calls):
    """Has the first call booked in one transaction and all others in a second one, whatever time they take.

    The drainer reads the first call and then waits for the database, which is locked until the last call was made. Runs
    of at least two calls thus have the same number of transactions.
    """
    bench.database.execute("BEGIN IMMEDIATE")
    try:
        bench.call(connection, case)
        time.sleep(FIRST_BATCH)
        make(bench, case, connection, calls - 1)
    finally:
        bench.database.execute("ROLLBACK")


def make_concurrently(bench, case, connections, calls):
    with concurrent.futures.ThreadPoolExecutor(len(connections)) as pool:
        share = calls // len(connections)
        list(pool.map(lambda connection: make(bench, case, connection, share), connections))
