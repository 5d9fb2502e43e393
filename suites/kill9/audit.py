"""The books against the bill: every acknowledged call exactly once and token for token, the rest marked."""

import collections
import dataclasses
import statistics
import time

FIELDS = {
    "input_tokens": "prompt_tokens",
    "cached_input_tokens": "cached_tokens",
    "output_tokens": "completion_tokens",
    "reasoning_tokens": "reasoning_tokens",
}


@dataclasses.dataclass
class Report:
    backend: str
    calls: int
    acknowledged: int
    rows: int
    estimated: int
    ready_times: list
    # Acknowledged calls without a row.
    lost: int = 0
    # Calls with more than one.
    doubled: int = 0
    # Rows that claim to be exact and are not what the upstream billed.
    wrong: int = 0
    # Rows of calls whose end nobody saw that are not marked as estimated.
    unmarked: int = 0
    # Answers the upstream billed for which there is no row, not even an interrupted one.
    unbooked: int = 0
    faults: list = dataclasses.field(default_factory=list)

    def cells(self):
        ready = [f"{statistics.median(self.ready_times) * 1000:.0f} ms", f"{max(self.ready_times) * 1000:.0f} ms"]
        counts = [len(self.ready_times), self.calls, self.acknowledged, self.rows, self.estimated]
        findings = [self.lost, self.doubled, self.wrong, self.unmarked, self.unbooked]
        return [self.backend, *map(str, counts), *ready, *map(str, findings)]


def audit(backend, gateway, upstream, calls, ready_times):
    rows = drained_rows(gateway, {call.request_id for call in calls if call.acknowledged})
    bill = {line["id"]: line for line in upstream.bill()}
    by_request = collections.defaultdict(list)
    for row in rows:
        by_request[row["request_id"]].append(row)
    acknowledged = [call for call in calls if call.acknowledged]
    estimated = [row for row in rows if row["estimated"]]
    report = Report(backend, len(calls), len(acknowledged), len(rows), len(estimated), ready_times)
    if not acknowledged or len(acknowledged) == len(calls):
        report.faults.append("the kills interrupted nothing, or everything: this run proves nothing")
    for call in calls:
        if call.status not in (0, 200):
            report.faults.append(f"{call.request_id} ({call.model}) was answered {call.status} by a healthy upstream")
    for call in acknowledged:
        if not by_request[call.request_id]:
            report.lost += 1
            report.faults.append(f"lost: {call}")
    for request_id, booked in by_request.items():
        if len(booked) > 1:
            report.doubled += 1
            report.faults.append(f"doubled: {request_id} has {len(booked)} rows")
    ids = {call.request_id: call for call in calls}
    for row in rows:
        check_row(report, row, ids.get(row["request_id"]), bill.get(row["provider_id"]))
    booked_ids = {row["provider_id"] for row in rows}
    unmatched = [line for line in bill.values() if line["id"] not in booked_ids]
    interrupted = [row for row in estimated if row["provider_id"] not in bill]
    report.unbooked = max(0, len(unmatched) - len(interrupted))
    if report.unbooked:
        report.faults.append(f"unbooked: {len(unmatched)} billed answers, {len(interrupted)} interrupted rows for them")
    return report


def check_row(report, row, call, line):
    if call is None:
        report.wrong += 1
        report.faults.append(f"wrong: a row for a call that was never made: {row}")
    elif row["estimated"]:
        if call.acknowledged:
            report.wrong += 1
            report.faults.append(f"wrong: acknowledged, yet estimated: {row}")
    elif line is None:
        report.unmarked += 1
        report.faults.append(f"unmarked: not estimated, yet the upstream never billed it: {row}")
    elif any(row[ours] != line[theirs] for ours, theirs in FIELDS.items()):
        report.wrong += 1
        report.faults.append(f"wrong: {row} is not {line}")


def drained_rows(gateway, expected, patience=30.0, quiet=2.0):
    """The log once it holds what is expected and has stopped growing, or once patience is at its end."""
    deadline = time.monotonic() + patience
    total, since = -1, time.monotonic()
    while time.monotonic() < deadline:
        now = gateway.usage_log(limit=1)["total"]
        if now != total:
            total, since = now, time.monotonic()
        if total >= len(expected) and time.monotonic() - since > quiet:
            break
        time.sleep(0.1)
    return gateway.usage_rows()
