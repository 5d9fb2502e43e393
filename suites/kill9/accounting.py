"""Compares the usage rows with the bill: every acknowledged call exactly once with exact tokens, the others marked."""

import collections
import dataclasses
import statistics

from usage import FIELDS, drained_rows

@dataclasses.dataclass
class Report:
    backend: str
    calls: int
    acknowledged: int
    # Clients that disconnected, and unsuccessful answers.
    left: int
    refused: int
    rows: int
    estimated: int
    ready_times: list
    # Acknowledged calls without a row.
    lost: int = 0
    # Calls with more than one row.
    doubled: int = 0
    # Rows not marked as estimated that differ from the upstream's bill.
    wrong: int = 0
    # Rows of calls whose end was not seen that are not marked as estimated.
    unmarked: int = 0
    # Answers finished by the upstream without any row, not even an interrupted one.
    unbooked: int = 0
    faults: list = dataclasses.field(default_factory=list)

    def cells(self):
        ready = [f"{statistics.median(self.ready_times) * 1000:.0f} ms", f"{max(self.ready_times) * 1000:.0f} ms"]
        counts = [len(self.ready_times), self.calls, self.acknowledged, self.left, self.refused, self.rows, self.estimated]
        findings = [self.lost, self.doubled, self.wrong, self.unmarked, self.unbooked]
        return [self.backend, *map(str, counts), *ready, *map(str, findings)]


def audit(backend, gateway, upstream, calls, ready_times, user_path):
    acknowledged = [call for call in calls if call.acknowledged]
    rows = drained_rows(gateway, len(acknowledged), user_path)
    bill = {line["id"]: line for line in upstream.bill()}
    by_request = collections.defaultdict(list)
    for row in rows:
        by_request[row["request_id"]].append(row)
    estimated = [row for row in rows if row["estimated"]]
    left = sum(call.leave is not None and not call.acknowledged for call in calls)
    refused = sum(not call.served for call in acknowledged)
    counts = (len(calls), len(acknowledged), left, refused, len(rows), len(estimated))
    report = Report(backend, *counts, ready_times)
    if not acknowledged or len(acknowledged) == len(calls):
        report.faults.append("the kills interrupted nothing, or everything: this run proves nothing")
    for call in acknowledged:
        if not by_request[call.request_id]:
            report.lost += 1
            report.faults.append(f"lost: {call}")
        if call.status in (401, 403, 404) or "internal" in call.code:
            report.faults.append(f"answered {call.status} {call.code}: {call}")
    for request_id, booked in by_request.items():
        if len(booked) > 1:
            report.doubled += 1
            report.faults.append(f"doubled: {request_id} has {len(booked)} rows")
    ids = {call.request_id: call for call in calls}
    for row in rows:
        check_row(report, row, ids.get(row["request_id"]), bill.get(row["provider_id"]))
    check_bill(report, bill.values(), rows, ids)
    return report


def check_row(report, row, call, line):
    consumed = row["total_tokens"] > 0
    if call is None:
        report.wrong += 1
        report.faults.append(f"wrong: a row for a call that was never made: {row}")
    elif row["estimated"]:
        # An earlier attempt may have begun to answer: that part is an estimate.
        if call.served and "no-usage" not in call.model and "lost" not in (row["caveat"] or ""):
            report.wrong += 1
            report.faults.append(f"wrong: acknowledged, yet estimated: {row}")
    elif line is None and consumed:
        report.unmarked += 1
        report.faults.append(f"unmarked: not estimated, yet the upstream never billed it: {row}")
    elif line is not None and any(row[ours] != line[theirs] for ours, theirs in FIELDS.items()):
        report.wrong += 1
        report.faults.append(f"wrong: {row} is not {line}")


def check_bill(report, lines, rows, calls):
    """Checks that every finished bill line without a row of its id belongs to a call marked as interrupted."""
    booked = {row["provider_id"] for row in rows}
    marked = {row["request_id"] for row in rows if row["estimated"]}
    for line in lines:
        if line["word"] in calls and line["finished"] and line["id"] not in booked and line["word"] not in marked:
            report.unbooked += 1
            report.faults.append(f"unbooked: {line}")
