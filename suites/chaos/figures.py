"""Figures of a run: success rate, attempts, breaker opening and recovery, accounting."""

import collections
import dataclasses
import statistics

import rig
from measure import percentile

SUCCESS = 0.9999
ATTEMPTS = 1.2
# Tolerance for calls in flight when the last failure becomes known, on a busy machine.
SLACK = 0.25


@dataclasses.dataclass
class Phase:
    """One fault of one provider, on the clock of the calls."""

    fault: object
    provider: str
    begun: float
    ended: float = 0.0
    # Times of the calls that met the fault, by model; empty if they could not be recorded.
    met: dict = dataclasses.field(default_factory=dict)
    # Seconds until the provider was called again, by model.
    returned: dict = dataclasses.field(default_factory=dict)
    # Seconds until the gateway reported its breakers closed; None if it never did.
    closed: float | None = None

    def calls(self, calls):
        return [call for call in calls if self.begun <= call.start < self.ended]


def late(phase, calls, open_seconds):
    """Calls that went to a model after it had failed often enough, while its breaker should have been open."""
    rest = phase.fault.rest or open_seconds
    found = []
    for model, times in phase.met.items():
        found += [f"{model} after {at:.2f} s" for at in forbidden_calls(sorted(times), sorted(times), phase.fault, rest)]
    if not phase.fault.noted:
        for model in {call.model for call in calls}:
            failing = [call for call in calls if call.model == model and call.attempts > 1]
            starts = sorted(call.start for call in failing for _ in range(call.attempts - 1))
            ends = sorted(call.end for call in failing for _ in range(call.attempts - 1))
            found += [f"{model} after {at - phase.begun:.2f} s" for at in forbidden_calls(starts, ends, phase.fault, rest)]
    return found


def forbidden_calls(starts, ends, fault, rest):
    """Start times in the forbidden interval, which begins between the start and the end of the last allowed call."""
    if len(starts) < fault.patience:
        return []
    last = fault.patience - 1
    return [at for at in starts if ends[last] + SLACK < at < starts[last] + rest - SLACK]


def burst(phase, open_seconds):
    """Maximum number of calls that one model got before its first pause."""
    most = 0
    rest = 0.6 * (phase.fault.rest or open_seconds)
    for times in phase.met.values():
        times = sorted(times)
        first_gap = next((n for n in range(1, len(times)) if times[n] - times[n - 1] > rest), len(times))
        most = max(most, first_gap)
    return most


def rows_of(gateway, calls):
    """Usage rows by request, once the journal has been drained."""
    wanted = {call.request_id for call in calls}

    def drained():
        return gateway.usage_log(limit=1)["total"] >= len(wanted)

    try:
        rig.eventually(drained, timeout=30, pause=0.2, what="the rows of all calls")
    except AssertionError:
        pass
    rows = collections.defaultdict(list)
    for row in gateway.usage_rows():
        rows[row["request_id"]].append(row)
    return rows


def accounting_faults(calls, rows):
    faults = []
    for call in calls:
        booked = rows.get(call.request_id, [])
        if len(booked) != 1:
            faults.append(f"{call.request_id} has {len(booked)} usage rows: {call}")
        elif not call.fault and booked[0]["provider_name"] != call.provider:
            faults.append(f"{call.request_id} was served by {call.provider}, booked on {booked[0]['provider_name']}")
    if strangers := set(rows) - {call.request_id for call in calls}:
        faults.append(f"rows of calls that were not made: {sorted(strangers)[:5]}")
    return faults


def milliseconds(calls):
    times = [call.seconds * 1000 for call in calls]
    return f"{statistics.median(times):.0f}" if times else "-", f"{percentile(times, 0.99):.0f}"
