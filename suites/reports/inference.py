"""Cost of a call on a full database and on an empty one: CPU of the gateway, including accounting."""

import os
import statistics

import rig
import traffic
from measure import cpu_seconds

WORKERS = 8
ROUNDS = 11
# Maximum ratio to the cost on the empty database.
MOST_MORE = 1.05


def compare(full, empty, calls):
    """CPU-µs per call on each, measured alternately, and the ratio of full to empty."""
    spent = {full: [], empty: []}
    for turn in range(ROUNDS + 1):
        for gateway in (full, empty) if turn % 2 else (empty, full):
            cost = load(gateway, f"{os.getpid()}-{turn}", calls)
            # The first round is a warm-up.
            spent[gateway] += [cost] if turn else []
    full_cost, empty_cost = statistics.median(spent[full]), statistics.median(spent[empty])
    # Adjacent measurements had the same machine load.
    ratio = statistics.median(mine / other for mine, other in zip(spent[full], spent[empty]))
    return full_cost, empty_cost, ratio


def load(gateway, seed, calls):
    before, rows = cpu_seconds(gateway), booked(gateway)

    def plan(_, request_id):
        return traffic.Call(request_id, "chat", "demo/demo-chat", False)

    made = traffic.Load(gateway.port, WORKERS, seed, plan, most=calls).start().join()
    unserved = [call for call in made if not call.served]
    if unserved:
        raise SystemExit(f"reports: {len(unserved)} of {calls} calls were not served: {unserved[0]}")
    rig.eventually(lambda: booked(gateway) >= rows + calls, 60, pause=0.2, what="the booking of the calls")
    return (cpu_seconds(gateway) - before) * 1e6 / calls


def booked(gateway):
    return gateway.admin("GET", "/usage/summary", params={"days": 1}).json()["total_requests"]
