"""The figures of a run: success, attempts, the breaker's opening and recovery, the books."""

import collections
import dataclasses
import statistics

import rig

SUCCESS = 0.9999
ATTEMPTS = 1.2
# A call may already be under way when the last failure is known; this machine is busy.
SLACK = 0.25


@dataclasses.dataclass
class Phase:
    """One fault of one provider, on the clock of the calls."""

    fault: object
    provider: str
    begun: float
    ended: float = 0.0
    # By model, when the calls came that met the fault; empty where nobody could note them.
    met: dict = dataclasses.field(default_factory=dict)
    # By model, the seconds until the provider was called again.
    returned: dict = dataclasses.field(default_factory=dict)
    # The seconds until the gateway said that its breakers are closed; None where it never did.
    closed: float | None = None

    def calls(self, calls):
        return [call for call in calls if self.begun <= call.start < self.ended]


def late(phase, calls, open_seconds):
    """Calls that still went to a model after it had failed often enough, while it should have been left alone."""
    rest = phase.fault.rest or open_seconds
    found = []
    for model, times in phase.met.items():
        found += [f"{model} after {at:.2f} s" for at in stubborn(sorted(times), sorted(times), phase.fault, rest)]
    if not phase.fault.noted:
        for model in {call.model for call in calls}:
            failing = [call for call in calls if call.model == model and call.attempts > 1]
            starts = sorted(call.start for call in failing for _ in range(call.attempts - 1))
            ends = sorted(call.end for call in failing for _ in range(call.attempts - 1))
            found += [f"{model} after {at - phase.begun:.2f} s" for at in stubborn(starts, ends, phase.fault, rest)]
    return found


def stubborn(starts, ends, fault, rest):
    """Starts that lie where nobody may call any more; that begins somewhere between the last start and end allowed."""
    if len(starts) < fault.patience:
        return []
    last = fault.patience - 1
    return [at for at in starts if ends[last] + SLACK < at < starts[last] + rest - SLACK]


def burst(phase, open_seconds):
    """The most calls that one model got before it was left alone for the first time."""
    most = 0
    rest = 0.6 * (phase.fault.rest or open_seconds)
    for times in phase.met.values():
        times = sorted(times)
        first_gap = next((n for n in range(1, len(times)) if times[n] - times[n - 1] > rest), len(times))
        most = max(most, first_gap)
    return most


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def rows_of(gateway, calls):
    """Rows by request, once the journal has been drained that far."""
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


def check_books(calls, rows):
    faults = []
    for call in calls:
        booked = rows.get(call.request_id, [])
        if len(booked) != 1:
            faults.append(f"{call.request_id} has {len(booked)} usage rows: {call}")
        elif not call.fault and booked[0]["provider_name"] != call.provider:
            faults.append(f"{call.request_id} was served by {call.provider}, booked on {booked[0]['provider_name']}")
    if strangers := set(rows) - {call.request_id for call in calls}:
        faults.append(f"rows of calls that nobody made: {sorted(strangers)[:5]}")
    return faults


def table(heads, rows):
    widths = [max(len(str(row[column])) for row in [heads, *rows]) for column in range(len(heads))]
    for row in [heads, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        print("  ".join(cells + [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]))


def milliseconds(calls):
    times = [call.seconds * 1000 for call in calls]
    return f"{statistics.median(times):.0f}" if times else "-", f"{percentile(times, 0.99):.0f}"
